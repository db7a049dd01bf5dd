"""Keys of items: checked against a table's definition, and turned into the bytes they are stored under."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

from prejoin.engine.definition import Index, KeyAttribute, Table
from prejoin.protocol import keybytes, limits
from prejoin.protocol.errors import refuse
from prejoin.protocol.expressions import Path
from prejoin.protocol.values import Item, Value, kind

_MISMATCH = "The provided key element does not match the schema"
_INVALID = "One or more parameter values were invalid: "
_EMPTY = "The AttributeValue for a key attribute cannot contain an empty {} value. "


class ItemKey(NamedTuple):
    """Where an item is stored. A table without sort key stores under an empty one.

    Partitions lie in the order of a hash, as DynamoDB's do: a Scan is in no order that a program could come to
    rely on, and a segment of a parallel Scan is a range.
    """

    hash: int
    pk: bytes
    sk: bytes


def key_bytes(table: Table, key: Item) -> ItemKey:
    """The bytes of a `Key`: exactly the table's key attributes, of their types."""
    if len(key) != len(table.keys.names):
        refuse(_MISMATCH)
    for attribute in table.keys.attributes:
        value = key.get(attribute.name)
        if value is None or attribute.type not in value:
            refuse(_MISMATCH)
        check_not_empty(attribute, value)
    return stored_under(table, key)


def item_key(table: Table, item: Item) -> ItemKey:
    """The bytes of a whole item's key."""
    for attribute in table.keys.attributes:
        value = item.get(attribute.name)
        if value is None:
            refuse(_INVALID + f"Missing the key {attribute.name} in the item")
        if attribute.type not in value:
            refuse(
                _INVALID + f"Type mismatch for key {attribute.name} expected: {attribute.type} actual: {kind(value)}"
            )
        check_not_empty(attribute, value)
    return stored_under(table, item)


def stored_under(table: Table, item: Item) -> ItemKey:
    """The key bytes of an item whose key attributes are known to be right."""
    keys = table.keys
    pk = keybytes.plain(item[keys.partition[0].name])
    sk = keybytes.plain(item[keys.sort[0].name]) if keys.sort else b""
    check_sizes(pk, sk)
    return ItemKey(crc32(pk), pk, sk)


def check_sizes(pk: bytes, sk: bytes) -> None:
    if len(pk) > limits.PARTITION_KEY_SIZE:
        refuse(_INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes")
    if len(sk) > limits.SORT_KEY_SIZE:
        refuse(_INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes")


def check_not_empty(attribute: KeyAttribute, value: Value) -> None:
    if value[attribute.type] == "":
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
        if _sizes([item[attribute.name] for attribute in attributes if attribute.name in item]) > most:
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


class IndexKey(NamedTuple):
    ihash: int
    ipk: bytes
    isk: bytes


def index_key(index: Index, item: Item) -> IndexKey | None:
    """Where an index holds an item; None where it does not: the index is sparse.

    An item without some key attribute is left out. So is one that has a value there which the index cannot hold: such
    an item was written before the index was made, for afterwards it is refused.
    """
    partition: list[Value] = []
    sort: list[Value] = []
    for attributes, found in ((index.keys.partition, partition), (index.keys.sort, sort)):
        for attribute in attributes:
            value = item.get(attribute.name)
            if value is None or not value.get(attribute.type):
                return None
            found.append(value)
    ipk, isk = keybytes.joined(partition), keybytes.joined(sort) if sort else b""
    if _sizes(partition) > limits.PARTITION_KEY_SIZE or _sizes(sort) > limits.SORT_KEY_SIZE:
        return None
    return IndexKey(crc32(ipk), ipk, isk)


def _sizes(values: list[Value]) -> int:
    """What key values count together: each as it would alone."""
    return sum(len(keybytes.plain(value)) for value in values)
