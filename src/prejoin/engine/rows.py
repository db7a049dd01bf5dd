"""Items in the store: read one, replace one, and keep the entries of every index in step, counting what it costs."""

from __future__ import annotations

import msgspec

from prejoin.engine.capacity import Capacity
from prejoin.engine.definition import Index, Table
from prejoin.engine.expiry import FORGOTTEN_SECONDS, expiry
from prejoin.engine.recent import Row
from prejoin.engine.store import Cursor
from prejoin.protocol.keybytes import under
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item

_decoder = msgspec.json.Decoder(Item)
encode_item = msgspec.json.Encoder().encode
_blob = bytearray
"""How bytes are handed to SQLite where it counts: for bytes its driver looks for adapters first, each time."""


def decode_item(content: bytes) -> Item:
    return _decoder.decode(content)


def fetch(cursor: Cursor, key: bytes) -> Row | None:
    recent = cursor.recent
    if recent is not None and (row := recent.get(key)) is not None:
        return row
    found = cursor.execute("SELECT size, item FROM items WHERE key = ?", (_blob(key),)).fetchone()
    if found is None:
        return None
    row = Row(*found)
    if recent is not None:
        recent.keep(key, row)
    return row


def store(cursor: Cursor, key: bytes, before: Row | None, after: Row | None) -> None:
    """Bring what is stored under a key from before to after. An upsert would look again for what was there."""
    if after is None:
        if before is not None:
            cursor.execute("DELETE FROM items WHERE key = ?", (key,))
    elif before is None:
        cursor.execute("INSERT INTO items VALUES (?, ?, ?, NULL)", (_blob(key), after.size, _blob(after.content)))
    else:
        cursor.execute(
            "UPDATE items SET size = ?, item = ? WHERE key = ?", (after.size, _blob(after.content), _blob(key))
        )
    if cursor.recent is not None:
        cursor.recent.keep(key, after)


def store_expiring(cursor: Cursor, key: bytes, before: Row | None, after: Row | None, expires: int | None) -> None:
    """The same in a table whose items may expire: this one at the second `expires`."""
    if after is None or (before is None and expires is None):
        store(cursor, key, before, after)
        return
    if before is None:
        cursor.execute("INSERT INTO items VALUES (?, ?, ?, ?)", (_blob(key), after.size, _blob(after.content), expires))
    else:
        cursor.execute(
            "UPDATE items SET size = ?, item = ?, expires = ? WHERE key = ?",
            (after.size, _blob(after.content), expires, _blob(key)),
        )
    if cursor.recent is not None:
        cursor.recent.keep(key, after)


class Version(msgspec.Struct, frozen=True):
    """An item before or after a write: as stored, and of its attributes at least those that indexes need."""

    item: Item
    row: Row


def _part(table: Table, index: Index, version: Version) -> Row:
    """As much of an item as an index holds; one of all attributes repeats the item's own row."""
    projected = table.projected(index)
    if projected is None:
        return version.row
    part = {name: value for name, value in version.item.items() if name in projected}
    return Row(item_size(part), encode_item(part))


def update_indexes(
    cursor: Cursor,
    table: Table,
    key: bytes,
    before: Version | None,
    after: Version | None,
    capacity: Capacity,
    *,
    stays: bool = False,
) -> None:
    """Bring every index's entry of this item from before to after, and charge it by the index write rule.

    `stays` says that no attribute has changed that is a key of an index.
    An index is charged the same inside a transaction: only the table's own units are doubled there.
    """
    if (
        not table.indexes_every_item
        and (before is None or table.index_names.isdisjoint(before.item))
        and (after is None or table.index_names.isdisjoint(after.item))
    ):
        return  # without any attribute that is a key of an index, it is in none
    for index in table.indexes:
        place = table.entry_keys[index.number]
        old_key = None if before is None else place(before.item, key)
        new_key = None if after is None else old_key if stays else place(after.item, key)
        if before is not None and old_key is not None:
            old = _part(table, index, before)
            if after is not None and new_key is not None:
                _change_entry(cursor, index, (old_key, old), (new_key, _part(table, index, after)), capacity)
            else:
                cursor.execute("DELETE FROM entries WHERE key = ?", (old_key,))
                capacity.wrote(old.size, index)
        elif after is not None and new_key is not None:
            new = _part(table, index, after)
            cursor.execute("INSERT INTO entries VALUES (?, ?, ?)", (_blob(new_key), new.size, _blob(new.content)))
            capacity.wrote(new.size, index)


def _change_entry(
    cursor: Cursor, index: Index, before: tuple[bytes, Row], after: tuple[bytes, Row], capacity: Capacity
) -> None:
    (old_key, old), (new_key, new) = before, after
    if old_key != new_key:
        cursor.execute(
            "UPDATE entries SET key = ?, size = ?, item = ? WHERE key = ?",
            (_blob(new_key), new.size, _blob(new.content), _blob(old_key)),
        )
        # A changed index key costs two writes: a delete and a put.
        capacity.wrote(old.size, index)
        capacity.wrote(new.size, index)
    elif old != new:
        cursor.execute(
            "UPDATE entries SET size = ?, item = ? WHERE key = ?", (new.size, _blob(new.content), _blob(new_key))
        )
        capacity.wrote(max(old.size, new.size), index)


def fill_index(cursor: Cursor, table: Table, index: Index) -> None:
    """Write the entries of a new index for the items there are. What the index cannot hold it leaves out."""
    # A cursor of its own, since it is read on while entries are written.
    found = cursor.connection.execute(
        "SELECT key, size, item FROM items WHERE key >= ? AND key < ?", under(table.prefix)
    )
    place = table.entry_keys[index.number]
    for key, size, content in found:
        version = Version(decode_item(content), Row(size, content))
        new_key = place(version.item, key)
        if new_key is not None:
            new = _part(table, index, version)
            cursor.execute("INSERT INTO entries VALUES (?, ?, ?)", (_blob(new_key), new.size, _blob(new.content)))


def drop_index(cursor: Cursor, table: Table, index: Index) -> None:
    cursor.execute("DELETE FROM entries WHERE key >= ? AND key < ?", under(table.index_prefix(index)))


def drop_all(cursor: Cursor, table: Table) -> None:
    """Remove the items of a table and the entries of its indexes."""
    cursor.execute("DELETE FROM items WHERE key >= ? AND key < ?", under(table.prefix))
    cursor.execute("DELETE FROM entries WHERE key >= ? AND key < ?", under(table.prefix))
    cursor.forget()


def set_expiries(cursor: Cursor, table: Table) -> None:
    """Note for every item when it expires, after the table's time to live has changed."""
    bounds = under(table.prefix)
    cursor.execute("UPDATE items SET expires = NULL WHERE key >= ? AND key < ? AND expires IS NOT NULL", bounds)
    if table.ttl is None:
        return
    found = cursor.execute("SELECT key, item FROM items WHERE key >= ? AND key < ?", bounds).fetchall()
    for key, content in found:
        expires = expiry(decode_item(content).get(table.ttl))
        if expires is not None:
            cursor.execute("UPDATE items SET expires = ? WHERE key = ?", (expires, key))


def expired(cursor: Cursor, now: float, most: int) -> list[bytes]:
    """The keys of items that have expired by now, the longest expired first."""
    found = cursor.execute(
        "SELECT key FROM items WHERE expires BETWEEN ? AND ? ORDER BY expires LIMIT ?",
        (now - FORGOTTEN_SECONDS, now, most),
    ).fetchall()
    return [key for (key,) in found]
