"""Guarantees for patterns: writes on the same item are merged into one action."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.place import fresh

from prejoin import Call, Changes, Client, Entity, Key, NotFound, Schema, TableError, Transaction, TransactionCancelled
from prejoin.table.condition.record import Compare
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.write.model import Write


@dataclass(frozen=True)
class Team:
    team_id: str
    name: str = ""
    members: int = 0
    open: bool = True


@dataclass(frozen=True)
class Member:
    team_id: str
    member_id: str
    weight: int = 1


class Members(Pattern):
    """Counts members in their team, which must exist and be open."""

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        return Joining()


class Joining(BoundPattern):
    label = "the number of members"

    def depends(self, write: Write) -> Iterable[str]:
        return ("weight",) if write.verb in ("delete", "put", "upsert") else ()

    def also(self, schema: Schema, write: Write) -> Iterable[Write]:
        team, key = schema.entity(Team), {"team_id": write.values["team_id"]}
        match write.verb:
            case "insert":
                yield Write("check", team, key)
                yield Write("update", team, key, changes=Changes(adds={"members": write.values["weight"]}))
            case "delete":
                yield Write("update", team, key, changes=Changes(adds={"members": -write.before["weight"]}))
            case "update":
                yield Write("check", team, key, where=Compare(("open",), "=", True))


SCHEMA = Schema(
    Entity(Team, Key("TEAM#{team_id}", "TEAM")),
    Entity(Member, Key("TEAM#{team_id}", "MEMBER#{member_id}"), patterns=[Members()]),
)


class Table:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.db = Client(SCHEMA, "shop", fresh(), observe=self.calls.append)
        self.db.create_table()
        self.db.insert(Team("1"))

    @property
    def kinds(self) -> list[str]:
        return [kind for action in self.calls[-1].request["TransactItems"] for kind in action]

    @property
    def team(self) -> Team | None:
        return self.db.get(Team, team_id="1", consistent=True)


@pytest.fixture
def table() -> Table:
    return Table()


def test_a_check_and_an_update_of_one_item_are_one_action(table: Table) -> None:
    table.db.insert(Member("1", "a"))
    assert table.kinds == ["Put", "Update"]
    assert table.team == Team("1", members=1)
    with pytest.raises(NotFound, match="there is no Team team_id='2'"):
        table.db.insert(Member("2", "a"))
    assert table.db.get(Member, team_id="2", member_id="a") is None


def test_amounts_of_several_writes_are_added_up(table: Table) -> None:
    table.db.insert(Member("1", "z", 10))
    with table.db.transaction() as tx:
        for number in range(5):
            tx.insert(Member("1", str(number), number))
        tx.delete(Member, team_id="1", member_id="z", weight=10)
    assert table.kinds == ["Put"] * 5 + ["Delete", "Update"]
    assert table.team == Team("1", members=10)


def test_write_of_the_caller_is_merged_with_that_of_a_pattern(table: Table) -> None:
    def change(tx: Transaction) -> None:
        tx.apply(Team, Changes({"name": "x"}), team_id="1")

    def add(tx: Transaction) -> None:
        tx.apply(Team, Changes({}, {"members": 5}), team_id="1")

    def read(tx: Transaction) -> None:
        tx.apply(Team, Changes({"name": "y"}), team_id="1", read=True)

    def put(tx: Transaction) -> None:
        tx.put(Team("1", "z", 40))

    def check(tx: Transaction) -> None:
        tx.check(Team, team_id="1", open=True)

    for number, also in enumerate((change, add, read, put, check)):
        with table.db.transaction() as tx:
            also(tx)
            tx.insert(Member("1", str(number)))
        assert len(table.kinds) == 2
    assert table.team == Team("1", "z", 42)
    with table.db.transaction() as tx:
        tx.insert(Member("2", "a"))
        tx.insert(Team("2"))
    assert table.db.get(Team, team_id="2") == Team("2", members=1)
    with table.db.transaction() as tx:
        tx.insert(Member("3", "a"))
        tx.apply(Team, Changes({"name": "new"}), team_id="3", upsert=True)
    assert table.db.get(Team, team_id="3") == Team("3", "new", 1)


def test_writes_that_cannot_be_merged_are_refused_before_sending(table: Table) -> None:
    sent = len(table.calls)
    for also, message in (
        (lambda tx: tx.delete(Team, team_id="1"), "cannot both delete Team team_id='1' and check it for Member"),
        (lambda tx: tx.apply(Team, Changes({"members": 0}), team_id="1"), "is changed twice"),
    ):
        with pytest.raises(TableError, match=message), table.db.transaction() as tx:
            also(tx)
            tx.insert(Member("1", "a"))
    with pytest.raises(TableError, match=r"cannot both put .* and check it for Member"), table.db.transaction() as tx:
        tx.put(Team("1"))
        tx.apply(Member, Changes({"weight": 2}), team_id="1", member_id="a")
    assert len(table.calls) == sent


def test_failure_names_the_write_that_caused_it(table: Table) -> None:
    table.db.insert(Member("1", "a"))
    with pytest.raises(TransactionCancelled) as cancelled, table.db.transaction() as tx:
        tx.insert(Team("2"))
        tx.insert(Member("3", "a"))
    (failure,) = cancelled.value.failures
    assert failure.position == 1
    assert str(failure) == "there is no Team team_id='3'"
    table.db.put(Team("1", open=False))
    with pytest.raises(TableError, match="Team team_id='1' does not fulfil the condition of this check"):
        table.db.apply(Member, Changes({"weight": 2}), team_id="1", member_id="a")


def test_bulk_write_that_needs_the_old_item_raises_the_same_error(table: Table) -> None:
    with pytest.raises(TableError, match="needs the current value of weight, because the number of members"):
        table.db.delete(Member, team_id="1", member_id="a")
    with pytest.raises(TableError, match="may change weight, and the number of members"):
        table.db.put(Member("1", "a"))
    with pytest.raises(TableError, match="changes the number of members, which depends on the stored item"):
        table.db.apply(Member, Changes({"weight": 2}), team_id="1", member_id="a", upsert=True)
    table.db.insert(Member("1", "a", 3))
    table.db.delete(Member, team_id="1", member_id="a", read=True)
    assert table.team == Team("1", members=0)
