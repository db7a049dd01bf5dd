"""Writes that patterns do with others, on items of other entities; and two writes of one item made one.

DynamoDB refuses an item that is written twice in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from prejoin.table.condition.record import both
from prejoin.table.errors import TableError
from prejoin.table.lazy import Lazy
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import NOTHING, Changes, head
from prejoin.table.update.computed import Beside, Computed

from .actions import named
from .model import Write, key_texts
from .read_first import informed

if TYPE_CHECKING:
    from . import extremes
else:
    extremes = Lazy("prejoin.table.write.extremes")

Placed = tuple[Write, int]
"""A write, and which of the transaction's writes it belongs to."""


def with_others(schema: Schema, writes: Sequence[Write | None]) -> list[Placed]:
    """The writes, with those that patterns do with them. None stands for one that has nothing to do."""
    for write in writes:
        if write is None or write.becomes is not None or write.entity.patterns:
            break
    else:
        return list(zip(cast("Sequence[Write]", writes), count()))  # most tables have no patterns
    placed = [(part, position) for position, write in enumerate(writes) if write is not None for part in _parts(write)]
    said = len(placed)
    for write, position in placed:  # it grows: what is done with a write may be counted itself
        for pattern in write.entity.patterns:
            write.need_before(pattern.depends(write), pattern.what)
            placed += [(replace(other, cause=write), position) for other in pattern.also(schema, write)]
    return placed if len(placed) == said else _joined(schema, placed)


def _parts(write: Write) -> tuple[Write, ...]:
    """A write, or the two that move an item: it leaves its key, if it is still what was read, and is new elsewhere."""
    if write.becomes is None or not write.moves:
        return (write,)
    leaves = replace(write, verb="delete", changes=NOTHING, becomes=None, whole=True)
    return leaves, Write("insert", write.entity, write.becomes, item=write.item, whole=True)


def _joined(schema: Schema, placed: Sequence[Placed]) -> list[Placed]:
    """One write for each item that a pattern writes, too."""
    found: dict[tuple[str, ...], Placed] = {}
    rest: list[Placed] = []
    for write, position in placed:
        key = key_texts(schema.written(write.entity.base, write.values))
        if key not in found:
            found[key] = (write, position)
        elif write.cause is None:
            rest.append((write, position))  # the caller writes it twice, and is told so
        else:
            other, first = found[key]
            found[key] = (_one(schema, other, write), first)
    return [*found.values(), *rest]


def _one(schema: Schema, write: Write, more: Write) -> Write:
    """A write that does what `more`, which a pattern does, would have done to the same item after it."""
    apart = write.verb == "delete" or write.absent or write.entity is not more.entity
    if apart or more.verb not in ("update", "upsert", "check"):
        raise TableError(
            f"the same transaction would {write.verb} and {more.verb} {named(write)}, the latter for "
            f"{named(_root(more))}: do them one after the other"
        )
    if write.verb in ("insert", "put"):
        if more.asserted or more.where is not None:
            raise TableError(
                f"this {write.verb} of {named(write)} cannot be checked for {named(_root(more))} as well: do them one "
                "after the other"
            )
        return write if more.verb == "check" else replace(write, values=_changed(write, more))
    values = {**write.values, **more.values}
    where = write.where if more.where is None else both(write.where, more.where)
    if more.verb == "check":
        return replace(write, values=values, where=where)
    if write.verb == "check":
        return replace(more, verb="update", values=values, where=where)
    # Of what patterns do, one that needs the item to be there is enough.
    verb = "update" if write.cause is not None and more.verb == "update" else write.verb
    one = replace(write, verb=verb, values=values, where=where, changes=joined(write, write.changes, more.changes))
    if more.extremes:
        one = replace(one, extremes=extremes.of_both(write.entity, write.extremes, more.extremes))
    return one if one.item is None else informed(schema, one, one.item) or one


def joined(write: Write, one: Changes, more: Changes) -> Changes:
    """Changes that are made at once: amounts are added up, anything else is of different attributes."""
    summed = {at: one.adds[at] + value if at in one.adds else value for at, value in more.adds.items()}
    same = (one.adds.keys() & more.adds.keys()) | (one.removes & more.removes)
    apart = {head(at) for at in more.all if at not in same}
    if twice := apart & {head(at) for at in one.all if at not in same}:
        raise TableError(
            f"{', '.join(sorted(twice))} of {named(write)} would be changed in two ways in one transaction: leave it "
            "to the pattern that keeps it"
        )
    return Changes(
        {**one.sets, **more.sets}, {**one.adds, **summed}, one.removes | more.removes, {**one.deletes, **more.deletes}
    )


def _changed(write: Write, more: Write) -> Mapping[str, Any]:
    """The values of an object that is written, changed as an update would have."""
    values, changes = dict(write.values), more.changes
    if changes.deletes or changes.nested or any(isinstance(value, Computed) for value in changes.sets.values()):
        raise TableError(
            f"what {named(_root(more))} changes in {named(write)} cannot be done while that is written: do them one "
            "after the other"
        )
    values.update(changes.sets)
    values.update(dict.fromkeys([name for name in changes.removes if not isinstance(name, Beside)]))
    for name, amount in changes.adds.items():
        values[name] = amount if values.get(name) is None else values[name] + amount
    for name, extreme in (more.extremes or {}).items():
        values[name] = extremes.kept(write.entity, name, values.get(name), extreme)
    return values


def _root(write: Write) -> Write:
    return write if write.cause is None else _root(write.cause)
