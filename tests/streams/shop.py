"""A table with a stream, whose entities have copies and guards, for the tests of streams."""

from __future__ import annotations

from dataclasses import dataclass, field

from prejoin import Client, Copy, Embedded, Entity, Index, Key, Schema, Unique, receipts

BOTH = "NEW_AND_OLD_IMAGES"


@dataclass
class User:
    user_id: str
    email: str
    photo: bytes | None = None


@dataclass
class Order:
    user_id: str
    order_id: str
    status: str
    total: int = 0
    tags: set[str] = field(default_factory=set)


@dataclass
class Revenue:
    status: str
    orders: int = 0
    total: int = 0


SCHEMA = Schema(
    Entity(User, Key("USER#{user_id}", "USER"), patterns=[Unique("email")]),
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{order_id}"),
        indexes={"gsi1": Key("STATUS#{status}", "ORDER#{order_id}")},
        patterns=[Copy("by_id", Key("ORDER#{order_id}", "ORDER"))],
    ),
    Entity(Revenue, Key("REVENUE#{status}", "REVENUE")),
    receipts(),
    indexes=[Index("gsi1")],
)


def shop(engine: Embedded, view: str = BOTH) -> Client:
    """The client of a new table with a stream."""
    db = Client(SCHEMA, "shop", engine)
    db.create_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": view})
    return db
