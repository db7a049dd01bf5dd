"""Items and index entries as stored rows: keep the entries of every index in step with an item, and handle expiry."""

from __future__ import annotations

from typing import Final
from zlib import adler32

import msgspec

from prejoin.engine.items.capacity import Capacity
from prejoin.engine.items.recovery import RECOVERY_LOG
from prejoin.engine.store.interface import MAX_RECORD, Session, StoredRow
from prejoin.engine.tables.definition import IndexDefinition, TableDefinition, id_bytes
from prejoin.protocol import numbers
from prejoin.protocol.key_bytes import under
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item, Value

_decoder = msgspec.json.Decoder(Item)
encode_item = msgspec.json.Encoder().encode


def decode_item(content: bytes) -> Item:
    return _decoder.decode(content)


def are_equal(before: StoredRow, after: StoredRow) -> bool:
    """Whether two rows have the same attributes, which may be in another order.

    Rows are decoded only if their bytes have the same sum, which is the same in any order: the low half of Adler-32.
    """
    return (
        before.size == after.size
        and (adler32(before.content) ^ adler32(after.content)) & 0xFFFF == 0
        and decode_item(before.content) == decode_item(after.content)
    )


class ItemVersion(msgspec.Struct, frozen=True):
    """An item before or after a write: its stored row, and at least the attributes that indexes need."""

    item: Item
    row: StoredRow


def index_row(table: TableDefinition, index: IndexDefinition, version: ItemVersion) -> StoredRow:
    """The row that an index holds for an item. An index with all attributes repeats the item's own row."""
    projected = table.projected(index)
    if projected is None:
        return version.row
    held = {name: value for name, value in version.item.items() if name in projected}
    return StoredRow(item_size(held), encode_item(held))


def update_indexes(
    session: Session,
    table: TableDefinition,
    key: bytes,
    before: ItemVersion | None,
    after: ItemVersion | None,
    capacity: Capacity,
    *,
    stays: bool = False,
) -> None:
    """Update the entry of an item in every index, and count the write units.

    `stays` says that no index key attribute has changed. Transactions double only the table's own units, not those of
    indexes.
    """
    if (
        not table.indexes_every_item
        and (before is None or table.index_names.isdisjoint(before.item))
        and (after is None or table.index_names.isdisjoint(after.item))
    ):
        return  # without index key attributes, the item is in no index
    for index in table.indexes:
        place = table.entry_keys[index.number]
        old_key = None if before is None else place(before.item, key)
        new_key = None if after is None else old_key if stays else place(after.item, key)
        if before is not None and old_key is not None:
            old = index_row(table, index, before)
            if after is not None and new_key is not None:
                _change_entry(session, index, (old_key, old), (new_key, index_row(table, index, after)), capacity)
            else:
                session.delete_entry(old_key)
                capacity.wrote(old.size, index)
        elif after is not None and new_key is not None:
            new = index_row(table, index, after)
            session.put_entry(new_key, new, new=True)
            capacity.wrote(new.size, index)


def _change_entry(
    session: Session,
    index: IndexDefinition,
    before: tuple[bytes, StoredRow],
    after: tuple[bytes, StoredRow],
    capacity: Capacity,
) -> None:
    (old_key, old), (new_key, new) = before, after
    if old_key != new_key:
        session.move_entry(old_key, new_key, new)
        # A changed index key costs two writes: a delete and a put.
        capacity.wrote(old.size, index)
        capacity.wrote(new.size, index)
    elif old != new:
        session.put_entry(new_key, new, new=False)
        if capacity.counts and not are_equal(old, new):
            capacity.wrote(max(old.size, new.size), index)


def fill_index(session: Session, table: TableDefinition, index: IndexDefinition) -> None:
    """Write the entries of a new index for the existing items. Items with unsuitable key values are left out."""
    place = table.entry_keys[index.number]
    for key, row in session.items(under(table.prefix)):
        version = ItemVersion(decode_item(row.content), row)
        new_key = place(version.item, key)
        if new_key is not None:
            session.put_entry(new_key, index_row(table, index, version), new=True)


def drop_index(session: Session, table: TableDefinition, index: IndexDefinition) -> None:
    session.clear("entries", under(table.index_prefix(index)))


def drop_all(session: Session, identity: int) -> None:
    """Remove all items of a table, the entries of its indexes, its stream records and its log."""
    prefix = id_bytes(identity)
    session.clear("items", under(prefix))
    session.clear("entries", under(prefix))
    session.remove_records(identity, MAX_RECORD)
    session.remove_records(identity + RECOVERY_LOG, MAX_RECORD)


def set_expiries(session: Session, table: TableDefinition) -> None:
    """Record the expiry of every item, after the table's time to live has changed."""
    bounds = under(table.prefix)
    session.clear_expiries(bounds)
    if table.ttl is None:
        return
    found = [(key, expiry(decode_item(row.content).get(table.ttl))) for key, row in session.items(bounds)]
    for key, expires in found:
        if expires is not None:
            session.set_expiry(key, expires)


def expired(session: Session, now: float, most: int) -> list[bytes]:
    """The keys of items that have expired by now, the longest expired first."""
    return session.expired(now - MAX_EXPIRED_SECONDS, now, most)


MAX_EXPIRED_SECONDS: Final = 5 * 365 * 86_400
"""DynamoDB ignores a time to live more than five years in the past: it is probably not a time."""
_LATEST: Final = 10**15


def expiry(value: Value | None) -> int | None:
    """The second at which an item with this value expires; None if it never does.

    >>> expiry({"N": "1700000000.5"}), expiry({"S": "1700000000"}), expiry(None)
    (1700000000, None, None)
    """
    if value is None or "N" not in value:
        return None
    number = numbers.value(value["N"])
    return int(number) if 0 < number < _LATEST else None
