"""Add the writes that patterns do on other items, and merge writes to the same item.

DynamoDB refuses a transaction that writes an item twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, cast

from msgspec.structs import replace

from prejoin.table.condition.record import Condition, both, conjuncts
from prejoin.table.errors import TableError
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import NO_CHANGES, Changes, head
from prejoin.table.update.computed import Computed, HiddenName

from .actions import item_name, unknown_attributes
from .model import ItemDecision, StoredObject, Write, key_texts
from .read_first import with_item

NumberedWrite = tuple[Write, int]
"""A write, and the number of the write in the transaction that it belongs to."""


def add_pattern_writes(schema: Schema, writes: Sequence[Write | None]) -> list[NumberedWrite]:
    """Return writes with those that patterns add. None stands for a write that has nothing to do."""
    for write in writes:
        if write is None or write.stored is not None or write.entity.patterns:
            break
    else:
        return list(zip(cast("Sequence[Write]", writes), count()))  # most entities have no patterns
    present_writes = [(write, position) for position, write in enumerate(writes) if write is not None]
    numbered_writes = [(part, position) for write, position in present_writes for part in _parts(schema, write)]
    initial_count = len(numbered_writes)
    for write, position in numbered_writes:  # the list grows: patterns of the added writes may add more
        for pattern in () if write.spares_item else write.entity.patterns:
            write.need_before(pattern.depends(write), pattern.label)
            numbered_writes += [(replace(other, cause=write), position) for other in pattern.also(schema, write)]
    return numbered_writes if len(numbered_writes) == initial_count else _merge_writes(schema, numbered_writes)


def _parts(schema: Schema, write: Write) -> tuple[Write, ...]:
    """Return a write; or the two that move an item: a delete, if it has not changed, and an insert elsewhere."""
    stored_object = write.stored
    if stored_object is None or stored_object.item is None or stored_object.after is None or not write.moves:
        return (write,)
    departure = replace(
        write,
        verb="delete",
        changes=NO_CHANGES,
        stored=StoredObject(stored_object.values, stored_object.item, stored_object.after, complete=True),
    )
    # DynamoDB cannot change a key: the item is deleted, and inserted with its new key, by one transaction.
    extra = unknown_attributes(schema, write.entity, stored_object.item)
    return departure, Write("insert", write.entity, stored_object.after, extra=extra)


def _merge_writes(schema: Schema, numbered_writes: Sequence[NumberedWrite]) -> list[NumberedWrite]:
    """Return one write for each item that a pattern writes, too."""
    by_key: dict[tuple[str, ...], NumberedWrite] = {}
    duplicates: list[NumberedWrite] = []
    for write, position in numbered_writes:
        key = key_texts(schema.facet_key(write.entity.base, write.values))
        if key not in by_key:
            by_key[key] = (write, position)
        elif write.cause is None:
            duplicates.append((write, position))  # the caller writes it twice, which raises an error later
        else:
            other, first = by_key[key]
            by_key[key] = (_merge_pair(schema, other, write), first)
    return [*by_key.values(), *duplicates]


def _merge_pair(schema: Schema, write: Write, addition: Write) -> Write:
    """Return one write that does both a write and `addition`, which a pattern adds for the same item."""
    is_possible = write.verb not in ("delete", "check_absent") and write.entity is addition.entity
    if not is_possible or addition.verb not in ("update", "upsert", "check"):
        raise _pair_error(write, _verb(addition), addition)
    if write.verb in ("insert", "put"):
        if addition.asserted or addition.where is not None:
            raise _pair_error(write, "check", addition)
        return write if addition.verb == "check" else replace(write, values=_values_with_changes(write, addition))
    values = {**write.values, **addition.values}
    condition = _join_conditions(write.where, addition.where)
    if addition.verb == "check":
        return replace(write, values=values, where=condition)
    if write.verb == "check":
        return replace(addition, verb="update", values=values, where=condition)
    # If one of the added writes needs the item to exist, so does the merged one.
    verb = "update" if write.cause is not None and addition.verb == "update" else write.verb
    changes = join_changes(write, write.changes, addition.changes)
    decision = _join_decisions(write, addition)
    merged_write = replace(write, verb=verb, values=values, where=condition, changes=changes, decision=decision)
    item = merged_write.read_item
    return merged_write if item is None else with_item(schema, merged_write, item) or merged_write


def _pair_error(write: Write, verb: str, addition: Write) -> TableError:
    """Return the error for two writes to one item that cannot be one write."""
    return TableError(
        f"one transaction cannot both {_verb(write)} {item_name(write)} and {verb} it for "
        f"{item_name(_root(addition))}. Use two transactions"
    )


def _join_decisions(write: Write, addition: Write) -> ItemDecision | None:
    """Return the decisions of two writes to one item as one."""
    if write.decision is None or addition.decision is None:
        return write.decision or addition.decision
    return write.decision.combine(write.entity, addition.decision)


def _join_conditions(condition: Condition | None, addition: Condition | None) -> Condition | None:
    """Return both conditions as one, each part once.

    Many writes may check the same about one item: an expression of DynamoDB has 4 KB.
    """
    for part in conjuncts(addition):
        condition = condition if part in conjuncts(condition) else both(condition, part)
    return condition


def join_changes(write: Write, first: Changes, second: Changes) -> Changes:
    """Return two changes as one. Amounts are added; other changes must be of different attributes."""
    sums = {at: first.adds[at] + value if at in first.adds else value for at, value in second.adds.items()}
    joinable = (first.adds.keys() & second.adds.keys()) | (first.removes & second.removes)
    exclusive_names = {head(at) for at in second.all if at not in joinable}
    if twice := exclusive_names & {head(at) for at in first.all if at not in joinable}:
        raise TableError(
            f"{', '.join(sorted(twice))} of {item_name(write)} is changed twice in one transaction. Leave it to the "
            "pattern that maintains it"
        )
    return Changes(
        {**first.sets, **second.sets},
        {**first.adds, **sums},
        first.removes | second.removes,
        {**first.deletes, **second.deletes},
    )


def _values_with_changes(write: Write, addition: Write) -> Mapping[str, Any]:
    """Return the values of an inserted or put object with the changes of an update."""
    values, changes = dict(write.values), addition.changes
    if changes.deletes or changes.nested or any(isinstance(value, Computed) for value in changes.sets.values()):
        raise _pair_error(write, "change", addition)
    values.update(changes.sets)
    values.update(dict.fromkeys([name for name in changes.removes if not isinstance(name, HiddenName)]))
    for name, amount in changes.adds.items():
        values[name] = amount if values.get(name) is None else values[name] + amount
    if addition.decision is not None:
        values.update(addition.decision.apply(write.entity, values))
    return values


def _verb(write: Write) -> str:
    return "check" if write.verb == "check_absent" else write.verb


def _root(write: Write) -> Write:
    return write if write.cause is None else _root(write.cause)
