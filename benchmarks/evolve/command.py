"""The command: moves orders to another key with `prejoin evolve` and with the usual script, each in its own process."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from common.tables import table, times, write_into
from engine.machine import machine
from engine.servers import running, wait_for

HERE = Path(__file__).resolve().parent
ORDERS = 20_000
GROWING = (20_000, 200_000, 2_000_000)
_STEPS = ("backfill", "clean")


@dataclass(frozen=True)
class StepCost:
    """The cost of one step."""

    seconds: float
    cpu: float


@dataclass(frozen=True)
class Move:
    """The cost of moving all orders."""

    orders: int
    steps: tuple[StepCost, ...]
    memory: int


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/evolve", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look with few orders; nothing is written")
    quick = parser.parse_args(arguments).quick
    orders, growing = (2_000, (2_000, 4_000)) if quick else (ORDERS, GROWING)
    moves = {
        "prejoin evolve, on dynoxide": _on_dynoxide("prejoin", orders),
        "a script with boto3, on dynoxide": _on_dynoxide("script", orders),
        "prejoin evolve, on a file of the engine": _on_file(orders),
    }
    results = f"{_compared(moves)}\n\n{_grown([_on_file(size) for size in growing])}"
    print(results)
    if not quick:
        here = machine()
        write_into(HERE / "README.md", f"{results}\n\n{here['cores']} cores, {here['system']}, load {here['load']}.")
    return 0


def _on_dynoxide(way: str, orders: int) -> Move:
    with running("dynoxide", {}) as (process, port):
        wait_for(port, process)
        return _move(way, orders, f"http://127.0.0.1:{port}")


def _on_file(orders: int) -> Move:
    with TemporaryDirectory(prefix="prejoin-bench-") as folder:
        return _move("prejoin", orders, str(Path(folder) / "shop.db"))


def _move(way: str, orders: int, place: str) -> Move:
    worker = [sys.executable, str(HERE / "worker.py"), way, str(orders), place]
    ran = subprocess.run(worker, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    measured = json.loads(ran.stdout)
    return Move(orders, tuple(StepCost(**step) for step in measured["steps"]), measured["memory"])


def _compared(moves: dict[str, Move]) -> str:
    script = moves["a script with boto3, on dynoxide"]
    rows = []
    for number, name in enumerate(_STEPS):
        of_script = script.steps[number]
        for way, move in moves.items():
            step = move.steps[number]
            cells = (
                f"{move.orders / step.seconds:,.0f}",
                f"{step.cpu / move.orders * 1e6:,.0f} µs",
                times(of_script.seconds / step.seconds),
                times(of_script.cpu / step.cpu),
            )
            rows.append((f"{name}: {way}", *cells))
    titles = (f"{script.orders:,} items", "Items a second", "CPU an item", "Times faster", "Times less CPU")
    return table(titles, rows)


def _grown(moves: list[Move]) -> str:
    rows = [
        (
            f"{move.orders:,}",
            f"{move.memory / 1e6:,.0f} MB",
            *(f"{move.orders / step.seconds:,.0f}" for step in move.steps),
        )
        for move in moves
    ]
    return table(("Items, on a file of the engine", "Peak memory", "Backfill, a second", "Clean, a second"), rows)
