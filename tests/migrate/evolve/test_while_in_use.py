"""A table evolves while the application runs: every version of the code gets correct results at every moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prejoin import Client, Embedded, NotFound
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from prejoin.patterns.integrity.audit import audit
from prejoin.table.schema.pattern import STATE_TAG
from tests.migrate.evolve.application import Application, Interleaved, Killed
from tests.migrate.evolve.shop import copied, few, many, moved

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CHANGES = {
    "add indexes and a guard": (few, many),
    "remove indexes and a guard": (many, few),
    "an index becomes a copy": (many, copied),
    "a copy becomes an index": (copied, many),
    "another key": (few, moved),
    "the first key again": (moved, few),
}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("change", CHANGES)
def test_no_version_misses_an_item_while_the_table_changes(change: str, seed: int, tmp_path: Path) -> None:
    begin, end = CHANGES[change]
    found = plan_transition(begin("OLD"), end("NEW"))
    application = Application(Embedded(), seed)
    worker = Worker(application, tmp_path)

    result = evolve(found, application, worker)

    assert worker.kills > 0
    assert application.checked > 300
    assert result.undecided == []
    client = Client(found.new.package.schema, "shop", application.engine)
    assert list(audit(client)) == []
    assert client.drift() == []
    # Attributes that NEW does not have stay; keys do not.
    assert _attributes(client) <= _attributes_of(found.new) | {"language"}


@pytest.mark.slow
@pytest.mark.everyday(1)
@pytest.mark.parametrize("change", ["add indexes and a guard", "another key", "an index becomes a copy"])
def test_without_backfill_the_application_misses_items(change: str, tmp_path: Path) -> None:
    begin, end = CHANGES[change]
    application = Application(Embedded(), 1)
    with pytest.raises((AssertionError, NotFound), match=r"AP-00|is not there|there is no"):
        evolve(plan_transition(begin("OLD"), end("NEW")), application, Worker(application, tmp_path), backfill=False)


@pytest.mark.everyday(1)
@pytest.mark.parametrize("change", ["another key", "remove indexes and a guard", "an index becomes a copy"])
def test_without_the_switch_the_application_misses_items(change: str, tmp_path: Path) -> None:
    begin, end = CHANGES[change]
    application = Application(Embedded(), 1)
    found = replace(plan_transition(begin("OLD"), end("NEW")), needs_switch=False)
    with pytest.raises((AssertionError, NotFound), match=r"AP-00|there is no"):
        evolve(found, application, Worker(application, tmp_path))


def test_repeated_step_finds_what_was_written_since(tmp_path: Path) -> None:
    """A forgotten instance of OLD still writes after the step."""
    engine = Embedded()
    for begin, end, step, done in (
        (few, many, Evolution.backfill, lambda names: "language" in names),
        (many, few, Evolution.clean, lambda names: "gsi2pk" not in names),
    ):
        found = plan_transition(begin("OLD"), end("NEW"))
        client = Client(found.old.package.schema, "shop", engine)
        if step is Evolution.backfill:
            client.create_table()
            with evolution_of(found, client, state=tmp_path) as evolution:
                evolution.add_indexes()
        elif found.needs_prepare:
            with evolution_of(found, client, state=tmp_path) as evolution:
                evolution.backfill()
        for number in range(2):
            user = {"userId": f"u{number}", "email": f"{number}@x.org", "name": "Ann"}
            order = {"orderId": f"o{number}", "userId": "u", "placedAt": NOON, "status": "OPEN", "total": 1}
            client.put(found.old.package.record("User", user), read=True)
            client.put(found.old.package.record("Order", order), read=True)
            with evolution_of(found, client, state=tmp_path) as evolution:
                step(evolution)
            stored = client.call("Scan")["Items"]
            kind = "User" if step is Evolution.backfill else "Order"
            assert all(done(item) for item in stored if item["entityType"]["S"] == kind), stored
        if step is Evolution.backfill:
            with evolution_of(found, client, state=tmp_path) as evolution:
                evolution.clean()


def evolve(found: Transition, application: Application, worker: Worker, backfill: bool = True) -> StepResult:
    """Runs all steps while the application runs, with deployments during which two versions run."""
    Client(found.old.package.schema, "shop", application.engine).create_table()
    application.run(found.old)
    for _ in range(40):
        application.act()
    worker.run(found, Evolution.add_indexes)
    running = found.old
    for version in found.versions:
        application.run(running, version)
        for _ in range(15):
            application.act()
        application.run(version)
        if version is found.prepare and backfill:
            worker.run(found, Evolution.backfill)
        running = version
    return worker.run(found, Evolution.clean)


def _attributes(client: Client) -> set[str]:
    """The attributes of all items but the one that holds the state of the table."""
    items = [item for item in client.call("Scan")["Items"] if item["entityType"]["S"] != STATE_TAG]
    return {name for item in items for name in item}


def _attributes_of(version: CodeVersion) -> set[str]:
    schema = version.package.schema
    names = {one.wire for entity in schema.entities for one in entity.codec.attributes.values()}
    keys = {name for slot in ("table", *schema.indexes) for name in schema.keys(slot).names}
    return {*names, *keys, schema.type_attribute, "owner"}


class Worker:
    """Runs steps of an evolution, and repeats each after a kill."""

    def __init__(self, application: Application, folder: Path) -> None:
        self.application = application
        self.folder = folder
        self.kills = 0

    def run(self, found: Transition, step: Callable[[Evolution], StepResult]) -> StepResult:
        while True:
            # Each run gets longer, so that the step ends.
            transport = Interleaved(self.application, 0.05 / (1 + self.kills / 4))
            try:
                client = Client(found.old.package.schema, "shop", transport)
                with evolution_of(found, client, state=self.folder) as evolution:
                    return step(evolution)
            except Killed:
                self.kills += 1
