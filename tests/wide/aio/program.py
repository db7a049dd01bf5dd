"""A program with aioboto3 on the engine in its process. It runs in an environment with aioboto3."""

from __future__ import annotations

import asyncio
from typing import Any

import aioboto3
from aiobotocore.session import get_session
from boto3.dynamodb.conditions import Key

from prejoin.engine import Embedded
from prejoin.testing import attach, create_table, mock_dynamodb

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
ITEM = {**KEY, "data": {"B": b"\x00"}}


async def work(client: Any) -> None:
    await client.create_table(**create_table("shop"))
    await client.get_waiter("table_exists").wait(TableName="shop")
    await client.put_item(TableName="shop", Item=ITEM)
    assert (await client.get_item(TableName="shop", Key=KEY))["Item"] == ITEM
    pages = [page["Count"] async for page in client.get_paginator("scan").paginate(TableName="shop")]
    assert pages == [1], pages
    try:
        await client.put_item(TableName="shop", Item=ITEM, ConditionExpression="attribute_not_exists(pk)")
    except client.exceptions.ConditionalCheckFailedException:
        return
    raise AssertionError("the condition was not tested")


@mock_dynamodb
async def with_clients() -> None:
    async with get_session().create_client("dynamodb") as client:
        await work(client)


@mock_dynamodb
async def with_resources() -> None:
    async with aioboto3.Session().resource("dynamodb") as resource:
        table = await resource.create_table(**create_table("shop"))
        await table.wait_until_exists()
        await table.put_item(Item={"pk": "a", "sk": "b", "number": 7})
        found = await table.query(KeyConditionExpression=Key("pk").eq("a"))
        assert found["Items"] == [{"pk": "a", "sk": "b", "number": 7}], found
        async with table.batch_writer() as batch:
            await batch.delete_item(Key={"pk": "a", "sk": "b"})
        assert (await table.scan())["Count"] == 0


async def attached(engine: Embedded) -> None:
    here = {"region_name": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    async with get_session().create_client("dynamodb", **here) as client:
        await work(attach(client, engine))


if __name__ == "__main__":
    asyncio.run(with_clients())
    asyncio.run(with_resources())
    with Embedded() as engine:
        asyncio.run(attached(engine))
