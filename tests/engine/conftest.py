"""A DynamoDB in memory and one in a file, one table for most tests, and a short way to ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError

Ask = Callable[..., dict[str, Any]]

REQUESTS = frozenset(
    {"test_differences.py", "test_encryption.py", "test_exports.py", "test_legacy.py", "test_limits.py"}
    | {"test_newer_messages.py", "test_partiql.py", "test_server.py", "test_settings.py", "test_throughput.py"}
    | {"test_weather.py"}
)
"""Tests of requests and responses, which no store sees. Every day they run in memory only."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name in REQUESTS and "in a file" in item.name:
            item.add_marker(pytest.mark.slow)


def key_schema(*names: str, sort: tuple[str, ...] = ()) -> list[dict[str, str]]:
    return [
        *({"AttributeName": name, "KeyType": "HASH"} for name in names),
        *({"AttributeName": name, "KeyType": "RANGE"} for name in sort),
    ]


SHOP: dict[str, Any] = {
    "TableName": "shop",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": kind}
        for name, kind in {"pk": "S", "sk": "S", "g1pk": "S", "g1sk": "N", "city": "S", "rank": "N"}.items()
    ],
    "KeySchema": key_schema("pk", sort=("sk",)),
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "gsi1",
            "KeySchema": key_schema("g1pk", sort=("g1sk",)),
            "Projection": {"ProjectionType": "ALL"},
        },
        {
            "IndexName": "by-city",
            "KeySchema": key_schema("city"),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]},
        },
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-rank",
            "KeySchema": key_schema("pk", sort=("rank",)),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


def value(content: Any) -> dict[str, Any]:
    """A DynamoDB value for a plain Python one; a dict is taken as a DynamoDB value already."""
    if isinstance(content, dict):
        return content
    if isinstance(content, bool):
        return {"BOOL": content}
    return {"N": str(content)} if isinstance(content, int | float) else {"S": content}


def item(**attributes: Any) -> dict[str, Any]:
    return {name: value(content) for name, content in attributes.items()}


def values(**attributes: Any) -> dict[str, Any]:
    """ExpressionAttributeValues: `values(p=1)` is `{":p": {"N": "1"}}`."""
    return {f":{name}": value(content) for name, content in attributes.items()}


@pytest.fixture(params=["in memory", "in a file"])
def dynamodb(request: pytest.FixtureRequest) -> Iterator[Embedded]:
    """One of each kind: what holds for one store holds for the other."""
    file = None if request.param == "in memory" else request.getfixturevalue("tmp_path") / "dynamodb.db"
    with Embedded(file) as engine:
        yield engine


def send(dynamodb: Embedded, operation: str, **members: Any) -> Any:
    """Send one request, about the table `shop` unless it says otherwise."""
    return json.loads(dynamodb.send(operation, json.dumps({"TableName": "shop", **members}).encode()))


@pytest.fixture
def ask(dynamodb: Embedded) -> Ask:
    """Send one request, as keywords, and return the answer."""

    def send(operation: str, **members: Any) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(dynamodb.send(operation, json.dumps(members).encode()))
        return answer

    return send


@pytest.fixture
def shop(ask: Ask) -> Ask:
    """The same, with the table `shop`, which requests then are about."""
    ask("CreateTable", **SHOP)

    def send(operation: str, **members: Any) -> dict[str, Any]:
        return ask(operation, **{"TableName": "shop", **members})

    return send


def refusal(call: Callable[..., Any], *arguments: Any, **members: Any) -> DynamoDBError:
    """The DynamoDB error that a call raises."""
    with pytest.raises(DynamoDBError) as caught:
        call(*arguments, **members)
    return caught.value
