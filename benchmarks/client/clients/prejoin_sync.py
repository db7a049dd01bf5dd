"""prejoin's client over HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from prejoin import Client, Entity, Index, Key, Schema
from prejoin.transport import Endpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order as Given


@dataclass
class Order:
    """The application's class."""

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


class Sync:
    is_async = False

    def __init__(self, url: str, table: str) -> None:
        self._endpoint = Endpoint(url)
        self._db = Client(SCHEMA, table, self._endpoint)

    def open(self) -> None:
        """Nothing is opened before the first request."""

    def to_native(self, order: Given) -> Order:
        return Order(*order)

    def get(self, user: str, number: int) -> Order | None:
        return self._db.get(Order, user=user, number=number)

    def query(self, user: str) -> list[Order]:
        return list(self._db.query(Order, user=user))

    def put(self, native: Order) -> None:
        self._db.put(native)

    def add(self, user: str, number: int) -> None:
        with self._db.update(Order, user=user, number=number) as order:
            order.total += 1

    def move(self, user: str, number: int, status: str) -> None:
        with self._db.update(Order, user=user, number=number) as order:
            order.status = status

    def transact(self, put: Order, add: tuple[str, int], check: tuple[str, int]) -> None:
        with self._db.transaction() as transaction:
            transaction.put(put)
            with transaction.update(Order, user=add[0], number=add[1]) as order:
                order.total += 1
            transaction.check(Order, user=check[0], number=check[1])

    def batch(self, native: list[Order]) -> None:
        self._db.put_many(native)

    def row(self, found: Any) -> Row:
        return row(found)

    def close(self) -> None:
        self._endpoint.close()


def row(found: Order) -> Row:
    return [found.user, found.number, found.placed, found.status, found.total, found.note]


connect = Sync
