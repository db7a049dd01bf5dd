"""The client that is awaited: the conversations of `Client`, held in an event loop."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, TypeVar, cast

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import AsyncTransport

from .calls import Observer
from .client import measured, observed
from .conversation import Request, Steps
from .core import write_all
from .definition import create_table
from .reading import AsyncReader
from .schema import Schema
from .writes import Write
from .writing import AsyncWriter, Gathered

R = TypeVar("R")

_encode = msgspec.json.Encoder().encode


class AsyncTransaction(Gathered):
    """Writes that are done together or not at all, when the `async with` ends."""

    def __init__(self, client: AsyncClient, token: str | None) -> None:
        super().__init__(client.schema, client.table, token)
        self._client = client

    async def __aenter__(self) -> AsyncTransaction:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._client._run(self._steps())


class AsyncClient(AsyncReader, AsyncWriter):
    """Typed access to one table, awaited. Each method is as in `Client`.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Entity, Key
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     name: str
    >>> async def main():
    ...     db = AsyncClient(Schema(Entity(User, Key("USER#{user_id}", "PROFILE"))), "shop", Embedded())
    ...     await db.create_table()
    ...     await db.insert(User("42", "Alice"))
    ...     async with db.update(User, user_id="42") as user:
    ...         user.name = "Alicia"
    ...     return await db.get(User, user_id="42")
    >>> asyncio.run(main())
    User(user_id='42', name='Alicia')
    """

    def __init__(
        self, schema: Schema, table: str, transport: AsyncTransport, *, observe: Observer | None = None
    ) -> None:
        self.schema = schema
        self.table = table
        self._transport = transport
        self._observe = observe

    async def create_table(self) -> None:
        """Creates the table with its indexes."""
        await self._send(Request("CreateTable", create_table(self.schema, self.table)))

    def transaction(self, token: str | None = None) -> AsyncTransaction:
        """As `Client.transaction`: `async with db.transaction() as tx: tx.insert(…)`."""
        return AsyncTransaction(self, token)

    async def _write(self, write: Write) -> None:
        await self._run(write_all(self.schema, self.table, [write]))

    async def _run(self, steps: Steps[R]) -> R:
        """Holds a conversation of the core: sends each request, hands back the answer or the error."""
        try:
            request = next(steps)
            while True:
                try:
                    if isinstance(request, Request):
                        answer = await self._send(request)
                    else:
                        answer = await self._side_by_side(request)
                except DynamoDBError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as stop:
            return cast("R", stop.value)

    async def _side_by_side(self, requests: tuple[Request, ...]) -> tuple[Any, ...]:
        # All are waited for: a failure is told when nothing of this conversation is under way any more.
        answers = await asyncio.gather(*map(self._send, requests), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return tuple(answers)

    async def _send(self, request: Request) -> Any:
        if self._observe:
            return observed(request, await self._transport.send_async(*measured(request)), self._observe)
        return request.read(await self._transport.send_async(request.operation, _encode(request.body)))
