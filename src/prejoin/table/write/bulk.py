"""Write many objects that BatchWriteItem cannot: writes with conditions, or of several items.

A window of objects is planned, then sent in chunks. A chunk of writes to several items each is a transaction of up to
100 actions: all actions of one object are in the same chunk, and changes of the same parent become one action. A write
of one item is a plain request, because in a transaction it would cost twice as much. Chunks without a common item are
sent at the same time.

If a transaction is cancelled, the objects that caused it fail, or are sent alone, and the others are sent again. So the
result for each object is the same as if it had been written alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import TRANSACTION_ACTIONS, TRANSACTION_SIZE
from prejoin.table.conversation import Parallel, Steps
from prejoin.table.errors import ConditionFailed, Failure, TableError, TransactionCancelled, UnknownValue
from prejoin.table.read.execute import SIDE_BY_SIDE, send_all
from prejoin.table.schema.schema import Schema
from prejoin.transport.errors import TransportError

from .actions import merge_actions
from .execute import run, send_actions, write_one
from .expand import expand
from .merge import add_pattern_writes
from .model import ItemAction, Write, key_texts
from .optimistic import first_attempt
from .read_first import get_request, with_item

WINDOW = 200
"""How many objects are planned at a time."""
SIDE = 8
"""How many chunks are sent at the same time."""
ROUNDS = 3
"""How often a transaction is sent, each time without the objects that failed, before each object is sent alone."""

KeyTexts = tuple[str, ...]


class ObjectWrite(msgspec.Struct):
    """One object to write."""

    position: int
    object: Any
    write: Write
    write_with_item: Write
    """The same write, with the item that was read."""
    own_keys: frozenset[KeyTexts]
    """The keys that only this object may write in a transaction."""
    shared_keys: frozenset[KeyTexts]
    """The keys of items, such as counters, that other objects may change in the same transaction."""
    size: int
    actions: Sequence[ItemAction] = ()
    """The actions, if they do not depend on the other objects of the transaction."""


def own_key(schema: Schema, write: Write) -> KeyTexts:
    return key_texts(schema.facet_key(write.entity.base, write.values))


def write_window(schema: Schema, table: str, window: Sequence[tuple[int, Any, Write]]) -> Steps[list[Failure]]:
    """Write objects with different keys, and return the failures."""
    failures: list[Failure] = []
    objects: list[ObjectWrite] = []
    writes = yield from _read_items(schema, table, window, failures)
    for (position, record, write), write_with_item in writes:
        if write_with_item is None:
            continue  # there is nothing to do
        try:
            objects.append(_object_write(schema, position, record, write, write_with_item))
        except UnknownValue:
            raise  # the argument is missing for all objects
        except (TableError, ValueError) as error:
            failures.append(Failure(position, record, error))
    for wave in _waves(list(_chunks(objects))):
        failures_by_chunk = yield Parallel(tuple([_write_chunk(schema, table, chunk) for chunk in wave]))
        failures += [failure for chunk_failures in failures_by_chunk for failure in chunk_failures]
    return sorted(failures, key=lambda failure: failure.position)


def _read_items(
    schema: Schema, table: str, window: Sequence[tuple[int, Any, Write]], failures: list[Failure]
) -> Steps[list[tuple[tuple[int, Any, Write], Write | None]]]:
    """Return the writes, with the items that were read if they need it; None if there is nothing to do."""
    reading = [entry for entry in window if entry[2].read_first]
    writes: dict[int, Write | None] = {}
    failed_positions: set[int] = set()
    for at in range(0, len(reading), SIDE_BY_SIDE):
        part = reading[at : at + SIDE_BY_SIDE]
        answers = yield from send_all([get_request(schema, table, write) for _, _, write in part])
        for (position, record, write), answer in zip(part, answers, strict=True):
            try:
                writes[position] = with_item(schema, write, answer.get("Item"))
            except TableError as error:
                failures.append(Failure(position, record, error))
                failed_positions.add(position)
    return [(entry, writes.get(entry[0], entry[2])) for entry in window if entry[0] not in failed_positions]


def _object_write(schema: Schema, position: int, record: Any, write: Write, write_with_item: Write) -> ObjectWrite:
    own_keys: set[KeyTexts] = set()
    shared_keys: set[KeyTexts] = set()
    size = 0
    writes = [first_attempt(schema, part) for part, _ in add_pattern_writes(schema, [write_with_item])]
    actions = merge_actions([action for part in writes for action in expand(schema, part)])
    for action in actions:
        (shared_keys if _is_shared(action) else own_keys).add(action.key)
        size += _size(action)
    independent = len(writes) == 1 and writes[0] is write_with_item and not shared_keys
    return ObjectWrite(
        position,
        record,
        write,
        write_with_item,
        frozenset(own_keys),
        frozenset(shared_keys),
        size,
        actions if independent else (),
    )


def _is_shared(action: ItemAction) -> bool:
    return action.write.cause is not None or action.adds is not None


def _size(action: ItemAction) -> int:
    """Return an upper bound of the size of an item: JSON is never shorter than the size that DynamoDB counts."""
    item = action.parameters.get("Item")
    return len(msgspec.json.encode(item)) if item else 0


def _chunks(objects: Sequence[ObjectWrite]) -> Iterator[list[ObjectWrite]]:
    chunk: list[ObjectWrite] = []
    own_keys: set[KeyTexts] = set()
    shared_keys: set[KeyTexts] = set()
    size = 0
    for object_write in objects:
        is_separate = (
            own_keys.isdisjoint(object_write.own_keys)
            and own_keys.isdisjoint(object_write.shared_keys)
            and shared_keys.isdisjoint(object_write.own_keys)
        )
        actions = len(own_keys) + len(object_write.own_keys) + len(shared_keys | object_write.shared_keys)
        fits = actions <= TRANSACTION_ACTIONS and size + object_write.size <= TRANSACTION_SIZE
        if chunk and not (is_separate and fits):
            yield chunk  # before any chunk that writes one of the same items
            chunk, own_keys, shared_keys, size = [], set(), set(), 0
        if len(object_write.own_keys) + len(object_write.shared_keys) == 1:
            yield [object_write]
            continue
        chunk.append(object_write)
        own_keys |= object_write.own_keys
        shared_keys |= object_write.shared_keys
        size += object_write.size
    if chunk:
        yield chunk


def _waves(chunks: Sequence[list[ObjectWrite]]) -> list[list[list[ObjectWrite]]]:
    """Group chunks that are sent at the same time. Chunks with a common item would conflict, so they wait."""
    waves: list[list[list[ObjectWrite]]] = []
    last: dict[KeyTexts, int] = {}
    # A chunk goes into the first wave after those of all chunks that it shares an item with, and that has room. So
    # writes of the same item keep their order.
    for chunk in chunks:
        keys = frozenset().union(
            *[object_write.own_keys for object_write in chunk], *[object_write.shared_keys for object_write in chunk]
        )
        at = max((last[key] + 1 for key in keys if key in last), default=0)
        while at < len(waves) and len(waves[at]) == SIDE:
            at += 1
        if at == len(waves):
            waves.append([])
        waves[at].append(chunk)
        last.update(dict.fromkeys(keys, at))
    return waves


def _write_chunk(schema: Schema, table: str, chunk: list[ObjectWrite]) -> Steps[list[Failure]]:
    """Write the objects of a chunk in transactions of those that may still succeed, then the others alone."""
    failures: list[Failure] = []
    single_writes: list[ObjectWrite] = []
    remaining = chunk
    for _ in range(ROUNDS):
        if len(remaining) < 2:
            break
        try:
            yield from _write_together(schema, table, remaining)
            remaining = []
        except TransactionCancelled as error:
            causes = _first_causes(error)
            if not causes:
                break
            for position, cause in causes.items():
                object_write = remaining[position]
                if _is_final(cause):
                    failures.append(Failure(object_write.position, object_write.object, cause))
                else:
                    single_writes.append(object_write)
            remaining = [object_write for at, object_write in enumerate(remaining) if at not in causes]
        except TransportError as error:
            # DynamoDB cannot be reached, so the objects are not tried alone.
            return failures + [Failure(item.position, item.object, error) for item in (*remaining, *single_writes)]
        except (TableError, DynamoDBError):
            break  # each object is sent alone, to see which one fails
    for object_write in (*single_writes, *remaining):
        try:
            yield from write_one(schema, table, object_write.write)
        except (TableError, DynamoDBError, TransportError) as error:
            failures.append(Failure(object_write.position, object_write.object, error))
    return failures


def _write_together(schema: Schema, table: str, objects: Sequence[ObjectWrite]) -> Steps[None]:
    """Write objects in one transaction."""
    writes = [object_write.write_with_item for object_write in objects]
    if all(object_write.actions for object_write in objects):
        actions = [action for object_write in objects for action in object_write.actions]
        yield from send_actions(table, actions, writes)
    else:
        yield from run(schema, table, writes, None)


def _first_causes(error: TransactionCancelled) -> dict[int, TableError]:
    """Return the first failure of each object of a transaction, by the number of the object."""
    causes: dict[int, TableError] = {}
    for cause in error.failures:
        causes.setdefault(cause.position, cause)
    return causes


def _is_final(cause: TableError) -> bool:
    """Return whether the object would fail in the same way if it were sent alone.

    Not if its item was read and may have changed, and not if the condition is that of a parent, which other objects of
    the chunk may have changed.
    """
    write = cause.write
    return (
        isinstance(cause, ConditionFailed) and isinstance(write, Write) and write.cause is None and not write.read_first
    )
