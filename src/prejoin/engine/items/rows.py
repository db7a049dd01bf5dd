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
    # An index that projects all attributes shares the row with its item: in memory it repeats no bytes.
    projected_names = table.projected_attributes(index)
    if projected_names is None:
        return version.row
    index_item = {name: value for name, value in version.item.items() if name in projected_names}
    return StoredRow(item_size(index_item), encode_item(index_item))


def update_indexes(
    session: Session,
    table: TableDefinition,
    key: bytes,
    before: ItemVersion | None,
    after: ItemVersion | None,
    capacity: Capacity,
    *,
    keep_entry_key: bool = False,
) -> None:
    """Update the entry of an item in every index, and count the write units.

    `keep_entry_key` says that no index key attribute has changed. Transactions double only the table's own units, not
    those of indexes.
    """
    if (
        not table.indexes_every_item
        and (before is None or table.index_names.isdisjoint(before.item))
        and (after is None or table.index_names.isdisjoint(after.item))
    ):
        # Without an index key attribute, the item is in no index. In a single-table design this is common.
        return
    # One piece, because every write runs it: with a pair of key and row for each side, and a function for each index, a
    # PutItem took four percent longer.
    for index in table.indexes:
        entry_key = table.entry_keys[index.number]
        old_key = None if before is None else entry_key(before.item, key)
        new_key = None
        if after is not None:
            new_key = old_key if keep_entry_key else entry_key(after.item, key)
        if before is None or old_key is None:
            if after is not None and new_key is not None:
                new_row = index_row(table, index, after)
                session.put_entry(new_key, new_row, new=True)
                capacity.wrote(new_row.size, index)
        elif after is None or new_key is None:
            old_row = index_row(table, index, before)
            session.delete_entry(old_key)
            capacity.wrote(old_row.size, index)
        else:
            old_row, new_row = index_row(table, index, before), index_row(table, index, after)
            _change_entry(session, index, old_key, old_row, new_key, new_row, capacity)


def _change_entry(
    session: Session,
    index: IndexDefinition,
    old_key: bytes,
    old_row: StoredRow,
    new_key: bytes,
    new_row: StoredRow,
    capacity: Capacity,
) -> None:
    """Move the entry of an item to its new key, or change its row, or neither."""
    if old_key != new_key:
        session.move_entry(old_key, new_key, new_row)
        # A changed index key costs two writes: a delete and a put.
        capacity.wrote(old_row.size, index)
        capacity.wrote(new_row.size, index)
    elif old_row != new_row:
        session.put_entry(new_key, new_row, new=False)
        # An entry with the same attributes in another order costs nothing. Comparing them is only worth its time if
        # units are counted.
        if capacity.counts and not are_equal(old_row, new_row):
            capacity.wrote(max(old_row.size, new_row.size), index)


def fill_index(session: Session, table: TableDefinition, index: IndexDefinition) -> None:
    """Write the entries of a new index for the existing items. Items with unsuitable key values are left out."""
    entry_key = table.entry_keys[index.number]
    for key, row in session.items(under(table.prefix)):
        version = ItemVersion(decode_item(row.content), row)
        new_key = entry_key(version.item, key)
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
    # All are read before the first is changed, so that no cursor runs over rows that change.
    expiries = [(key, expiry(decode_item(row.content).get(table.ttl))) for key, row in session.items(bounds)]
    for key, expires in expiries:
        if expires is not None:
            session.set_expiry(key, expires)


def expired_keys(session: Session, now: float, limit: int) -> list[bytes]:
    """The keys of items that have expired by now, the longest expired first."""
    return session.expired_keys(now - MAX_EXPIRED_SECONDS, now, limit)


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
