"""What can go wrong between an application and its table: one small family of exceptions."""

from __future__ import annotations

from collections.abc import Sequence

from prejoin.keys import Refusal


class TableError(Exception):
    """Any of the errors below."""


class SchemaError(TableError, ValueError):
    """A schema that cannot work: it is refused when it is built."""


class CodecError(TableError, ValueError):
    """A value that does not fit its attribute, on the way in or out."""


class UnknownAttribute(TableError, AttributeError):  # noqa: N818 - the family is named by what happened
    """A name that is no attribute of the entity."""


class NotServed(TableError):  # noqa: N818
    """No key serves what is asked. `refusal` has the keys there are, and why each does not."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class UnknownValue(TableError):  # noqa: N818
    """A write that would leave a key, a copy or a guard stale, because it does not say what these are made of."""


class ConditionFailed(TableError):  # noqa: N818
    """A write whose condition was false; nothing was written."""


class AlreadyExists(ConditionFailed):
    """An insert of what is there already."""


class NotUnique(ConditionFailed):
    """An attribute that must be unique has this value elsewhere already."""


class NotFound(ConditionFailed):
    """An update or delete of an item that is not there."""


class TransactionCancelled(TableError):  # noqa: N818
    """A transaction of which nothing was written. `failures` says what was wrong, write by write."""

    def __init__(self, failures: Sequence[TableError]) -> None:
        super().__init__("; ".join(map(str, failures)) or "the transaction was cancelled")
        self.failures = tuple(failures)


class TooMany(TableError):  # noqa: N818
    """More than one item where one was asked for, or more actions than a transaction takes."""


class CursorError(TableError, ValueError):
    """A cursor that is damaged, or of another query."""
