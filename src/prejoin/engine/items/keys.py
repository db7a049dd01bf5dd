"""Keys of items: check them against a table's definition, and encode them as the bytes they are stored under."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from prejoin.engine.store.key_layout import partition_bytes
from prejoin.engine.tables.definition import IndexDefinition, KeyElement, TableDefinition
from prejoin.protocol import key_bytes, limits
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.expressions import DocumentPath
from prejoin.protocol.values import Item, Value, kind

_MISMATCH = "The provided key element does not match the schema"
_INVALID = "One or more parameter values were invalid: "
_EMPTY = "The AttributeValue for a key attribute cannot contain an empty {} value. "


class EmptyKeyError(DynamoDBError):
    """An empty key value. Unlike other invalid keys it rejects a whole transaction instead of cancelling it."""

    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", "One or more parameter values are not valid. " + message)


def encode_key(table: TableDefinition, key: Item) -> bytes:
    """Encode a `Key` parameter, which must have exactly the table's key attributes."""
    if len(key) != len(table.keys.names):
        refuse(_MISMATCH)
    # The fast function knows text keys of ordinary length. Other keys, and all errors, take the checks below.
    if (encoded_key := table.item_key(key)) is not None:
        return encoded_key
    for attribute in table.keys.attributes:
        value = key.get(attribute.name)
        if value is None or attribute.type not in value:
            refuse(_MISMATCH)
        if not value[attribute.type]:
            _refuse_empty(attribute)
    return storage_key(table, key)


def check_key_elements(table: TableDefinition, item: Item) -> None:
    """Refuse an item that lacks a key attribute of the table, or has one of another type."""
    for attribute in table.keys.attributes:
        if attribute.type not in item.get(attribute.name, {}):
            refuse(_MISMATCH)


def encode_item_key(table: TableDefinition, item: Item) -> bytes:
    """Encode the key of a whole item."""
    if (encoded_key := table.item_key(item)) is not None:
        return encoded_key
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
    return storage_key(table, item)


def storage_key(table: TableDefinition, item: Item) -> bytes:
    """Encode the key of an item whose key attributes have been checked. Without a sort key, that part is empty."""
    keys = table.keys
    value = item[keys.partition[0].name]
    sort = key_bytes.plain(item[keys.sort[0].name]) if keys.sort else b""
    # The missing space in the message is AWS's.
    if len(key_bytes.plain(value)) > limits.PARTITION_KEY_SIZE:
        refuse(_INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes")
    if len(sort) > limits.SORT_KEY_SIZE:
        refuse(_INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
    return partition_bytes(table.prefix, [value]) + sort


def check_not_empty(attribute: KeyElement, value: Value) -> None:
    if not value[attribute.type]:
        _refuse_empty(attribute)


def _refuse_empty(attribute: KeyElement) -> NoReturn:
    type_name = "string" if attribute.type == "S" else "binary"
    raise EmptyKeyError(_EMPTY.format(type_name) + f"Key: {attribute.name}")


def check_index_keys(table: TableDefinition, item: Item, *, is_update: bool = False) -> None:
    """Refuse an item with an index key attribute of the wrong type or size. Updates that empty one have their own
    message.
    """
    # Four attributes of 64 characters, at four bytes a character, are within every limit.
    may_be_too_large = False
    # A key of the table may have 2,048 bytes, and the same attribute as the sort key of an index only 1,024.
    for attribute in table.narrowed_keys:
        value = item.get(attribute.name)
        may_be_too_large = may_be_too_large or (value is not None and len(value[attribute.type]) > 64)
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
        # An empty value is of the right type, and yet no key. Puts and updates word this differently.
        if content == "":
            type_name = "string" if attribute.type == "S" else "binary"
            if is_update:
                raise EmptyKeyError(
                    "The update expression attempted to update a secondary index key to a value that is not supported. "
                    + _EMPTY.format(type_name).rstrip()
                )
            raise EmptyKeyError(
                "A value specified for a secondary index key is not supported. "
                + _EMPTY.format(type_name)
                + f"IndexName: {index.name}, IndexKey: {attribute.name}"
            )
        may_be_too_large = may_be_too_large or len(content) > 64
    if may_be_too_large:
        for index in table.indexes:
            _check_index_key_sizes(index, item)


def _check_index_key_sizes(index: IndexDefinition, item: Item) -> None:
    keys = index.keys
    for attributes, size_limit, role in (
        (keys.partition, limits.PARTITION_KEY_SIZE, "hash"),
        (keys.sort, limits.SORT_KEY_SIZE, "range"),
    ):
        if _key_size(attributes, item) > size_limit:
            refuse(
                _INVALID + f"Aggregated size of all {role} keys has exceeded the size limit of {size_limit} bytes. "
                f"IndexName: {index.name}"
            )


def check_scalar(table: TableDefinition, paths: Iterable[DocumentPath]) -> None:
    """Refuse a document path into a key attribute, because keys are scalars."""
    for path in paths:
        head = path.steps[0]
        if len(path.steps) == 1:
            continue
        # A key of the table is called so even if it is a key of an index, too.
        role = "Key" if head in table.keys.names else "IndexKey"
        if role == "Key" or any(attribute.name == head for attribute, _ in table.index_attributes):
            refuse(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
                f"{role}: {head}"
            )


def _key_size(attributes: tuple[KeyElement, ...], item: Item) -> int:
    """The total size of the key attributes that an item has."""
    return sum(len(key_bytes.plain(item[attribute.name])) for attribute in attributes if attribute.name in item)
