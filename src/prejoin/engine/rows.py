"""Items in the store: read one, replace one, and keep the entries of every index in step, counting what it costs."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

import msgspec

from prejoin.engine.capacity import Capacity
from prejoin.engine.definition import Index, Table
from prejoin.engine.expiry import FORGOTTEN_SECONDS, expiry
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
        "SELECT size, item FROM items WHERE tid = ? AND hash = ? AND pk = ? AND sk = ?", (table.id, *key)
    ).fetchone()
    return None if found is None else Row(*found)


def store(connection: sqlite3.Connection, table: Table, key: ItemKey, row: Row, expires: int | None = None) -> None:
    # An upsert changes one page of the table where INSERT OR REPLACE, a delete and an insert, rewrites more.
    connection.execute(
        "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
        "SET size = excluded.size, item = excluded.item, expires = excluded.expires",
        (table.id, *key, *row, expires),
    )


def remove(connection: sqlite3.Connection, table: Table, key: ItemKey) -> None:
    connection.execute("DELETE FROM items WHERE tid = ? AND hash = ? AND pk = ? AND sk = ?", (table.id, *key))


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
) -> None:
    """Bring every index's entry of this item from before to after, and charge it by the index write rule.

    An index is charged the same inside a transaction: only the table's own units are doubled there.
    """
    if not table.indexes_every_item and all(
        version is None or table.index_names.isdisjoint(version.item) for version in (before, after)
    ):
        return  # without any attribute that is a key of an index, it is in none
    for index in table.indexes:
        old = entry_of(table, index, *(before or (None, None)))
        new = entry_of(table, index, *(after or (None, None)))
        if old == new:
            continue  # in the index neither before nor after, or nothing projected has changed: no index write
        if old is not None and new is not None and old.key == new.key:
            _put_entry(connection, table, index, key, new)
            size = max(old.row.size, new.row.size)
            capacity.add(write_units(size), index)
            continue
        # A changed index key costs two writes: a delete and a put.
        if old is not None:
            connection.execute(
                "DELETE FROM entries WHERE tid = ? AND number = ? AND ihash = ? AND ipk = ? AND isk = ? AND pk = ? "
                "AND sk = ?",
                (table.id, index.number, *old.key, key.pk, key.sk),
            )
            capacity.add(write_units(old.row.size), index)
        if new is not None:
            _put_entry(connection, table, index, key, new)
            capacity.add(write_units(new.row.size), index)


def _put_entry(connection: sqlite3.Connection, table: Table, index: Index, key: ItemKey, entry: Entry) -> None:
    connection.execute(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
        "SET size = excluded.size, item = excluded.item",
        (table.id, index.number, *entry.key, key.pk, key.sk, *entry.row),
    )


def fill_index(connection: sqlite3.Connection, table: Table, index: Index) -> None:
    """Write the entries of a new index for the items there are. What the index cannot hold it leaves out."""
    found = connection.execute("SELECT hash, pk, sk, size, item FROM items WHERE tid = ?", (table.id,))
    for *key, size, content in found:
        entry = entry_of(table, index, decode_item(content), Row(size, content))
        if entry is not None:
            _put_entry(connection, table, index, ItemKey(*key), entry)


def drop_index(connection: sqlite3.Connection, table: Table, index: Index) -> None:
    connection.execute("DELETE FROM entries WHERE tid = ? AND number = ?", (table.id, index.number))


def set_expiries(connection: sqlite3.Connection, table: Table) -> None:
    """Note for every item when it expires, after the table's time to live has changed."""
    connection.execute("UPDATE items SET expires = NULL WHERE tid = ? AND expires IS NOT NULL", (table.id,))
    if table.ttl is None:
        return
    found = connection.execute("SELECT hash, pk, sk, item FROM items WHERE tid = ?", (table.id,)).fetchall()
    for *key, content in found:
        expires = expiry(decode_item(content).get(table.ttl))
        if expires is not None:
            connection.execute(
                "UPDATE items SET expires = ? WHERE tid = ? AND hash = ? AND pk = ? AND sk = ?",
                (expires, table.id, *key),
            )


def expired(connection: sqlite3.Connection, now: float, most: int) -> list[tuple[int, ItemKey]]:
    """Where items are that have expired by now, the longest expired first, each with its table's id."""
    found = connection.execute(
        "SELECT tid, hash, pk, sk FROM items WHERE expires BETWEEN ? AND ? ORDER BY expires LIMIT ?",
        (now - FORGOTTEN_SECONDS, now, most),
    ).fetchall()
    return [(identity, ItemKey(*key)) for identity, *key in found]
