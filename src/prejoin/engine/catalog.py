"""The tables of a store: found by name in the store itself, so that every process sees the same, decoded once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from prejoin.engine.definition import Index, Table, table_id
from prejoin.protocol.errors import not_found, refuse


class Catalog:
    """Definitions by table and revision. An id is never used twice, so an entry is never wrong, only unused.

    Where nobody else can change the store, as in memory, names are remembered too.
    """

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone
        self._known: dict[tuple[int, int], Table] = {}
        self._named: dict[str, Table] = {}

    def find(self, cursor: sqlite3.Cursor, name: str) -> Table:
        """The table of this name, or a ResourceNotFoundException."""
        table = self._named.get(name) or self.get(cursor, name)
        if table is None:
            raise not_found()
        return table

    def find_all(self, cursor: sqlite3.Cursor, names: Iterable[str]) -> dict[str, Table]:
        """The tables of these names; the first that does not exist is the error."""
        found: dict[str, Table] = {}
        for name in names:
            if name not in found:
                found[name] = self.find(cursor, name)
        return found

    def get(self, cursor: sqlite3.Cursor, name: str) -> Table | None:
        row = cursor.execute("SELECT id, revision FROM tables WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        table = self._known.get(row)
        if table is None:
            (content,) = cursor.execute("SELECT definition FROM tables WHERE id = ?", row[:1]).fetchone()
            if len(self._known) > 10_000:
                self._known.clear()
            table = self._known[row] = Table.from_bytes(row[0], content)
        if self._alone:
            self._named[name] = table
        return table

    def holding(self, cursor: sqlite3.Cursor, key: bytes) -> Table:
        """The table of the item that is stored under this key."""
        (name,) = cursor.execute("SELECT name FROM tables WHERE id = ?", (table_id(key),)).fetchone()
        return self.find(cursor, name)

    def add(self, cursor: sqlite3.Cursor, table: Table) -> None:
        """Keep a new table's definition."""
        row = (table.name, 1, table.to_bytes())
        cursor.execute("INSERT INTO tables (name, revision, definition) VALUES (?, ?, ?)", row)

    def change(self, cursor: sqlite3.Cursor, table: Table) -> None:
        """Replace a table's definition; the next revision tells everyone else, in whatever process."""
        self._named.pop(table.name, None)
        cursor.execute(
            "UPDATE tables SET definition = ?, revision = revision + 1 WHERE id = ?", (table.to_bytes(), table.id)
        )

    def remove(self, cursor: sqlite3.Cursor, table: Table) -> None:
        self._named.pop(table.name, None)
        cursor.execute("DELETE FROM tables WHERE id = ?", (table.id,))


def index_of(table: Table, name: str) -> Index:
    """The index of this name, or what DynamoDB answers when there is none."""
    index = table.by_name.get(name)
    if index is None:
        refuse(f"The table does not have the specified index: {name}")
    return index
