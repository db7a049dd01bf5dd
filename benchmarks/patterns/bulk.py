"""The CPU time of bulk loads of orders, beside boto3's `batch_writer` with the same items.

Each order has a second item, which a pattern keeps: a copy, the guard of a unique value, or the count of its user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

import boto3

from common.figures import Figure, figure
from common.tables import table, times
from prejoin import Call, Client, Copy, Counted, Entity, Key, Schema, Unique, bulk_load
from prejoin.transport import Credentials, Endpoint

TEXT = "x" * 250
USERS = 100


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str
    total: int = 10
    status: str = "PAID"
    text: str = TEXT


@dataclass(frozen=True)
class User:
    user_id: str
    orders: int = 0


def schema(pattern: Copy | Unique | Counted) -> Schema:
    return Schema(
        Entity(User, Key("USER#{user_id}", "USER")),
        Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"), patterns=[pattern]),
    )


PATTERNS: Mapping[str, Copy | Unique | Counted] = {
    "a copy": Copy("by-id", Key("ORDER#{order_id}", "ORDER")),
    "a unique value": Unique("order_id"),
    "a count": Counted(User, "orders", create=True),
}
WRITES = ("BatchWriteItem", "TransactWriteItems", "PutItem", "UpdateItem")
BY_HAND, NEW, CHECKED = "boto3's batch_writer", "bulk_load, new=True", "bulk_load"
BY_USER = "bulk_load, sorted by user"


def ways(name: str) -> Sequence[str]:
    """The ways to load orders. Only copies can be written without a transaction; the order matters only to counts."""
    more = {"a copy": (NEW, CHECKED), "a count": (CHECKED, BY_USER)}
    return (BY_HAND, *more.get(name, (CHECKED,)))


def items(name: str, orders: Sequence[Order]) -> Iterator[dict[str, Any]]:
    """The items that a load writes, in the form of boto3."""
    for order in orders:
        attributes = asdict(order)
        yield {"pk": f"USER#{order.user_id}", "sk": f"ORDER#{order.order_id}", "entityType": "Order", **attributes}
        match name:
            case "a copy":
                yield {"pk": f"ORDER#{order.order_id}", "sk": "ORDER", "entityType": "Order.by-id", **attributes}
            case "a unique value":
                owner = {"pk": f"USER#{order.user_id}", "sk": f"ORDER#{order.order_id}"}
                key = {"pk": f"UNIQUE#Order#order_id#{order.order_id}", "sk": "UNIQUE"}
                yield {**key, "entityType": "Order unique order_id", "owner": owner}
    if name == "a count":  # nobody else may write orders meanwhile
        for user, count in Counter(order.user_id for order in orders).items():
            yield {"pk": f"USER#{user}", "sk": "USER", "entityType": "User", "user_id": user, "orders": count}


def in_order(orders: Sequence[Order], way: str) -> list[Order]:
    return sorted(orders, key=lambda order: order.user_id) if way == BY_USER else list(orders)


def by_hand(url: str, table_name: str, found: Iterator[dict[str, Any]]) -> None:
    resource: Any = boto3.resource(
        "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    with resource.Table(table_name).batch_writer() as batch:
        for item in found:
            batch.put_item(Item=item)


def load_costs(port: int, count: int, repeats: int) -> dict[tuple[str, str], tuple[Figure, float]]:
    """By pattern and way, the CPU time of a load in this process, and the write units of an order.

    All ways of a pattern are run in turn, and write the same items.
    """
    url = f"http://127.0.0.1:{port}"
    endpoint = Endpoint(url, credentials=Credentials("a", "b"))
    orders = [Order(f"u{number % USERS}", f"o{number}") for number in range(count)]
    samples: dict[tuple[str, str], list[float]] = {}
    units: dict[tuple[str, str], float] = {}
    for turn in range(repeats):
        for at, (name, pattern) in enumerate(PATTERNS.items()):
            for way in ways(name):
                db = Client(schema(pattern), f"load-{turn}-{at}-{len(way)}", endpoint)
                db.create_table()
                given = in_order(orders, way)
                begin = process_time()
                if way == BY_HAND:
                    by_hand(url, db.table, items(name, given))
                else:
                    bulk_load(db, given, new=way == NEW)
                samples.setdefault((name, way), []).append(process_time() - begin)
                _check(db, name, count)
                db.call("DeleteTable")
    for name, way in samples:
        units[name, way] = _units(endpoint, name, way, orders)
    endpoint.close()
    return {key: (figure(found), units[key]) for key, found in samples.items()}


def _check(db: Client, name: str, count: int) -> None:
    assert sum(len(page) for page in db.everything(Order)) == count
    if name == "a count":
        assert sum(user.orders for page in db.everything(User) for user in page.items) == count


def _units(endpoint: Endpoint, name: str, way: str, orders: Sequence[Order]) -> float:
    """The write units of an order. Each item is of less than 1 KB."""
    if way == BY_HAND:
        return sum(1 for _ in items(name, orders)) / len(orders)
    calls: list[Call] = []
    db = Client(schema(PATTERNS[name]), "units", endpoint, observe=calls.append)
    db.create_table()
    bulk_load(db, in_order(orders, way), new=way == NEW)
    db.call("DeleteTable")
    return sum(call.units for call in calls if call.operation in WRITES) / len(orders)


def report(found: Mapping[tuple[str, str], tuple[Figure, float]], count: int) -> str:
    rows = []
    for (name, way), (cost, units) in found.items():
        base = found[name, BY_HAND][0].median
        rows.append(
            [
                f"{name}: {way}",
                f"{cost.median / count * 1e6:.0f} µs",
                times(base / cost.median),
                f"{units:.2f}".rstrip("0").rstrip("."),
            ]
        )
    return table(["", "CPU time of an order", "times less", "write units"], rows)
