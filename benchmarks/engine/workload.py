"""What is asked of every contender: the table, its items of about 200 bytes, and the requests of each operation.

The typed client makes the requests, and what it sends is recorded; so all contenders are asked the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from prejoin import Client, Entity, Index, Key, Schema
from prejoin.table.admin.table_request import create_table

TABLE = "bench"
USERS, OF_A_USER = 50, 20
LARGE_USER, LARGE = "large", 1000
BATCH = 25
DIFFERENT = 5000
"""How many items a kind of request goes to, at most: more than fit into the caches of a large table's engine."""
STATUSES = ("OPEN", "PAID", "SENT", "DONE")

Thunk = Callable[[], Any]


@dataclass
class Order:
    """One item: eleven attributes with its keys, and in one index."""

    user: str
    number: int
    placed: str
    status: str
    total: int
    note: str


SCHEMA = Schema(
    Entity(
        Order,
        Key("USER#{user}", "ORDER#{number:06}"),
        indexes={"gsi1": Key("STATUS#{status}", "{placed}")},
    ),
    indexes=[Index("gsi1")],
)
CREATE_TABLE = create_table(SCHEMA, TABLE)


def order(user: str, number: int) -> Order:
    placed = f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:30:00Z"
    note = f"{user} wants number {number} left with the neighbours, please"
    return Order(user, number, placed, STATUSES[number % 4], 1000 + number, note)


def moved(record: Order) -> Order:
    """The same order under another key of the index."""
    return replace(record, status=STATUSES[(STATUSES.index(record.status) + 1) % 4])


def user(at: int) -> str:
    return f"u{at:06}"


def population(users: int, *, large: bool) -> Iterator[Order]:
    """All that is in the table: twenty orders each, and one user with a thousand."""
    for at in range(users):
        for number in range(OF_A_USER):
            yield order(user(at), number)
    if large:
        for number in range(LARGE):
            yield order(LARGE_USER, number)


def item(record: Order) -> dict[str, Any]:
    """The item that the typed client writes, made faster than it does: there may be a million."""
    return {
        "user": {"S": record.user},
        "number": {"N": str(record.number)},
        "placed": {"S": record.placed},
        "status": {"S": record.status},
        "total": {"N": str(record.total)},
        "note": {"S": record.note},
        "entityType": {"S": "Order"},
        "pk": {"S": f"USER#{record.user}"},
        "sk": {"S": f"ORDER#{record.number:06}"},
        "gsi1pk": {"S": f"STATUS#{record.status}"},
        "gsi1sk": {"S": record.placed},
    }


def batches(records: Iterator[Order]) -> Iterator[dict[str, Any]]:
    """BatchWriteItem requests that put all of these."""
    while some := list(islice(records, BATCH)):
        yield {"RequestItems": {TABLE: [{"PutRequest": {"Item": item(record)}} for record in some]}}


def calls(db: Client, users: int, *, large: bool) -> dict[str, list[Thunk]]:
    """The typed calls of each operation. Those that write keep to users of their own, a fifth of them each."""
    pick = random.Random(3)
    share = users // 5
    written = [_orders(pick, at * share, share) for at in range(4)]
    found: dict[str, list[Thunk]] = {
        "GetItem": [partial(db.get, Order, user=o.user, number=o.number) for o in _orders(pick, 4 * share, share)],
        # Every put moves its item in the index: the second round moves all back.
        "PutItem": [partial(db.put, record) for record in (*map(moved, written[0]), *written[0])],
        "UpdateItem": [partial(_update, db, record) for record in written[1]],
        "Query of 20": [partial(db.query, Order, user=user(at)) for at in _some(pick, 4 * share, share)],
        "Query of 1,000": [partial(db.query, Order, user=LARGE_USER)] if large else [],
        "TransactWrite of 3": [partial(_transact, db, *three) for three in _threes(written[2])],
    }
    return {operation: thunks for operation, thunks in found.items() if thunks}


def batch_calls(users: int) -> list[dict[str, Any]]:
    """BatchWriteItem of 25. The typed client has no call for it."""
    share = users // 5
    records = _orders(random.Random(4), 3 * share, share)
    records = records[: len(records) // BATCH * BATCH]
    return [*batches(map(moved, records)), *batches(iter(records))]


def requests(users: int, *, large: bool) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The same as data: operation and body."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    seen: list[tuple[str, bytes]] = []
    for operation, thunks in calls(Client(SCHEMA, TABLE, _Silent(seen)), users, large=large).items():
        for thunk in thunks:
            thunk()
        found[operation] = [(name, _without_token(msgspec.json.decode(body))) for name, body in seen]
        seen.clear()
    found["BatchWrite of 25"] = [("BatchWriteItem", body) for body in batch_calls(users)]
    return found


def _without_token(body: dict[str, Any]) -> dict[str, Any]:
    """A transaction that comes again with its token is not done again: whoever sends it gives it a new one."""
    return {member: content for member, content in body.items() if member != "ClientRequestToken"}


class _Silent:
    """A transport that notes what it is sent, and answers nothing."""

    def __init__(self, seen: list[tuple[str, bytes]]) -> None:
        self._seen = seen

    def send(self, operation: str, body: bytes) -> bytes:
        self._seen.append((operation, body))
        return b'{"Items":[],"Count":0,"ScannedCount":0}' if operation == "Query" else b"{}"


def _update(db: Client, record: Order) -> None:
    with db.update(Order, user=record.user, number=record.number) as draft:
        draft.total += 1


def _transact(db: Client, first: Order, second: Order, third: Order) -> None:
    with db.transaction() as transaction:
        transaction.put(first)
        with transaction.update(Order, user=second.user, number=second.number) as draft:
            draft.total += 1
        transaction.check(Order, user=third.user, number=third.number)


def _some(pick: random.Random, first: int, share: int) -> list[int]:
    return pick.sample(range(first, first + share), min(share, DIFFERENT))


def _orders(pick: random.Random, first: int, share: int) -> list[Order]:
    """Orders of these users, in no order."""
    all_of_them = range(share * OF_A_USER)
    return [
        order(user(first + at // OF_A_USER), at % OF_A_USER)
        for at in pick.sample(all_of_them, min(len(all_of_them), DIFFERENT))
    ]


def _threes(records: list[Order]) -> Iterator[tuple[Order, Order, Order]]:
    """One to put, one to update, one to check; each put moves its item, and the second round moves it back."""
    third = len(records) // 3
    puts, updates, checks = records[:third], records[third : 2 * third], records[2 * third :]
    yield from zip(map(moved, puts), updates, checks, strict=False)
    yield from zip(puts, updates, checks, strict=False)
