"""Optimistic writes: the result depends on the stored item, in a way that DynamoDB cannot compute.

An example is an attribute that only rises. The first attempt assumes that the stored item needs no change, and has this
as its condition. Most writes are done with that. If the condition is false, DynamoDB returns the item, and the next
attempt is decided for it. The knowledge what to decide is in a pattern: see `ItemDecision`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from prejoin.table.codec.values import Json
from prejoin.table.condition.record import both
from prejoin.table.errors import ConditionFailed, Conflict, TableError
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_hidden
from prejoin.table.update.changes import Changes

from .model import Write
from .read_first import has_changed, with_item


def first_attempt(schema: Schema, write: Write) -> Write:
    """Return a write as it is sent first: decided for the item that was read, or else with its assumption."""
    if write.decision is None:
        return write
    if (item := write.read_item) is not None:
        return _decide(schema, write, item)
    return replace(write, where=both(write.where, write.decision.assumption()))


def next_attempt(
    schema: Schema, writes: Sequence[Write], sent_writes: Sequence[Write], failures: Sequence[TableError]
) -> tuple[list[Write], Sequence[TableError]]:
    """Return the writes to send next, decided for the items that were found, and the failures with other reasons."""
    numbers = {id(write): number for number, write in enumerate(sent_writes) if writes[number].decision}
    next_writes: dict[int, Write] = {}
    unsolved_failures: list[TableError] = []
    for failure in failures:
        number = numbers.get(id(failure.write))
        next_write = None if number is None else _decide_again(schema, writes[number], sent_writes[number], failure)
        if number is None or next_write is None:
            unsolved_failures.append(failure)
        else:
            next_writes[number] = next_write
    # If an item has changed, its copies may fail, too. A conflict may be over at the next attempt.
    lasting_failures = [failure for failure in unsolved_failures if not isinstance(failure, Conflict)]
    other = [failure for failure in lasting_failures if numbers.get(id(failure.write)) not in next_writes]
    writes_to_send = [next_writes.get(number, write) for number, write in enumerate(sent_writes)]
    return writes_to_send, other if next_writes else failures


def _decide_again(schema: Schema, write: Write, sent_write: Write, failure: TableError) -> Write | None:
    """Return a write for the item that was found; None if the write failed for another reason."""
    if not isinstance(failure, ConditionFailed) or failure.elsewhere:
        return None
    item = dict(failure.item) if failure.item else None
    if write.verb != "upsert" if item is None else is_hidden(write.entity, item):
        return None
    next_write = _decide(schema, write, item)
    is_same_item = sent_write.read_item is None or not has_changed(sent_write, item)
    return None if is_same_item and next_write.changes.names == sent_write.changes.names else next_write


def _decide(schema: Schema, write: Write, item: Json | None) -> Write:
    assert write.decision is not None
    condition, sets = write.decision.decide(write.entity, item)
    old = write.changes
    changes = Changes({**old.sets, **sets}, old.adds, old.removes, old.deletes)
    decided_write = replace(write, changes=changes, where=both(write.where, condition))
    # The item is known now, so copies and index keys are written as after a read.
    return decided_write if item is None else with_item(schema, decided_write, item) or decided_write
