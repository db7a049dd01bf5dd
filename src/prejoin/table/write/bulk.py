"""Many writes that a batch cannot do, because they have conditions or write several items: inserts, guards, counters.

A window of objects is planned, then sent in chunks. Writes of several items share transactions of up to 100 actions.
All actions of one object are in one of them, and objects that change the same parent become one action on it. A write
of one item is a plain call: in a transaction it would cost twice as much. Chunks without a common item go side by side.

If a transaction is cancelled, the objects that caused it are told so, or tried alone, and the others are sent again. So
each object ends as if it had been written by a call of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import TRANSACTION_ACTIONS, TRANSACTION_SIZE
from prejoin.table.conversation import Parallel, Steps
from prejoin.table.errors import ConditionFailed, Failure, TableError, TransactionCancelled, UnknownValue
from prejoin.table.lazy import Lazy
from prejoin.table.read.execute import SIDE_BY_SIDE, together
from prejoin.table.schema.schema import Schema
from prejoin.transport.errors import TransportError

from .actions import merged
from .execute import perform, write_one
from .expand import expand
from .merge import with_others
from .model import Action, Write, key_texts
from .read_first import get_request, informed

if TYPE_CHECKING:
    from . import extremes
else:
    extremes = Lazy("prejoin.table.write.extremes")

WINDOW = 200
"""How many objects are planned at a time."""
SIDE = 8
"""How many chunks are sent side by side."""
ROUNDS = 3
"""How often a transaction of several objects is sent, each time without those that failed, before each goes alone."""

Key = tuple[str, ...]


class Planned(msgspec.Struct):
    """One object to be written."""

    position: int
    given: Any
    write: Write
    known: Write
    """The same, with what was read of its item."""
    own: frozenset[Key]
    """The items that only this object may write in a transaction."""
    shared: frozenset[Key]
    """The items in which it is counted, which others may change in the same transaction."""
    size: int

    @property
    def keys(self) -> frozenset[Key]:
        return self.own | self.shared


def own_key(schema: Schema, write: Write) -> Key:
    return key_texts(schema.written(write.entity.base, write.values))


def write_window(schema: Schema, table: str, window: Sequence[tuple[int, Any, Write]]) -> Steps[list[Failure]]:
    """Writes objects, of which no two have the same key; those that were not written."""
    failures: list[Failure] = []
    planned: list[Planned] = []
    known = yield from _known(schema, table, window, failures)
    for (position, given, write), now in known:
        if now is None:
            continue  # there is nothing to do
        try:
            planned.append(_planned(schema, position, given, write, now))
        except UnknownValue:
            raise  # a missing argument: it is missing for all of them
        except (TableError, ValueError) as error:
            failures.append(Failure(position, given, error))
    for wave in _waves(list(_chunks(planned))):
        found = yield Parallel(tuple([_write_chunk(schema, table, chunk) for chunk in wave]))
        failures += [failure for part in found for failure in part]
    return sorted(failures, key=lambda failure: failure.position)


def _known(
    schema: Schema, table: str, window: Sequence[tuple[int, Any, Write]], failures: list[Failure]
) -> Steps[list[tuple[tuple[int, Any, Write], Write | None]]]:
    """The writes, each with what was read of its item if it asks for that; None for one that has nothing to do."""
    reading = [one for one in window if one[2].read]
    found: dict[int, Write | None] = {}
    failed: set[int] = set()
    for at in range(0, len(reading), SIDE_BY_SIDE):
        part = reading[at : at + SIDE_BY_SIDE]
        answers = yield from together([get_request(schema, table, write) for _, _, write in part])
        for (position, given, write), answer in zip(part, answers, strict=True):
            try:
                found[position] = informed(schema, write, answer.get("Item"))
            except TableError as error:
                failures.append(Failure(position, given, error))
                failed.add(position)
    return [(one, found.get(one[0], one[2])) for one in window if one[0] not in failed]


def _planned(schema: Schema, position: int, given: Any, write: Write, known: Write) -> Planned:
    own: set[Key] = set()
    shared: set[Key] = set()
    size = 0
    writes = [extremes.supposed(schema, one) if one.extremes else one for one, _ in with_others(schema, [known])]
    for action in merged([action for one in writes for action in expand(schema, one)]):
        (shared if _is_shared(action) else own).add(action.key)
        size += _size(action)
    return Planned(position, given, write, known, frozenset(own), frozenset(shared), size)


def _is_shared(action: Action) -> bool:
    return action.write.cause is not None or action.adds is not None


def _size(action: Action) -> int:
    """At most how large an item is: JSON is never shorter than DynamoDB counts."""
    item = action.parameters.get("Item")
    return len(msgspec.json.encode(item)) if item else 0


def _chunks(planned: Sequence[Planned]) -> Iterator[list[Planned]]:
    chunk: list[Planned] = []
    own: set[Key] = set()
    shared: set[Key] = set()
    size = 0
    for one in planned:
        apart = own.isdisjoint(one.keys) and shared.isdisjoint(one.own)
        fits = len(own | shared | one.keys) <= TRANSACTION_ACTIONS and size + one.size <= TRANSACTION_SIZE
        if chunk and not (apart and fits):
            yield chunk  # before anything that has an item in common with it
            chunk, own, shared, size = [], set(), set(), 0
        if len(one.keys) == 1:
            yield [one]
            continue
        chunk.append(one)
        own |= one.own
        shared |= one.shared
        size += one.size
    if chunk:
        yield chunk


def _waves(chunks: Sequence[list[Planned]]) -> list[list[list[Planned]]]:
    """Chunks that go side by side. Those with an item in common go one after the other: else they would conflict."""
    waves: list[list[list[Planned]]] = []
    last: dict[Key, int] = {}
    for chunk in chunks:
        keys = {key for one in chunk for key in one.keys}
        at = max((last[key] + 1 for key in keys if key in last), default=0)
        while at < len(waves) and len(waves[at]) == SIDE:
            at += 1
        if at == len(waves):
            waves.append([])
        waves[at].append(chunk)
        last.update(dict.fromkeys(keys, at))
    return waves


def _write_chunk(schema: Schema, table: str, chunk: list[Planned]) -> Steps[list[Failure]]:
    failures: list[Failure] = []
    alone: list[Planned] = []
    rest = chunk
    for _ in range(ROUNDS):
        if len(rest) < 2:
            break
        try:
            yield from perform(schema, table, [one.known for one in rest], None)
            rest = []
        except TransactionCancelled as error:
            causes: dict[int, TableError] = {}
            for cause in error.failures:
                causes.setdefault(cause.position, cause)
            if not causes:
                break
            for at, cause in causes.items():
                if _is_final(cause):
                    failures.append(Failure(rest[at].position, rest[at].given, cause))
                else:
                    alone.append(rest[at])
            rest = [one for at, one in enumerate(rest) if at not in causes]
        except TransportError as error:
            return failures + [Failure(one.position, one.given, error) for one in (*rest, *alone)]
        except (TableError, DynamoDBError):
            break  # who is to blame shows when each is tried alone
    for one in (*alone, *rest):
        try:
            yield from write_one(schema, table, one.write)
        except (TableError, DynamoDBError, TransportError) as error:
            failures.append(Failure(one.position, one.given, error))
    return failures


def _is_final(cause: TableError) -> bool:
    """Whether a failure is what the object would be told if it were tried alone.

    It is not if its item was read and is another by now, nor if the condition is one of a parent, which it may share
    with other objects.
    """
    write = cause.write
    return isinstance(cause, ConditionFailed) and isinstance(write, Write) and write.cause is None and not write.read
