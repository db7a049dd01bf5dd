"""PynamoDB: models in and out."""

from __future__ import annotations

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.connection import Connection
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

from client.items import index_pk, item, pk, sk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order as Given


def model(url: str, table: str) -> Any:
    """The model for a table. Its class holds the table's name and endpoint."""

    class Order(Model):
        class Meta:
            table_name = table
            region = "us-east-1"
            host = url

        pk = UnicodeAttribute(hash_key=True)
        sk = UnicodeAttribute(range_key=True)
        gsi1pk = UnicodeAttribute()
        gsi1sk = UnicodeAttribute()
        entityType = UnicodeAttribute(default="Order")  # noqa: N815 - as the attribute is called
        user = UnicodeAttribute()
        number = NumberAttribute()
        placed = UnicodeAttribute()
        status = UnicodeAttribute()
        total = NumberAttribute()
        note = UnicodeAttribute()

    return Order


class Models:
    is_async = False

    def __init__(self, url: str, table: str) -> None:
        self._order = model(url, table)
        self._connection = Connection(region="us-east-1", host=url)

    def open(self) -> None:
        """Nothing is opened before the first request."""

    def to_native(self, order: Given) -> Any:
        return self._order(**item(order))

    def get(self, user: str, number: int) -> Any:
        return self._order.get(pk(user), sk(number))

    def query(self, user: str) -> list[Any]:
        return list(self._order.query(pk(user)))

    def put(self, native: Any) -> None:
        native.save()

    def add(self, user: str, number: int) -> None:
        order = self._order
        order(pk(user), sk(number)).update(actions=[order.total.set(order.total + 1)], condition=order.pk.exists())

    def move(self, user: str, number: int, status: str) -> None:
        order = self._order
        order(pk(user), sk(number)).update(
            actions=[order.status.set(status), order.gsi1pk.set(index_pk(status))],
            condition=order.pk.exists(),
        )

    def transact(self, put: Any, add: tuple[str, int], check: tuple[str, int]) -> None:
        order = self._order
        with TransactWrite(connection=self._connection) as transaction:
            transaction.save(put)
            transaction.update(
                order(pk(add[0]), sk(add[1])),
                actions=[order.total.set(order.total + 1)],
                condition=order.pk.exists(),
            )
            transaction.condition_check(order, pk(check[0]), sk(check[1]), condition=order.pk.exists())

    def batch(self, native: list[Any]) -> None:
        with self._order.batch_write() as writer:
            for one in native:
                writer.save(one)

    def row(self, found: Any) -> Row:
        return [found.user, found.number, found.placed, found.status, found.total, found.note]

    def close(self) -> None:
        """It cannot be closed."""


connect = Models
