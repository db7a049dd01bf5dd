"""The catalog: finds table definitions by name in the store, so that all processes see the same, and caches them
decoded.
"""

from __future__ import annotations

from collections.abc import Iterable

from prejoin.engine.store.interface import Session
from prejoin.engine.tables.definition import LOCAL, IndexDefinition, TableDefinition, table_id
from prejoin.protocol.errors import not_found, refuse

_MAX_CACHED_TABLES = 1_000
"""The number of cached definitions, about 4 MB. The oldest is dropped first."""


class Catalog:
    """Caches the latest known revision of each table by id. Ids are never reused, so an entry is never wrong.

    If no other process can change the store, as in memory, tables are cached by name too.
    """

    def __init__(self, *, is_private: bool) -> None:
        self.place = LOCAL
        """The region and account of new tables."""
        self._alone = is_private
        self._known: dict[int, tuple[int, TableDefinition]] = {}
        self._named: dict[str, TableDefinition] = {}

    def find(self, session: Session, name: str) -> TableDefinition:
        """Return the table with this name, or raise ResourceNotFoundException."""
        # `_named` is empty if other processes can change the tables.
        table = self._named.get(name) or self.get(session, name)
        if table is None:
            raise not_found()
        return table

    def find_all(self, session: Session, names: Iterable[str]) -> dict[str, TableDefinition]:
        """Return the tables with these names. The first missing one raises ResourceNotFoundException."""
        tables: dict[str, TableDefinition] = {}
        for name in names:
            if name not in tables:
                tables[name] = self.find(session, name)
        return tables

    def get(self, session: Session, name: str) -> TableDefinition | None:
        # Looked up each time, because another process may have changed the table.
        version = session.table_version(name)
        if version is None:
            return None
        identity, revision = version
        cached = self._known.get(identity)
        if cached is not None and cached[0] == revision:
            table = cached[1]
        else:
            table = TableDefinition.from_bytes(identity, session.table_definition(identity))
            self._known[identity] = (revision, table)
            if len(self._known) > _MAX_CACHED_TABLES:
                # A dictionary keeps the order of its insertions, so the first one is the oldest.
                self._known.pop(next(iter(self._known)), None)
        if self._alone:
            self._named[name] = table
        return table

    def table_of_key(self, session: Session, key: bytes) -> TableDefinition:
        """Return the table of the item stored under this key."""
        return self.find(session, session.table_name(table_id(key)))

    def add(self, session: Session, table: TableDefinition) -> int:
        """Store the definition of a new table, and return its id."""
        return session.add_table(table.name, table.to_bytes())

    def forget(self) -> None:
        """Forget all definitions, because the content of the store was replaced."""
        self._known.clear()
        self._named.clear()

    def change(self, session: Session, table: TableDefinition) -> None:
        """Replace a table's definition. Other processes notice the new revision."""
        self._named.pop(table.name, None)
        # The cached definition stays: it has another revision, so it is not used again.
        session.change_table(table.id, table.to_bytes())

    def remove(self, session: Session, table: TableDefinition) -> None:
        self._named.pop(table.name, None)
        self._known.pop(table.id, None)
        session.remove_table(table.id)


def index_of(table: TableDefinition, name: str) -> IndexDefinition:
    """Return the index with this name, or raise DynamoDB's error."""
    index = table.by_name.get(name)
    if index is None:
        refuse(f"The table does not have the specified index: {name}")
    return index
