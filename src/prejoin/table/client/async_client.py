"""`AsyncClient`: the methods of `Client` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import msgspec
from msgspec import DecodeError

from prejoin.protocol.errors import DynamoDBError
from prejoin.table.conversation import Blocking, Parallel, Pause, Request, Steps
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import write_one
from prejoin.table.write.model import Write
from prejoin.transport import AsyncTransport, TransportError

from .async_reads import AsyncReader
from .async_writes import AsyncBatchWriter, AsyncWriter
from .client import any_call, body_of, lost_response, metered_call, report_call, specific_error
from .observe import Observer
from .transaction import WriteList

if TYPE_CHECKING:
    from prejoin.table.admin.drift import Difference
    from prejoin.table.read.cursor import Cursors

    from .verification import Verification

R = TypeVar("R")

_encode = msgspec.json.Encoder().encode


class AsyncTransaction(WriteList):
    """A transaction: all writes are applied at the end of the `async with` block, or none."""

    def __init__(
        self,
        schema: Schema,
        table: str,
        token: str | None,
        only_check: bool,
        run: Callable[[Steps[None]], Awaitable[None]],
    ) -> None:
        super().__init__(schema, table, token, only_check)
        self._run = run

    async def __aenter__(self) -> AsyncTransaction:
        self._entered = True
        return self

    if not TYPE_CHECKING:  # type checkers refuse `with` by themselves

        def __enter__(self) -> NoReturn:
            raise TypeError("this is an AsyncClient: write `async with db.transaction()`")

        def __exit__(self, *_: object) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._run(self._steps())


class AsyncClient(AsyncReader, AsyncWriter, AsyncBatchWriter):
    """Typed access to one table for asyncio: the methods of `Client`, awaited.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Entity, Key
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
        verify: bool = False,
    ) -> None:
        """Bind a schema to a table.

        `transport` is `AWS()`, `Endpoint(…)` or `Embedded()`. `observe` is called with a `Call` after each request.
        `cursors` signs or encrypts the cursors of pages: `SignedCursors` or `EncryptedCursors`.

        With `verify=True`, the first read or write compares the table and the keys of up to 100 of its items with the
        schema. It raises `UnfitTable` if the table was filled by another design, so that reads would not find items.
        """
        self.schema = schema
        self.table = table
        self._transport = transport
        self._observe = observe
        self._cursors = cursors
        self._fence = schema.fence
        self._lossless: bool = getattr(transport, "lossless", False)
        self._verification: Verification[asyncio.Lock] | None = None
        if verify:
            from .verification import Verification

            self._verification = Verification(schema, asyncio.Lock())

    def tenant(self, tenant: Any, /) -> AsyncClient:
        """Return the client of one tenant, with the same transport. The schema has to declare tenants.

        It adds the tenant to reads and writes, and refuses any request for items of another tenant before it is sent.
        """
        schema = self.schema.of_tenant(tenant)
        client = AsyncClient(schema, self.table, self._transport, observe=self._observe, cursors=self._cursors)
        client._verification = self._verification
        return client

    async def create_table(self, *, if_absent: bool = False, **more: Any) -> None:
        """Create the table with its indexes, and wait until it is active.

        With `if_absent`, an existing table is kept if it matches the schema. `more` are further parameters of
        CreateTable: `Tags=…`, `DeletionProtectionEnabled=True`, or `ProvisionedThroughput=…` for provisioned capacity.
        """
        from prejoin.table.admin.create_table import create

        await self._without_verification()._run(create(self.schema, self.table, if_absent=if_absent, more=more))

    async def describe(self) -> dict[str, Any] | None:
        """Return the description of the table, as by DescribeTable; None if there is no such table."""
        from prejoin.table.admin.drift import describe

        return await self._without_verification()._run(describe(self.table))

    async def drift(self, *, sample: int = 100) -> list[Difference]:
        """Return the differences between the table and the schema, each with a fix. Empty if there are none.

        The description of the table is compared, and the keys of `sample` of its items: these differ if another design
        wrote them. They are read by Scans, for half a read unit for each 4 KB of them, and at most 4 MB. With
        `sample=0`, and by the client of a tenant, no items are read.
        """
        from prejoin.table.admin.drift import drift

        return await self._without_verification()._run(drift(self.schema, self.table, sample))

    async def add_indexes(self) -> tuple[str, ...]:
        """Add the global indexes that the table lacks, wait until they are active, and return their names.

        Existing items have no keys yet for an index with key templates: `audit` finds them, and `repair` adds the keys.
        """
        from prejoin.table.admin.create_table import add_indexes

        return await self._without_verification()._run(add_indexes(self.schema, self.table))

    async def call(self, operation: str, body: Mapping[str, Any] | None = None, /) -> dict[str, Any]:
        """Send any DynamoDB operation: `await db.call("DescribeTable")`. The TableName is added if it is missing."""
        self.schema.refuse_to_tenant("call()")
        answer: dict[str, Any] = await self._send(any_call(self.table, operation, body or {}))
        return answer

    async def close(self) -> None:
        """Close the transport, if it has a `close` or `close_async` method."""
        transport: Any = self._transport
        if hasattr(transport, "close_async"):
            await transport.close_async()
        elif hasattr(transport, "close"):
            transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    if not TYPE_CHECKING:  # type checkers refuse `with` by themselves

        def __enter__(self) -> NoReturn:
            raise TypeError("this is an AsyncClient: write `async with AsyncClient(…) as db`")

        def __exit__(self, *_: object) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def transaction(self, token: str | None = None, *, only_check: bool = False) -> AsyncTransaction:
        """Return a transaction: `async with db.transaction() as tx: tx.insert(…)`.

        A `token` makes it safe to repeat. With `only_check=True` nothing is written: it raises the errors that the
        writes would raise now.
        """
        return AsyncTransaction(self.schema, self.table, token, only_check, self._run)

    async def _write(self, write: Write) -> Any:
        return await self._run(write_one(self.schema, self.table, write))

    async def _run(self, steps: Steps[R]) -> R:
        """Run steps: send each request, and pass the response or the error back."""
        if self._verification is not None:
            await self._verify(self._verification)
        try:
            step = next(steps)
            while True:
                try:
                    answer = await (self._send(step) if isinstance(step, Request) else self._several(step))
                # The steps decide what an error means: a conflict to repeat, or an exception for the caller.
                except (DynamoDBError, TransportError) as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as stop:
            return cast("R", stop.value)

    def _without_verification(self) -> AsyncClient:
        """Return the client for requests about the table itself, which may not exist yet."""
        if self._verification is None:
            return self
        return AsyncClient(self.schema, self.table, self._transport, observe=self._observe)

    async def _verify(self, verification: Verification[asyncio.Lock]) -> None:
        """Compare the table with the schema, once for this client and those of its tenants."""
        async with verification.lock:  # calls that come meanwhile wait for it
            if not verification.done:
                client = AsyncClient(verification.schema, self.table, self._transport, observe=self._observe)
                await client._run(verification.steps(self.table))
        self._verification = None

    async def _several(self, step: tuple[Request, ...] | Pause | Blocking | Parallel) -> Any:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        if isinstance(step, Blocking):
            return await asyncio.to_thread(step.call)
        # All are awaited: an error is raised when no request of these steps is running any more.
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
                answer = await self._transport.send_async(*metered_call(request, self._lossless))
                return report_call(request, answer, self._observe)
            answer = await self._transport.send_async(request.operation, _encode(body_of(request, self._lossless)))
            return request.read(answer)
        except DynamoDBError as error:
            if better_error := specific_error(error, request, self.table):
                raise better_error from error
            raise
        except (DecodeError, ConnectionResetError) as error:
            raise lost_response(request, error) from error
