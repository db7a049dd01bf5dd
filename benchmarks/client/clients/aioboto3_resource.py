"""aioboto3's resource: boto3's, awaited."""

from __future__ import annotations

from contextlib import AsyncExitStack

import aioboto3
from boto3.dynamodb.conditions import Key
from botocore.config import Config

from client.items import item, pk, row

from .boto3_resource import adding, key, moving, transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.asking import Row
    from client.workload import Order


class Resource:
    awaited = True

    def __init__(self, url: str, table: str) -> None:
        self._url, self._name = url, table
        self._open = AsyncExitStack()

    async def open(self) -> None:
        # Ten connections are its default: those who ask fifty at once are told to raise it.
        resource = aioboto3.Session().resource(
            "dynamodb",
            region_name="us-east-1",
            endpoint_url=self._url,
            config=Config(max_pool_connections=50),
        )
        self._table: Any = await (await self._open.enter_async_context(resource)).Table(self._name)

    def made(self, order: Order) -> dict[str, Any]:
        return item(order)

    async def get(self, user: str, number: int) -> Any:
        return (await self._table.get_item(Key=key(user, number))).get("Item")

    async def query(self, user: str) -> list[Any]:
        asked = {"KeyConditionExpression": Key("pk").eq(pk(user))}
        answer = await self._table.query(**asked)
        items: list[Any] = answer["Items"]
        while "LastEvaluatedKey" in answer:
            answer = await self._table.query(**asked, ExclusiveStartKey=answer["LastEvaluatedKey"])
            items += answer["Items"]
        return items

    async def put(self, made: dict[str, Any]) -> None:
        await self._table.put_item(Item=made)

    async def add(self, user: str, number: int) -> None:
        await self._table.update_item(**adding(user, number))

    async def move(self, user: str, number: int, status: str) -> None:
        await self._table.update_item(**moving(user, number, status))

    async def transact(self, put: dict[str, Any], add: tuple[str, int], check: tuple[str, int]) -> None:
        await self._table.meta.client.transact_write_items(TransactItems=transaction(self._name, put, add, check))

    async def batch(self, made: list[dict[str, Any]]) -> None:
        async with self._table.batch_writer() as writer:
            for one in made:
                await writer.put_item(Item=one)

    def row(self, found: Any) -> Row:
        return row(found)

    async def close(self) -> None:
        await self._open.aclose()


connect = Resource
