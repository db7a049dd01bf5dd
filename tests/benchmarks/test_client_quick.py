"""The client's benchmark runs with prejoin. Its measurements are not asserted, because they depend on the machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from client.items import typed
from client.workload import arguments, batches, create_table, order, population
from prejoin import Call, Client
from prejoin.engine import Embedded
from prejoin.table.admin import table_request as definition

ROOT = Path(__file__).parents[2]


def test_items_and_table_equal_those_of_the_client() -> None:
    from client.clients.prejoin_sync import SCHEMA, Order

    seen: list[Call] = []
    with Embedded() as engine:
        db = Client(SCHEMA, "bench", engine, observe=seen.append)
        db.create_table()
        db.put(Order(*order("u000001", 7)))
    assert seen[-1].request["Item"] == typed(order("u000001", 7))
    assert _by_name(create_table("bench")) == _by_name(definition.create_table(SCHEMA, "bench"))


def test_items_of_all_operations_are_in_the_table() -> None:
    stored = {(one.user, one.number) for one in population()}
    inputs = arguments()
    keys = {*inputs.gets, *inputs.adds, *(key for key, _ in inputs.moves)}
    keys |= {key for _, *used in inputs.transactions for key in used}
    written = [
        *inputs.puts,
        *(put for put, *_ in inputs.transactions),
        *(one for batch in inputs.batches for one in batch),
    ]
    assert keys | {(one.user, one.number) for one in written} <= stored
    assert sum(len(body["RequestItems"]["bench"]) for body in batches("bench")) == len(stored)


@pytest.mark.slow
def test_the_benchmark_compares_ours_on_our_server_and_writes_nothing() -> None:
    page = ROOT / "benchmarks" / "client" / "README.md"
    before = page.read_text(encoding="utf-8")
    command = [sys.executable, "benchmarks/client", "--quick", "--ours", "--server", "serve"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "left out" not in result.stderr
    _, _, ratios = result.stdout.partition("How many times less")
    rows = [cells[1:-1] for line in ratios.splitlines() if len(cells := line.split("|")) > 2]
    ours = {name: [cells for first, *cells in rows if first.strip() == name] for name in ("prejoin", "prejoin, async")}
    assert all(len(tables) == 3 for tables in ours.values())
    for name, tables in ours.items():
        cells = [cell.strip() for row in tables for cell in row]
        missing = 2 if name == "prejoin" else 0  # concurrent gets are measured only for async clients
        assert cells.count("-") == missing
        assert all(re.fullmatch(r"(\*\*)?[\d.e+-]+×(\*\*)?|-", cell) for cell in cells)
    assert page.read_text(encoding="utf-8") == before


def _by_name(request: dict[str, object]) -> dict[str, object]:
    """A request with sorted lists."""

    def sort(value: object) -> object:
        if isinstance(value, dict):
            return {name: sort(inner) for name, inner in value.items()}
        return sorted(map(sort, value), key=json.dumps) if isinstance(value, list) else value

    return {name: sort(value) for name, value in request.items()}
