"""A shop whose users have their largest and smallest order, and a check by brute force."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.patterns.counting import again, all_of

from prejoin import Client, Copy, Counted, Entity, Highest, Index, Key, Lowest, Schema
from prejoin.engine import Embedded


@dataclass
class User:
    user_id: str
    name: str = ""
    orders: int = 0
    largest: Decimal | None = None
    smallest: Decimal | None = None
    latest: datetime | None = None


@dataclass
class Day:
    day: str
    largest: Decimal | None = None


@dataclass
class Order:
    order_id: str
    user_id: str | None
    total: Decimal | None = None
    status: str = "OPEN"
    at: datetime | None = None
    day: str | None = None
    note: str = ""
    deleted_at: datetime | None = None


USER = Entity(
    User,
    Key("USER#{user_id}", "USER"),
    indexes={"gsi2": Key("USERS", "{largest}#{user_id}")},
    patterns=[Copy("by-name", Key("NAME#{name}", "{user_id}"), attributes=["largest"])],
)
DAY = Entity(Day, Key("DAY#{day}", "DAY"))
REACHED = [
    Highest(User, "largest", of="total", when=lambda o: o.status != "CANCELLED"),
    Lowest(User, "smallest", of="total"),
    Highest(User, "latest", of="at"),
    Highest(Day, "largest", of="total", create=True),
]
ORDER = Entity(
    Order,
    Key("ORDER#{order_id}", "ORDER"),
    indexes={"gsi1": Key("USER#{user_id}", "ORDER#{order_id}"), "gsi3": Key("DAY#{day}", "ORDER#{order_id}")},
    patterns=[Counted(User, "orders"), *REACHED],
)
INDEXES = [Index("gsi1"), Index("gsi2"), Index("gsi3")]
SCHEMA = Schema(USER, DAY, ORDER, indexes=INDEXES)
ALONE = Schema(USER, DAY, Entity(Order, ORDER.key, ORDER.indexes, patterns=REACHED), indexes=INDEXES)
"""The same without a count, so that only extremes write to a user."""


class ExpectedExtremes:
    """The expected extremes of all orders ever written, in plain Python."""

    def __init__(self) -> None:
        self.there: dict[str, Order] = {}
        self._largest: dict[str, Decimal] = {}
        self._smallest: dict[str, Decimal] = {}
        self._latest: dict[str, datetime] = {}
        self._days: dict[str, Decimal] = {}

    def put(self, order: Order) -> None:
        self.there[order.order_id] = order
        user = order.user_id
        if user is not None and order.total is not None:
            if order.status != "CANCELLED":
                self._largest[user] = max(self._largest.get(user, order.total), order.total)
            self._smallest[user] = min(self._smallest.get(user, order.total), order.total)
        if user is not None and order.at is not None:
            self._latest[user] = max(self._latest.get(user, order.at), order.at)
        if order.day is not None and order.total is not None:
            self._days[order.day] = max(self._days.get(order.day, order.total), order.total)

    def wrong(self, db: Client) -> list[str]:
        """The differences between the table and the expected values."""
        problems = []
        for user in all_of(db, User):
            name = user.user_id
            should = self._largest.get(name), self._smallest.get(name), self._latest.get(name)
            if (user.largest, user.smallest, user.latest) != should:
                problems.append(f"{user} should have {should}")
        days = {one.day: one.largest for one in all_of(db, Day)}
        return problems + ([f"{days} should be {self._days}"] if days != self._days else [])


def write_orders(db: Client, number: int, times: int) -> list[Decimal]:
    """Inserts orders of one user, each larger or smaller than all before; returns their totals."""
    totals = []
    for at in range(times):
        for total in (Decimal(10 * at + number + 1), Decimal(-10 * at - number - 1)):
            totals.append(total)
            again(lambda total=total: db.insert(Order(f"{number} {total}", "1", total)))  # type: ignore[misc]
    return totals


def write_to_a_file(number: int, path: str, times: int) -> list[Decimal]:
    """Writes orders into a shared file."""
    with Client(SCHEMA, "shop", Embedded(path)) as db:
        return write_orders(db, number, times)


class Counting:
    """A transport that counts requests."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.sent = 0

    def send(self, operation: str, body: bytes) -> bytes:
        self.sent += 1
        answer: bytes = self._inner.send(operation, body)
        return answer

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)
