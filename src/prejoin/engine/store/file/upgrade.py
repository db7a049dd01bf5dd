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

_SET_ASIDE = """
DROP INDEX expiring;
ALTER TABLE items RENAME TO old_items;
ALTER TABLE entries RENAME TO old_entries;
"""
_SET_ASIDE_3 = """
ALTER TABLE tables RENAME TO old_tables;
DROP TABLE tokens;
"""
_TAKE_OVER_3 = """
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
        own = _pairs(definition.keys.partition + definition.keys.sort)
        self._entries: dict[bytes, EntryKey] = {}
        for index in definition.indexes:
            prefix = self._prefix + index.number.to_bytes(4)
            keys = index.keys
            self._entries[prefix] = entry_key(prefix, _pairs(keys.partition), _pairs(keys.sort), own)

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
    first = version == 3
    _run(connection, _SET_ASIDE + (_SET_ASIDE_3 if first else "") + create + (_TAKE_OVER_3 if first else ""))
    tables = _table_keys(connection)

    def item_key(key: bytes, item: Item) -> bytes | None:
        return tables[int.from_bytes(key[:4])].item_key(item)

    def entry_key(key: bytes, item: Item) -> bytes | None:
        return tables[int.from_bytes(key[:4])].entry_key(key[:8], item)

    stored = "NULL" if first else "checksum"
    for name, more, find in (("items", ", expires", item_key), ("entries", "", entry_key)):
        old = connection.execute(f"SELECT key, size, {stored}, item{more} FROM old_{name}")  # noqa: S608
        places = ", ".join("?" * (4 + bool(more)))
        connection.executemany(f"INSERT INTO {name} VALUES ({places})", _moved(old, find, checksum))  # noqa: S608
        connection.execute(f"DROP TABLE old_{name}")


def _run(connection: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";"):
        connection.execute(statement)


def _table_keys(connection: sqlite3.Connection) -> dict[int, _TableKeys]:
    found = {}
    for identity, content in connection.execute("SELECT id, definition FROM tables"):
        try:
            found[identity] = _TableKeys(identity, _definition.decode(content))
        except (msgspec.MsgspecError, TypeError, ValueError):
            continue  # damaged, so its items cannot be read, whatever their keys are
    return found


def _moved(
    rows: sqlite3.Cursor, find: Callable[[bytes, Item], bytes | None], checksum: Callable[[bytes, int, bytes], int]
) -> Iterator[tuple[Any, ...]]:
    for key, size, stored, content, *more in rows:
        new = None
        try:
            if stored is None or checksum(key, size, content) == stored:
                new = find(key, _item.decode(content))
        except (msgspec.MsgspecError, DynamoDBError, TypeError, ValueError, KeyError):
            pass
        if new is not None:
            yield (new, size, checksum(new, size, content), content, *more)
        else:
            yield (key, size, checksum(key, size, content) if stored is None else stored, content, *more)
