"""What can go wrong between an application and its table: one small family of exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from prejoin.errors import PrejoinError
from prejoin.keys import Refusal
from prejoin.protocol.errors import DynamoDBError


class FailedWrite(Protocol):
    """The write that an error is about."""

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
    """An argument that cannot be: a limit below 1, no segment."""


class SchemaError(TableError, ValueError):
    """A schema that cannot work: it is refused when it is built."""


class CodecError(TableError, ValueError):
    """A value that does not fit its attribute, on the way in or out."""

    entity: str = ""
    """Of an item that was read and is no object of its class: what its tag says."""
    attribute: str = ""
    """The attribute that does not fit, or is missing."""
    key: Mapping[str, Any] | None = None
    """The key of that item, in DynamoDB JSON."""
    item: Mapping[str, Any] | None = None
    """The item as it was read, in DynamoDB JSON."""


class UnknownAttribute(TableError, AttributeError):  # noqa: N818 - the family is named by what happened
    """A name that is no attribute of the entity."""


class NotAValue(TableError, TypeError):  # noqa: N818
    """An attribute of a draft or of a condition, which has a name and no value, was used as a value."""


class NotServed(TableError):  # noqa: N818
    """No key serves what is asked. `refusal` has the keys there are, and why each does not."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class UnknownValue(TableError):  # noqa: N818
    """A write that would leave a key, a copy or a guard stale, because it does not say what these are made of.

    Say it, and it is checked; or let it be read first, with `read=True`.
    """


class ConditionFailed(TableError):  # noqa: N818
    """A write whose condition was false; nothing was written."""

    item: Mapping[str, Any] | None = None
    """What was there instead, in DynamoDB JSON; None where nothing was, or where it is not known."""
    elsewhere: bool = False
    """Whether it was not the condition of the item itself, but of a copy, a guard, or what a pattern adds."""


class AlreadyExists(ConditionFailed):
    """An insert of what is there already."""


class NotUnique(ConditionFailed):
    """An attribute that must be unique has this value elsewhere already."""


class NotFound(ConditionFailed):
    """An update or delete of an item that is not there."""


class VersionConflict(ConditionFailed):
    """A write over a version that is not the stored one any more: read again, and decide again."""


class Conflict(TableError):  # noqa: N818
    """Others were writing the same items at the same time, again and again. Nothing was written: try later."""


class TransactionCancelled(TableError):  # noqa: N818
    """A transaction of which nothing was written. `failures` says what was wrong, in the order of the writes.

    Each has `write`, what was to be written, and `position`, which of the transaction's writes that is.
    """

    def __init__(self, failures: Sequence[TableError]) -> None:
        super().__init__("; ".join(map(str, failures)) or "the transaction was cancelled")
        self.failures = tuple(failures)


class TooMany(TableError):  # noqa: N818
    """More than one item where one was asked for, or more than a request takes."""


class ItemTooLarge(TooMany):
    """An item of more than 400 KB. `size` is that of the item in bytes; 0 where only DynamoDB knows it."""

    size: int = 0


class NoSuchTable(TableError, DynamoDBError):  # noqa: N818
    """The table is not there: a ResourceNotFoundException that names it."""

    def __init__(self, table: str, error: DynamoDBError) -> None:
        DynamoDBError.__init__(
            self, error.code, error.message, status=error.status, fields=error.fields, request_id=error.request_id
        )
        self.table = table

    def __str__(self) -> str:
        return (
            f"there is no table {self.table!r} ({DynamoDBError.__str__(self)}): create it with create_table(), or "
            "check its name, the region and the endpoint"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        error = DynamoDBError(
            self.code, self.message, status=self.status, fields=self.fields, request_id=self.request_id
        )
        return NoSuchTable, (self.table, error)


class Failure(NamedTuple):
    """One of many objects that was not written, or of which it is not known."""

    position: int
    """Which of those given it is, from 0."""
    given: Any
    """The object, or the key of a delete."""
    error: Exception
    """What a write of this object alone would have raised: AlreadyExists, NotUnique, Conflict, OutcomeUnknown, …"""


class PartlyWritten(TableError):  # noqa: N818
    """Many writes of which some were refused, or have an unknown outcome; all the others were done.

    `written` says how many were, `failures` which were not, and why. `rest` yields those that were not tried, because
    DynamoDB could not be reached; else it is empty.
    """

    def __init__(self, written: int, failures: Sequence[Failure], rest: Iterator[Any] | None = None) -> None:
        first = failures[0]
        super().__init__(
            f"{written} were written, {len(failures)} were not or are unknown; the first is number {first.position}: "
            f"{type(first.error).__name__}: {first.error}"
        )
        self.written = written
        self.failures = tuple(failures)
        self.rest = iter(()) if rest is None else rest


class Unprocessed(TableError):  # noqa: N818
    """A batch that DynamoDB did not take completely, however often it was tried.

    `written` says how many were written. `rest` yields all the others, in order: it can be given to `put_many` or
    `delete_many` again.
    """

    def __init__(self, message: str, written: int, rest: Iterator[Any]) -> None:
        super().__init__(message)
        self.written = written
        self.rest = rest


class OtherTenant(TableError):  # noqa: N818
    """What a client of one tenant was asked to do, and is not confined to that tenant. Nothing was sent."""


class CursorError(TableError, ValueError):
    """A cursor that is damaged, or of another query."""


class Unanswered(TableError):  # noqa: N818
    """Keys that DynamoDB did not answer, however often they were asked for. `keys` has them, in DynamoDB JSON."""

    def __init__(self, message: str, keys: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.keys = tuple(keys)
