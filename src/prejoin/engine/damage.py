"""Damage to a file: find it by checksums and by comparing items with index entries, and name the table and key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.items.changes import read_records
from prejoin.engine.items.keys import storage_key
from prejoin.engine.store.interface import DamageError, RangeScan, Session, StoredRow, StoreError
from prejoin.engine.tables.artifacts import Backup, backup_number
from prejoin.engine.tables.definition import IndexDefinition, TableDefinition, id_bytes
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.key_bytes import Range, after, under
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item

if TYPE_CHECKING:
    from prejoin.engine.operations.database import Database

_HASH_END = 8
"""The length of the table's id and the hash, which start the key of every item."""


def describe_damage(database: Database, error: DamageError) -> str:
    """Describe which item is damaged, and what to do about it."""

    def find() -> tuple[TableDefinition, str]:
        with database.store.reading() as session:
            return (table := database.catalog.table_of_key(session, error.key)), _key_text(table, error)

    try:
        table, key = database.store.read(find)
    except (DynamoDBError, StoreError, TypeError):
        return f"An item is damaged in the file, and so is the definition of its table. Its key: {error.key!r}"
    if error.keyspace == "items":
        return f"The item {key} of table {table.name} is damaged in the file. Put it again or delete it"
    index = _index_of(table, error.key)
    name = index.name if index else "an index"
    return (
        f"The entry of item {key} in index {name} of table {table.name} is damaged in the file. "
        "Put the item again, or delete it"
    )


def _index_of(table: TableDefinition, key: bytes) -> IndexDefinition | None:
    return next((index for index in table.indexes if key.startswith(table.index_prefix(index))), None)


def _key_text(table: TableDefinition, error: DamageError) -> str:
    """The key attributes as JSON if they can still be read. Otherwise the key bytes, roughly as text."""
    item = _decode_item(error.content)
    names = table.keys.names
    if item is not None and all(name in item for name in names):
        try:
            key = storage_key(table, item)
        except (DynamoDBError, KeyError, TypeError, ValueError, AttributeError):
            key = b""
        # The content is trusted only if it leads to the key that it is stored under. The key of an index entry ends
        # with the item's own key, without the table's id and the hash.
        if error.key == key or (error.keyspace == "entries" and key and error.key.endswith(key[_HASH_END:])):
            return msgspec.json.encode({name: item[name] for name in names}).decode()
    return repr(error.key[_HASH_END:].replace(b"\x00\x00", b" / ").decode(errors="backslashreplace"))


def _decode_item(content: object) -> Item | None:
    try:
        return rows.decode_item(content)  # type: ignore[arg-type]
    except (msgspec.MsgspecError, TypeError, UnicodeDecodeError):
        return None


def verify(database: Database) -> list[str]:
    """List everything that is wrong with the file, in one snapshot: its structure, each item and each index entry."""
    problems: list[str] = []
    try:
        problems += database.store.verify_file()
        return problems + database.store.read(_verify_tables, database)
    except StoreError as error:
        return [*problems, str(error)]


def _verify_tables(database: Database) -> list[str]:
    problems: list[str] = []
    with database.store.reading(snapshot=True) as session:
        after_name, items = "", 0
        while names := session.table_names(after_name, 100):
            for name in names:
                try:
                    table = database.catalog.find(session, name)
                except (StoreError, DynamoDBError) as error:
                    problems.append(f"table {name}: {error}")
                    continue
                problems += [f"table {name}: {text}" for text in _verify_table(session, table)]
                items += session.count("items", under(table.prefix))[0]
            after_name = names[-1]
        # The items of a backup lie among those of tables, under the id of the backup.
        for backup in Backup.all(session):
            bounds, damage = under(id_bytes(backup_number(session, backup))), list[DamageError]()
            items += sum(1 for _ in session.items(bounds, damage)) + len(damage)
            problems += [
                f"backup {backup.name}: the item {_key_text(backup.table, error)} is damaged" for error in damage
            ]
        # A damaged key may lie outside of every table. If damage was found already, it explains the difference.
        stored_items = session.count("items", _ALL_KEYS)[0]
        if stored_items != items and not problems:
            problems.append(f"{stored_items - items} items belong to no table")
    return problems


_ALL_KEYS = Range(b"", b"\xff" * 16)


def _verify_table(session: Session, table: TableDefinition) -> Iterator[str]:
    damage: list[DamageError] = []
    expected_entries = dict.fromkeys((index.number for index in table.indexes), 0)
    for key, row in session.items(under(table.prefix), damage):
        item = _decode_item(row.content)
        # The checksum covers the key, so a key that was damaged together with its checksum is found only by comparing
        # it.
        if item is None or storage_key(table, item) != key:
            yield f"the item {_key_text(table, DamageError('items', key, row.content))} is stored under a wrong key"
            continue
        key_text = _key_text(table, DamageError("items", key, row.content))
        if item_size(item) != row.size:
            yield f"the item {key_text} is recorded with a wrong size"
        for index in table.indexes:
            entry_key = table.entry_keys[index.number](item, key)
            if entry_key is None:
                continue
            expected_entries[index.number] += 1
            if _read_entry(session, entry_key) != rows.index_row(table, index, rows.ItemVersion(item, row)):
                yield f"the entry of item {key_text} in index {index.name} is missing or damaged"
    if table.streams:
        yield from _verify_records(session, table)
    for error in damage:
        yield f"the item {_key_text(table, error)} is damaged"
    for index in table.indexes:
        number = session.count("entries", under(table.index_prefix(index)))[0]
        # The entries of damaged items were not counted, so the numbers cannot be compared then.
        if number != expected_entries[index.number] and not damage:
            yield f"index {index.name} has {number} entries, and should have {expected_entries[index.number]}"


def _verify_records(session: Session, table: TableDefinition) -> Iterator[str]:
    after_number = -1
    try:
        while records := read_records(session, table, after_number + 1, None, 1_000):
            after_number = records[-1].number
    except (StoreError, msgspec.MsgspecError) as error:
        yield f"{error}"


def _read_entry(session: Session, key: bytes) -> StoredRow | None:
    try:
        return next(session.rows(RangeScan("entries", Range(key, after(key)), True, 1), 0), None)
    except DamageError:
        return None


def remove_damaged(session: Session, table: TableDefinition, key: bytes) -> None:
    """Remove an unreadable item and its index entries. Its attributes are lost, so all entries are searched."""
    damage: list[DamageError] = []
    entry_keys = [
        place
        for place, row in session.entries(under(table.prefix), damage)
        if place.endswith(key[_HASH_END:])
        and ((item := _decode_item(row.content)) is None or storage_key(table, item) == key)
    ]
    entry_keys += [error.key for error in damage if error.key.endswith(key[_HASH_END:])]
    for entry_key in entry_keys:
        session.delete_entry(entry_key)
    session.delete(key)
