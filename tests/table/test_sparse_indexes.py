"""Sparse indexes contain exactly the items whose condition holds, after any kind of write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import eq
from typing import Any, Literal

import msgspec
import pytest
from tests.place import fresh
from tests.table.both import Connect, both

from prejoin import (
    Changes,
    Client,
    Entity,
    Index,
    Key,
    NotServed,
    Schema,
    SchemaError,
    TableError,
    UnknownValue,
    When,
    exists,
    one_of,
)


@dataclass(frozen=True)
class Place:
    city: str


@dataclass(frozen=True)
class Parcel:
    parcel_id: str
    status: Literal["NEW", "SENT"] = "NEW"
    place: Place | None = None
    marks: frozenset[str] = frozenset()
    note: str | None = None


SCHEMA = Schema(
    Entity(
        Parcel,
        Key("PARCEL#{parcel_id}", "PARCEL"),
        indexes={
            "gsi1": Key("NEW", "{parcel_id}", when=lambda p: p.status == "NEW"),
            "gsi2": Key("PLACED", "{parcel_id}", when=lambda p: exists(p.place)),
            "gsi3": Key("MARKED", "{parcel_id}", when=lambda p: exists(p.marks)),
            "gsi4": Key("UNPLACED", "{parcel_id}", when=lambda p: eq(p.place, None)),
            "gsi5": Key("UNMARKED", "{parcel_id}", when=[When("marks", absent=True)]),
        },
    ),
    indexes=[Index("gsi1"), Index("gsi2"), Index("gsi3"), Index("gsi4"), Index("gsi5")],
)
FULL = Parcel("1", "NEW", Place("Bonn"), frozenset({"a"}))
BARE = Parcel("1", "SENT")

Way = Callable[[Client, Parcel], Any]


def key(parcel: Parcel) -> dict[str, Any]:
    return {"parcel_id": parcel.parcel_id}


def changed(parcel: Parcel) -> Changes:
    return Changes({"status": parcel.status, "place": parcel.place, "marks": parcel.marks})


WAYS: dict[str, Way] = {
    "put": lambda db, parcel: db.put(parcel),
    "put, read first": lambda db, parcel: db.put(parcel, read=True),
    "put_many": lambda db, parcel: db.put_many([parcel]),
    "update": lambda db, parcel: db.apply(Parcel, changed(parcel), **key(parcel)),
    "update, read first": lambda db, parcel: db.apply(Parcel, changed(parcel), read=True, **key(parcel)),
    "upsert": lambda db, parcel: db.apply(Parcel, changed(parcel), upsert=True, **key(parcel)),
    "upsert, read first": lambda db, parcel: db.apply(Parcel, changed(parcel), upsert=True, read=True, **key(parcel)),
}


def table() -> Client:
    db = Client(SCHEMA, "parcels", fresh())
    db.create_table()
    return db


def items(db: Client) -> Any:
    return msgspec.json.decode(db._transport.send("Scan", b'{"TableName": "parcels"}'))["Items"]


def inserted(parcel: Parcel) -> Any:
    db = table()
    db.insert(parcel)
    return items(db)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("before", "after"), [(FULL, BARE), (BARE, FULL)])
def test_an_item_enters_and_leaves(way: str, before: Parcel, after: Parcel) -> None:
    db = table()
    db.insert(before)
    WAYS[way](db, after)
    assert items(db) == inserted(after)


@pytest.mark.parametrize("way", [way for way in WAYS if "update" not in way])
def test_a_new_item_is_where_it_belongs(way: str) -> None:
    for parcel in (FULL, BARE):
        db = table()
        WAYS[way](db, parcel)
        assert items(db) == inserted(parcel)


def test_nested_change_does_not_affect_an_index() -> None:
    db = table()
    db.insert(FULL)
    db.apply(Parcel, Changes({("place", "city"): "Köln"}), parcel_id="1")
    assert items(db) == inserted(replace(FULL, place=Place("Köln")))


def test_change_of_set_members_in_a_sparse_index_needs_a_read() -> None:
    db = table()
    db.insert(FULL)
    for changes in (Changes(deletes={"marks": {"a"}}), Changes(adds={"marks": {"b"}})):
        with pytest.raises(UnknownValue, match="marks is part of the key of Parcel in gsi3"):
            db.apply(Parcel, changes, parcel_id="1")
    db.apply(Parcel, Changes(deletes={"marks": {"a"}}), parcel_id="1", read=True)
    assert items(db) == inserted(replace(FULL, marks=frozenset()))
    db.apply(Parcel, Changes(adds={"marks": {"b"}}), parcel_id="1", read=True)
    assert items(db) == inserted(replace(FULL, marks=frozenset({"b"})))


def test_leaving_an_index_needs_nothing_but_the_reason() -> None:
    @dataclass
    class Task:
        task_id: str
        project: str
        status: str

    schema = Schema(
        Entity(
            Task,
            Key("TASK#{task_id}", "TASK"),
            indexes={"gsi1": Key("OPEN#{project}", "TASK#{task_id}", when=lambda t: t.status == "OPEN")},
        ),
        indexes=[Index("gsi1")],
    )
    db = Client(schema, "tasks", fresh())
    db.create_table()
    db.insert(Task("1", "house", "OPEN"))
    with db.update(Task, task_id="1") as task:
        task.status = "DONE"
    assert db.query(Task, project="house", status="OPEN").items == ()
    with pytest.raises(UnknownValue), db.update(Task, task_id="1") as task:
        task.status = "OPEN"


@dataclass
class Ticket:
    ticket_id: str
    team: str
    status: Literal["OPEN", "WAITING", "DONE"] = "OPEN"
    assignee: str | None = None
    deleted: str | None = None


TICKETS = Schema(
    Entity(
        Ticket,
        Key("TICKET#{ticket_id}", "TICKET"),
        indexes={
            "gsi1": Key("TEAM#{team}#FREE", "{ticket_id}", when=lambda t: eq(t.assignee, None)),
            "gsi2": Key("TEAM#{team}#DELETED", "{ticket_id}", when=lambda t: exists(t.deleted)),
            "gsi3": Key("TEAM#{team}#OPEN", "{ticket_id}", when=lambda t: one_of(t.status, ["OPEN", "WAITING"])),
        },
    ),
    indexes=[Index("gsi1"), Index("gsi2"), Index("gsi3")],
)


def tickets(connect: Connect) -> Client:
    db = connect(TICKETS)
    ours = [Ticket("1", "a"), Ticket("2", "a", "WAITING", "ann"), Ticket("3", "a", "DONE", None, "today")]
    db.put_many([*ours, Ticket("4", "b")])
    return db


@both
def test_query_is_answered_by_membership_alone(connect: Connect) -> None:
    db = tickets(connect)

    def found(where: Callable[[Ticket], Any]) -> list[str]:
        return [one.ticket_id for one in db.query(Ticket, where, team="a")]

    assert found(lambda t: eq(t.assignee, None)) == ["1", "3"]
    assert found(lambda t: exists(t.deleted)) == ["3"]
    assert found(lambda t: one_of(t.status, ["OPEN", "WAITING"])) == ["1", "2"]
    assert db.count(Ticket, lambda t: eq(t.assignee, None), team="a") == 2
    page = db.query(Ticket, lambda t: eq(t.assignee, None), team="a", limit=1)
    after = db.query(Ticket, lambda t: eq(t.assignee, None), team="a", limit=1, after=page.cursor)
    assert [one.ticket_id for one in (*page, *after)] == ["1", "3"]


@both
def test_condition_that_is_not_the_index_itself_is_refused(connect: Connect) -> None:
    db = tickets(connect)

    with pytest.raises(NotServed, match="status = OPEN would be left to a filter"):
        db.query(Ticket, lambda t: one_of(t.status, ["OPEN"]), team="a")
    with pytest.raises(NotServed):
        db.query(Ticket, lambda t: exists(t.assignee), team="a")
    with pytest.raises(TableError, match=r"no key can test that team = a or b.*filter="):
        db.query(Ticket, lambda t: one_of(t.team, ["a", "b"]), status="OPEN")


@both
def test_an_item_enters_and_leaves_with_its_attribute(connect: Connect) -> None:
    db = tickets(connect)

    def free() -> list[str]:
        return [one.ticket_id for one in db.query(Ticket, lambda t: eq(t.assignee, None), team="a")]

    with db.update(Ticket, ticket_id="1") as ticket:  # no other values are needed
        ticket.assignee = "bob"
    assert free() == ["3"]
    with pytest.raises(UnknownValue), db.update(Ticket, ticket_id="1") as ticket:
        ticket.assignee = None
    with db.update(Ticket, ticket_id="1", read=True) as ticket:
        ticket.assignee = None
    assert free() == ["1", "3"]
    with db.transaction() as tx:
        with tx.update(Ticket, ticket_id="3") as ticket:
            ticket.assignee = "ann"
        tx.insert(Ticket("5", "a"))
    assert free() == ["1", "5"]


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (Key("TEAM#{team}", "{ticket_id}", when=lambda t: eq(t.team, None)), "team is part of the key"),
        (Key("T#{ticket_id}", "{team}", when=lambda t: eq(t.status, None)), "status is never absent"),
        (Key("A#{assignee}", "{team}", when=lambda t: eq(t.assignee, None)), "assignee is part of the key"),
    ],
)
def test_index_that_nothing_would_be_in_is_refused(key: Key, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        Schema(Entity(Ticket, Key("T#{ticket_id}", "T"), indexes={"gsi1": key}), indexes=[Index("gsi1")])
