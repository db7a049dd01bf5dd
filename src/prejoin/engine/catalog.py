"""The tables of a store: found by name in the store itself, so that every process sees the same, decoded once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from prejoin.engine.definition import Index, Table
from prejoin.protocol.errors import not_found, refuse


class Catalog:
    """Definitions by table and revision. An id is never used twice, so an entry is never wrong, only unused."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Table] = {}

    def find(self, connection: sqlite3.Connection, name: str) -> Table:
        """The table of this name, or a ResourceNotFoundException."""
        table = self.get(connection, name)
        if table is None:
            raise not_found()
        return table

    def find_all(self, connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, Table]:
        """The tables of these names; the first that does not exist is the error."""
        return {name: self.find(connection, name) for name in dict.fromkeys(names)}

    def get(self, connection: sqlite3.Connection, name: str) -> Table | None:
        row = connection.execute("SELECT id, revision FROM tables WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        table = self._known.get(row)
        if table is None:
            (content,) = connection.execute("SELECT definition FROM tables WHERE id = ?", row[:1]).fetchone()
            if len(self._known) > 10_000:
                self._known.clear()
            table = self._known[row] = Table.from_bytes(row[0], content)
        return table

    def by_id(self, connection: sqlite3.Connection, identity: int) -> Table:
        (name,) = connection.execute("SELECT name FROM tables WHERE id = ?", (identity,)).fetchone()
        return self.find(connection, name)

    def change(self, connection: sqlite3.Connection, table: Table) -> None:
        """Replace a table's definition; the next revision tells everyone else, in whatever process."""
        connection.execute(
            "UPDATE tables SET definition = ?, revision = revision + 1 WHERE id = ?", (table.to_bytes(), table.id)
        )


def index_of(table: Table, name: str) -> Index:
    """The index of this name, or what DynamoDB answers when there is none."""
    index = table.by_name.get(name)
    if index is None:
        refuse(f"The table does not have the specified index: {name}")
    return index
