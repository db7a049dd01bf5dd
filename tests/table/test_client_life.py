"""The lifecycle of a client: pages as an iterator, raw calls, and closing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from tests.place import fresh
from tests.table.both import Connect, Watched, both, waiting

from prejoin import AsyncClient, Client, Entity, Key, Schema
from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: int
    total: int = 0


@dataclass(frozen=True)
class Total:
    total: int


SCHEMA = Schema(Entity(Order, Key("USER#{user_id}", "{order_id:04}")))
ORDERS = [Order("1", number, number) for number in range(7)]


def shop(connect: Connect) -> tuple[Any, Watched]:
    watched = Watched()
    db = connect(SCHEMA, observe=watched)
    for order in ORDERS:
        db.insert(order)
    watched.calls.clear()
    return db, watched


@both
def test_pages_continue_after_a_cursor_and_can_be_filtered(connect: Connect) -> None:
    db, _ = shop(connect)
    pages = list(db.pages(Order, user_id="1", size=3))
    assert [list(page) for page in pages] == [ORDERS[:3], ORDERS[3:6], ORDERS[6:]]
    after = list(db.pages(Order, user_id="1", size=3, after=pages[0].cursor, reverse=False))
    assert [list(page) for page in after] == [ORDERS[3:6], ORDERS[6:]]
    parts = db.pages(Order, lambda o: o.order_id >= 4, user_id="1", into=Total, filter=lambda o: o.total != 5)
    assert [list(page) for page in parts] == [[Total(4), Total(6)]]


def test_pages_are_read_only_when_needed() -> None:
    db, watched = shop(waiting)
    pages = db.pages(Order, user_id="1", size=2)
    assert watched.calls == []
    assert list(next(pages)) == ORDERS[:2]
    assert len(watched.calls) == 1


@both
def test_any_call_can_be_made_and_names_the_table_where_it_belongs(connect: Connect) -> None:
    db, watched = shop(connect)
    assert db.call("DescribeTable")["Table"]["TableName"] == "shop"
    assert db.call("ListTables") == {"TableNames": ["shop"]}
    key = {"pk": {"S": "USER#1"}, "sk": {"S": "0003"}}
    assert db.call("GetItem", {"Key": key})["Item"]["total"] == {"N": "3"}
    assert "shop" in db.call("BatchGetItem", {"RequestItems": {"shop": {"Keys": [key]}}})["Responses"]
    with pytest.raises(DynamoDBError, match="ResourceNotFoundException"):
        db.call("DescribeTable", {"TableName": "other"})
    assert [call.operation for call in watched.calls] == ["DescribeTable", "ListTables", "GetItem", "BatchGetItem"]


class Closing(Embedded):
    closed = 0

    def close(self) -> None:
        self.closed += 1
        super().close()


def test_client_closes_its_transport() -> None:
    transport = Closing()
    with Client(SCHEMA, "shop", transport) as db:
        db.create_table()
        assert transport.closed == 0
    assert transport.closed == 1


class Awaiting(Closing):
    async def close_async(self) -> None:
        self.close()


@pytest.mark.parametrize("kind", [Closing, Awaiting])
def test_async_client_closes_its_transport(kind: type[Closing]) -> None:
    transport = kind()

    async def main() -> None:
        async with AsyncClient(SCHEMA, "shop", transport) as db:
            await db.create_table()
            assert transport.closed == 0

    asyncio.run(main())
    assert transport.closed == 1


def test_transport_without_close_is_left_alone() -> None:
    class Plain:
        def send(self, operation: str, body: bytes) -> bytes:
            return b'{"TableNames":[]}'

    with Client(SCHEMA, "shop", Plain()) as db:
        assert db.call("ListTables") == {"TableNames": []}


def test_observed_request_has_one_text_for_each_key() -> None:
    watched = Watched()
    schema = Schema(Entity(Order, Key("USER#{user_id}", "{order_id:04}", raw=True)))
    db = Client(schema, "shop", fresh(), observe=watched)
    db.create_table()
    with db.transaction() as tx:
        tx.insert(Order("a, b", 1))
        tx.insert(Order("c", 2))
    call = watched.calls[-1]
    assert (call.keys, call.key) == (("USER#a, b / 0001", "USER#c / 0002"), "USER#a, b / 0001, USER#c / 0002")
