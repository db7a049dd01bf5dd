"""Transactions: writes gathered one by one, and sent together when all are said."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from prejoin.table.condition.record import Where
from prejoin.table.conversation import Steps
from prejoin.table.errors import TableError
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import write_all
from prejoin.table.write.from_call import absence, condition
from prejoin.table.write.model import Write

from .writes import Writer

if TYPE_CHECKING:
    from .client import Client

E = TypeVar("E")


class Gathered(Writer):
    """Writes gathered, to be done together or not at all."""

    def __init__(self, schema: Schema, table: str, token: str | None) -> None:
        self.schema = schema
        self._table = table
        self._token = token
        self._writes: list[Write] = []

    def _write(self, write: Write) -> None:
        if write.returning:
            raise TableError("DynamoDB returns nothing from a transaction: get the object after it, without returning=")
        self._writes.append(write)

    def check(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> None:
        """Makes the transaction depend on an item that it does not write: it is there, and as is said."""
        self._write(condition(self.schema, cls, where, known))

    def check_absent(self, cls: type[E], /, **key: Any) -> None:
        """Makes the transaction depend on there being no item with this key."""
        self._write(absence(self.schema, cls, key))

    def _steps(self) -> Steps[None]:
        return write_all(self.schema, self._table, self._writes, self._token)


class Transaction(Gathered):
    """Writes that are done together or not at all, when the `with` ends."""

    def __init__(self, client: Client, token: str | None) -> None:
        super().__init__(client.schema, client.table, token)
        self._client = client

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._client._run(self._steps())
