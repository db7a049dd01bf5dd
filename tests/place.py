"""Where the tests of tables run: the embedded engine, or any other DynamoDB that PREJOIN_PLACE names.

`PREJOIN_PLACE=http://127.0.0.1:8000` is a server, `PREJOIN_PLACE=aws` is AWS itself. Elsewhere tables have other names, so
that each test finds an empty DynamoDB as it does here, and they are deleted when the test is over.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from functools import cache
from hashlib import sha256
from itertools import count
from time import sleep  # by this name: some tests do away with time.sleep
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import msgspec
import pytest

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import AWS, AsyncTransport, Endpoint, NotConfigured, Transport

PLACE = os.environ.get("PREJOIN_PLACE", "")
FEW = 3
"""Examples of a property elsewhere, where each is a table and many requests; here it is tried with many more."""
EXAMPLES = int(os.environ.get("PREJOIN_EXAMPLES", "4"))
"""Examples of a property that does not name a number. scripts/examples and scripts/soak ask for more."""

_CATCH_UP = 1.0
"""Seconds after which AWS's indexes and replicas have what was written, almost certainly."""
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan"})
_RUN = secrets.token_hex(4)
_numbers = count(1)


class DynamoDB(Transport, AsyncTransport, Protocol):
    """What `fresh` gives."""

    def close(self) -> None: ...


def fresh() -> DynamoDB:
    """A DynamoDB without tables."""
    return Elsewhere(f".{_RUN}.{next(_numbers)}.") if PLACE else Embedded()


def examples(wanted: int, least: int = FEW) -> int:
    """How many examples of a property to try: `wanted` with PREJOIN_EXAMPLES=40, in proportion otherwise."""
    return min(FEW, wanted) if PLACE else max(least, wanted * EXAMPLES // 40)


def tidy() -> None:
    """Deletes the tables that were made elsewhere."""
    while _used:
        _used.pop().close()


def leave() -> None:
    """Closes the connections to elsewhere."""
    if PLACE:
        _way().close()


class Elsewhere:
    """A DynamoDB within another: its tables have a suffix there that no others have, and no others are seen."""

    concurrent = True

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self._made: set[str] = set()
        self._written = False

    def send(self, operation: str, body: bytes) -> bytes:
        if self._is_early(operation):
            sleep(_CATCH_UP)
        try:
            answer = _way().send(operation, self._named_there(body))
        except DynamoDBError as error:
            raise self._told_here(error) from None
        except NotConfigured as error:
            pytest.skip(f"PREJOIN_PLACE is {PLACE}, but {error}")
        if operation in ("CreateTable", "UpdateTable"):
            self._settle(answer)
        return self._seen_here(operation, answer)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        if self._is_early(operation):
            await asyncio.to_thread(sleep, _CATCH_UP)
        try:
            answer = await (await _way_of_this_loop()).send_async(operation, self._named_there(body))
        except DynamoDBError as error:
            raise self._told_here(error) from None
        except NotConfigured as error:
            pytest.skip(f"PREJOIN_PLACE is {PLACE}, but {error}")
        if operation in ("CreateTable", "UpdateTable"):
            await asyncio.to_thread(self._settle, answer)
        return self._seen_here(operation, answer)

    def close(self) -> None:
        """Deletes its tables."""
        while self._made:
            try:
                _way().send("DeleteTable", msgspec.json.encode({"TableName": self._made.pop()}))
            except DynamoDBError as error:
                if error.code != "ResourceNotFoundException":
                    raise

    def _is_early(self, operation: str) -> bool:
        """Whether a read may not find yet what was written. The tests are not about that, and only AWS is so."""
        early = PLACE == "aws" and self._written and operation in _READS
        self._written = operation in _WRITES or (self._written and not early)
        return early

    def _settle(self, answer: bytes) -> None:
        """Waits until a table can be used."""
        described = msgspec.json.decode(answer)["TableDescription"]
        self._made.add(described["TableName"])
        _used.add(self)
        name = msgspec.json.encode({"TableName": described["TableName"]})
        while True:
            described = msgspec.json.decode(_way().send("DescribeTable", name))["Table"]
            if {described["TableStatus"], *_statuses(described)} == {"ACTIVE"}:
                return
            sleep(1 if PLACE == "aws" else 0.01)

    def _named_there(self, body: bytes) -> bytes:
        """A request about the tables as they are called there; of the rest not a byte is changed."""
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        changed: dict[str, Any] = {**members}
        if "TableName" in members:
            changed["TableName"] = msgspec.json.decode(members["TableName"]) + self._suffix
        if "ClientRequestToken" in members:
            # An account remembers them for ten minutes, which is longer than from one test to the next.
            token = msgspec.json.decode(members["ClientRequestToken"]) + self._suffix
            changed["ClientRequestToken"] = sha256(token.encode()).hexdigest()[:32]
        if "RequestItems" in members:
            tables = msgspec.json.decode(members["RequestItems"], type=dict[str, msgspec.Raw])
            changed["RequestItems"] = {name + self._suffix: asked for name, asked in tables.items()}
        if "TransactItems" in members:
            actions = msgspec.json.decode(members["TransactItems"], type=list[dict[str, dict[str, msgspec.Raw]]])
            changed["TransactItems"] = [
                {kind: {**said, "TableName": msgspec.json.decode(said["TableName"]) + self._suffix}}
                for action in actions
                for kind, said in action.items()
            ]
        return msgspec.json.encode(changed)

    def _seen_here(self, operation: str, answer: bytes) -> bytes:
        if operation == "ListTables":
            names = msgspec.json.decode(answer)["TableNames"]
            answer = msgspec.json.encode({"TableNames": [name for name in names if name.endswith(self._suffix)]})
        return answer.replace(self._suffix.encode(), b"")

    def _told_here(self, error: DynamoDBError) -> DynamoDBError:
        message = error.message.replace(self._suffix, "")
        return DynamoDBError(error.code, message, status=error.status, fields=error.fields, request_id=error.request_id)


def _statuses(described: dict[str, Any]) -> list[str]:
    return [index.get("IndexStatus", "ACTIVE") for index in described.get("GlobalSecondaryIndexes", ())]


_used: set[Elsewhere] = set()
"""Those with tables in them."""
_ways: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AWS | Endpoint, AsyncIterator[None]]] = WeakKeyDictionary()


def _to_there() -> AWS | Endpoint:
    return AWS() if PLACE == "aws" else Endpoint(PLACE)


_way = cache(_to_there)


async def _way_of_this_loop() -> AWS | Endpoint:
    """Connections that are closed when the event loop is, as asyncio.run ends whatever generators are left in it."""
    loop = asyncio.get_running_loop()
    if loop not in _ways:
        way = _to_there()
        ending = _ending(way)
        _ways[loop] = way, ending
        await anext(ending)
    return _ways[loop][0]


async def _ending(way: AWS | Endpoint) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await way.close_async()
