"""The embedded DynamoDB as a transport: `send(operation, body) -> bytes`. It raises only DynamoDBError."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from prejoin.engine import damage
from prejoin.engine.operations import NOT_IMPLEMENTED, OPERATIONS, Database
from prejoin.engine.operations.client_tokens import ClientTokens
from prejoin.engine.operations.streams import trim_streams
from prejoin.engine.operations.time_to_live import EXPIRED_AT_ONCE, expire
from prejoin.engine.serialization import decode
from prejoin.engine.store.interface import BusyError, DamageError, Durability, Store, StoreError
from prejoin.engine.tables.catalog import Catalog
from prejoin.engine.tables.totals import Counter
from prejoin.protocol.errors import DynamoDBError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from prejoin.engine.changes import TableChanges

_encode = msgspec.json.Encoder().encode
_EXPIRY_SECONDS = 60.0
_LONG = frozenset({"UpdateTable", "DeleteTable", "UpdateTimeToLive"})
"""Operations that may touch every item of a table."""
_LONG_IN_FILES = frozenset({"DescribeTable"})
"""A file store counts the items; a memory store knows their number."""


class Embedded:
    """A DynamoDB in this process: in memory, or in a file that threads and processes may share.

    `durability` names what survives: "memory" nothing, "normal" (the default of a file) the death of the process at
    any point, "full" also the loss of power.

    Items in a file have a checksum. It is verified when an item is read by its key, and before it is changed.
    `verify_all` verifies it in every Query and Scan too, which makes long pages slower.

    A stream has one shard, which is never closed. With `stream_shard_records`, streams that are enabled from then on
    close a shard after this number of records, and continue in a child: to test consumers of streams.

    A file that cannot be opened, or is not ours, raises an OpenError, which is a ValueError; the file is not changed.

    >>> with Embedded() as dynamodb:
    ...     dynamodb.send("ListTables", b"{}")
    b'{"TableNames":[]}'
    """

    lossless = True
    """No response can be lost on the way, because there is no network. So clients never need to retry."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        durability: Durability | None = None,
        verify_all: bool = False,
        stream_shard_records: int = 0,
    ) -> None:
        if stream_shard_records < 0:
            raise ValueError(f"stream_shard_records is 0 or a number of records, not {stream_shard_records}")
        if durability is None:
            durability = "memory" if path is None else "normal"
        if durability not in ("memory", "normal", "full"):
            raise ValueError(f'durability is "memory", "normal" or "full", not {durability!r}')
        if (path is None) != (durability == "memory"):
            raise ValueError(
                f'durability "{durability}" needs a path' if path is None else 'durability "memory" has no path'
            )
        self._store = _open(path, durability, verify_all=verify_all)
        self._engine = Database(
            self._store, Catalog(alone=path is None), Counter(), ClientTokens(), stream_shard_records
        )
        self._next_expiry = time.monotonic() + _EXPIRY_SECONDS
        self._long = _LONG | _LONG_IN_FILES if path is not None else _LONG
        self._slow_writes = durability == "full"  # each waits for the disk
        self._threads = _ThreadPools()

    def send(self, operation: str, body: bytes) -> bytes:
        """Perform one operation and return the response body. Raise DynamoDBError for DynamoDB's errors."""
        handler = OPERATIONS.get(operation)
        if handler is None:
            raise DynamoDBError(
                "UnknownOperationException",
                f"This engine has no {operation} yet" if operation in NOT_IMPLEMENTED else "",
            )
        if time.monotonic() > self._next_expiry:
            self._expire_some(self._store.try_write)
        try:
            run = self._store.write if handler.writes else self._store.read
            response = run(handler.perform, self._engine, decode(handler.decoder, body))
            return response if isinstance(response, bytes) else _encode(response)
        except DynamoDBError:
            raise
        except Exception as error:
            raise self._as_dynamodb_error(error) from error

    def send_now(self, operation: str, body: bytes) -> bytes | None:
        """Like `send`, but return None and do nothing if the operation may take long, or would wait for another thread
        or process.
        """
        handler = OPERATIONS.get(operation)
        if handler is None or operation in self._long or (handler.writes and self._slow_writes):
            return None
        if time.monotonic() > self._next_expiry:
            self._expire_some(self._store.write_now)
        try:
            run = self._store.write_now if handler.writes else self._store.read_now
            response = run(handler.perform, self._engine, decode(handler.decoder, body))
            return response if isinstance(response, bytes) else _encode(response)
        except BusyError:
            return None
        except DynamoDBError:
            raise
        except Exception as error:
            raise self._as_dynamodb_error(error) from error

    async def send_async(self, operation: str, body: bytes) -> bytes:
        """Like `send`, for asyncio.

        Most requests take microseconds and run on the event loop. A request that takes long, or must wait for another
        thread or process, runs in a thread. If the task is cancelled meanwhile, the thread continues, so a write may
        still be applied.
        """
        response = self.send_now(operation, body)
        if response is not None:
            return response
        import asyncio

        handler = OPERATIONS.get(operation)
        pool = self._threads.pool(writes=handler is not None and handler.writes)
        return await asyncio.get_running_loop().run_in_executor(pool, self.send, operation, body)

    def expire(self, now: float | None = None) -> int:
        """Delete every item whose time to live is before `now` (default: the current time). Return the number of
        deleted items.

        The engine does this by itself, a few items at a time, at most once a minute, while it serves requests. Until
        then expired items are still returned, as at AWS.
        """
        moment = time.time() if now is None else now
        total = 0
        while removed := self._store.write(expire, self._engine, moment):
            total += removed
        return total

    def locate(self, region: str, account: str) -> None:
        """Set the region and account in the ARNs of tables that are created from now on."""
        self._engine.catalog.place = f"{region}:{account}"

    def changes(self, table: str, *, oldest: bool = False, after: str | None = None) -> TableChanges:
        """Read the stream of a table in this process: the changes from now on, from the `oldest` that is kept, or
        `after` the position of an earlier reader.

        The result has `read()`, and can be iterated over. Each change is a record as GetRecords returns it.
        """
        from prejoin.engine.changes import TableChanges

        return TableChanges(self._engine, table, oldest=oldest, after=after)

    def trim(self, now: float | None = None) -> int:
        """Remove the stream records that are more than a day old at `now` (default: the current time). Return their
        number. The engine does this by itself, now and then.
        """
        moment = time.time() if now is None else now
        total = 0
        while removed := self._store.write(trim_streams, self._engine, moment):
            total += removed
        return total

    def verify(self) -> list[str]:
        """Read everything and return one sentence for each damaged thing. An empty list means that nothing is damaged.

        For a file this covers SQLite's pages, the checksum of every item and index entry, and whether each index
        matches the items. It reads one snapshot and does not block writers.
        """
        return damage.verify(self._engine)

    def _expire_some(self, perform: Callable[..., Any]) -> None:
        try:
            full = perform(expire, self._engine, time.time()) == EXPIRED_AT_ONCE
            perform(trim_streams, self._engine, time.time())
        except (StoreError, BusyError, DynamoDBError):
            full = False  # the file is busy, or closed: expiry must not fail the request that triggered it
        self._next_expiry = time.monotonic() + (0.0 if full else _EXPIRY_SECONDS)

    def _as_dynamodb_error(self, error: Exception) -> DynamoDBError:
        """Translate an exception to the error that DynamoDB would return. Callers are promised only DynamoDBError."""
        if isinstance(error, DamageError):
            return DynamoDBError("InternalServerError", damage.describe_damage(self._engine, error))
        if isinstance(error, StoreError):
            return DynamoDBError("InternalServerError", f"The store failed: {error}")
        if isinstance(error, RecursionError):
            return DynamoDBError("ValidationException", "The request is nested too deeply")
        return DynamoDBError("InternalServerError", f"The engine failed: {error!r}")  # a bug in the engine

    def close(self) -> None:
        """Close the file. The engine serves no requests afterwards."""
        self._store.close()
        self._threads.close()

    def __enter__(self) -> Embedded:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open(path: str | os.PathLike[str] | None, durability: Durability, *, verify_all: bool) -> Store:
    """Open a store. Only the module of the requested kind is imported."""
    if path is None:
        from prejoin.engine.store.memory import MemoryStore

        return MemoryStore()
    from prejoin.engine.store.file import FileStore

    return FileStore(path, durability, verify_all=verify_all)


_READERS = 4


class _ThreadPools:
    """Two thread pools, created on first use: one thread for writes, a few threads for reads.

    Writes wait for each other anyway. Separate pools keep a read from queueing behind a write that waits for another
    process. The event loop's default executor is left to the program.
    """

    def __init__(self) -> None:
        self._pools: dict[bool, ThreadPoolExecutor] = {}
        self._process = 0

    def pool(self, *, writes: bool) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # few programs need it

        if self._process != os.getpid():  # threads do not survive a fork
            self._pools, self._process = {}, os.getpid()
        if writes not in self._pools:
            name = "prejoin-writes" if writes else "prejoin-reads"
            self._pools[writes] = ThreadPoolExecutor(1 if writes else _READERS, name)
        return self._pools[writes]

    def close(self) -> None:
        """Start no more threads. Running ones are not awaited."""
        if self._process == os.getpid():
            for pool in self._pools.values():
                pool.shutdown(wait=False)
        self._pools = {}
