"""Writes of an entity with one pattern each, beside the plain one. A further pattern is a further line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from prejoin import (
    Child,
    Client,
    Copy,
    Counted,
    Entity,
    Index,
    Key,
    Schema,
    SoftDelete,
    Summed,
    Timestamps,
    TimeToLive,
    Unique,
    Version,
)
from prejoin.table.schema.pattern import Pattern

from .measure import Case

TEXT = "x" * 249 + "y"


@dataclass(frozen=True)
class User:
    user_id: str
    orders: int = 0
    spent: int = 0


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str
    number: str
    total: int = 10
    text: str = TEXT
    status: str | None = None
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
    expires_at: datetime | None = None


INDEXED = Key("ORDERS", "{order_id}")
SPARSE = Key("STATUS#{status}", "{order_id}")
SHARDED = Key("ORDERS#{order_id:shard(8)}", "{order_id}")

KINDS: dict[str, tuple[Sequence[Pattern], Key | None]] = {
    "plain": ((), None),
    "an index": ((), INDEXED),
    "an index in 8 shards": ((), SHARDED),
    "a sparse index, not in it": ((), SPARSE),
    "Version": ([Version("version")], None),
    "Timestamps": ([Timestamps("created_at", "updated_at")], None),
    "TimeToLive": ([TimeToLive("expires_at")], None),
    "SoftDelete": ([SoftDelete("deleted_at")], None),
    "Unique": ([Unique("number")], None),
    "Copy": ([Copy("by-id", Key("ORDER#{order_id}", "ORDER"))], None),
    "Child": ([Child(User)], None),
    "Counted": ([Counted(User, "orders")], None),
    "Counted, 8 shards": ([Counted(User, "orders", shards=8)], None),
    "Counted and Summed": ([Counted(User, "orders"), Summed(User, "spent", of="total")], None),
    "Unique, Copy, Counted": (
        [Unique("number"), Copy("by-id", Key("ORDER#{order_id}", "ORDER")), Counted(User, "orders")],
        None,
    ),
}
ORDER = Order("u1", "o1", "n1")
KEY = {"user_id": "u1", "order_id": "o1"}


def schema(kind: str) -> Schema:
    patterns, index = KINDS[kind]
    order = Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"), {"all": index} if index else {}, patterns=patterns)
    return Schema(Entity(User, Key("USER#{user_id}", "PROFILE")), order, indexes=[Index("all")] if index else [])


def gone(db: Client) -> None:
    """The order removed from the table, whatever its patterns mean by deleting it."""
    users = [item for item in db.call("Scan")["Items"] if item["entityType"]["S"] == "User"]
    for item in db.call("Scan")["Items"]:
        if item not in users:
            db.call("DeleteItem", {"Key": {name: item[name] for name in ("pk", "sk")}})


def there(db: Client) -> None:
    gone(db)
    db.insert(ORDER)


def update(db: Client) -> None:
    with db.update(Order, **KEY) as order:
        order.text = TEXT[::-1]


def delete(db: Client) -> None:
    db.delete(Order, **KEY, number="n1", total=10)


VERBS = {"insert": (gone, lambda db: db.insert(ORDER)), "update": (there, update), "delete": (there, delete)}


def write_cases(kinds: Sequence[str] = tuple(KINDS)) -> list[Case]:
    return [
        Case(f"{verb} {kind}", schema(kind), lambda db: db.insert(User("u1")), call, before)
        for kind in kinds
        for verb, (before, call) in VERBS.items()
    ]
