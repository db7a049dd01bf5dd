"""Keys of items: checked against a table's definition, and turned into the bytes they are stored under.

An item lies under the id of its table, the hash of its partition key, that key, and its sort key; the entry of an index
under the same of the index, and then the item's own key. Partitions lie in the order of a hash, as DynamoDB's do: a
Scan is in no order that a program could come to rely on, and a segment of a parallel Scan is a range.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn
from zlib import crc32

from prejoin.engine.definition import Index, KeyAttribute, Table
from prejoin.protocol import keybytes, limits
from prejoin.protocol.errors import refuse
from prejoin.protocol.expressions import Path
from prejoin.protocol.values import Item, Value, kind

_MISMATCH = "The provided key element does not match the schema"
_INVALID = "One or more parameter values were invalid: "
_EMPTY = "The AttributeValue for a key attribute cannot contain an empty {} value. "


def key_bytes(table: Table, key: Item) -> bytes:
    """The bytes of a `Key`: exactly the table's key attributes, of their types."""
    if len(key) != len(table.keys.names):
        refuse(_MISMATCH)
    for attribute in table.keys.attributes:
        value = key.get(attribute.name)
        if value is None or attribute.type not in value:
            refuse(_MISMATCH)
        if not value[attribute.type]:
            _refuse_empty(attribute)
    return stored_under(table, key)


def item_key(table: Table, item: Item) -> bytes:
    """The bytes of a whole item's key."""
    for attribute in table.keys.attributes:
        value = item.get(attribute.name)
        if value is None:
            refuse(_INVALID + f"Missing the key {attribute.name} in the item")
        if attribute.type not in value:
            refuse(
                _INVALID + f"Type mismatch for key {attribute.name} expected: {attribute.type} actual: {kind(value)}"
            )
        if not value[attribute.type]:
            _refuse_empty(attribute)
    return stored_under(table, item)


def stored_under(table: Table, item: Item) -> bytes:
    """The key bytes of an item whose key attributes are known to be right. Without a sort key, that part is empty."""
    keys = table.keys
    value = item[keys.partition[0].name]
    partition = keybytes.terminated(value)
    sort = keybytes.plain(item[keys.sort[0].name]) if keys.sort else b""
    if len(partition) > limits.PARTITION_KEY_SIZE and len(keybytes.plain(value)) > limits.PARTITION_KEY_SIZE:
        refuse(_INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes")
    if len(sort) > limits.SORT_KEY_SIZE:
        refuse(_INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
    return partition_bytes(table.prefix, partition) + sort


def partition_bytes(prefix: bytes, partition: bytes) -> bytes:
    """What all keys of one partition begin with; `prefix` is that of the table or of the index."""
    # crc32 alone leaves keys that differ in a digit close together: the multiplication spreads them.
    return prefix + (crc32(partition) * _SPREAD & 0xFFFFFFFF).to_bytes(4) + partition


_SPREAD = 2_654_435_761
_HASHED = 8
"""How many bytes of an item's key are the table's id and the hash."""


def check_not_empty(attribute: KeyAttribute, value: Value) -> None:
    if not value[attribute.type]:
        _refuse_empty(attribute)


def _refuse_empty(attribute: KeyAttribute) -> NoReturn:
    what = "string" if attribute.type == "S" else "binary"
    refuse("One or more parameter values are not valid. " + _EMPTY.format(what) + f"Key: {attribute.name}")


def check_index_keys(table: Table, item: Item) -> None:
    """Refuse an item that has an index key attribute of a type or size that the index cannot hold."""
    large = False
    for attribute, index in table.index_attributes:
        value = item.get(attribute.name)
        if value is None:
            continue
        content = value.get(attribute.type)
        if content is None:
            refuse(
                _INVALID + f"Type mismatch for Index Key {attribute.name} Expected: {attribute.type} "
                f"Actual: {kind(value)} IndexName: {index.name}"
            )
        if content == "":
            what = "string" if attribute.type == "S" else "binary"
            refuse(
                "One or more parameter values are not valid. A value specified for a secondary index key is not "
                "supported. " + _EMPTY.format(what) + f"IndexName: {index.name}, IndexKey: {attribute.name}"
            )
        # Four attributes of 64 characters, at four bytes a character, are within every limit.
        large = large or len(content) > 64
    if large:
        for index in table.indexes:
            _check_index_key_sizes(index, item)


def _check_index_key_sizes(index: Index, item: Item) -> None:
    keys = index.keys
    for attributes, most, what in (
        (keys.partition, limits.PARTITION_KEY_SIZE, "hash"),
        (keys.sort, limits.SORT_KEY_SIZE, "range"),
    ):
        if _size_of(attributes, item) > most:
            refuse(
                _INVALID + f"Aggregated size of all {what} keys has exceeded the size limit of {most} bytes. "
                f"IndexName: {index.name}"
            )


def check_scalar(table: Table, paths: Iterable[Path]) -> None:
    """Refuse a path into a key attribute: a key is a scalar, of the table or of an index."""
    for path in paths:
        head = path.steps[0]
        if len(path.steps) == 1:
            continue
        role = "Key" if head in table.keys.names else "IndexKey"
        if role == "Key" or any(attribute.name == head for attribute, _ in table.index_attributes):
            refuse(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
                f"{role}: {head}"
            )


def entry_key(table: Table, index: Index, item: Item, key: bytes) -> bytes | None:
    """Where an index holds an item that is stored under `key`; None where it does not: the index is sparse.

    An item without some key attribute is left out. So is one that has a value there which the index cannot hold: such
    an item was written before the index was made, for afterwards it is refused.
    """
    keys = index.keys
    partition = _terminated(keys.partition, item)
    sort = _terminated(keys.sort, item)
    if partition is None or sort is None:
        return None
    # What is longer than the limit may still be within it, since it is counted without what separates attributes.
    if len(partition) > limits.PARTITION_KEY_SIZE and _size_of(keys.partition, item) > limits.PARTITION_KEY_SIZE:
        return None
    if len(sort) > limits.SORT_KEY_SIZE and _size_of(keys.sort, item) > limits.SORT_KEY_SIZE:
        return None
    return partition_bytes(table.index_prefix(index), partition) + sort + key[_HASHED:]


def _terminated(attributes: tuple[KeyAttribute, ...], item: Item) -> bytes | None:
    content = b""
    for attribute in attributes:
        value = item.get(attribute.name)
        if value is None or not value.get(attribute.type):
            return None
        content += keybytes.terminated(value)
    return content


def _size_of(attributes: tuple[KeyAttribute, ...], item: Item) -> int:
    """What the key attributes that an item has count together: each as it would alone."""
    return sum(len(keybytes.plain(item[attribute.name])) for attribute in attributes if attribute.name in item)
