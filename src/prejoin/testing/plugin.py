"""The pytest plugin: a DynamoDB for each test. Every pytest run loads this file, so fixtures import what they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from prejoin.engine import Embedded
    from prejoin.table.schema.schema import Schema


@pytest.fixture
def prejoin_engine() -> Iterator[Embedded]:
    """An empty DynamoDB in memory, for this test only. It is a transport, with `send()`."""
    from prejoin.engine import Embedded

    with Embedded() as engine:
        yield engine


@pytest.fixture
def prejoin_table(prejoin_engine: Embedded) -> Callable[..., str]:
    """Creates a table and returns its name: `prejoin_table("shop", "pk, sk", {"gsi1": "gsi1pk, gsi1sk:N"})`."""
    import msgspec

    from prejoin.testing.tables import create_table

    def make(
        name: str = "table",
        keys: str | Schema = "pk, sk",
        indexes: Mapping[str, str] | None = None,
        local_indexes: Mapping[str, str] | None = None,
    ) -> str:
        request = create_table(name, keys, indexes, local_indexes)
        prejoin_engine.send("CreateTable", msgspec.json.encode(request))
        return name

    return make


@pytest.fixture
def prejoin_url(prejoin_engine: Embedded) -> Iterator[str]:
    """The same DynamoDB on a free port of this machine, for clients in other processes and languages."""
    from prejoin.engine.http import Server

    with Server(prejoin_engine, port=0, in_memory=True) as url:
        yield url


@pytest.fixture
def prejoin_boto3(prejoin_engine: Embedded) -> Iterator[Embedded]:
    """During the test every DynamoDB client and resource of boto3 uses the same DynamoDB, in this process."""
    from prejoin.testing.mock import mock_dynamodb

    with mock_dynamodb(engine=prejoin_engine):
        yield prejoin_engine
