"""aioboto3's resource: the async version of boto3's."""

from __future__ import annotations

from contextlib import AsyncExitStack

import aioboto3
from boto3.dynamodb.conditions import Key
from botocore.config import Config

from client.items import item, pk, row

from .boto3_resource import add_request, key, move_request, transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order


class Resource:
    is_async = True

    def __init__(self, url: str, table: str) -> None:
        self._url, self._name = url, table
        self._open = AsyncExitStack()

    async def open(self) -> None:
        # The default is ten connections, too few for fifty concurrent requests.
        resource = aioboto3.Session().resource(
            "dynamodb",
            region_name="us-east-1",
            endpoint_url=self._url,
            config=Config(max_pool_connections=50),
        )
        self._table: Any = await (await self._open.enter_async_context(resource)).Table(self._name)

    def to_native(self, order: Order) -> dict[str, Any]:
        return item(order)

    async def get(self, user: str, number: int) -> Any:
        return (await self._table.get_item(Key=key(user, number))).get("Item")

    async def query(self, user: str) -> list[Any]:
        arguments = {"KeyConditionExpression": Key("pk").eq(pk(user))}
        answer = await self._table.query(**arguments)
        items: list[Any] = answer["Items"]
        while "LastEvaluatedKey" in answer:
            answer = await self._table.query(**arguments, ExclusiveStartKey=answer["LastEvaluatedKey"])
            items += answer["Items"]
        return items

    async def put(self, native: dict[str, Any]) -> None:
        await self._table.put_item(Item=native)

    async def add(self, user: str, number: int) -> None:
        await self._table.update_item(**add_request(user, number))

    async def move(self, user: str, number: int, status: str) -> None:
        await self._table.update_item(**move_request(user, number, status))

    async def transact(self, put: dict[str, Any], add: tuple[str, int], check: tuple[str, int]) -> None:
        await self._table.meta.client.transact_write_items(TransactItems=transaction(self._name, put, add, check))

    async def batch(self, native: list[dict[str, Any]]) -> None:
        async with self._table.batch_writer() as writer:
            for one in native:
                await writer.put_item(Item=one)

    def row(self, found: Any) -> Row:
        return row(found)

    async def close(self) -> None:
        await self._open.aclose()


connect = Resource
