"""pydynox, sync methods: models in and out."""

from __future__ import annotations

from pydynox import DynamoDBClient, Model, ModelConfig, SyncBatchWriter, SyncTransaction
from pydynox.attributes import NumberAttribute, StringAttribute

from client.items import index_pk, item, pk, sk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order as Given


def model(client: DynamoDBClient, table: str) -> Any:
    """The model for a table. Its class holds the table's name and endpoint."""

    class Order(Model):
        model_config = ModelConfig(table=table, client=client)
        pk = StringAttribute(partition_key=True)
        sk = StringAttribute(sort_key=True)
        gsi1pk = StringAttribute()
        gsi1sk = StringAttribute()
        entityType = StringAttribute(default="Order")  # noqa: N815 - as the attribute is called
        user = StringAttribute()
        number = NumberAttribute()
        placed = StringAttribute()
        status = StringAttribute()
        total = NumberAttribute()
        note = StringAttribute()

    return Order


class Models:
    is_async = False

    def __init__(self, url: str, table: str) -> None:
        self._client = DynamoDBClient(region="us-east-1", endpoint_url=url)
        self._table = table
        self._order = model(self._client, table)

    def open(self) -> None:
        """Nothing is opened before the first request."""

    def to_native(self, order: Given) -> Any:
        return self._order(**item(order))

    def get(self, user: str, number: int) -> Any:
        return self._order.sync_get(pk=pk(user), sk=sk(number))

    def query(self, user: str) -> list[Any]:
        return list(self._order.sync_query(partition_key=pk(user)))

    def put(self, native: Any) -> None:
        native.sync_save()

    def add(self, user: str, number: int) -> None:
        order = self._order
        order(pk=pk(user), sk=sk(number)).sync_update(atomic=[order.total.add(1)], condition=order.pk.exists())

    def move(self, user: str, number: int, status: str) -> None:
        order = self._order
        changes = {"status": status, "gsi1pk": index_pk(status)}
        order.sync_update_by_key(pk=pk(user), sk=sk(number), condition=order.pk.exists(), **changes)

    def transact(self, put: Any, add: tuple[str, int], check: tuple[str, int]) -> None:
        with SyncTransaction(self._client) as transaction:
            transaction.save_model(put)
            transaction.update(self._table, **add_request(*add))
            transaction.condition_check(self._table, key(*check), condition_expression="attribute_exists(pk)")

    def batch(self, native: list[Any]) -> None:
        with SyncBatchWriter(self._client, self._table) as writer:
            for one in native:
                writer.put(one.to_dict())

    def row(self, found: Any) -> Row:
        return row(found)

    def close(self) -> None:
        """It cannot be closed."""


def key(user: str, number: int) -> dict[str, str]:
    return {"pk": pk(user), "sk": sk(number)}


def add_request(user: str, number: int) -> dict[str, Any]:
    """An update for a transaction, which takes expressions; only puts and deletes take models."""
    return {
        "key": key(user, number),
        "update_expression": "SET #total = #total + :one",
        "condition_expression": "attribute_exists(pk)",
        "expression_attribute_names": {"#total": "total"},
        "expression_attribute_values": {":one": 1},
    }


def row(found: Any) -> Row:
    return [found.user, int(found.number), found.placed, found.status, int(found.total), found.note]


connect = Models
