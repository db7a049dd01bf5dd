"""Attributes that only rise, or only fall: which of two values is kept, and a write that has to know it.

DynamoDB computes no greater of two in a write. So a write supposes that what is there stays, and says so in its
condition: most are no records. Where that is false, DynamoDB returns the item as it is, and the write is made for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, Op, Or, both
from prejoin.table.condition.visibility import holds, is_hidden
from prejoin.table.errors import ConditionFailed, Conflict, TableError
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes

from .model import Extreme, Write
from .read_first import informed, is_other

_BEYOND: Mapping[str, Op] = {">=": "<", "<=": ">"}


def kept(entity: Bound[Any], name: str, value: Any, extreme: Extreme) -> Any:
    """Of the value that an attribute has and one that it is to reach, the one that it has then, in DynamoDB's order."""
    if value is None:
        return extreme.value
    item = {entity.codec.attribute(name).wire: entity.codec.encode_value(name, value)}
    return value if holds(_stays(name, extreme), entity.codec, item) else extreme.value


def of_both(
    entity: Bound[Any], one: Mapping[str, Extreme] | None, more: Mapping[str, Extreme]
) -> Mapping[str, Extreme]:
    """What attributes are to reach by two writes of one item."""
    found = dict(one or {})
    for name, extreme in more.items():
        value = kept(entity, name, found[name].value, extreme) if name in found else extreme.value
        found[name] = Extreme(extreme.op, value)
    return found


def supposed(schema: Schema, write: Write) -> Write:
    """A write as it is tried first: for the item that was read, or else for one that has reached all there is to."""
    if write.item is not None:
        return _decided(schema, write, write.item)
    where = write.where
    for name, extreme in (write.extremes or {}).items():
        where = both(where, _stays(name, extreme))
    return replace(write, where=where)


def otherwise(
    schema: Schema, writes: Sequence[Write], tried: Sequence[Write], failures: Sequence[TableError]
) -> tuple[list[Write], Sequence[TableError]]:
    """The writes as they are tried again, for the items that were there; and what failed for other reasons."""
    at = {id(one): number for number, one in enumerate(tried) if writes[number].extremes}
    again: dict[int, Write] = {}
    rest: list[TableError] = []
    for failure in failures:
        number = at.get(id(failure.write))
        found = None if number is None else _again(schema, writes[number], tried[number], failure)
        if number is None or found is None:
            rest.append(failure)
        else:
            again[number] = found
    # A copy is not where it was, which is no wonder if its item is another by now; a conflict is gone in a moment.
    other = [one for one in rest if at.get(id(one.write)) not in again and not isinstance(one, Conflict)]
    return [again.get(number, one) for number, one in enumerate(tried)], other if again else failures


def _again(schema: Schema, write: Write, tried: Write, failure: TableError) -> Write | None:
    """A write for the item that was there. None: that is not why it failed."""
    if not isinstance(failure, ConditionFailed) or failure.elsewhere:
        return None
    item = dict(failure.item) if failure.item else None
    if write.verb != "upsert" if item is None else is_hidden(write.entity, item):
        return None
    found = _decided(schema, write, item)
    same = tried.item is None or not is_other(tried, item)
    return None if same and found.changes.names == tried.changes.names else found


def _decided(schema: Schema, write: Write, item: Json | None) -> Write:
    """A write for the item that is there: it sets what that has not reached, if it has not still."""
    where, sets = write.where, dict(write.changes.sets)
    for name, extreme in (write.extremes or {}).items():
        stays = _stays(name, extreme)
        if item is not None and holds(stays, write.entity.codec, item):
            where = both(where, stays)
        else:
            beyond = Compare((name,), _BEYOND[extreme.op], extreme.value)
            where = both(where, Or((Exists((name,), present=False), beyond)))
            sets[name] = extreme.value
    changes = write.changes
    found = replace(write, changes=Changes(sets, changes.adds, changes.removes, changes.deletes), where=where)
    # What copies and keys of indexes are made of is known by now, and checked as if it had been read.
    return found if item is None else informed(schema, found, item) or found


def _stays(name: str, extreme: Extreme) -> Condition:
    return Compare((name,), extreme.op, extreme.value)
