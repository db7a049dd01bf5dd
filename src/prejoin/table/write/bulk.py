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
    known: Write
    """The same write, with the item that was read."""
    own: frozenset[KeyTexts]
    """The keys that only this object may write in a transaction."""
    shared: frozenset[KeyTexts]
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
    known = yield from _known(schema, table, window, failures)
    for (position, given, write), now in known:
        if now is None:
            continue  # there is nothing to do
        try:
            objects.append(_object_write(schema, position, given, write, now))
        except UnknownValue:
            raise  # the argument is missing for all objects
        except (TableError, ValueError) as error:
            failures.append(Failure(position, given, error))
    for wave in _waves(list(_chunks(objects))):
        found = yield Parallel(tuple([_write_chunk(schema, table, chunk) for chunk in wave]))
        failures += [failure for part in found for failure in part]
    return sorted(failures, key=lambda failure: failure.position)


def _known(
    schema: Schema, table: str, window: Sequence[tuple[int, Any, Write]], failures: list[Failure]
) -> Steps[list[tuple[tuple[int, Any, Write], Write | None]]]:
    """Return the writes, with the items that were read if they need it; None if there is nothing to do."""
    reading = [one for one in window if one[2].read_first]
    found: dict[int, Write | None] = {}
    failed: set[int] = set()
    for at in range(0, len(reading), SIDE_BY_SIDE):
        part = reading[at : at + SIDE_BY_SIDE]
        answers = yield from send_all([get_request(schema, table, write) for _, _, write in part])
        for (position, given, write), answer in zip(part, answers, strict=True):
            try:
                found[position] = with_item(schema, write, answer.get("Item"))
            except TableError as error:
                failures.append(Failure(position, given, error))
                failed.add(position)
    return [(one, found.get(one[0], one[2])) for one in window if one[0] not in failed]


def _object_write(schema: Schema, position: int, given: Any, write: Write, known: Write) -> ObjectWrite:
    own: set[KeyTexts] = set()
    shared: set[KeyTexts] = set()
    size = 0
    writes = [first_attempt(schema, one) for one, _ in add_pattern_writes(schema, [known])]
    actions = merge_actions([action for one in writes for action in expand(schema, one)])
    for action in actions:
        (shared if _is_shared(action) else own).add(action.key)
        size += _size(action)
    independent = len(writes) == 1 and writes[0] is known and not shared
    return ObjectWrite(
        position, given, write, known, frozenset(own), frozenset(shared), size, actions if independent else ()
    )


def _is_shared(action: ItemAction) -> bool:
    return action.write.cause is not None or action.adds is not None


def _size(action: ItemAction) -> int:
    """Return an upper bound of the size of an item: JSON is never shorter than the size that DynamoDB counts."""
    item = action.parameters.get("Item")
    return len(msgspec.json.encode(item)) if item else 0


def _chunks(objects: Sequence[ObjectWrite]) -> Iterator[list[ObjectWrite]]:
    chunk: list[ObjectWrite] = []
    own: set[KeyTexts] = set()
    shared: set[KeyTexts] = set()
    size = 0
    for one in objects:
        apart = own.isdisjoint(one.own) and own.isdisjoint(one.shared) and shared.isdisjoint(one.own)
        actions = len(own) + len(one.own) + len(shared | one.shared)
        fits = actions <= TRANSACTION_ACTIONS and size + one.size <= TRANSACTION_SIZE
        if chunk and not (apart and fits):
            yield chunk  # before any chunk that writes one of the same items
            chunk, own, shared, size = [], set(), set(), 0
        if len(one.own) + len(one.shared) == 1:
            yield [one]
            continue
        chunk.append(one)
        own |= one.own
        shared |= one.shared
        size += one.size
    if chunk:
        yield chunk


def _waves(chunks: Sequence[list[ObjectWrite]]) -> list[list[list[ObjectWrite]]]:
    """Group chunks that are sent at the same time. Chunks with a common item would conflict, so they wait."""
    waves: list[list[list[ObjectWrite]]] = []
    last: dict[KeyTexts, int] = {}
    for chunk in chunks:
        keys = frozenset().union(*[one.own for one in chunk], *[one.shared for one in chunk])
        at = max((last[key] + 1 for key in keys if key in last), default=0)
        while at < len(waves) and len(waves[at]) == SIDE:
            at += 1
        if at == len(waves):
            waves.append([])
        waves[at].append(chunk)
        last.update(dict.fromkeys(keys, at))
    return waves


def _write_chunk(schema: Schema, table: str, chunk: list[ObjectWrite]) -> Steps[list[Failure]]:
    failures: list[Failure] = []
    alone: list[ObjectWrite] = []
    rest = chunk
    for _ in range(ROUNDS):
        if len(rest) < 2:
            break
        try:
            writes = [one.known for one in rest]
            if all(one.actions for one in rest):
                yield from send_actions(table, [action for one in rest for action in one.actions], writes)
            else:
                yield from run(schema, table, writes, None)
            rest = []
        except TransactionCancelled as error:
            causes: dict[int, TableError] = {}
            for cause in error.failures:
                causes.setdefault(cause.position, cause)
            if not causes:
                break
            for at, cause in causes.items():
                if _is_final(cause):
                    failures.append(Failure(rest[at].position, rest[at].object, cause))
                else:
                    alone.append(rest[at])
            rest = [one for at, one in enumerate(rest) if at not in causes]
        except TransportError as error:
            return failures + [Failure(one.position, one.object, error) for one in (*rest, *alone)]
        except (TableError, DynamoDBError):
            break  # each object is sent alone, to see which one fails
    for one in (*alone, *rest):
        try:
            yield from write_one(schema, table, one.write)
        except (TableError, DynamoDBError, TransportError) as error:
            failures.append(Failure(one.position, one.object, error))
    return failures


def _is_final(cause: TableError) -> bool:
    """Return whether the object would fail in the same way if it were sent alone.

    Not if its item was read and may have changed, and not if the condition is that of a parent, which other objects of
    the chunk may have changed.
    """
    write = cause.write
    return (
        isinstance(cause, ConditionFailed) and isinstance(write, Write) and write.cause is None and not write.read_first
    )
