"""Transactions: writes are collected, and sent together at the end of a `with` block."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from prejoin.table.condition.record import Where
from prejoin.table.conversation import Steps
from prejoin.table.errors import TableError
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import write_all
from prejoin.table.write.from_call import absence_check, check_write
from prejoin.table.write.model import Write

from .update import warn_never_entered
from .writes import Writer

E = TypeVar("E")


class WriteList(Writer):
    """Collected writes, which are applied together or not at all."""

    _call = "db.transaction()"
    """The call that makes it, for messages."""
    _entered = False

    def __init__(self, schema: Schema, table: str, token: str | None, only_check: bool = False) -> None:
        self.schema = schema
        self._table = table
        self._token = token
        self._only_check = only_check
        self._writes: list[Write] = []

    def __del__(self) -> None:
        if self._writes and not self._entered:
            warn_never_entered(self._call)

    def _write(self, write: Write) -> None:
        if write.returning:
            raise TableError(
                "DynamoDB returns no items from a transaction. Leave out returning=, and get the object after"
            )
        if write.missing_ok:
            raise TableError(
                "A transaction has no missing_ok=. Give the key without other values: then a missing item is no error"
            )
        self._writes.append(write)

    def check(self, cls: type[E], /, *, where: Where[E] | None = None, or_absent: bool = False, **known: Any) -> None:
        """Apply the transaction only if this item exists, has the known values and fulfils the condition.

        With `or_absent=True` also if there is no item.
        """
        self._write(check_write(self.schema, cls, where, known, or_absent))

    def check_absent(self, cls: type[E], /, **key: Any) -> None:
        """Apply the transaction only if there is no item with this key."""
        self._write(absence_check(self.schema, cls, key))

    def _steps(self) -> Steps[None]:
        return write_all(self.schema, self._table, self._writes, self._token, self._only_check)


class Transaction(WriteList):
    """A transaction: all writes are applied at the end of the `with` block, or none."""

    def __init__(
        self, schema: Schema, table: str, token: str | None, only_check: bool, run: Callable[[Steps[None]], None]
    ) -> None:
        super().__init__(schema, table, token, only_check)
        self._run = run

    def __enter__(self) -> Transaction:
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._run(self._steps())
