"""The CPU time of a bulk load of orders with a copy each, beside boto3's `batch_writer` with the same items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import boto3

from common.figures import Figure, figure
from common.tables import table, times
from prejoin import Client, Copy, Entity, Key, Schema, bulk_load
from prejoin.transport import Credentials, Endpoint

TEXT = "x" * 250


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str
    total: int = 10
    status: str = "PAID"
    text: str = TEXT


SCHEMA = Schema(
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{order_id}"),
        patterns=[Copy("by-id", Key("ORDER#{order_id}", "ORDER"))],
    )
)
WAYS = ("boto3's batch_writer", "bulk_load, new=True", "bulk_load")


def by_hand(url: str, name: str, orders: list[Order]) -> None:
    resource: Any = boto3.resource(
        "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    with resource.Table(name).batch_writer() as batch:
        for order in orders:
            attributes = {
                "user_id": order.user_id,
                "order_id": order.order_id,
                "total": order.total,
                "status": order.status,
                "text": order.text,
            }
            own = {"pk": f"USER#{order.user_id}", "sk": f"ORDER#{order.order_id}", "entityType": "Order"}
            batch.put_item(Item={**own, **attributes})
            copy = {"pk": f"ORDER#{order.order_id}", "sk": "ORDER", "entityType": "Order.by-id"}
            batch.put_item(Item={**copy, **attributes})


def load_costs(port: int, count: int, repeats: int) -> dict[str, Figure]:
    """The CPU time of each way in this process, in turn. All write the same items."""
    url = f"http://127.0.0.1:{port}"
    endpoint = Endpoint(url, credentials=Credentials("a", "b"))
    orders = [Order(f"u{number % 100}", f"o{number}") for number in range(count)]
    samples: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(repeats):
        for at, way in enumerate(WAYS):
            db = Client(SCHEMA, f"load-{turn}-{at}", endpoint)
            db.create_table()
            calls: dict[str, Callable[[], object]] = {
                WAYS[0]: lambda db=db: by_hand(url, db.table, orders),
                WAYS[1]: lambda db=db: bulk_load(db, orders, new=True),
                WAYS[2]: lambda db=db: bulk_load(db, orders),
            }
            begin = process_time()
            calls[way]()
            samples[way].append(process_time() - begin)
            assert sum(len(page) for page in db.everything(Order)) == count
            db.call("DeleteTable")
    endpoint.close()
    return {way: figure(found) for way, found in samples.items()}


def report(found: dict[str, Figure], count: int) -> str:
    base = found[WAYS[0]].median
    rows = [
        [way, f"{cost.median / count * 1e6:.0f} µs", times(base / cost.median), str(4 if way == WAYS[2] else 2)]
        for way, cost in found.items()
    ]
    return table(["", "CPU time of an order", "times less", "write units"], rows)
