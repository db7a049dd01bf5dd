"""The commands of the guide, followed literally: a new index by the first block, and the way back by its section."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin, Ran, prejoin  # noqa: F401 - a fixture
from tests.migrate.evolve.shop import NEW, OLD

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "migrate" / "evolve.md"
pytestmark = pytest.mark.slow

APPLICATION = """
import sys
from datetime import UTC, datetime, timedelta
from prejoin import Client, Embedded
from shop.entities import Order, User
from shop.repository import ShopRepository
from shop.schema import SCHEMA

what, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
placed_at = datetime(2026, 1, 1, tzinfo=UTC)
with Embedded("shop.db") as engine:
    client = Client(SCHEMA, "shop", engine)
    shop = ShopRepository(client)
    if what == "create":
        client.create_table()
    for number in range(first, last):
        if what == "read":
            order = shop.get_order(order_id=f"o{number}")
            assert order is not None and order.total == -number, (number, order)
            continue
        shop.register(User(user_id=f"u{number}", email=f"{number}@x.org", name="N"))
        at = placed_at + timedelta(seconds=number)
        shop.place_order(Order(order_id=f"o{number}", user_id="u1", placed_at=at, status="OPEN", total=number))
        shop.change_total(order_id=f"o{number}", total=-number)
    if what == "read":
        assert len(list(shop.orders_of_user(user_id="u1"))) == last
        if hasattr(shop, "orders_with_status"):
            assert len(list(shop.orders_with_status(status="OPEN"))) == last
"""


def guide_lines(section: str = "") -> list[str]:
    """The first block of the guide, or of a section: commands with their comments, and deployments."""
    text = GUIDE.read_text(encoding="utf-8")
    block = text[text.index(section) :].split("```")[1]
    return [line for line in block.splitlines() if line.strip()]


def command_of(line: str) -> list[str]:
    """The words of a command, without its comment."""
    text = re.split(r" {2,}\d\. ", line)[0]
    return shlex.split(text)[1:] if text.startswith("prejoin ") else []


def deployed(folder: Path, line: str) -> Path:
    """The package that a line of the guide says to deploy."""
    (name,) = re.findall(r"deploy (\S+) everywhere", line)
    if name == "NEW":
        return next(folder.glob("steps/*-NEW"))
    return folder / name


def run_code(package: Path, folder: Path, what: str, first: int, last: int) -> None:
    """Runs an application with a generated package, in its own process."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-c", APPLICATION, what, str(first), str(last)]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prejoin: Prejoin) -> Path:  # noqa: F811
    """The project `old`, with a table that has items, and the document of `new`."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("old", OLD), ("new", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "access-patterns.md").write_text(text, encoding="utf-8")
    built = prejoin("build", "old/access-patterns.md", "--yes")
    assert built.status == 0, built.err
    run_code(tmp_path / "old", tmp_path, "create", 0, 10)
    return tmp_path


def test_first_block(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    number, running = 10, folder / "old"
    last: Ran | None = None
    for line in guide_lines():
        if words := command_of(line):
            last = prejoin(*words)
            assert last.status == 0, (line, last.err)
        else:
            running = deployed(folder, line)
        run_code(running, folder, "write", number, number + 3)
        number += 3
    assert last is not None
    assert "`new` is the design of the table now" in last.err
    run_code(running, folder, "read", 0, number)


@pytest.mark.parametrize("steps", range(2, 6))
def test_way_back_from_each_step(folder: Path, prejoin: Prejoin, steps: int) -> None:  # noqa: F811
    number, running = 10, folder / "old"
    for line in guide_lines()[: steps + 1]:
        if words := command_of(line):
            assert prejoin(*words).status == 0
        else:
            running = deployed(folder, line)
        run_code(running, folder, "write", number, number + 3)
        number += 3
    abort, plan, *work = map(command_of, guide_lines("## Back"))
    aborted = prejoin(*abort)
    assert aborted.status == 0, aborted.err
    planned = prejoin(*plan, "--format", "json")
    assert planned.status == 0, planned.err
    commands = {words[1]: words for words in work}
    done: set[str] = set()
    for position, step in enumerate(planned.json["result"]["steps"], 1):
        kind = {"index": "indexes", "remove": "clean"}.get(step["kind"], step["kind"])
        if kind == "deploy":
            running = next((folder / "back").glob(f"{position}-*"))
        elif kind not in done:
            done.add(kind)
            ran = prejoin(*commands[kind])
            assert ran.status == 0, (step, ran.err)
        run_code(running, folder, "write", number, number + 3)
        number += 3
    assert (running / "shop" / "schema.py").read_text(encoding="utf-8").count("STATUS") == 0
    run_code(running, folder, "read", 0, number)
    assert "taken back" in prejoin("evolve", "log", "old", "--db", "shop.db").out
