"""The comparison of a table with the schema that a client with `verify=True` makes before its first read or write."""

from __future__ import annotations

from typing import Generic, TypeVar

from prejoin.table.admin.drift import UnfitTable, require_fit
from prejoin.table.conversation import Steps
from prejoin.table.schema.schema import Schema

LockT = TypeVar("LockT")


class Verification(Generic[LockT]):
    """The state of the comparison, which a client shares with the clients of its tenants."""

    def __init__(self, schema: Schema, lock: LockT) -> None:
        self.schema = schema
        """The schema without a tenant: the items of all tenants are compared."""
        self.lock = lock
        self.done = False
        self._problem: UnfitTable | None = None

    def steps(self, table: str) -> Steps[None]:
        """Compare, and raise UnfitTable if the table does not fit. A table that did not fit is not read again."""
        if self._problem is not None:
            raise UnfitTable(self._problem.table, self._problem.differences)
        try:
            yield from require_fit(self.schema, table)
        except UnfitTable as problem:
            self._problem = problem
            raise
        self.done = True
