"""From the conditions of a Query to a range of key bytes of a table or an index."""

from __future__ import annotations

import msgspec

from prejoin.engine.items.keys import check_not_empty
from prejoin.engine.store.layout import partition_bytes
from prejoin.engine.tables.definition import Index, KeyAttribute, Keys, Table
from prejoin.protocol import keybytes
from prejoin.protocol.errors import refuse
from prejoin.protocol.expressions import KeyCondition
from prejoin.protocol.keybytes import Range

_TYPE = "One or more parameter values were invalid: Condition parameter type does not match schema type"


class KeyRange(msgspec.Struct, frozen=True):
    """What all keys of one partition begin with, and a range of key bytes in it."""

    partition: bytes
    bounds: Range


def key_range(table: Table, index: Index | None, conditions: dict[str, KeyCondition]) -> KeyRange:
    """The range that the conditions ask for.

    Every partition attribute needs an equality. Sort attributes come left to right without gaps; only the last one
    given may have another condition than equality.
    """
    keys = table.keys if index is None else index.keys
    if len(conditions) > max(2, len(keys.attributes)):
        refuse(
            f"The number of query conditions ({len(conditions)}) exceeds the number of key attributes defined in the "
            f"schema ({len(keys.attributes)})"
        )
    for attribute in keys.attributes:
        if attribute.name in conditions:
            _check(attribute, conditions[attribute.name])
    if len(keys.attributes) == 1 and len(conditions) > 1:
        refuse("Query key condition not supported")
    if len(keys.partition) > 1 or len(keys.sort) > 1:
        _check_composite(keys, conditions)
    for attribute in keys.partition:
        condition = conditions.get(attribute.name)
        if condition is None:
            refuse(f"Query condition missed key schema element: {attribute.name}")
        if condition.operator != "=":
            refuse("Query key condition not supported")
    given = [attribute for attribute in keys.sort if attribute.name in conditions]
    strangers = len(conditions) - len(keys.partition) - len(given)
    if strangers and keys.sort and not given:
        refuse(f"Query condition missed key schema element: {keys.sort[0].name}")
    if strangers:
        refuse("Query key condition not supported")
    prefix = table.prefix if index is None else table.index_prefix(index)
    values = [conditions[attribute.name].operands[0] for attribute in keys.partition]
    partition = partition_bytes(prefix, keybytes.prefix(values))
    if not given:
        return KeyRange(partition, keybytes.under(partition))
    begin = partition + keybytes.prefix([conditions[attribute.name].operands[0] for attribute in given[:-1]])
    last = conditions[given[-1].name]
    # In an index the item's own key comes after its sort key.
    bounds = keybytes.compare_range(begin, last.operator, last.operands, last=index is None)
    return KeyRange(partition, bounds)


def _check_composite(keys: Keys, conditions: dict[str, KeyCondition]) -> None:
    """The rules of an index with several partition or sort attributes, which have their own words."""
    equal = {name for name, condition in conditions.items() if condition.operator == "="}
    missing = [attribute.name for attribute in keys.partition if attribute.name not in equal]
    if missing:
        refuse(f"HASH key attributes {', '.join(missing)} must have equality conditions specified in the query")
    before: list[str] = []
    for attribute in keys.sort:
        if attribute.name in conditions and before:
            refuse(
                f"RANGE key attributes {', '.join(before)} must have equality conditions specified in the query "
                f"because a condition is present on key attribute {attribute.name}"
            )
        if attribute.name not in equal:
            before.append(attribute.name)


def _check(attribute: KeyAttribute, condition: KeyCondition) -> None:
    for value in condition.operands:
        if attribute.type not in value:
            refuse(_TYPE)
        if condition.operator != "begins_with":
            check_not_empty(attribute, value)
    if condition.operator == "begins_with" and attribute.type == "N":
        refuse(_TYPE)
