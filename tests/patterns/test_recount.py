"""Recounts correct counts, also with concurrent writes: a count is always that of one moment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from tests.patterns.counting import DAY, ORDER, SCHEMA, USER, Day, Order, User, again, wrong_counts
from tests.patterns.faults import items, made, with_every_fault, wrong
from tests.place import fresh

from prejoin import (
    AsyncClient,
    Client,
    Conflict,
    Entity,
    Index,
    Key,
    NotServed,
    Recounted,
    Schema,
    SchemaError,
    recount,
    recount_all,
)
from prejoin.patterns.aggregates.count import Counted

BARE = Schema(
    Entity(User, USER.key, patterns=USER.patterns),
    DAY,
    Entity(Order, ORDER.key, ORDER.indexes),
    indexes=[Index("gsi1"), Index("gsi2")],
)
"""The same table without counts."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the wait for indexes, which are consistent here."""
    import sys

    monkeypatch.setattr(sys.modules["prejoin.patterns.aggregates.recount"], "CATCH_UP", 0.0)


def before_it_counted() -> Client:
    """A table with orders that were never counted."""
    transport = fresh()
    bare = made(BARE, transport)
    bare.insert(User("1", orders=7))
    bare.insert(User("2"))
    bare.insert(Order("a", "1", total=Decimal(10), day="x"))
    bare.insert(Order("b", "1", "CANCELLED", Decimal(5)))
    bare.insert(Order("c", "2", total=None))
    return Client(SCHEMA, "shop", transport)


def test_recount_corrects_one_parent_and_returns_the_difference() -> None:
    db = before_it_counted()
    found = recount(db, User, user_id="1")
    assert found == [
        Recounted(User, {"user_id": "1"}, "orders", 7, 2),
        Recounted(User, {"user_id": "1"}, "open_orders", 0, 1),
        Recounted(User, {"user_id": "1"}, "spent", Decimal(0), Decimal(10)),
    ]
    assert str(found[0]) == "User user_id='1': orders was 7, and is 2"
    assert recount(db, User, user_id="1") == []
    assert db.get(User, user_id="1") == User("1", "", 2, 1, Decimal(10))
    assert wrong(SCHEMA, db._transport) == []
    assert not [item for item in items(db._transport, "shop") if "recounting" in item]


def test_recount_all_corrects_counts_and_creates_missing_parents() -> None:
    db = before_it_counted()
    assert {str(one) for one in recount_all(db, User)} >= {"User user_id='2': orders was 0, and is 1"}
    assert [str(one) for one in recount_all(db, Day)] == ["Day day='x': orders was 0, and is 1"]
    assert wrong_counts(db) == []
    assert recount_all(db, User) == recount_all(db, Day) == []


def test_missing_parent_has_no_counts() -> None:
    db = before_it_counted()
    assert recount(db, User, user_id="9") == []
    assert recount(db, Day, day="never") == []
    assert db.get(Day, day="never") is None
    with pytest.raises(SchemaError, match="Order has no aggregates"):
        recount(db, Order, order_id="a")


def test_async_client_recounts() -> None:
    db = before_it_counted()
    found = asyncio.run(recount(AsyncClient(SCHEMA, "shop", db._transport), User, user_id="1"))  # type: ignore[arg-type]
    assert len(found) == 3
    assert asyncio.run(recount_all(AsyncClient(SCHEMA, "shop", db._transport), User)) != []  # type: ignore[arg-type]
    assert wrong_counts(db) != []  # the day


class Meanwhile:
    """A transport that runs functions before and after each Query of a recount."""

    def __init__(self, inner: Any, before: Callable[[], object], after: Callable[[], object], times: int) -> None:
        self._inner, self._before, self._after, self._left = inner, before, after, times

    def send(self, operation: str, body: bytes) -> bytes:
        happens = operation == "Query" and self._left > 0
        if happens:
            self._left -= 1
            self._before()
        answer: bytes = self._inner.send(operation, body)
        if happens:
            self._after()
        return answer


def test_recount_detects_a_concurrent_delete_and_insert() -> None:
    """The count is the same as when the recount began, but fewer were counted."""
    db = before_it_counted()
    recount_all(db, User)
    recount_all(db, Day)
    names = iter("abcdefgh")
    there = ["a"]

    def goes() -> None:
        db.delete(Order, order_id=there[-1], read=True)

    def comes() -> None:
        there.append(f"new {next(names)}")
        db.insert(Order(there[-1], "1", total=Decimal(10)))

    other = Client(SCHEMA, "shop", Meanwhile(db._transport, goes, comes, 2))
    assert recount(other, User, user_id="1") == []
    assert wrong_counts(db) == []


@pytest.mark.slow
def test_endless_conflicts_raise_and_change_nothing() -> None:
    db = before_it_counted()
    recount_all(db, User)
    numbers = iter(range(1000))

    def nothing() -> None: ...

    other = Client(
        SCHEMA, "shop", Meanwhile(db._transport, nothing, lambda: db.insert(Order(f"n{next(numbers)}", "1")), 1000)
    )
    with pytest.raises(Conflict, match="others changed its children meanwhile"):
        recount(other, User, user_id="1")
    assert [one for one in wrong_counts(db) if "User" in one] == []


def test_a_recount_beside_writers_never_makes_a_count_wrong() -> None:
    db = before_it_counted()
    recount_all(db, User)
    recount_all(db, Day)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set() and number < 400:
            again(lambda: db.insert(Order(f"w{number}", "1", total=Decimal(1))))  # noqa: B023
            again(lambda: db.delete(Order, order_id=f"w{number}", read=True))  # noqa: B023
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            try:
                recount(db, User, user_id="1")
            except Conflict:
                continue
    finally:
        stop.set()
        writer.join()
    assert wrong_counts(db) == []


@pytest.mark.slow
def test_operation_can_be_repeated_after_any_lost_request() -> None:
    def check(transport: Any) -> None:
        db = Client(SCHEMA, "shop", transport)
        recount_all(db, User)
        recount_all(db, Day)
        assert wrong_counts(db) == []
        db.insert(Order("new", "1", total=Decimal(2), day="x"))
        assert wrong_counts(db) == []

    def act(transport: Any) -> None:
        db = Client(SCHEMA, "shop", transport)
        recount(db, User, user_id="1")
        recount(db, Day, day="x")

    assert with_every_fault(lambda: before_it_counted()._transport, act, check) > 10


def test_children_that_no_key_finds_cannot_be_recounted() -> None:
    @dataclass
    class Team:
        team: str
        members: int = 0

    @dataclass
    class Member:
        name: str
        team: str

    schema = Schema(
        Entity(Team, Key("TEAM#{team}", "TEAM")),
        Entity(Member, Key("MEMBER#{name}", "MEMBER"), patterns=[Counted(Team, "members")]),
    )
    db = made(schema, fresh())
    db.insert(Team("red"))
    with pytest.raises(NotServed):
        recount(db, Team, team="red")
