"""Items that no change expects: each is reported with its key and stays as it is, or is carried over."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, Embedded, RefusedError
from prejoin.migrate.evolve.items import StepResult, evolution_of
from prejoin.migrate.evolve.transition import Transition, plan_transition
from prejoin.migrate.evolve.twins import Pair, PairKind, pair_kinds
from prejoin.table.schema.pattern import STATE_KEY
from tests.migrate.evolve.shop import few, moved

KEY = {"pk": {"S": "ORDER#o1"}, "sk": {"S": "ORDER"}}
ORDER = {"orderId": "o1", "userId": "u", "placedAt": datetime(2026, 1, 1, tzinfo=UTC), "status": "OPEN", "total": 1}


class Table:
    """A table with one order, between two designs."""

    def __init__(self, folder: Path) -> None:
        self.transition: Transition = plan_transition(few("old"), moved("new"))
        self.folder = folder
        self.client = Client(self.transition.old.package.schema, "shop", Embedded())
        self.client.create_table()
        self.client.insert(self.transition.old.package.record("Order", ORDER))

    def run(self, *steps: str) -> StepResult:
        for step in steps:
            with evolution_of(self.transition, self.client, self.folder) as evolution:
                result: StepResult = getattr(evolution, step)()
        return result

    def orders(self) -> list[dict[str, Any]]:
        return [item for item in self.client.call("Scan")["Items"] if "orderId" in item]

    def replace(self, **attributes: Any) -> dict[str, Any]:
        item = {**self.client.call("GetItem", {"Key": KEY})["Item"], **attributes}
        self.client.call("PutItem", {"Item": item})
        return item


def test_item_whose_key_does_not_match_its_attributes(tmp_path: Path) -> None:
    table = Table(tmp_path)
    item = table.replace(orderId={"S": "O1"})
    result = table.run("add_indexes", "backfill")
    assert "misplaced" in {finding.kind for finding in result.undecided}
    assert table.orders() == [item]


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({f"a{number}": {"N": "1"} for number in range(130)}, "too many for one condition"),
        ({"legacy": {"S": "x" * 409_400}}, "cannot be written with its mark"),
    ],
)
def test_item_that_cannot_be_compared_or_marked(attributes: dict[str, Any], said: str, tmp_path: Path) -> None:
    table = Table(tmp_path)
    item = table.replace(**attributes)
    result = table.run("add_indexes", "backfill")
    (finding,) = result.undecided
    assert (finding.kind, said in finding.detail) == ("unfit", True)
    assert table.orders() == [item]


def test_record_is_lost_while_clean_deletes(tmp_path: Path) -> None:
    """The proof is in the items: an item whose twin `clean` has deleted is never deleted."""
    table = Table(tmp_path)
    table.run("add_indexes", "backfill")
    with evolution_of(table.transition, table.client, tmp_path) as evolution:
        evolution.change.is_cleaning = True
        evolution._end_pairs()
    table.client.call("DeleteItem", {"Key": {"pk": {"S": STATE_KEY[0]}, "sk": {"S": STATE_KEY[1]}}})
    # The table seems to be exchanged now. With an item of the old design it does not.
    table.client.add_indexes()
    table.client.insert(table.transition.old.package.record("Order", {**ORDER, "orderId": "o2"}))
    result = table.run("backfill", "clean")
    assert result.undecided == []
    order = next(item for item in table.orders() if item["orderId"] == {"S": "o1"})
    assert (order["entityType"], order["total"]) == ({"S": "Order2"}, {"N": "1"})


def test_pair_of_which_one_was_renewed_is_not_expired() -> None:
    past, future = {"N": str(int(time.time()) - 9)}, {"N": str(int(time.time()) + 999)}
    (kind,) = pair_kinds(plan_transition(few("old"), moved("new")))

    class WithTimeToLive:
        ttl = "expiresAt"

    kind = PairKind(kind.change, WithTimeToLive(), kind.coming_schema, kind.leaving, kind.coming)  # type: ignore[arg-type]
    assert Pair(kind, {"expiresAt": past}, None).is_expired
    assert Pair(kind, {"expiresAt": past}, {"expiresAt": past}).is_expired
    assert not Pair(kind, {"expiresAt": future}, {"expiresAt": past}).is_expired
    assert not Pair(kind, {"expiresAt": past}, {"expiresAt": future}).is_expired


def test_item_of_another_program_where_the_state_is_kept(tmp_path: Path) -> None:
    table = Table(tmp_path)
    other = {"pk": {"S": STATE_KEY[0]}, "sk": {"S": STATE_KEY[1]}, "text": {"S": "mine"}}
    table.client.call("PutItem", {"Item": other})
    with pytest.raises(RefusedError, match="an item of another program"):
        table.run("add_indexes")
    assert other in table.client.call("Scan")["Items"]
