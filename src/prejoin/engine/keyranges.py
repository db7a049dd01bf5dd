"""From the conditions of a Query to a range of key bytes of a table or an index."""

from __future__ import annotations

import msgspec

from prejoin.engine.definition import Index, KeyAttribute, Table
from prejoin.engine.keys import check_not_empty
from prejoin.engine.places import partition_bytes
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
        refuse("Conditions can be of length 1 or 2 only")
    for attribute in keys.attributes:
        if attribute.name in conditions:
            _check(attribute, conditions[attribute.name])
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
    for attribute in keys.sort[: len(given)]:
        if attribute.name not in conditions:
            refuse(f"Query condition missed key schema element: {attribute.name}")
    if len(given) > 1 and any(conditions[attribute.name].operator != "=" for attribute in given[:-1]):
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


def _check(attribute: KeyAttribute, condition: KeyCondition) -> None:
    for value in condition.operands:
        if attribute.type not in value:
            refuse(_TYPE)
        if condition.operator != "begins_with":
            check_not_empty(attribute, value)
    if condition.operator == "begins_with" and attribute.type == "N":
        refuse(_TYPE)
