"""pydynox, async methods: models in and out."""

from __future__ import annotations

from pydynox import BatchWriter, DynamoDBClient, Transaction

from client.items import index_pk, item, pk, sk

from .pydynox_sync import add_request, key, model, row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order as Given


class Models:
    is_async = True

    def __init__(self, url: str, table: str) -> None:
        self._client = DynamoDBClient(region="us-east-1", endpoint_url=url)
        self._table = table
        self._order = model(self._client, table)

    async def open(self) -> None:
        """Nothing is opened before the first request."""

    def to_native(self, order: Given) -> Any:
        return self._order(**item(order))

    async def get(self, user: str, number: int) -> Any:
        return await self._order.get(pk=pk(user), sk=sk(number))

    async def query(self, user: str) -> list[Any]:
        return [one async for one in self._order.query(partition_key=pk(user))]

    async def put(self, native: Any) -> None:
        await native.save()

    async def add(self, user: str, number: int) -> None:
        order = self._order
        await order(pk=pk(user), sk=sk(number)).update(atomic=[order.total.add(1)], condition=order.pk.exists())

    async def move(self, user: str, number: int, status: str) -> None:
        order = self._order
        changes = {"status": status, "gsi1pk": index_pk(status)}
        await order.update_by_key(pk=pk(user), sk=sk(number), condition=order.pk.exists(), **changes)

    async def transact(self, put: Any, add: tuple[str, int], check: tuple[str, int]) -> None:
        async with Transaction(self._client) as transaction:
            transaction.save_model(put)
            transaction.update(self._table, **add_request(*add))
            transaction.condition_check(self._table, key(*check), condition_expression="attribute_exists(pk)")

    async def batch(self, native: list[Any]) -> None:
        async with BatchWriter(self._client, self._table) as writer:
            for one in native:
                writer.put(one.to_dict())

    def row(self, found: Any) -> Row:
        return row(found)

    async def close(self) -> None:
        """It cannot be closed."""


connect = Models
