"""The DynamoDB that tests of tables use: the embedded engine, or another one that PREJOIN_PLACE names.

`PREJOIN_PLACE=http://127.0.0.1:8000` is a server, `PREJOIN_PLACE=aws` is AWS. On a remote DynamoDB, tables get a suffix,
so that each test has a DynamoDB without tables, and they are deleted after the test.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from functools import cache
from hashlib import sha256
from itertools import count
from time import sleep  # by this name, because some tests replace time.sleep
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import msgspec
import pytest

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import AWS, AsyncTransport, Endpoint, NotConfigured, Transport

PLACE = os.environ.get("PREJOIN_PLACE", "")
FEW = 3
"""Examples of a property on a remote DynamoDB, where each needs a table and many requests."""
EXAMPLES = int(os.environ.get("PREJOIN_EXAMPLES", "4"))
"""Examples of a property by default. scripts/examples and scripts/soak set more."""

_CATCH_UP = 1.0
"""Seconds after which AWS's indexes and replicas are almost certainly up to date."""
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan"})
_RUN = secrets.token_hex(4)
_numbers = count(1)


class DynamoDB(Transport, AsyncTransport, Protocol):
    """The result of `fresh`."""

    def close(self) -> None: ...


def fresh() -> DynamoDB:
    """A DynamoDB without tables."""
    return RemoteDynamoDB(f".{_RUN}.{next(_numbers)}.") if PLACE else Embedded()


def examples(wanted: int, least: int = FEW) -> int:
    """The number of examples of a property: `wanted` with PREJOIN_EXAMPLES=40, in proportion otherwise."""
    return min(FEW, wanted) if PLACE else max(least, wanted * EXAMPLES // 40)


def tidy() -> None:
    """Deletes the tables on the remote DynamoDB."""
    while _used:
        _used.pop().close()


def leave() -> None:
    """Closes the connections to the remote DynamoDB."""
    if PLACE:
        _endpoint().close()


class RemoteDynamoDB:
    """A separate DynamoDB within a remote one: its tables have a unique suffix, and others are hidden."""

    concurrent = True

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self._made: set[str] = set()
        self._written = False

    def send(self, operation: str, body: bytes) -> bytes:
        if self._is_early(operation):
            sleep(_CATCH_UP)
        try:
            answer = _endpoint().send(operation, self._remote_request(body))
        except DynamoDBError as error:
            raise self._local_error(error) from None
        except NotConfigured as error:
            pytest.skip(f"PREJOIN_PLACE is {PLACE}, but {error}")
        if operation in ("CreateTable", "UpdateTable"):
            self._settle(answer)
        return self._local_response(operation, answer)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        if self._is_early(operation):
            await asyncio.to_thread(sleep, _CATCH_UP)
        try:
            answer = await (await _endpoint_of_loop()).send_async(operation, self._remote_request(body))
        except DynamoDBError as error:
            raise self._local_error(error) from None
        except NotConfigured as error:
            pytest.skip(f"PREJOIN_PLACE is {PLACE}, but {error}")
        if operation in ("CreateTable", "UpdateTable"):
            await asyncio.to_thread(self._settle, answer)
        return self._local_response(operation, answer)

    def close(self) -> None:
        """Deletes its tables."""
        while self._made:
            try:
                _endpoint().send("DeleteTable", msgspec.json.encode({"TableName": self._made.pop()}))
            except DynamoDBError as error:
                if error.code != "ResourceNotFoundException":
                    raise

    def _is_early(self, operation: str) -> bool:
        """Whether a read may be stale, on AWS only. These tests are not about that."""
        early = PLACE == "aws" and self._written and operation in _READS
        self._written = operation in _WRITES or (self._written and not early)
        return early

    def _settle(self, answer: bytes) -> None:
        """Waits until a table and its indexes are active."""
        described = msgspec.json.decode(answer)["TableDescription"]
        self._made.add(described["TableName"])
        _used.add(self)
        name = msgspec.json.encode({"TableName": described["TableName"]})
        while True:
            described = msgspec.json.decode(_endpoint().send("DescribeTable", name))["Table"]
            if {described["TableStatus"], *_statuses(described)} == {"ACTIVE"}:
                return
            sleep(1 if PLACE == "aws" else 0.01)

    def _remote_request(self, body: bytes) -> bytes:
        """The request with the remote names of tables. All other bytes stay the same."""
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        changed: dict[str, Any] = {**members}
        if "TableName" in members:
            changed["TableName"] = msgspec.json.decode(members["TableName"]) + self._suffix
        if "ClientRequestToken" in members:
            # An account remembers tokens for ten minutes, so tests must not share them.
            token = msgspec.json.decode(members["ClientRequestToken"]) + self._suffix
            changed["ClientRequestToken"] = sha256(token.encode()).hexdigest()[:32]
        if "RequestItems" in members:
            tables = msgspec.json.decode(members["RequestItems"], type=dict[str, msgspec.Raw])
            changed["RequestItems"] = {name + self._suffix: requests for name, requests in tables.items()}
        if "TransactItems" in members:
            actions = msgspec.json.decode(members["TransactItems"], type=list[dict[str, dict[str, msgspec.Raw]]])
            changed["TransactItems"] = [
                {kind: {**fields, "TableName": msgspec.json.decode(fields["TableName"]) + self._suffix}}
                for action in actions
                for kind, fields in action.items()
            ]
        return msgspec.json.encode(changed)

    def _local_response(self, operation: str, answer: bytes) -> bytes:
        if operation == "ListTables":
            names = msgspec.json.decode(answer)["TableNames"]
            answer = msgspec.json.encode({"TableNames": [name for name in names if name.endswith(self._suffix)]})
        return answer.replace(self._suffix.encode(), b"")

    def _local_error(self, error: DynamoDBError) -> DynamoDBError:
        message = error.message.replace(self._suffix, "")
        return DynamoDBError(error.code, message, status=error.status, fields=error.fields, request_id=error.request_id)


def _statuses(described: dict[str, Any]) -> list[str]:
    return [index.get("IndexStatus", "ACTIVE") for index in described.get("GlobalSecondaryIndexes", ())]


_used: set[RemoteDynamoDB] = set()
"""Instances with tables, to clean up."""
_endpoints: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AWS | Endpoint, AsyncIterator[None]]] = (
    WeakKeyDictionary()
)


def _new_endpoint() -> AWS | Endpoint:
    return AWS() if PLACE == "aws" else Endpoint(PLACE)


_endpoint = cache(_new_endpoint)


async def _endpoint_of_loop() -> AWS | Endpoint:
    """An endpoint that is closed with its event loop, because asyncio.run closes async generators at its end."""
    loop = asyncio.get_running_loop()
    if loop not in _endpoints:
        endpoint = _new_endpoint()
        ending = _ending(endpoint)
        _endpoints[loop] = endpoint, ending
        await anext(ending)
    return _endpoints[loop][0]


async def _ending(endpoint: AWS | Endpoint) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await endpoint.close_async()
