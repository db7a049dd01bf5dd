"""Add the writes that patterns do on other items, and merge writes to the same item.

DynamoDB refuses a transaction that writes an item twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, cast

from msgspec.structs import replace

from prejoin.table.condition.record import both, conjuncts
from prejoin.table.errors import TableError
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import NOTHING, Changes, head
from prejoin.table.update.computed import Computed, HiddenName

from .actions import item_name, unknown_attributes
from .model import StoredObject, Write, key_texts
from .read_first import with_item

Numbered = tuple[Write, int]
"""A write, and the number of the write in the transaction that it belongs to."""


def add_pattern_writes(schema: Schema, writes: Sequence[Write | None]) -> list[Numbered]:
    """Return writes with those that patterns add. None stands for a write that has nothing to do."""
    for write in writes:
        if write is None or write.stored is not None or write.entity.patterns:
            break
    else:
        return list(zip(cast("Sequence[Write]", writes), count()))  # most entities have no patterns
    known = [(write, position) for position, write in enumerate(writes) if write is not None]
    placed = [(part, position) for write, position in known for part in _parts(schema, write)]
    said = len(placed)
    for write, position in placed:  # the list grows: patterns of the added writes may add more
        for pattern in () if write.spares_item else write.entity.patterns:
            write.need_before(pattern.depends(write), pattern.label)
            placed += [(replace(other, cause=write), position) for other in pattern.also(schema, write)]
    return placed if len(placed) == said else _merged(schema, placed)


def _parts(schema: Schema, write: Write) -> tuple[Write, ...]:
    """Return a write; or the two that move an item: a delete, if it has not changed, and an insert elsewhere."""
    stored = write.stored
    if stored is None or stored.item is None or stored.after is None or not write.moves:
        return (write,)
    leaves = replace(
        write,
        verb="delete",
        changes=NOTHING,
        stored=StoredObject(stored.values, stored.item, stored.after, complete=True),
    )
    extra = unknown_attributes(schema, write.entity, stored.item)
    return leaves, Write("insert", write.entity, stored.after, extra=extra)


def _merged(schema: Schema, placed: Sequence[Numbered]) -> list[Numbered]:
    """Return one write for each item that a pattern writes, too."""
    found: dict[tuple[str, ...], Numbered] = {}
    rest: list[Numbered] = []
    for write, position in placed:
        key = key_texts(schema.facet_key(write.entity.base, write.values))
        if key not in found:
            found[key] = (write, position)
        elif write.cause is None:
            rest.append((write, position))  # the caller writes it twice, which raises an error later
        else:
            other, first = found[key]
            found[key] = (_one(schema, other, write), first)
    return [*found.values(), *rest]


def _one(schema: Schema, write: Write, more: Write) -> Write:
    """Return one write that does both a write and `more`, which a pattern adds for the same item."""
    apart = write.verb in ("delete", "check_absent") or write.entity is not more.entity
    if apart or more.verb not in ("update", "upsert", "check"):
        raise TableError(
            f"one transaction cannot both {_verb(write)} {item_name(write)} and {_verb(more)} it for "
            f"{item_name(_root(more))}. Use two transactions"
        )
    if write.verb in ("insert", "put"):
        if more.asserted or more.where is not None:
            raise TableError(
                f"one transaction cannot both {write.verb} {item_name(write)} and check it for "
                f"{item_name(_root(more))}. Use two transactions"
            )
        return write if more.verb == "check" else replace(write, values=_changed(write, more))
    values = {**write.values, **more.values}
    where = write.where
    for part in conjuncts(more.where):
        # Many writes may check the same about one item: an expression of DynamoDB has 4 KB.
        where = where if part in conjuncts(where) else both(where, part)
    if more.verb == "check":
        return replace(write, values=values, where=where)
    if write.verb == "check":
        return replace(more, verb="update", values=values, where=where)
    # If one of the added writes needs the item to exist, so does the merged one.
    verb = "update" if write.cause is not None and more.verb == "update" else write.verb
    one = replace(
        write, verb=verb, values=values, where=where, changes=join_changes(write, write.changes, more.changes)
    )
    if more.decision is not None:
        both_decisions = write.decision.combine(write.entity, more.decision) if write.decision else more.decision
        one = replace(one, decision=both_decisions)
    item = one.read_item
    return one if item is None else with_item(schema, one, item) or one


def join_changes(write: Write, one: Changes, more: Changes) -> Changes:
    """Return two changes as one. Amounts are added; other changes must be of different attributes."""
    summed = {at: one.adds[at] + value if at in one.adds else value for at, value in more.adds.items()}
    same = (one.adds.keys() & more.adds.keys()) | (one.removes & more.removes)
    apart = {head(at) for at in more.all if at not in same}
    if twice := apart & {head(at) for at in one.all if at not in same}:
        raise TableError(
            f"{', '.join(sorted(twice))} of {item_name(write)} is changed twice in one transaction. Leave it to the "
            "pattern that maintains it"
        )
    return Changes(
        {**one.sets, **more.sets}, {**one.adds, **summed}, one.removes | more.removes, {**one.deletes, **more.deletes}
    )


def _changed(write: Write, more: Write) -> Mapping[str, Any]:
    """Return the values of an inserted or put object with the changes of an update."""
    values, changes = dict(write.values), more.changes
    if changes.deletes or changes.nested or any(isinstance(value, Computed) for value in changes.sets.values()):
        raise TableError(
            f"one transaction cannot both {write.verb} {item_name(write)} and change it for {item_name(_root(more))}. "
            "Use two transactions"
        )
    values.update(changes.sets)
    values.update(dict.fromkeys([name for name in changes.removes if not isinstance(name, HiddenName)]))
    for name, amount in changes.adds.items():
        values[name] = amount if values.get(name) is None else values[name] + amount
    if more.decision is not None:
        values.update(more.decision.apply(write.entity, values))
    return values


def _verb(write: Write) -> str:
    return "check" if write.verb == "check_absent" else write.verb


def _root(write: Write) -> Write:
    return write if write.cause is None else _root(write.cause)
