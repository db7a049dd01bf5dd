"""Items in the store: read one, replace one, and keep the entries of every index in step, counting what it costs."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

import msgspec

from prejoin.engine.capacity import Capacity
from prejoin.engine.definition import Index, Table
from prejoin.engine.keys import IndexKey, ItemKey, index_key
from prejoin.protocol.prices import write_units
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item

_decoder = msgspec.json.Decoder(Item)
encode_item = msgspec.json.Encoder().encode


def decode_item(content: bytes) -> Item:
    return _decoder.decode(content)


class Row(NamedTuple):
    """An item as it is stored and answered: the size DynamoDB counts, and its JSON."""

    size: int
    content: bytes


def fetch(connection: sqlite3.Connection, table: Table, key: ItemKey) -> Row | None:
    found = connection.execute(
        "SELECT size, item FROM items WHERE tid = ? AND pk = ? AND sk = ?", (table.id, *key)
    ).fetchone()
    return None if found is None else Row(*found)


def store(connection: sqlite3.Connection, table: Table, key: ItemKey, row: Row) -> None:
    connection.execute("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)", (table.id, *key, *row))


def remove(connection: sqlite3.Connection, table: Table, key: ItemKey) -> None:
    connection.execute("DELETE FROM items WHERE tid = ? AND pk = ? AND sk = ?", (table.id, *key))


class Entry(NamedTuple):
    """What an index holds of an item."""

    key: IndexKey
    row: Row


def entry_of(table: Table, index: Index, item: Item | None, whole: Row | None) -> Entry | None:
    """The index's entry for an item; `whole` is the item's own row, which an index of all attributes repeats."""
    if item is None or whole is None:
        return None
    key = index_key(index, item)
    if key is None:
        return None
    projected = table.projected(index)
    if projected is None:
        return Entry(key, whole)
    part = {name: value for name, value in item.items() if name in projected}
    return Entry(key, Row(item_size(part), encode_item(part)))


class Version(NamedTuple):
    """An item before or after a write, decoded and as stored."""

    item: Item
    row: Row


def update_indexes(
    connection: sqlite3.Connection,
    table: Table,
    key: ItemKey,
    before: Version | None,
    after: Version | None,
    capacity: Capacity,
    *,
    transactional: bool = False,
) -> None:
    """Bring every index's entry of this item from before to after, and charge it by the index write rule."""
    for index in table.indexes:
        old = entry_of(table, index, *(before or (None, None)))
        new = entry_of(table, index, *(after or (None, None)))
        if old == new:
            continue  # in the index neither before nor after, or nothing projected has changed: no index write
        if old is not None and new is not None and old.key == new.key:
            _put_entry(connection, table, index, key, new)
            size = max(old.row.size, new.row.size)
            capacity.add(write_units(size, transactional=transactional), index)
            continue
        # A changed index key costs two writes: a delete and a put.
        if old is not None:
            connection.execute(
                "DELETE FROM entries WHERE tid = ? AND number = ? AND ipk = ? AND isk = ? AND pk = ? AND sk = ?",
                (table.id, index.number, *old.key, *key),
            )
            capacity.add(write_units(old.row.size, transactional=transactional), index)
        if new is not None:
            _put_entry(connection, table, index, key, new)
            capacity.add(write_units(new.row.size, transactional=transactional), index)


def _put_entry(connection: sqlite3.Connection, table: Table, index: Index, key: ItemKey, entry: Entry) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (table.id, index.number, *entry.key, *key, *entry.row),
    )
