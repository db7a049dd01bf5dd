"""Attributes that no class has, written by other programs, are carried over with the item of a moved entity."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, Embedded
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import StepResult, evolution_of
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from tests.migrate.evolve.shop import few, moved

WRITERS = ["prepare", *(pytest.param(name, marks=pytest.mark.slow) for name in ("nobody", "old", "switch", "new"))]
ORDER = {
    "orderId": "o1",
    "userId": "u",
    "placedAt": datetime(2026, 1, 1, tzinfo=UTC),
    "status": "OPEN",
    "total": 1,
}
_OLD_KEY = {"pk": {"S": "ORDER#o1"}, "sk": {"S": "ORDER"}}
_NEW_KEY = {"pk": {"S": "O#o1"}, "sk": {"S": "O"}}


class Change:
    """A table with one order between two designs."""

    def __init__(self, folder: Path) -> None:
        self.engine = Embedded()
        self.folder = folder
        self.forward = plan_transition(few("old"), moved("new"))
        Client(self.forward.old.package.schema, "shop", self.engine).create_table()
        self.client(self.forward.old).insert(self.forward.old.package.record("Order", ORDER))

    def client(self, version: CodeVersion) -> Client:
        return Client(version.package.schema, "shop", self.engine)

    def run(self, transition: Transition, *steps: str) -> StepResult:
        for step in steps:
            with evolution_of(transition, self.client(transition.old), self.folder) as evolution:
                result: StepResult = getattr(evolution, step)()
        return result

    def write_as(self, name: str, total: int) -> None:
        """Changes the order with one version of the code."""
        version: CodeVersion = getattr(self.forward, name)
        with self.client(version).update(version.package.classes["Order"], order_id="o1", read=True) as order:
            order.total = total

    def set_foreign(self, key: dict[str, Any], value: str) -> None:
        self.client(self.forward.old).call(
            "UpdateItem",
            {
                "Key": key,
                "UpdateExpression": "SET legacyNote = :value",
                "ExpressionAttributeValues": {":value": {"S": value}},
            },
        )

    def orders(self) -> list[dict[str, Any]]:
        items = self.client(self.forward.old).call("Scan")["Items"]
        return [item for item in items if "orderId" in item]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("goes_back", [False, True])
@pytest.mark.parametrize("writer", WRITERS)
def test_foreign_attribute_is_kept(when: str, goes_back: bool, writer: str, tmp_path: Path) -> None:
    change = Change(tmp_path)
    if when == "before":
        change.set_foreign(_OLD_KEY, "precious")
    change.run(change.forward, "add_indexes", "backfill")
    if when == "after":
        # Code that knows both designs replaces the item that it does not read.
        change.set_foreign(_NEW_KEY if writer in ("switch", "new") else _OLD_KEY, "precious")
    if writer != "nobody":
        change.write_as(writer, 7)
    direction = change.forward
    if goes_back:
        back = abort_on(change.client(change.forward.old), change.forward, tmp_path)
        assert back is not None
        direction = back
    result = change.run(direction, "add_indexes", "backfill", "clean")
    assert result.undecided == []
    (order,) = change.orders()
    assert order["legacyNote"] == {"S": "precious"}
    assert order["total"] == {"N": "1" if writer == "nobody" else "7"}
    assert order["entityType"] == {"S": "Order" if goes_back else "Order2"}


def test_different_values_under_both_keys_are_reported(tmp_path: Path) -> None:
    change = Change(tmp_path)
    change.run(change.forward, "add_indexes", "backfill")
    change.set_foreign(_OLD_KEY, "one")
    change.set_foreign(_NEW_KEY, "another")
    result = change.run(change.forward, "clean")
    assert [finding.kind for finding in result.undecided] == ["conflict"]
    assert len(change.orders()) == 2
    change.set_foreign(_OLD_KEY, "another")
    assert change.run(change.forward, "clean").undecided == []
    (order,) = change.orders()
    assert order["legacyNote"] == {"S": "another"}
