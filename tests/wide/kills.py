"""Kills loader, follower and database at random points while an application writes; both sides must end equal.

    python -m tests.wide.kills --kills 300 --seed 7        both databases, 300 kills each

Load and follower run in forked processes, which are killed with SIGKILL after a random time. The application is another
process, and continues after each crash of the database.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from tests.migrate.ledger import change, create_ledger, write_project
from tests.wide.databases import mariadb_server, postgres_server

from prejoin import PipelineError, TablePlace, follow_table, load_table, migration_status, open_migration, verify_table
from prejoin.migrate.mapping.rows import EntityRows

PLACE = TablePlace(db="table.db")
_FORK = multiprocessing.get_context("fork")
SERVERS = {"postgresql": postgres_server, "mariadb": mariadb_server}


@dataclass
class Survival:
    """The result of a run."""

    kills: Counter[str] = field(default_factory=Counter)
    """The number of kills of `load`, `follow` and `database`."""
    transactions: int = 0
    """Transactions of the application."""
    differences: tuple[Any, ...] = ()
    dead: int = 0


def survive(server: Any, kills: int, seed: int) -> Survival:
    """Migrates a ledger into the current folder. A third of the kills hit the load, one in eight the database."""
    chance, found = random.Random(seed), Survival()
    engine = sa.create_engine(server.url)
    create_ledger(engine, customers=200)
    engine.dispose()
    write_project(Path.cwd())
    os.environ["PREJOIN_SOURCE"] = server.url.replace("+psycopg", "").replace("+pymysql", "")
    counter, stop = _FORK.Value("i", 0), _FORK.Event()
    application = _FORK.Process(target=_application, args=(server.url, seed, counter, stop))
    application.start()
    try:
        while sum(found.kills.values()) < kills:
            early = sum(found.kills.values()) * 3 < kills
            step = "follow" if _is_loaded() else "load"
            child = _FORK.Process(target=_load if step == "load" else _follow)
            child.start()
            child.join(chance.random() * 1.5 if step == "follow" or early else None)
            if chance.random() < 1 / 8:
                server.kill()
                found.kills["database"] += 1
                server.start()
            if child.is_alive():
                os.kill(child.pid or 0, signal.SIGKILL)
                found.kills[step] += 1
            child.join()
        while not _is_loaded():
            _run(_load)
    finally:
        stop.set()
        application.join()
    found.transactions = counter.value
    _run(_catch_up)
    with open_migration() as migration:
        result = follow_table(migration, PLACE, until_caught_up=True)
        found.dead = result.dead
        found.differences = verify_table(migration, PLACE).differences
    return found


def _is_loaded() -> bool:
    """Whether the load is finished; temporary dead letters do not matter."""
    return "; finished" in migration_status().steps[3].detail


def _run(target: Any) -> None:
    child = _FORK.Process(target=target)
    child.start()
    child.join()


def _application(url: str, seed: int, counter: Any, stop: Any) -> None:
    chance, engine = random.Random(f"application {seed}"), sa.create_engine(url)
    while not stop.is_set():
        try:
            with engine.begin() as db:
                for _ in range(chance.choice([1, 1, 1, 4])):
                    change(db, chance)
            counter.value += 1
        except DBAPIError:
            engine.dispose()
            time.sleep(0.05)


def _child(run: Any) -> None:
    """Runs a step in a forked process without output, because failures of the database are expected."""
    sys.stderr = sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
    with contextlib.suppress(PipelineError), open_migration() as migration:
        run(migration)


def _load() -> None:
    EntityRows.page = property(lambda self: 20, lambda self, value: None)  # type: ignore[assignment] # many pages
    _child(lambda migration: load_table(migration, PLACE, create=True, follow=True))


def _follow() -> None:
    _child(lambda migration: follow_table(migration, PLACE))


def _catch_up() -> None:
    _child(lambda migration: follow_table(migration, PLACE, until_caught_up=True))


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill a migration at random points, and compare both sides.")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", choices=SERVERS)
    options = parser.parse_args()
    failed = False
    for name in [options.only] if options.only else SERVERS:
        with SERVERS[name]() as server, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            found = survive(server, options.kills, options.seed)
        killed = ", ".join(f"{n} {what}" for what, n in sorted(found.kills.items()))
        print(f"{name}, seed {options.seed}: {found.transactions:,} transactions; killed: {killed}; "
              f"{len(found.differences)} differences, {found.dead} dead letters")  # fmt: skip
        for one in found.differences[:10]:
            print(f"  {one}")
        failed = failed or bool(found.differences) or bool(found.dead)
    sys.exit(failed)


if __name__ == "__main__":
    main()
