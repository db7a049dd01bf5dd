"""The client that is awaited: the conversations of `Client`, held in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import msgspec
from msgspec import DecodeError

from prejoin.protocol.errors import DynamoDBError
from prejoin.table.conversation import Parallel, Pause, Request, Steps
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import write_one
from prejoin.table.write.model import Write
from prejoin.transport import AsyncTransport, TransportError

from .async_reads import AsyncReader
from .async_writes import AsyncBatching, AsyncWriter
from .client import any_call, explained, measured, observed, safe, unreadable_answer
from .observe import Observer
from .transaction import Gathered

if TYPE_CHECKING:
    from prejoin.table.admin.drift import Difference
    from prejoin.table.read.cursor import Cursors

R = TypeVar("R")

_encode = msgspec.json.Encoder().encode


class AsyncTransaction(Gathered):
    """Writes that are done together or not at all, when the `async with` ends."""

    def __init__(self, client: AsyncClient, token: str | None) -> None:
        super().__init__(client.schema, client.table, token)
        self._client = client

    async def __aenter__(self) -> AsyncTransaction:
        return self

    if not TYPE_CHECKING:  # type checkers refuse `with` by themselves

        def __enter__(self) -> NoReturn:
            raise TypeError("a transaction of an AsyncClient is sent with await: write `async with db.transaction()`")

        def __exit__(self, *_: object) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._client._run(self._steps())


class AsyncClient(AsyncReader, AsyncWriter, AsyncBatching):
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
        self,
        schema: Schema,
        table: str,
        transport: AsyncTransport,
        *,
        observe: Observer | None = None,
        cursors: Cursors | None = None,
    ) -> None:
        """`observe` is called after each request. `cursors` signs or encrypts the cursors of pages: `SignedCursors`,
        `EncryptedCursors`."""
        self.schema = schema
        self.table = table
        self._transport = transport
        self._observe = observe
        self._cursors = cursors
        self._fence = schema.fence
        self._lossless: bool = getattr(transport, "lossless", False)

    def tenant(self, tenant: Any, /) -> AsyncClient:
        """As `Client.tenant`."""
        schema = self.schema.of_tenant(tenant)
        return AsyncClient(schema, self.table, self._transport, observe=self._observe, cursors=self._cursors)

    async def create_table(self, *, if_absent: bool = False, **more: Any) -> None:
        """As `Client.create_table`."""
        from prejoin.table.admin.create_table import create  # whoever makes no tables need not wait for it

        await self._run(create(self.schema, self.table, if_absent=if_absent, more=more))

    async def describe(self) -> dict[str, Any] | None:
        """As `Client.describe`."""
        from prejoin.table.admin.drift import describe

        return await self._run(describe(self.table))

    async def drift(self) -> list[Difference]:
        """As `Client.drift`."""
        from prejoin.table.admin.drift import drift

        return await self._run(drift(self.schema, self.table))

    async def add_indexes(self) -> tuple[str, ...]:
        """As `Client.add_indexes`."""
        from prejoin.table.admin.create_table import add_indexes

        return await self._run(add_indexes(self.schema, self.table))

    async def call(self, operation: str, body: Mapping[str, Any] | None = None, /) -> dict[str, Any]:
        """As `Client.call`."""
        if self._fence is not None:
            raise self._fence.confined("call()")
        answer: dict[str, Any] = await self._send(any_call(self.table, operation, body or {}))
        return answer

    async def close(self) -> None:
        """Closes the transport, if it can be closed."""
        transport: Any = self._transport
        if hasattr(transport, "close_async"):
            await transport.close_async()
        elif hasattr(transport, "close"):
            transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    if not TYPE_CHECKING:  # type checkers refuse `with` by themselves

        def __enter__(self) -> NoReturn:
            raise TypeError("an AsyncClient is closed with await: write `async with AsyncClient(…) as db`")

        def __exit__(self, *_: object) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def transaction(self, token: str | None = None) -> AsyncTransaction:
        """As `Client.transaction`: `async with db.transaction() as tx: tx.insert(…)`."""
        return AsyncTransaction(self, token)

    async def _write(self, write: Write) -> Any:
        return await self._run(write_one(self.schema, self.table, write))

    async def _run(self, steps: Steps[R]) -> R:
        """Holds a conversation of the core: sends each request, hands back the answer or the error."""
        try:
            step = next(steps)
            while True:
                try:
                    answer = await (self._send(step) if isinstance(step, Request) else self._several(step))
                except (DynamoDBError, TransportError) as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as stop:
            return cast("R", stop.value)

    async def _several(self, step: tuple[Request, ...] | Pause | Parallel) -> tuple[Any, ...] | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        # All are waited for: a failure is told when nothing of this conversation is under way any more.
        parts = map(self._run, step.conversations) if isinstance(step, Parallel) else map(self._send, step)
        answers = await asyncio.gather(*parts, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return tuple(answers)

    async def _send(self, request: Request) -> Any:
        if self._fence is not None:
            self._fence.check(request)
        try:
            if self._observe:
                answer = await self._transport.send_async(*measured(request, self._lossless))
                return observed(request, answer, self._observe)
            answer = await self._transport.send_async(request.operation, _encode(safe(request, self._lossless)))
            return request.read(answer)
        except DynamoDBError as error:
            if found := explained(error, request, self.table):
                raise found from error
            raise
        except DecodeError as error:
            raise unreadable_answer(request, error) from error
