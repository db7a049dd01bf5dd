"""The guide "Move from PostgreSQL in an afternoon", followed literally, while an application writes."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.wide.databases import postgres_server
from tests.wide.test_migrate import POSTGRES, prepared

pytestmark = pytest.mark.wide
GUIDE = (Path(__file__).parents[2] / "docs/guides/migrate/postgresql.md").read_text(encoding="utf-8")
STEPS = [
    "1. Analyse access patterns",
    "2. Design keys",
    "3. Create the table",
    "4. Migrate",
    "5. Dual-write",
    "6. Validate",
    "7. Switch reads",
    "8. Decommission",
]


@contextmanager
def application(engine: sa.Engine) -> Iterator[None]:
    """An application that repeatedly changes both tables in one transaction."""
    stop = threading.Event()

    def write() -> None:
        for number in itertools.count(int(time.time() * 1000) % 10**9):
            if stop.wait(0.1):
                return
            with engine.begin() as db:
                db.exec_driver_sql("UPDATE customers SET active = NOT active WHERE email = 'Ü1@x.org'")
                db.exec_driver_sql(f"INSERT INTO jobs SELECT id, {number}, 'OPEN', 1, now() FROM customers LIMIT 1")
                db.exec_driver_sql(f"DELETE FROM jobs WHERE number > 1000 AND number < {number - 3}")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def follow(line: str, environment: dict[str, str]) -> str:
    """Runs a command of the guide."""
    program, *arguments = shlex.split(line)
    assert program == "prejoin"
    command = [sys.executable, "-m", "prejoin", *arguments]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, (line, ran.stdout, ran.stderr)
    return ran.stdout


def test_guide_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.findall(r"^## (.+)$", GUIDE, re.MULTILINE) == STEPS
    monkeypatch.chdir(tmp_path)
    with postgres_server() as server:
        source = prepared("postgresql", server.url, POSTGRES)
        environment = dict(os.environ)
        output = ""
        for language, block in re.findall(r"```(sh|sql)\n(.*?)```", GUIDE, re.DOTALL):
            for line in block.strip().splitlines():
                if language == "sql":
                    with source.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
                        db.exec_driver_sql(line)
                elif line.startswith("export PREJOIN_SOURCE="):
                    environment["PREJOIN_SOURCE"] = source.public
                elif " verify " in line or " cutover " in line:  # these want no writes
                    follow("prejoin migrate follow --db shop-table.db --until-caught-up", environment)
                    output = follow(line, environment)
                else:
                    with application(source.engine):
                        output = follow(line, environment)
        assert "done  switch reads" in output
        assert "- [x] removed from the database: the replication slot prejoin_" in Path("cutover-report.md").read_text()
        with source.engine.connect() as db:
            assert db.exec_driver_sql("SELECT count(*) FROM pg_replication_slots").scalar() == 0
            assert db.exec_driver_sql("SELECT count(*) FROM pg_publication").scalar() == 0
        source.engine.dispose()
