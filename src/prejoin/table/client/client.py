"""`Client`: a schema, a table and a transport. It runs the steps of reads and writes, and does their I/O."""

from __future__ import annotations

import time
from os import urandom
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import DecodeError

from prejoin.protocol.errors import DynamoDBError
from prejoin.table.conversation import Blocking, ItemKeys, Parallel, Pause, Request, Steps, read_json
from prejoin.table.errors import NoSuchTable
from prejoin.transport.errors import TransportError

from .lazy_modules import execute
from .lazy_modules import observe as observation
from .lazy_modules import transaction as transactions
from .reads import Reader
from .writes import BatchWriter, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Lock
    from types import TracebackType

    from prejoin.table.admin.drift import Difference
    from prejoin.table.read.cursor import Cursors
    from prejoin.table.schema.schema import Schema
    from prejoin.table.write.model import Write
    from prejoin.transport import Transport

    from .observe import Observer
    from .transaction import Transaction
    from .verification import Verification

R = TypeVar("R")

METERED_OPERATIONS = frozenset(
    {"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"}
    | {"BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"}
)
"""The operations that return ConsumedCapacity."""

NOT_OF_A_TABLE = frozenset(
    {"BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"}
    | {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"}
    | {"ListTables", "ListGlobalTables", "ListBackups", "ListExports", "ListImports", "ListContributorInsights"}
    | {"DescribeLimits", "DescribeEndpoints", "DescribeBackup", "DeleteBackup", "DescribeExport", "DescribeImport"}
    | {"ImportTable", "ExportTableToPointInTime", "RestoreTableFromBackup", "RestoreTableToPointInTime"}
    | {"TagResource", "UntagResource", "ListTagsOfResource"}
    | {"PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy"}
    | {"CreateGlobalTable", "DescribeGlobalTable", "DescribeGlobalTableSettings"}
    | {"UpdateGlobalTable", "UpdateGlobalTableSettings"}
)
"""The operations without a TableName, or whose TableName is not that of an existing table."""

_encode = msgspec.json.Encoder().encode


class Client(Reader, Writer, BatchWriter):
    """Typed access to one table.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Entity, Key, Schema
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     name: str
    >>> db = Client(Schema(Entity(User, Key("USER#{user_id}", "PROFILE"))), "shop", Embedded())
    >>> db.create_table()
    >>> db.insert(User("42", "Alice"))
    User(user_id='42', name='Alice')
    >>> with db.update(User, user_id="42") as user:
    ...     user.name = "Alicia"
    >>> db.get(User, user_id="42")
    User(user_id='42', name='Alicia')
    """

    def __init__(
        self,
        schema: Schema,
        table: str,
        transport: Transport,
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
        self._verification: Verification[Lock] | None = None
        if verify:
            from threading import Lock

            from .verification import Verification

            self._verification = Verification(schema, Lock())

    def tenant(self, tenant: Any, /) -> Client:
        """Return the client of one tenant, with the same transport. The schema has to declare tenants.

        It adds the tenant to reads and writes, and refuses any request for items of another tenant before it is sent.
        """
        schema = self.schema.of_tenant(tenant)
        client = Client(schema, self.table, self._transport, observe=self._observe, cursors=self._cursors)
        client._verification = self._verification
        return client

    def create_table(self, *, if_absent: bool = False, **more: Any) -> None:
        """Create the table with its indexes, and wait until it is active.

        With `if_absent`, an existing table is kept if it matches the schema. `more` are further parameters of
        CreateTable: `Tags=…`, `DeletionProtectionEnabled=True`, or `ProvisionedThroughput=…` for provisioned capacity.
        """
        from prejoin.table.admin.create_table import create

        self._without_verification()._run(create(self.schema, self.table, if_absent=if_absent, more=more))

    def describe(self) -> dict[str, Any] | None:
        """Return the description of the table, as by DescribeTable; None if there is no such table."""
        from prejoin.table.admin.drift import describe

        return self._without_verification()._run(describe(self.table))

    def drift(self, *, sample: int = 100) -> list[Difference]:
        """Return the differences between the table and the schema, each with a fix. Empty if there are none.

        The description of the table is compared, and the keys of `sample` of its items: these differ if another design
        wrote them. They are read by Scans, for half a read unit for each 4 KB of them, and at most 4 MB. With
        `sample=0`, and by the client of a tenant, no items are read.
        """
        from prejoin.table.admin.drift import drift

        return self._without_verification()._run(drift(self.schema, self.table, sample))

    def add_indexes(self) -> tuple[str, ...]:
        """Add the global indexes that the table lacks, wait until they are active, and return their names.

        Existing items have no keys yet for an index with key templates: `audit` finds them, and `repair` adds the keys.
        """
        from prejoin.table.admin.create_table import add_indexes

        return self._without_verification()._run(add_indexes(self.schema, self.table))

    def call(self, operation: str, body: Mapping[str, Any] | None = None, /) -> dict[str, Any]:
        """Send any DynamoDB operation: `db.call("DescribeTable")`. The TableName is added if it is missing."""
        self.schema.refuse_to_tenant("call()")
        answer: dict[str, Any] = self._send(any_call(self.table, operation, body or {}))
        return answer

    def close(self) -> None:
        """Close the transport, if it has a `close` method."""
        close = getattr(self._transport, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def transaction(self, token: str | None = None, *, only_check: bool = False) -> Transaction:
        """Return a transaction: `with db.transaction() as tx: tx.insert(…)`.

        A `token` makes it safe to repeat. With `only_check=True` nothing is written: it raises the errors that the
        writes would raise now.
        """
        return transactions.Transaction(self.schema, self.table, token, only_check, self._run)

    def _write(self, write: Write) -> Any:
        return self._run(execute.write_one(self.schema, self.table, write))

    def _run(self, steps: Steps[R]) -> R:
        """Run steps: send each request, and pass the response or the error back."""
        if self._verification is not None:
            self._verify(self._verification)
        try:
            step = next(steps)
            while True:
                try:
                    answer = self._send(step) if isinstance(step, Request) else self._several(step)
                # The steps decide what an error means: a conflict to repeat, or an exception for the caller.
                except (DynamoDBError, TransportError) as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as stop:
            return cast("R", stop.value)

    def _without_verification(self) -> Client:
        """Return the client for requests about the table itself, which may not exist yet."""
        if self._verification is None:
            return self
        return Client(self.schema, self.table, self._transport, observe=self._observe)

    def _verify(self, verification: Verification[Lock]) -> None:
        """Compare the table with the schema, once for this client and those of its tenants."""
        with verification.lock:  # calls that come meanwhile wait for it
            if not verification.done:
                client = Client(verification.schema, self.table, self._transport, observe=self._observe)
                client._run(verification.steps(self.table))
        self._verification = None

    def _several(self, step: tuple[Request, ...] | Pause | Blocking | Parallel) -> Any:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        if isinstance(step, Blocking):
            return step.call()
        run_part: Callable[[Any], Any] = self._run if isinstance(step, Parallel) else self._send
        parts: tuple[Any, ...] = step.conversations if isinstance(step, Parallel) else step
        # The embedded engine answers at once, in this thread: others would only cost time.
        if len(parts) == 1 or not getattr(self._transport, "concurrent", False):
            return tuple(map(run_part, parts))
        from concurrent.futures import ThreadPoolExecutor  # most requests are sent alone

        with ThreadPoolExecutor(len(parts)) as threads:
            return tuple(threads.map(run_part, parts))

    def _send(self, request: Request) -> Any:
        if self._fence is not None:
            self._fence.check(request)
        try:
            if self._observe:
                return report_call(request, self._transport.send(*metered_call(request, self._lossless)), self._observe)
            return request.read(self._transport.send(request.operation, _encode(body_of(request, self._lossless))))
        except DynamoDBError as error:
            if better_error := specific_error(error, request, self.table):
                raise better_error from error
            raise
        except (DecodeError, ConnectionResetError) as error:
            raise lost_response(request, error) from error


def any_call(table: str, operation: str, body: Mapping[str, Any]) -> Request:
    """Return the request of a DynamoDB operation, on the client's table unless it names another."""
    if operation not in NOT_OF_A_TABLE and "TableName" not in body:
        body = {"TableName": table, **body}
    return Request(operation, body)


def body_of(request: Request, lossless: bool) -> Mapping[str, Any]:
    """Return the body of a request, with a token if it is a transaction and its response may be lost.

    DynamoDB applies a transaction once, even if it arrives twice with the same token. So it can be sent again.
    """
    if request.operation != "TransactWriteItems" or lossless or "ClientRequestToken" in request.body:
        return request.body
    return {**request.body, "ClientRequestToken": urandom(16).hex()}


def metered_call(request: Request, lossless: bool) -> tuple[str, bytes]:
    """Return the operation and the body of a request that returns ConsumedCapacity."""
    body = body_of(request, lossless)
    if request.operation in METERED_OPERATIONS:
        body = {**body, "ReturnConsumedCapacity": "TOTAL"}
    return request.operation, _encode(body)


def specific_error(error: DynamoDBError, request: Request, table: str) -> Exception | None:
    """Return a more exact error, if there is one."""
    if error.code == "ResourceNotFoundException" and request.operation in METERED_OPERATIONS:
        return NoSuchTable(table, error)
    return None


def report_call(request: Request, answer: bytes, observe: Observer) -> Any:
    keys = request.key.keys if isinstance(request.key, ItemKeys) else (request.key,)
    call = observation.Call(request.operation, request.body, read_json(answer), tuple(map(str, keys)))
    result = request.read(answer)
    observe(call)
    return result


def lost_response(request: Request, error: DecodeError | ConnectionResetError) -> TransportError:
    """Return the error for a response that is lost: an engine in bad weather loses it, or it is not JSON."""
    from prejoin.transport.errors import AnswerLost, OutcomeUnknown
    from prejoin.transport.request.retry import is_read

    kind = AnswerLost if is_read(request.operation) else OutcomeUnknown
    return kind(
        str(error)
        if isinstance(error, ConnectionResetError)
        else f"the response to {request.operation} cannot be decoded: {error}",
        operation=request.operation,
        attempts=1,
        cause=error,
    )
