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
from prejoin.engine.serialization import check_binary, decode
from prejoin.engine.store.interface import BusyError, DamageError, Durability, OpenError, Store, StoreError
from prejoin.engine.tables.catalog import Catalog
from prejoin.engine.tables.totals import ItemCounter
from prejoin.protocol.errors import DynamoDBError

if TYPE_CHECKING:
    # Imported where they are used: programs without files, weather or snapshots start faster.
    from collections.abc import Mapping
    from concurrent.futures import ThreadPoolExecutor

    from prejoin.engine.changes import TableChanges
    from prejoin.engine.snapshot import Snapshot
    from prejoin.engine.weather.front import WeatherFront
    from prejoin.engine.weather.weather import Weather

_encode = msgspec.json.Encoder().encode
_EXPIRY_SECONDS = 60.0
_LONG = frozenset(
    {
        *("UpdateTable", "DeleteTable", "UpdateTimeToLive", "UpdateContinuousBackups"),
        *("CreateBackup", "DeleteBackup", "RestoreTableFromBackup", "RestoreTableToPointInTime"),
        *("ExportTableToPointInTime", "ImportTable"),
    }
)
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

    `buckets` is a folder in place of S3, for exports and imports: each of its folders is a bucket.

    With `newer_messages`, PutItem, UpdateItem and DeleteItem report an invalid request as AWS does since autumn 2026:
    with `1 validation error detected: ` before the message.

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
        buckets: str | os.PathLike[str] | None = None,
        newer_messages: bool = False,
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
            self._store,
            Catalog(is_private=path is None),
            ItemCounter(),
            ClientTokens(),
            stream_shard_records,
            None if buckets is None else os.path.abspath(buckets),
            newer_messages,
        )
        self._handlers = OPERATIONS
        """The operations that are performed directly: none while there is bad weather."""
        self._front: WeatherFront | None = None
        self._next_expiry = time.monotonic() + _EXPIRY_SECONDS
        self._long = _LONG | _LONG_IN_FILES if path is not None else _LONG
        self._slow_writes = durability == "full"  # each waits for the disk
        self._threads = _ThreadPools()

    def send(self, operation: str, body: bytes) -> bytes:
        """Perform one operation and return the response body. Raise DynamoDBError for DynamoDB's errors."""
        handler = self._handlers.get(operation)
        if handler is None:
            return self._send_in_weather(operation, body)
        if time.monotonic() > self._next_expiry:
            self._expire_some(self._store.try_write)
        try:
            run = self._store.write if handler.writes else self._store.read
            response = run(handler.perform, self._engine, decode(handler.decoder, body))
            return response if isinstance(response, bytes) else _encode(response)
        except DynamoDBError as error:
            check_binary(handler.decoder, body, error)
            raise
        except Exception as error:
            raise self._as_dynamodb_error(error) from error

    def _send_in_weather(self, operation: str, body: bytes) -> bytes:
        """Perform an operation while there is bad weather, or refuse one that does not exist."""
        handler = OPERATIONS.get(operation)
        if handler is None or self._front is None:
            raise DynamoDBError(
                "UnknownOperationException",
                f"This engine has no {operation} yet" if operation in NOT_IMPLEMENTED else "",
            )
        if time.monotonic() > self._next_expiry:
            self._expire_some(self._store.try_write)
        try:
            response = self._front.perform(operation, handler, decode(handler.decoder, body))
            return response if isinstance(response, bytes) else _encode(response)
        except DynamoDBError as error:
            check_binary(handler.decoder, body, error)
            raise
        except ConnectionResetError:
            raise
        except Exception as error:
            raise self._as_dynamodb_error(error) from error

    def send_now(self, operation: str, body: bytes) -> bytes | None:
        """Like `send`, but return None and do nothing if the operation may take long, or would wait for another thread
        or process.
        """
        handler = self._handlers.get(operation)
        # In bad weather `_handlers` is empty: a request may then be delayed.
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
        except DynamoDBError as error:
            check_binary(handler.decoder, body, error)
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
        # Imported here, because most programs do not use it, and starting quickly matters.
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
        while removed_count := self._store.write(expire, self._engine, moment):
            total += removed_count
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
        while removed_count := self._store.write(trim_streams, self._engine, moment):
            total += removed_count
        return total

    def weather(
        self,
        *tables: str,
        seed: int = 0,
        faults: int | None = None,
        read_lag: float = 0.0,
        index_lag: float | Mapping[str, float] = 0.0,
        page_items: int | None = None,
        conflicts: float = 0.0,
        unprocessed: float = 0.0,
        errors: Mapping[str, Mapping[str, float]] | None = None,
        lost: Mapping[str, float] | None = None,
        delays: Mapping[str, float] | None = None,
        throttling: bool = False,
        partitions: int = 1,
        partition_reads: float = 3000.0,
        partition_writes: float = 1000.0,
        burst_seconds: float = 300.0,
        adaptive: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> Weather:
        """Let some tables, or all, behave as in production on a bad day, until the `with` block ends.

        `read_lag` and `index_lag` are seconds by which eventually consistent reads of tables and of global indexes lag.
        `page_items` is the number of items in a page. `conflicts` is the chance that a transaction or write meets
        another transaction, `unprocessed` the chance that an item of a batch is not processed. By operation, or "*":
        `errors` has the chance of each error, `lost` the chance that a response is lost, `delays` seconds.

        With `throttling`, requests beyond the throughput of a table, index or partition are refused. What happens by
        chance follows from `seed`, and ends after a number of `faults`. `clock` counts the seconds of lags and units.

        Writes of other processes do not lag. The weather that was begun last counts for a table.
        """
        from prejoin.engine.weather.conditions import Conditions

        conditions = Conditions(
            tables=tables,
            seed=seed,
            faults=faults,
            read_lag=read_lag,
            index_lag=index_lag if isinstance(index_lag, int | float) else dict(index_lag),
            page_items=page_items,
            conflicts=conflicts,
            unprocessed=unprocessed,
            errors={operation: dict(chances) for operation, chances in (errors or {}).items()},
            lost=dict(lost or {}),
            delays=dict(delays or {}),
            throttling=throttling,
            partitions=partitions,
            partition_reads=partition_reads,
            partition_writes=partition_writes,
            burst_seconds=burst_seconds,
            adaptive=adaptive,
        )
        return self.weather_front().start(conditions, clock)

    def weather_front(self) -> WeatherFront:
        """All weather of this engine, for the server's command line and admin endpoint."""
        from prejoin.engine.weather.front import WeatherFront

        if self._front is None:
            self._front = WeatherFront(self._engine, self._set_weathered)
        return self._front

    def _set_weathered(self, has_weather: bool) -> None:
        self._handlers = {} if has_weather else OPERATIONS

    def snapshot(self) -> Snapshot:
        """Save all tables in memory, to restore them later. In memory this takes milliseconds for 100,000 items."""
        from prejoin.engine.snapshot import take

        new_snapshot: Snapshot = self._safely(take)
        return new_snapshot

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save all tables in a file, in place of those that it has. Another engine can restore it, or use it itself."""
        from prejoin.engine.snapshot import save

        self._safely(save, path)

    def restore(self, source: Snapshot | str | os.PathLike[str]) -> None:
        """Replace all tables by those of a snapshot, or of a file, which is not changed."""
        from prejoin.engine.snapshot import restore

        self._safely(restore, source)
        if self._front is not None:
            self._front.catch_up()

    def _safely(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function with the database. Raise only DynamoDBError, and OpenError for a file."""
        try:
            return work(self._engine, *arguments)
        except (DynamoDBError, OpenError):
            raise
        except Exception as error:
            raise self._as_dynamodb_error(error) from error

    def verify(self) -> list[str]:
        """Read everything and return one sentence for each damaged thing. An empty list means that nothing is damaged.

        For a file this covers SQLite's pages, the checksum of every item and index entry, and whether each index
        matches the items. It reads one snapshot and does not block writers.
        """
        return damage.verify(self._engine)

    def _expire_some(self, perform: Callable[..., Any]) -> None:
        """Remove some expired items and old records. Requests do this, because there are no background threads."""
        try:
            full = perform(expire, self._engine, time.time()) == EXPIRED_AT_ONCE
            perform(trim_streams, self._engine, time.time())
        except (StoreError, BusyError, DynamoDBError):
            # The file is busy, or closed: expiry must not fail the request that triggered it.
            full = False
        # A full batch means that more has expired, so the next request goes on.
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
        from prejoin.engine.store.memory import InMemoryStore

        return InMemoryStore()
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

        if self._process != os.getpid():
            # Threads do not survive a fork.
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
