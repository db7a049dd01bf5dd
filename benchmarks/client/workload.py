"""The work of every contender: the table, its items of about 200 bytes, and the arguments of each operation.

It is plain data without libraries. Each contender's process makes the same data.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from .items import typed

GET = "GetItem"
PUT = "PutItem"
ADD = "UpdateItem"
MOVE = "UpdateItem of an index key"
QUERY_100 = "Query of 100"
QUERY_1000 = "Query of 1,000"
TRANSACT = "TransactWrite of 3"
BATCH = "BatchWrite of 500"
TOGETHER = "50 GetItem at once"

OF_A_USER = 20
AT_ONCE = 50
LARGE = {"hundred": 100, "thousand": 1000}
"""Users with more orders than the others."""
STATUSES = ("OPEN", "PAID", "SENT", "DONE")


class Order(NamedTuple):
    """The attributes of an item, for the library's own object."""

    user: str
    number: int
    placed: str
    status: str
    total: int
    note: str


class Key(NamedTuple):
    """The key of an order."""

    user: str
    number: int


def order(user: str, number: int) -> Order:
    placed = f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:30:00Z"
    note = f"{user} wants number {number} left with the neighbours, please"
    return Order(user, number, placed, STATUSES[number % 4], 1000 + number, note)


def next_status(status: str) -> str:
    return STATUSES[(STATUSES.index(status) + 1) % 4]


def moved(one: Order) -> Order:
    """The order with another status, and so with another index key."""
    return one._replace(status=next_status(one.status))


_OWNERS = {GET: range(10), PUT: range(10, 20), ADD: range(20, 30), MOVE: range(30, 40), TRANSACT: range(40, 50)} | {
    BATCH: range(50, 75)
}
"""The users of each operation. Operations that write have users of their own."""


def population() -> Iterator[Order]:
    """All items of the table."""
    for owners in _OWNERS.values():
        for at in owners:
            for number in range(OF_A_USER):
                yield order(_user(at), number)
    for user, count in LARGE.items():
        for number in range(count):
            yield order(user, number)


def batches(table: str) -> Iterator[dict[str, Any]]:
    """BatchWriteItem requests that fill a table."""
    orders = population()
    while some := list(islice(orders, 25)):
        yield {"RequestItems": {table: [{"PutRequest": {"Item": typed(one)}} for one in some]}}


def create_table(table: str) -> dict[str, Any]:
    """One table with one index that holds all attributes."""
    keys = {"pk": "HASH", "sk": "RANGE"}
    return {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": prefix + key, "AttributeType": "S"} for prefix in ("", "gsi1") for key in keys
        ],
        "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "gsi1",
                "KeySchema": [{"AttributeName": f"gsi1{key}", "KeyType": kind} for key, kind in keys.items()],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }


class Arguments(NamedTuple):
    """The arguments of each operation. Writes change each item twice: the second write restores it."""

    gets: list[Key]
    puts: list[Order]
    adds: list[Key]
    moves: list[tuple[Key, str]]
    transactions: list[tuple[Order, Key, Key]]
    """An order to put, one to update, one that must exist."""
    batches: list[list[Order]]


def arguments() -> Arguments:
    pick = random.Random(3)
    of = {operation: _orders(pick, owners) for operation, owners in _OWNERS.items()}
    third = len(of[TRANSACT]) // 3
    puts, adds, checks = (of[TRANSACT][at * third : (at + 1) * third] for at in range(3))
    return Arguments(
        gets=[_key(one) for one in of[GET]],
        puts=[*map(moved, of[PUT]), *of[PUT]],
        adds=[_key(one) for one in of[ADD]],
        moves=[(_key(one), one.status) for one in (*map(moved, of[MOVE]), *of[MOVE])],
        transactions=[
            (put, _key(add), _key(check))
            for round_ in (list(map(moved, puts)), puts)
            for put, add, check in zip(round_, adds, checks, strict=True)
        ],
        batches=[list(map(moved, of[BATCH])), of[BATCH]],
    )


def _user(at: int) -> str:
    return f"u{at:06}"


def _key(one: Order) -> Key:
    return Key(one.user, one.number)


def _orders(pick: random.Random, owners: range) -> list[Order]:
    """All orders of these users, shuffled."""
    found = [order(_user(at), number) for at in owners for number in range(OF_A_USER)]
    pick.shuffle(found)
    return found
