"""Reads: planned from the attributes given, typed, in order, in pages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from tests.place import fresh

from prejoin import (
    Call,
    Client,
    ConditionFailed,
    CursorError,
    Entity,
    Index,
    Key,
    NotServed,
    Schema,
    TableError,
    TooMany,
    UnknownAttribute,
    begins_with,
    between,
)

T = datetime(2026, 5, 4, 12, tzinfo=UTC)


@dataclass(frozen=True)
class User:
    user_id: str
    email: str
    team: str | None = None


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str
    placed_at: datetime
    status: Literal["PENDING", "SHIPPED", "DONE"] = "PENDING"
    total: int = 0


@dataclass(frozen=True)
class Event:
    source: str
    at: datetime


SCHEMA = Schema(
    Entity(User, Key("USER#{user_id}", "PROFILE"), indexes={"gsi1": Key("TEAM#{team}", "USER#{user_id}")}),
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{placed_at}#{order_id}"),
        indexes={
            "gsi1": Key("OPEN#{status}", "{placed_at}#{order_id}", when=lambda o: o.status != "DONE"),
            "gsi2": Key("DAY#{placed_at:day}#{order_id:shard(2)}", "{placed_at}#{order_id}"),
        },
    ),
    Entity(Event, Key("EVENT#{source}", "{at}")),
    indexes=[Index("gsi1"), Index("gsi2"), Index("email-index", pk="email")],
)


class Shop:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.db = Client(SCHEMA, "shop", fresh(), observe=self.calls.append)
        self.db.create_table()
        self.users = [User("1", "a@x.com", "red"), User("10", "b@x.com"), User("2", "c@x.com", "red")]
        self.orders = [
            Order(user.user_id, f"o{i}", T + timedelta(hours=7 * i), ("PENDING", "SHIPPED", "DONE")[i % 3], i)
            for i, user in enumerate(self.users * 4)
        ]
        for record in [*self.users, *self.orders]:
            self.db.insert(record)
        self.calls.clear()

    def of(self, user_id: str) -> list[Order]:
        return [order for order in self.orders if order.user_id == user_id]


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_get_is_one_getitem_and_returns_none_for_a_missing_item(shop: Shop) -> None:
    assert shop.db.get(User, user_id="10") == shop.users[1]
    assert shop.db.get(User, user_id="100", consistent=True) is None
    assert [(call.operation, call.key, call.items) for call in shop.calls] == [
        ("GetItem", "USER#10 / PROFILE", 1),
        ("GetItem", "USER#100 / PROFILE", 0),
    ]
    assert shop.calls[0].units == 0.5
    assert shop.calls[1].units == 1.0


def test_get_by_an_index_needs_an_identifying_key(shop: Shop) -> None:
    assert shop.db.get(User, email="c@x.com") == shop.users[2]
    assert shop.calls[-1].index == "email-index"
    with pytest.raises(TooMany, match="more than one User with this team"):
        shop.db.get(User, team="red")


def test_a_query_reads_one_entity_of_the_partition(shop: Shop) -> None:
    page = shop.db.query(Order, user_id="1")
    assert list(page) == shop.of("1")
    assert page.cursor is None
    assert [(call.operation, call.key, call.items) for call in shop.calls] == [("Query", "USER#1 / ORDER#*", 4)]


def test_ranges_equal_a_filter(shop: Shop) -> None:
    ours = shop.of("1")
    since, until = ours[1].placed_at, ours[2].placed_at
    queries = {
        ">=": shop.db.query(Order, lambda o: (o.user_id == "1") & (o.placed_at >= since)),
        ">": shop.db.query(Order, lambda o: o.placed_at > since, user_id="1"),
        "<": shop.db.query(Order, lambda o: o.placed_at < until, user_id="1"),
        "<=": shop.db.query(Order, lambda o: o.placed_at <= until, user_id="1"),
        "between": shop.db.query(Order, lambda o: between(o.placed_at, since, until), user_id="1"),
        "half open": shop.db.query(Order, lambda o: (o.placed_at >= since) & (o.placed_at < until), user_id="1"),
    }
    assert {name: list(page) for name, page in queries.items()} == {
        ">=": ours[1:],
        ">": ours[2:],
        "<": ours[:2],
        "<=": ours[:3],
        "between": ours[1:3],
        "half open": ours[1:2],
    }


def test_a_range_that_nothing_can_match_makes_no_call(shop: Shop) -> None:
    assert list(shop.db.query(Order, lambda o: between(o.placed_at, T, T - timedelta(days=1)), user_id="1")) == []
    assert shop.calls == []


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        (lambda o: between(o.total, 5, 1), lambda o: False),
        (lambda o: between(o.status, "SHIPPED", "DONE"), lambda o: False),
        (lambda o: between(o.placed_at, T, T - timedelta(days=1)), lambda o: False),
        (lambda o: (o.total > 3) & between(o.total, 5, 1), lambda o: False),
        (lambda o: (o.total > 3) | between(o.total, 5, 1), lambda o: o.total > 3),
        (lambda o: ~between(o.total, 5, 1), lambda o: True),
        (lambda o: between(o.total, 1, 5), lambda o: 1 <= o.total <= 5),
        (lambda o: between(o.total, 5, 5), lambda o: o.total == 5),
    ],
)
def test_no_value_is_between_ends_that_are_the_wrong_way_round(
    shop: Shop, condition: Callable[[Order], bool], matches: Callable[[Order], bool]
) -> None:
    matching = [order for order in shop.of("1") if matches(order)]
    assert list(shop.db.query(Order, user_id="1", filter=condition)) == matching
    assert shop.db.count(Order, user_id="1", filter=condition) == len(matching)
    order = shop.of("1")[0]
    with suppress(ConditionFailed):
        shop.db.delete(Order, where=condition, user_id="1", placed_at=order.placed_at, order_id=order.order_id)
    assert len(shop.db.query(Order, user_id="1").items) == len(shop.of("1")) - matches(order)


def test_order_is_that_of_the_key_or_refused(shop: Shop) -> None:
    assert list(shop.db.query(Order, user_id="1", order="-placed_at")) == shop.of("1")[::-1]
    assert list(shop.db.query(Order, user_id="1", reverse=True)) == shop.of("1")[::-1]
    with pytest.raises(NotServed, match=r"sorted by \{placed_at\} there, not by total"):
        shop.db.query(Order, user_id="1", order="total")


def test_unserved_read_is_refused_with_the_existing_keys(shop: Shop) -> None:
    with pytest.raises(NotServed) as refused:
        shop.db.query(Order, total=3)
    assert "a key with the partition made of total would serve it" in str(refused.value)
    assert "Order in table: USER#{user_id} / ORDER#{placed_at}#{order_id}" in str(refused.value)
    with pytest.raises(NotServed, match="status would be left to a filter"):
        shop.db.query(Order, user_id="1", status="DONE")
    with pytest.raises(NotServed, match="an index is never read consistently"):
        shop.db.query(User, team="red", consistent=True)
    assert shop.calls == []


def test_filter_is_sent_and_limit_counts_returned_items(shop: Shop) -> None:
    page = shop.db.query(Order, user_id="1", filter=lambda o: o.total >= 3, limit=2)
    assert list(page) == shop.of("1")[1:3]
    rest = shop.db.query(Order, user_id="1", filter=lambda o: o.total >= 3, limit=2, after=page.cursor)
    assert list(rest) == shop.of("1")[3:]


def test_sparse_index_serves_its_items(shop: Shop) -> None:
    pending = shop.db.query(Order, status="PENDING", order="placed_at")
    assert list(pending) == [order for order in shop.orders if order.status == "PENDING"]
    with pytest.raises(NotServed, match="it has only the items where status = PENDING or SHIPPED"):
        shop.db.query(Order, status="DONE")


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 100])
@pytest.mark.parametrize("reverse", [False, True])
def test_pages_go_on_where_they_ended(shop: Shop, limit: int, reverse: bool) -> None:
    found: list[Order] = []
    cursor: str | None = None
    while True:
        page = shop.db.query(Order, user_id="1", limit=limit, after=cursor, reverse=reverse)
        assert len(page) <= limit
        found += page
        cursor = page.cursor
        if cursor is None:
            break
    assert found == (shop.of("1")[::-1] if reverse else shop.of("1"))


def test_a_foreign_or_damaged_cursor_is_an_error(shop: Shop) -> None:
    cursor = shop.db.query(Order, user_id="1", limit=1).cursor
    assert cursor
    with pytest.raises(CursorError, match="of another query"):
        shop.db.query(Order, user_id="2", after=cursor)
    with pytest.raises(CursorError, match="of another query"):
        shop.db.query(Order, user_id="1", reverse=True, after=cursor)
    for damaged in ("", "garbage", cursor[:-4], "é"):
        with pytest.raises(CursorError, match="damaged"):
            shop.db.query(Order, user_id="1", after=damaged)


@pytest.mark.parametrize("limit", [1, 3, 5, None])
@pytest.mark.parametrize("reverse", [False, True])
def test_shards_and_time_buckets_are_one_call_in_order_and_in_pages(
    shop: Shop, limit: int | None, reverse: bool
) -> None:
    since, until = T + timedelta(hours=10), T + timedelta(hours=60)
    expected = [order for order in shop.orders if since <= order.placed_at <= until]
    found: list[Order] = []
    cursor: str | None = None
    while True:
        page = shop.db.query(
            Order,
            lambda o: between(o.placed_at, since, until),
            order="-placed_at" if reverse else "placed_at",
            limit=limit,
            after=cursor,
        )
        found += page
        cursor = page.cursor
        if cursor is None:
            break
    assert found == (expected[::-1] if reverse else expected)
    again = shop.db.query(Order, lambda o: between(o.placed_at, since, until), reverse=reverse)
    assert list(again) == found


def test_the_last_days_over_all_users_end_now(shop: Shop) -> None:
    since = T + timedelta(days=2)
    recent = shop.db.query(Order, lambda o: o.placed_at >= since, order="-placed_at", now=T + timedelta(days=4))
    assert list(recent) == [order for order in shop.orders if order.placed_at >= since][::-1]


def test_a_collection_is_one_query_in_typed_groups(shop: Shop) -> None:
    found = shop.db.collect((User, Order), user_id="1")
    assert found.one(User) == shop.users[0]
    assert found.all(Order) == shop.of("1")
    assert [(call.operation, call.key) for call in shop.calls] == [("Query", "USER#1")]
    with pytest.raises(TooMany):
        found.one(Order)
    newest = shop.db.collect((User, Order), user_id="1", reverse=True, limit=3)
    assert list(newest) == [shop.users[0], *shop.of("1")[:1:-1]]


def test_a_collection_can_leave_out_objects_of_one_class(shop: Shop) -> None:
    least = min(order.total for order in shop.of("1"))
    large = [order for order in shop.of("1") if order.total > least]
    assert large
    asked: dict[str, Any] = {"filters": {Order: lambda o: o.total > least}, "user_id": "1"}
    found = shop.db.collect((User, Order), **asked)
    assert (found.one(User), found.all(Order)) == (shop.users[0], large)
    first = shop.db.collect((User, Order), limit=1, **asked)
    rest = shop.db.collect((User, Order), after=first.cursor, **asked)
    assert [*first, *rest] == [*found]
    with pytest.raises(CursorError):
        shop.db.collect((User, Order), user_id="1", after=first.cursor)
    with pytest.raises(TableError, match="filter of Order, which is not read"):
        shop.db.collect((User,), **asked)


def test_unknown_items_are_returned_as_unmatched(shop: Shop) -> None:
    shop.db._transport.send(
        "PutItem",
        b'{"TableName":"shop","Item":{"pk":{"S":"USER#1"},"sk":{"S":"ORDER#zzz"},"entityType":{"S":"Ghost"}}}',
    )
    page = shop.db.query(Order, user_id="1")
    assert list(page) == shop.of("1")
    assert [item["sk"] for item in page.unmatched] == [{"S": "ORDER#zzz"}]


def test_query_by_text_prefix(shop: Shop) -> None:
    with pytest.raises(NotServed, match="not in an order that begins_with could use"):
        shop.db.query(Order, lambda o: begins_with(o.placed_at, "2026"), user_id="1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda db: db.query(Order, user="1"), UnknownAttribute, "Order has no attribute user"),
        (lambda db: db.query(Order, lambda o: o.usr == "1"), UnknownAttribute, "Order has no attribute usr"),
        (lambda db: db.query(Order, user_id=None), TableError, "user_id is None"),
        (
            lambda db: db.query(Order, lambda o: o.user_id == "1" and o.total > 1),
            TableError,
            "recorded and has no truth value",
        ),
        (
            lambda db: db.query(Order, lambda o: (o.user_id == "1") & (o.total != 1)),
            TableError,
            "(?i)(use|pass it as) filter=",
        ),
        (lambda db: db.query(Order, lambda o: (o.placed_at > T) & (o.total > 1)), TableError, "one attribute"),
        (lambda db: db.query(Order, lambda o: (o.placed_at > T) & (o.placed_at > T)), TableError, "not one range"),
        (lambda db: db.query(Order, lambda o: o.user_id == "1", user_id="1"), TableError, "given twice"),
        (lambda db: db.query(Order, lambda o: True), TableError, "evaluated in Python, not recorded"),
        (lambda db: db.query(Order, user_id="1", limit=0), ValueError, "has to be at least 1"),
        (
            lambda db: db.query(Order, lambda o: o.placed_at >= T, now=T - timedelta(days=1)),
            ValueError,
            "the range over placed_at starts after 2026-05-03 .*, the default end: give an end",
        ),
    ],
)
def test_senseless_arguments_are_an_error(shop: Shop, ask: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        ask(shop.db)
    assert shop.calls == []
