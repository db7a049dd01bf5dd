"""Calls that type checkers accept, with the types of their results. `test_typing` checks it; it is not run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_type

from prejoin import AsyncClient, Client, Collection, Get, Page, begins_with, between


@dataclass
class User:
    user_id: str
    email: str


@dataclass
class Order:
    user_id: str
    order_id: str
    placed_at: datetime
    total: int
    note: str | None = None


@dataclass
class Line:
    order_id: str
    total: int


def reads(db: Client, since: datetime) -> None:
    assert_type(db.get(User, user_id="1"), User | None)
    assert_type(db.get(Order, into=Line, order_id="1"), Line | None)
    assert_type(db.query(Order, status="OPEN"), Page[Order])
    assert_type(db.query(Order, user_id="1")[0], Order)
    assert_type(db.query(Order, user_id="1", into=Line), Page[Line])
    assert_type([line.total for line in db.query(Order, user_id="1", into=Line)], list[int])
    db.query(Order, lambda o: (o.user_id == "1") & (o.placed_at >= since), reverse=True, limit=20)
    db.query(Order, lambda o: between(o.placed_at, since, since), filter=lambda o: o.total > 3)
    db.query(Order, lambda o: begins_with(o.order_id, "x"), filter=lambda o: o.note == None)  # noqa: E711
    assert_type(db.exists(User, user_id="1"), bool)
    assert_type(db.count(Order, lambda o: o.total > 3, user_id="1"), int)
    assert_type(db.pages(Order, user_id="1", size=10), Iterator[Page[Order]])
    assert_type(db.pages(Order, user_id="1", into=Line), Iterator[Page[Line]])
    assert_type(db.get_many(User, [{"user_id": "1"}]), list[User | None])
    assert_type(db.get_many(Order, [{"order_id": "1"}], into=Line), list[Line | None])
    user, order = db.get_together(Get(User, user_id="1"), Get(Order, order_id="1"))
    assert_type(user, User | None)
    assert_type(order, Order | None)
    assert_type(db.get_together(Get(Order, into=Line, order_id="1")), tuple[Line | None])
    found = db.collect((User, Order), user_id="1")
    assert_type(found, Collection)
    assert_type(found.one(User), User | None)
    assert_type(found.all(Order), list[Order])
    assert_type(db.everything(User), Iterator[Page[User]])
    assert_type(db.everything(), Iterator[Page[Any]])
    assert_type(db.call("DescribeTable"), dict[str, Any])


async def awaited(db: AsyncClient) -> None:
    assert_type(await db.get(User, user_id="1"), User | None)
    assert_type(await db.get(Order, into=Line, order_id="1"), Line | None)
    assert_type((await db.query(Order, lambda o: o.total > 3))[0], Order)
    assert_type(await db.query(Order, user_id="1", into=Line), Page[Line])
    assert_type(await db.exists(User, user_id="1"), bool)
    assert_type(await db.count(Order, user_id="1"), int)
    assert_type(db.pages(Order, user_id="1"), AsyncIterator[Page[Order]])
    async for page in db.pages(Order, user_id="1", into=Line):
        assert_type(page, Page[Line])
    assert_type(await db.get_many(User, [{"user_id": "1"}]), list[User | None])
    user, _ = await db.get_together(Get(User, user_id="1"), Get(Order, order_id="1"))
    assert_type(user, User | None)
    async for every in db.everything(User, segments=4):
        assert_type(every[0], User)
    async with AsyncClient(db.schema, "shop", db._transport) as again:
        assert_type(again, AsyncClient)
