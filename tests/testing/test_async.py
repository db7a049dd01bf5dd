"""aiobotocore, and so aioboto3, on the engine in this process. It is not among what the tests need: its botocore is older."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from prejoin.engine import Embedded
from prejoin.testing import attach, create_table, mock_dynamodb

session = pytest.importorskip("aiobotocore.session")

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
ITEM = {**KEY, "data": {"B": b"\x00"}}


async def _work(client: Any) -> None:
    await client.create_table(**create_table("shop"))
    await client.get_waiter("table_exists").wait(TableName="shop")
    await client.put_item(TableName="shop", Item=ITEM)
    assert (await client.get_item(TableName="shop", Key=KEY))["Item"] == ITEM
    pages = [page["Count"] async for page in client.get_paginator("scan").paginate(TableName="shop")]
    assert pages == [1]
    with pytest.raises(client.exceptions.ConditionalCheckFailedException):
        await client.put_item(TableName="shop", Item=ITEM, ConditionExpression="attribute_not_exists(pk)")


def test_clients_of_aiobotocore_ask_the_engine() -> None:
    @mock_dynamodb
    async def work() -> None:
        async with session.get_session().create_client("dynamodb") as client:
            await _work(client)

    asyncio.run(work())


def test_a_client_of_aiobotocore_can_be_attached() -> None:
    here = {"region_name": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}

    async def work(engine: Embedded) -> None:
        async with session.get_session().create_client("dynamodb", **here) as client:
            await _work(attach(client, engine))

    with Embedded() as engine:
        asyncio.run(work(engine))
