"""Keys of items: checked against a table's definition, and turned into the bytes they are stored under."""

from __future__ import annotations

from typing import NamedTuple

from prejoin.engine.definition import Index, KeyAttribute, Table
from prejoin.protocol import keybytes, limits
from prejoin.protocol.errors import refuse
from prejoin.protocol.values import Item, Value, kind

_MISMATCH = "The provided key element does not match the schema"
_INVALID = "One or more parameter values were invalid: "
_EMPTY = "The AttributeValue for a key attribute cannot contain an empty {} value. "


class ItemKey(NamedTuple):
    """Where an item is stored. A table without sort key stores under an empty one."""

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
    return ItemKey(pk, sk)


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


class IndexKey(NamedTuple):
    ipk: bytes
    isk: bytes


def index_key(index: Index, item: Item) -> IndexKey | None:
    """Where an index holds an item; None where the item lacks a key attribute, so that the index is sparse."""
    try:
        partition = [item[attribute.name] for attribute in index.keys.partition]
        sort = [item[attribute.name] for attribute in index.keys.sort]
    except KeyError:
        return None
    ipk, isk = keybytes.joined(partition), keybytes.joined(sort) if sort else b""
    check_sizes(
        ipk if len(partition) == 1 else b"",
        isk if len(sort) == 1 else b"",
    )
    return IndexKey(ipk, isk)
