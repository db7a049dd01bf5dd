"""The exceptions of `prejoin.table`. All derive from `TableError`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from prejoin.errors import PrejoinError
from prejoin.keys import Refusal
from prejoin.protocol.errors import DynamoDBError


class FailedEntity(Protocol):
    """The entity that a failed write is about."""

    @property
    def tag(self) -> str:
        """The name of the entity, as items have it in the table."""
        ...


class FailedWrite(Protocol):
    """The write that an error is about."""

    @property
    def entity(self) -> FailedEntity:
        """The entity of the item."""
        ...

    @property
    def verb(self) -> str:
        """`insert`, `put`, `update`, `upsert`, `delete` or `check`."""
        ...

    @property
    def values(self) -> Mapping[str, Any]:
        """The attributes that were given: all of them for an insert or put, else at least those of the key."""
        ...


class TableError(PrejoinError):
    """The base class of all errors of `prejoin.table`."""

    write: FailedWrite | None = None
    """The write that failed, if the error is about one."""
    position: int = 0
    """The number of that write in its transaction, from 0."""


class ArgumentError(TableError, ValueError):
    """An invalid argument, such as a limit below 1."""


class SchemaError(TableError, ValueError):
    """An invalid schema. It is raised when the schema is built."""


class CodecError(TableError, ValueError):
    """A value that does not fit the type of its attribute, in a write or a read."""

    entity: str = ""
    """The type tag of the item that was read."""
    attribute: str = ""
    """The attribute that does not fit or is missing."""
    key: Mapping[str, Any] | None = None
    """The key of that item, in DynamoDB JSON."""
    item: Mapping[str, Any] | None = None
    """The item as it was read, in DynamoDB JSON."""


class UnknownAttribute(TableError, AttributeError):  # noqa: N818 - these names say what happened
    """The entity has no attribute of this name."""


class NotAValue(TableError, TypeError):  # noqa: N818
    """An attribute inside an update or a condition, which has no value there, was used as a value."""


class NotServed(TableError):  # noqa: N818
    """No key or index serves the query. `refusal` lists the keys, each with the reason."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class UnknownValue(TableError):  # noqa: N818
    """A write that would leave a key, a copy or a unique value stale, because it lacks an attribute that decides it.

    Pass the current value of the attribute, which is then checked, or `read=True` to read the item first.
    """


class ConditionFailed(TableError):  # noqa: N818
    """The condition of a write was false. Nothing was written."""

    item: Mapping[str, Any] | None = None
    """The stored item in DynamoDB JSON; None if there is none, or if it is not known."""
    elsewhere: bool = False
    """Whether it was the condition of another item, such as a copy or a guard, not of the item itself."""
    remedy: Callable[[Any, str], Any] | None = None
    """Steps that remove the cause before the write is repeated, for the schema and the table. Set by a pattern."""


class AlreadyExists(ConditionFailed):
    """An insert of an item whose key exists."""


class NotUnique(ConditionFailed):
    """Another item has the same value of a unique attribute."""


class NotFound(ConditionFailed):
    """An update or delete of an item that does not exist."""


class VersionConflict(ConditionFailed):
    """The stored version is not the expected one. Read the item again, and repeat the change."""


class Conflict(TableError):  # noqa: N818
    """Other writers changed the same items at each attempt. Nothing was written; try again later."""


class TransactionCancelled(TableError):  # noqa: N818
    """A transaction was cancelled. Nothing was written. `failures` has the reasons, in the order of the writes.

    Each failure has `write`, the write that failed, and `position`, its number in the transaction.
    """

    def __init__(self, failures: Sequence[TableError]) -> None:
        super().__init__("; ".join(map(str, failures)) or "the transaction was cancelled")
        self.failures = tuple(failures)


class TooMany(TableError):  # noqa: N818
    """There is more than one item, or more items than a request can have."""


class ItemTooLarge(TooMany):
    """An item of more than 400 KB. `size` is its size in bytes, or 0 if only DynamoDB knows it."""

    size: int = 0


class NoSuchTable(TableError, DynamoDBError):  # noqa: N818
    """The table does not exist: a ResourceNotFoundException with its name."""

    def __init__(self, table: str, error: DynamoDBError) -> None:
        DynamoDBError.__init__(
            self, error.code, error.message, status=error.status, fields=error.fields, request_id=error.request_id
        )
        self.table = table

    def __str__(self) -> str:
        return (
            f"the table {self.table!r} does not exist ({DynamoDBError.__str__(self)}). Create it with create_table(), "
            "or check its name, the region and the endpoint"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        error = DynamoDBError(
            self.code, self.message, status=self.status, fields=self.fields, request_id=self.request_id
        )
        return NoSuchTable, (self.table, error)


class Failure(NamedTuple):
    """One of many objects that was not written, or whose outcome is unknown."""

    position: int
    """Its number among the given objects, from 0."""
    given: Any
    """The object, or the key of a delete."""
    error: Exception
    """The error that a write of this object alone would raise: AlreadyExists, NotUnique, OutcomeUnknown, …"""


class PartlyWritten(TableError):  # noqa: N818
    """Some of many writes failed, or have an unknown outcome. The others were written.

    `written` is the number of objects that were written, and `failures` lists the others with their errors. `rest`
    yields the objects that were not tried because DynamoDB could not be reached.
    """

    def __init__(self, written: int, failures: Sequence[Failure], rest: Iterator[Any] | None = None) -> None:
        first = failures[0]
        super().__init__(
            f"{written} objects were written, and {len(failures)} failed or are unknown. The first is number "
            f"{first.position}: {type(first.error).__name__}: {first.error}"
        )
        self.written = written
        self.failures = tuple(failures)
        self.rest = iter(()) if rest is None else rest


class Unprocessed(TableError):  # noqa: N818
    """DynamoDB did not process a whole batch, after several attempts.

    `written` is the number of objects that were written. `rest` yields the others in order; pass it to `put_many` or
    `delete_many` again.
    """

    def __init__(self, message: str, written: int, rest: Iterator[Any]) -> None:
        super().__init__(message)
        self.written = written
        self.rest = rest


class OtherTenant(TableError):  # noqa: N818
    """A client of one tenant was asked for something of another tenant. Nothing was sent."""


class CursorError(TableError, ValueError):
    """A cursor that is damaged, expired, or of another query."""


class Unanswered(TableError):  # noqa: N818
    """DynamoDB did not process some keys, after several attempts. `keys` has them in DynamoDB JSON."""

    def __init__(self, message: str, keys: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.keys = tuple(keys)
