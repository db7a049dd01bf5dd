"""Bring a file of an older format up to date, in the transaction of the caller.

Version 3 had no checksums, and its client tokens were other ones, which are dropped: they live only ten minutes.
Versions 3 and 4 ordered partitions by another hash, so every item and index entry gets a new key. Damaged rows are
copied as they are, so that they are still found to be damaged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from prejoin.engine.store.key_layout import Attributes, EntryKey, entry_key, partition_bytes
from prejoin.protocol import key_bytes
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.values import Item

_RENAME_TABLES = """
DROP INDEX expiring;
ALTER TABLE items RENAME TO old_items;
ALTER TABLE entries RENAME TO old_entries;
"""
_RENAME_TABLES_OF_3 = """
ALTER TABLE tables RENAME TO old_tables;
DROP TABLE tokens;
"""
_COPY_TABLES_OF_3 = """
INSERT INTO tables SELECT id, name, revision, table_checksum(name, definition), definition FROM old_tables;
DELETE FROM sqlite_sequence WHERE name = 'tables';
INSERT INTO sqlite_sequence SELECT 'tables', seq FROM sqlite_sequence WHERE name = 'old_tables';
DROP TABLE old_tables;
"""


class _KeyAttribute(msgspec.Struct, frozen=True):
    name: str
    type: str


class _Keys(msgspec.Struct, frozen=True):
    partition: tuple[_KeyAttribute, ...]
    sort: tuple[_KeyAttribute, ...] = ()


class _Index(msgspec.Struct, frozen=True):
    number: int
    keys: _Keys


class _Definition(msgspec.Struct, frozen=True):
    """The part of a table's definition that keys are made of."""

    keys: _Keys
    indexes: tuple[_Index, ...] = ()


_definition = msgspec.json.Decoder(_Definition)
_item: msgspec.json.Decoder[Item] = msgspec.json.Decoder(Item)


class _TableKeys:
    """The keys of the items and index entries of one table."""

    def __init__(self, identity: int, definition: _Definition) -> None:
        self._prefix = identity.to_bytes(4)
        self._keys = definition.keys
        item_key_attributes = _pairs(definition.keys.partition + definition.keys.sort)
        self._entries: dict[bytes, EntryKey] = {}
        for index in definition.indexes:
            prefix = self._prefix + index.number.to_bytes(4)
            keys = index.keys
            self._entries[prefix] = entry_key(prefix, _pairs(keys.partition), _pairs(keys.sort), item_key_attributes)

    def item_key(self, item: Item) -> bytes:
        partition = [item[attribute.name] for attribute in self._keys.partition]
        return partition_bytes(self._prefix, partition) + b"".join(
            key_bytes.plain(item[attribute.name]) for attribute in self._keys.sort
        )

    def entry_key(self, prefix: bytes, item: Item) -> bytes | None:
        return self._entries[prefix](item, self.item_key(item))


def _pairs(attributes: tuple[_KeyAttribute, ...]) -> Attributes:
    return tuple((attribute.name, attribute.type) for attribute in attributes)


def upgrade(
    connection: sqlite3.Connection, version: int, create: str, checksum: Callable[[bytes, int, bytes], int]
) -> None:
    """Copy items and index entries under their new keys. `create` are statements that create what is missing once they
    are set aside: their tables, and for version 3 all tables. For that version, `table_checksum` is an SQL function.
    """
    is_version_3 = version == 3
    _run(
        connection,
        _RENAME_TABLES
        + (_RENAME_TABLES_OF_3 if is_version_3 else "")
        + create
        + (_COPY_TABLES_OF_3 if is_version_3 else ""),
    )
    tables = _table_keys(connection)

    def item_key(key: bytes, item: Item) -> bytes | None:
        return tables[int.from_bytes(key[:4])].item_key(item)

    def entry_key(key: bytes, item: Item) -> bytes | None:
        return tables[int.from_bytes(key[:4])].entry_key(key[:8], item)

    checksum_column = "NULL" if is_version_3 else "checksum"
    for name, expiry_column, new_key_of in (("items", ", expires", item_key), ("entries", "", entry_key)):
        # Only keys and checksums change. Sizes and contents are copied as they are.
        old_rows = connection.execute(f"SELECT key, size, {checksum_column}, item{expiry_column} FROM old_{name}")  # noqa: S608
        placeholders = ", ".join("?" * (4 + bool(expiry_column)))
        insertion = f"INSERT INTO {name} VALUES ({placeholders})"  # noqa: S608
        connection.executemany(insertion, _rows_with_new_keys(old_rows, new_key_of, checksum))
        connection.execute(f"DROP TABLE old_{name}")


def _run(connection: sqlite3.Connection, statements: str) -> None:
    # Not `executescript`, which would commit the transaction of the caller.
    for statement in statements.split(";"):
        connection.execute(statement)


def _table_keys(connection: sqlite3.Connection) -> dict[int, _TableKeys]:
    keys_by_table = {}
    for identity, content in connection.execute("SELECT id, definition FROM tables"):
        try:
            keys_by_table[identity] = _TableKeys(identity, _definition.decode(content))
        except (msgspec.MsgspecError, TypeError, ValueError):
            # Damaged. The items of this table cannot be read anyway, so they keep their keys.
            continue
    return keys_by_table


def _rows_with_new_keys(
    rows: sqlite3.Cursor,
    new_key_of: Callable[[bytes, Item], bytes | None],
    checksum: Callable[[bytes, int, bytes], int],
) -> Iterator[tuple[Any, ...]]:
    for key, size, stored_checksum, content, *expiry in rows:
        new_key = None
        try:
            if stored_checksum is None or checksum(key, size, content) == stored_checksum:
                new_key = new_key_of(key, _item.decode(content))
        except (msgspec.MsgspecError, DynamoDBError, TypeError, ValueError, KeyError):
            # Damaged. It is copied under its old key and with its old checksum, and so stays damaged.
            pass
        if new_key is not None:
            yield (new_key, size, checksum(new_key, size, content), content, *expiry)
        else:
            yield (
                key,
                size,
                checksum(key, size, content) if stored_checksum is None else stored_checksum,
                content,
                *expiry,
            )
