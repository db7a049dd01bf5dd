"""Items in the store: read one, replace one, and keep the entries of every index in step, counting what it costs."""

from __future__ import annotations

import sqlite3

import msgspec

from prejoin.engine.capacity import Capacity
from prejoin.engine.definition import Index, Table
from prejoin.engine.expiry import FORGOTTEN_SECONDS, expiry
from prejoin.engine.keys import entry_key
from prejoin.protocol.keybytes import under
from prejoin.protocol.prices import write_units
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item

_decoder = msgspec.json.Decoder(Item)
encode_item = msgspec.json.Encoder().encode


def decode_item(content: bytes) -> Item:
    return _decoder.decode(content)


class Row(msgspec.Struct, frozen=True, gc=False):
    """An item as it is stored and answered: the size DynamoDB counts, and its JSON."""

    size: int
    content: bytes


def fetch(connection: sqlite3.Connection, key: bytes) -> Row | None:
    found = connection.execute("SELECT size, item FROM items WHERE key = ?", (key,)).fetchone()
    return None if found is None else Row(*found)


def store(
    connection: sqlite3.Connection, key: bytes, before: Row | None, after: Row | None, expires: int | None = None
) -> None:
    """Bring what is stored under a key from before to after. An upsert would look again for what was there."""
    if after is None:
        if before is not None:
            connection.execute("DELETE FROM items WHERE key = ?", (key,))
    elif before is None:
        connection.execute("INSERT INTO items VALUES (?, ?, ?, ?)", (key, after.size, after.content, expires))
    else:
        connection.execute(
            "UPDATE items SET size = ?, item = ?, expires = ? WHERE key = ?", (after.size, after.content, expires, key)
        )


class Version(msgspec.Struct, frozen=True):
    """An item before or after a write, decoded and as stored."""

    item: Item
    row: Row


class Entry(msgspec.Struct, frozen=True):
    """What an index holds of an item, and the key it holds it under."""

    key: bytes
    row: Row


def entry_of(table: Table, index: Index, key: bytes, version: Version | None) -> Entry | None:
    """The index's entry for an item that is stored under `key`; None where the index leaves it out."""
    if version is None:
        return None
    found = entry_key(table, index, version.item, key)
    return None if found is None else Entry(found, _part(table, index, version))


def _part(table: Table, index: Index, version: Version) -> Row:
    """As much of an item as an index holds; one of all attributes repeats the item's own row."""
    projected = table.projected(index)
    if projected is None:
        return version.row
    part = {name: value for name, value in version.item.items() if name in projected}
    return Row(item_size(part), encode_item(part))


def update_indexes(
    connection: sqlite3.Connection,
    table: Table,
    key: bytes,
    before: Version | None,
    after: Version | None,
    capacity: Capacity,
) -> None:
    """Bring every index's entry of this item from before to after, and charge it by the index write rule.

    An index is charged the same inside a transaction: only the table's own units are doubled there.
    """
    if (
        not table.indexes_every_item
        and (before is None or table.index_names.isdisjoint(before.item))
        and (after is None or table.index_names.isdisjoint(after.item))
    ):
        return  # without any attribute that is a key of an index, it is in none
    for index in table.indexes:
        old = entry_of(table, index, key, before)
        if old is not None and before is not None and after is not None and _same_key(index, before.item, after.item):
            new: Entry | None = Entry(old.key, _part(table, index, after))
        else:
            new = entry_of(table, index, key, after)
        if old is not None and new is not None:
            _change_entry(connection, index, old, new, capacity)
        elif old is not None:
            connection.execute("DELETE FROM entries WHERE key = ?", (old.key,))
            capacity.add(write_units(old.row.size), index)
        elif new is not None:
            _insert_entry(connection, new)
            capacity.add(write_units(new.row.size), index)


def _same_key(index: Index, before: Item, after: Item) -> bool:
    """Whether the index keeps an item where it is: simpler to see in the attributes than in the bytes."""
    return all(before.get(name) == after.get(name) for name in index.keys.names)


def _change_entry(connection: sqlite3.Connection, index: Index, old: Entry, new: Entry, capacity: Capacity) -> None:
    if old.key != new.key:
        connection.execute(
            "UPDATE entries SET key = ?, size = ?, item = ? WHERE key = ?",
            (new.key, new.row.size, new.row.content, old.key),
        )
        # A changed index key costs two writes: a delete and a put.
        capacity.add(write_units(old.row.size) + write_units(new.row.size), index)
    elif old.row != new.row:
        connection.execute(
            "UPDATE entries SET size = ?, item = ? WHERE key = ?", (new.row.size, new.row.content, new.key)
        )
        capacity.add(write_units(max(old.row.size, new.row.size)), index)


def _insert_entry(connection: sqlite3.Connection, entry: Entry) -> None:
    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (entry.key, entry.row.size, entry.row.content))


def fill_index(connection: sqlite3.Connection, table: Table, index: Index) -> None:
    """Write the entries of a new index for the items there are. What the index cannot hold it leaves out."""
    found = connection.execute("SELECT key, size, item FROM items WHERE key >= ? AND key < ?", under(table.prefix))
    for key, size, content in found:
        entry = entry_of(table, index, key, Version(decode_item(content), Row(size, content)))
        if entry is not None:
            _insert_entry(connection, entry)


def drop_index(connection: sqlite3.Connection, table: Table, index: Index) -> None:
    connection.execute("DELETE FROM entries WHERE key >= ? AND key < ?", under(table.index_prefix(index)))


def drop_all(connection: sqlite3.Connection, table: Table) -> None:
    """Remove the items of a table and the entries of its indexes."""
    connection.execute("DELETE FROM items WHERE key >= ? AND key < ?", under(table.prefix))
    connection.execute("DELETE FROM entries WHERE key >= ? AND key < ?", under(table.prefix))


def set_expiries(connection: sqlite3.Connection, table: Table) -> None:
    """Note for every item when it expires, after the table's time to live has changed."""
    bounds = under(table.prefix)
    connection.execute("UPDATE items SET expires = NULL WHERE key >= ? AND key < ? AND expires IS NOT NULL", bounds)
    if table.ttl is None:
        return
    found = connection.execute("SELECT key, item FROM items WHERE key >= ? AND key < ?", bounds).fetchall()
    for key, content in found:
        expires = expiry(decode_item(content).get(table.ttl))
        if expires is not None:
            connection.execute("UPDATE items SET expires = ? WHERE key = ?", (expires, key))


def expired(connection: sqlite3.Connection, now: float, most: int) -> list[bytes]:
    """The keys of items that have expired by now, the longest expired first."""
    found = connection.execute(
        "SELECT key FROM items WHERE expires BETWEEN ? AND ? ORDER BY expires LIMIT ?",
        (now - FORGOTTEN_SECONDS, now, most),
    ).fetchall()
    return [key for (key,) in found]
