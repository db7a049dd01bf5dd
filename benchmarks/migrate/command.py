"""The command: runs loads of growing size, each in its own process, and writes the results into the README."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.wide.databases import postgres_server

from common.tables import table, times, write_into
from engine.machine import machine
from engine.servers import running, wait_for
from migrate.lag import RATE
from migrate.source import fill, project
from prejoin import Client, Credentials, Endpoint, open_migration

HERE = Path(__file__).resolve().parent
ROWS = 100_000
GROWING = (10_000, 100_000, 1_000_000)
_SHOP = "shop"
_LOOP = "SQLAlchemy and boto3, into dynoxide"
_INTO_DYNOXIDE = {
    "prejoin, into dynoxide": "prejoin",
    "the same requests as bytes, into dynoxide": "raw",
    _LOOP: "boto3",
}


@dataclass(frozen=True)
class Load:
    """One load: rows, time, CPU time of the loading process and of the server, memory."""

    rows: int
    seconds: float
    cpu: float
    memory: int
    server: float = 0.0

    @property
    def rate(self) -> float:
        return self.rows / self.seconds


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/migrate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look with few rows; nothing is written")
    quick = parser.parse_args(arguments).quick
    rows, growing = (10_000, (1_000, 10_000)) if quick else (ROWS, GROWING)
    with postgres_server() as source, TemporaryDirectory(prefix="prejoin-bench-") as folder:
        url = source.url.replace("+psycopg", "")
        fill(source.url, 1000)
        project(url, Path(folder))
        fill(source.url, rows)
        loads = {"prejoin, into a file of the engine": _load("prejoin", Path(folder), url)}
        for name, way in _INTO_DYNOXIDE.items():
            with _dynoxide(Path(folder), url) as (process, endpoint):
                loads[name] = _load(way, Path(folder), url, endpoint, process)
        sizes = {}
        for size in growing:
            fill(source.url, size)
            sizes[size] = _load("prejoin", Path(folder), url)
        seconds = 3 if quick else 30
        fill(source.url, RATE * seconds * 2)
        lag = _lag(Path(folder), url, seconds)
    results = f"{_report(rows, loads, sizes)}\n\n{lag}"
    print(results)
    if not quick:
        here = machine()
        write_into(HERE / "README.md", f"{results}\n\n{here['cores']} cores, {here['system']}, load {here['load']}.")
    return 0


@contextmanager
def _dynoxide(folder: Path, url: str) -> Iterator[tuple[int, str]]:
    """Starts dynoxide with the table, and returns its process and its URL."""
    with running("dynoxide", {}) as (process, port):
        wait_for(port, process)
        endpoint = f"http://127.0.0.1:{port}"
        with open_migration(folder / "access-patterns.md", folder / "mapping.toml", url) as migration:
            place = Endpoint(endpoint, credentials=Credentials("local", "local"))
            with Client(migration.package.schema, _SHOP, place) as client:
                client.create_table()
        yield process.pid, endpoint


def _load(way: str, folder: Path, url: str, endpoint: str = "", server: int = 0) -> Load:
    for file in folder.glob("target.db*"):
        file.unlink()
    before = _cpu(server) if server else 0.0
    worker = [sys.executable, str(HERE / "worker.py"), way, str(folder), url, endpoint]
    environment = os.environ | {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    ran = subprocess.run(worker, capture_output=True, text=True, check=False, env=environment)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return Load(**json.loads(ran.stdout), server=_cpu(server) - before if server else 0.0)


def _lag(folder: Path, url: str, seconds: int) -> str:
    follower = [sys.executable, str(HERE / "lag.py"), str(folder), url, str(seconds)]
    ran = subprocess.run(follower, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    found = json.loads(ran.stdout)
    lags = sorted(found["lags"])
    cells = [f"{lags[len(lags) * part // 100] * 1000:,.0f} ms" for part in (50, 99)]
    cells += [f"{len(lags):,} of {found['changes']:,}", f"{found['cpu'] / len(lags) * 1e6:,.0f} µs"]
    return table(
        (f"{RATE:,} changes a second", "Median lag", "99th percentile", "Followed", "CPU a change"),
        [(f"{seconds} seconds, into a file of the engine", *cells)],
    )


def _cpu(process: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _report(rows: int, loads: dict[str, Load], sizes: dict[int, Load]) -> str:
    loop = loads[_LOOP]
    compared = [
        (
            name,
            f"{one.rate:,.0f}",
            f"{one.cpu / one.rows * 1e6:,.0f} µs",
            times(loop.seconds / one.seconds),
            times(loop.cpu / one.cpu),
            times((loop.cpu + loop.server) / (one.cpu + one.server)),
        )
        for name, one in loads.items()
    ]
    titles = (f"{rows:,} rows", "Rows a second", "CPU a row", "Times faster", "Times less CPU", "… with the server's")
    grown = [(f"{size:,}", f"{one.memory / 1e6:,.0f} MB", f"{one.rate:,.0f}") for size, one in sizes.items()]
    return "\n\n".join([table(titles, compared), table(("Rows", "Peak memory", "Rows a second"), grown)])
