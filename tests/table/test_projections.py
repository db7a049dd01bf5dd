"""Classes with some of the attributes, and indexes and copies that contain only these."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

import msgspec
import pytest
from tests.table.both import Connect, Watched, both

from prejoin import Copy, Entity, Index, Key, NotServed, Schema, SchemaError, TableError, UnknownAttribute

T = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Status(Enum):
    OPEN = "OPEN"
    DONE = "DONE"


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str
    placed_at: datetime
    status: Status
    total: int
    note: str = ""
    email: str | None = None


@dataclass(frozen=True)
class Line:
    order_id: str
    total: int


class Totals(msgspec.Struct, frozen=True):
    total: int
    note: str = "?"


@dataclass(frozen=True)
class Found:
    status: Status
    placed_at: datetime
    order_id: str


@dataclass(frozen=True)
class Owned:
    user_id: str
    order_id: str
    total: int


@dataclass(frozen=True)
class Keyed:
    user_id: str
    order_id: str


@dataclass(frozen=True)
class Mailed:
    email: str


SCHEMA = Schema(
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{order_id}"),
        indexes={
            "keys": Key("STATUS#{status}", "{placed_at}#{order_id}"),
            "some": Key("DAY#{placed_at:day}", "{placed_at}#{order_id}"),
            "noted": Key("NOTE#{note}#{total:shard(2)}"),
        },
        patterns=[Copy("cheap", Key("TOTAL#{total}", "{order_id}"), attributes=["note"])],
        names={"total": "amount"},
    ),
    indexes=[
        Index("keys", projection="KEYS_ONLY"),
        Index("some", projection=["amount", "user_id", "order_id"]),
        Index("noted", projection="KEYS_ONLY"),
        Index("mail", pk="email", projection="KEYS_ONLY"),
    ],
)
ORDERS = [
    Order("1", "a", T, Status.OPEN, 3, "quick"),
    Order("1", "b", T + timedelta(hours=1), Status.DONE, 5, email="a@x.com"),
    Order("2", "c", T + timedelta(hours=2), Status.OPEN, 3),
]


def shop(connect: Connect) -> tuple[Any, Watched]:
    watched = Watched()
    db = connect(SCHEMA, observe=watched)
    for order in ORDERS:
        db.insert(order)
    watched.calls.clear()
    return db, watched


@both
def test_a_class_with_fewer_attributes_is_all_that_is_asked_for(connect: Connect) -> None:
    db, watched = shop(connect)
    assert db.get(Order, user_id="1", order_id="a", into=Line) == Line("a", 3)
    assert db.get(Order, user_id="1", order_id="z", into=Line) is None
    assert list(db.query(Order, user_id="1", into=Totals)) == [Totals(3, "quick"), Totals(5, "")]
    item = watched.calls[0].response["Item"]
    assert set(item) == {"order_id", "amount", "entityType"}, "nothing else was sent"
    assert all("note" in one and "user_id" not in one for one in watched.calls[-1].response["Items"])


@both
@pytest.mark.parametrize("reverse", [False, True])
def test_pages_of_parts_go_on_where_they_ended(connect: Connect, reverse: bool) -> None:
    db, _ = shop(connect)
    first = db.query(Order, user_id="1", into=Line, limit=1, reverse=reverse)
    rest = db.query(Order, user_id="1", into=Line, limit=1, reverse=reverse, after=first.cursor)
    assert [*first, *rest] == [Line("a", 3), Line("b", 5)][:: -1 if reverse else 1]
    filtered = db.query(Order, user_id="1", into=Line, limit=1, filter=lambda o: o.status != Status.OPEN)
    assert list(filtered) == [Line("b", 5)], "a filter may test what is not wanted"


@both
def test_keys_only_index_serves_attributes_of_its_keys(connect: Connect) -> None:
    db, watched = shop(connect)
    found = db.query(Order, status=Status.OPEN, into=Found, order="-placed_at")
    assert list(found) == [Found(one.status, one.placed_at, one.order_id) for one in (ORDERS[2], ORDERS[0])]
    assert watched.calls[-1].index == "keys"
    assert db.get(Order, email="a@x.com", into=Mailed) == Mailed("a@x.com")
    lines = db.query(Order, status=Status.DONE, into=Keyed)
    assert list(lines) == [Keyed("1", "b")], "the key of the table is in every index"
    with pytest.raises(NotServed, match="does not hold all attributes"):
        db.query(Order, status=Status.OPEN)
    with pytest.raises(NotServed, match="does not hold all attributes"):
        db.query(Order, status=Status.OPEN, into=Totals)


@both
def test_filter_on_an_attribute_outside_the_index_is_refused(connect: Connect) -> None:
    db, watched = shop(connect)

    def day(order: Order) -> bool:
        return (order.placed_at >= T) & (order.placed_at < T + timedelta(days=1))

    assert db.count(Order, day, filter=lambda o: o.total > 3) == 1
    assert [one.order_id for one in db.query(Order, day, into=Owned, filter=lambda o: o.total > 3)] == ["b"]
    watched.calls.clear()
    with pytest.raises(NotServed, match="does not hold all attributes"):
        db.count(Order, day, filter=lambda o: o.note == "quick")
    with pytest.raises(
        TableError, match="keys holds order_id only as part of its keys, and DynamoDB cannot filter by that"
    ):
        db.query(Order, status=Status.OPEN, into=Found, filter=lambda o: o.order_id != "a")
    assert watched.calls == []


@both
def test_an_index_that_holds_some_attributes_serves_these(connect: Connect) -> None:
    db, watched = shop(connect)
    found = db.query(Order, lambda o: (o.placed_at >= T) & (o.placed_at < T + timedelta(days=1)), into=Owned)
    assert set(found) == {Owned(one.user_id, one.order_id, one.total) for one in ORDERS}
    assert watched.calls[-1].index == "some"


@both
def test_a_copy_that_holds_some_attributes_serves_these(connect: Connect) -> None:
    db, watched = shop(connect)
    found = db.query(Order, total=3, into=Totals)
    assert list(found) == [Totals(3, "quick"), Totals(3, "")]
    assert [call.key.partition("#")[0] for call in watched.calls] == ["TOTAL"]
    with pytest.raises(NotServed, match="does not hold all attributes"):
        db.query(Order, total=3)


@dataclass(frozen=True)
class Noted:
    user_id: str
    note: str


@both
def test_derived_parts_of_a_key_are_not_readable(connect: Connect) -> None:
    db, _ = shop(connect)
    assert list(db.query(Order, note="quick", into=Noted)) == [Noted("1", "quick")]
    with pytest.raises(NotServed, match="does not hold all attributes"):
        db.query(Order, note="quick", into=Totals)


@dataclass
class Typo:
    totl: int


@dataclass
class Other:
    total: str


@both
@pytest.mark.parametrize(
    ("into", "error", "message"),
    [
        (Typo, UnknownAttribute, "Order has no attribute totl; did you mean total?"),
        (Other, SchemaError, "Other.total is a string, and Order.total is a integer"),
        (int, SchemaError, "is not a dataclass"),
    ],
)
def test_a_class_that_is_no_part_of_the_other_is_refused(
    connect: Connect, into: type, error: type, message: str
) -> None:
    db, watched = shop(connect)
    with pytest.raises(error, match=message):
        db.query(Order, user_id="1", into=into)
    assert watched.calls == []
