"""`scan` of a whole table, which must be requested explicitly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.table.both import Connect, Watched, both

from prejoin import Copy, CursorError, Entity, Key, Schema, Unique


@dataclass(frozen=True)
class User:
    user_id: str
    email: str
    text: str = ""


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str


SCHEMA = Schema(
    Entity(User, Key("USER#{user_id}", "PROFILE"), patterns=[Unique("email")]),
    Entity(
        Order, Key("USER#{user_id}", "ORDER#{order_id}"), patterns=[Copy("all", Key("ORDERS", "{order_id}#{user_id}"))]
    ),
)
USERS = {User(str(number), f"{number}@x.com", "x" * 300_000) for number in range(10)}
ORDERS = {Order(str(number), "o") for number in range(10)}


def shop(connect: Connect) -> tuple[Any, Watched]:
    watched = Watched()
    db = connect(SCHEMA, observe=watched)
    for record in (*USERS, *ORDERS):
        db.insert(record)
    watched.calls.clear()
    return db, watched


@both
@pytest.mark.parametrize("segments", [1, 4])
def test_everything_comes_once_and_no_copies_or_guards(connect: Connect, segments: int) -> None:
    db, watched = shop(connect)
    pages = list(db.everything(segments=segments))
    assert sorted(map(repr, (one for page in pages for one in page))) == sorted(map(repr, USERS | ORDERS))
    assert all(page.unmatched == () for page in pages)
    assert {call.operation for call in watched.calls} == {"Scan"}
    assert len(watched.calls) > 1
    assert {one for page in db.everything(Order, segments=segments, consistent=True) for one in page} == ORDERS


@both
def test_unknown_items_are_returned(connect: Connect) -> None:
    db, _ = shop(connect)
    ghost = {"pk": {"S": "GHOST"}, "sk": {"S": "1"}}
    untagged = {"pk": {"S": "USER#77"}, "sk": {"S": "PROFILE"}, "user_id": {"S": "77"}, "email": {"S": "z"}}
    db.call("PutItem", {"Item": ghost})
    db.call("PutItem", {"Item": untagged})
    users = list(db.everything(User))
    assert {one for page in users for one in page} == USERS | {User("77", "z")}
    assert [item for page in users for item in page.unmatched] == [ghost]
    orders = list(db.everything(Order))
    assert [item for page in orders for item in page.unmatched] == [ghost], "a user is known, if not wanted"


@both
@pytest.mark.parametrize("segments", [1, 3])
def test_scan_continues_after_a_cursor(connect: Connect, segments: int) -> None:
    db, _ = shop(connect)
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = next(iter(db.everything(segments=segments, after=cursor)))
        found += page
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(map(repr, found)) == sorted(map(repr, USERS | ORDERS))


@both
def test_senseless_arguments_are_refused(connect: Connect) -> None:
    db, _ = shop(connect)
    with pytest.raises(ValueError, match="has to be from 1 to 1000000"):
        next(db.everything(segments=0))
    cursor = next(iter(db.everything())).cursor
    with pytest.raises(CursorError, match="of another query"):
        next(db.everything(segments=2, after=cursor))
