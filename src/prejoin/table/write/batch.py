"""Many writes: BatchWriteItem, 25 at a time, and what DynamoDB leaves over is sent again.

A batch checks nothing, and may do one half of a write of several items. So objects with copies go in transactions, and
those that have to check or to count something are written by `bulk`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import msgspec

from prejoin.keys import TABLE
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import BATCH_WRITE_REQUESTS, ITEM_SIZE, TRANSACTION_ACTIONS, TRANSACTION_SIZE
from prejoin.table.backoff import pause
from prejoin.table.client.writes import UNSAID
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import Failure, PartlyWritten, TableError, UnknownValue, Unprocessed
from prejoin.table.schema.schema import Schema
from prejoin.transport.errors import TransportError

from . import bulk
from .execute import passing, too_large
from .expand import expand
from .from_call import deletion, insertion, replacement
from .merge import with_others
from .model import Action, Write, checked_actions

E = TypeVar("E")
Progress = Callable[[int], None]
"""Told how many are written, after each request."""

ATTEMPTS = 10
"""How often in a row a batch is sent of which DynamoDB takes nothing. Any item that it takes begins the count anew."""

_BATCHED = ("Put", "Delete")
_THROTTLED = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"})


def put_many(
    schema: Schema, table: str, records: Iterable[Any], progress: Progress | None, read: bool = False
) -> Steps[int]:
    return _all(schema, table, records, lambda record: replacement(schema, record, None, None, read), progress)


def insert_many(schema: Schema, table: str, records: Iterable[Any], progress: Progress | None) -> Steps[int]:
    return _all(schema, table, records, lambda record: insertion(schema, record), progress)


def delete_many(
    schema: Schema, table: str, cls: type[E], keys: Iterable[Any], progress: Progress | None, read: bool = False
) -> Steps[int]:
    entity = schema.entity(cls)

    def write(key: Any) -> Write:
        given = entity.codec.values(key) if isinstance(key, cls) else key
        # What is not the key would have to be checked, which a batch cannot; of an object it is not asked.
        known = {name: given[name] for name in entity.base.attributes} if isinstance(key, cls) else given
        return deletion(schema, cls, None, known, read or UNSAID, None)

    return _all(schema, table, keys, write, progress)


def _all(
    schema: Schema, table: str, given: Iterable[Any], write: Callable[[Any], Write], progress: Progress | None
) -> Steps[int]:
    """Chunks, each finished before the next: so of two puts under one key, the later one stays."""
    rest = iter(given)
    chunk = _Chunk(schema, table)
    window = _Window(schema, table, progress)
    written = 0
    for position, one in enumerate(rest):
        try:
            wanted = write(one)
            actions = _unconditional(schema, wanted)
        except (TableError, ValueError) as error:
            # A missing argument is missing for all of them.
            if not window.used or isinstance(error, UnknownValue):
                raise
            window.failures.append(Failure(position, one, error))
            continue
        if actions is None:
            if len(chunk):
                written = yield from _send(chunk, written, chain([one], rest), progress)
                chunk = _Chunk(schema, table)
            if not window.takes(wanted):
                written = yield from window.send(written, chain([one], rest))
            window.add(position, one, wanted)
            continue
        if len(window):
            written = yield from window.send(written, chain([one], rest))
        if not chunk.takes(actions):
            written = yield from _send(chunk, written, chain([one], rest), progress)
            chunk = _Chunk(schema, table) if len(actions) == 1 else _Whole(schema, table)
        chunk.add(one, actions)
    if len(window):
        written = yield from window.send(written, rest)
    written = yield from _send(chunk, written, rest, progress)
    if window.failures:
        raise PartlyWritten(written, window.failures)
    return written


class _Window:
    """Objects that a batch cannot write, gathered to be written together by `bulk`."""

    def __init__(self, schema: Schema, table: str, progress: Progress | None) -> None:
        self._schema = schema
        self._table = table
        self._progress = progress
        self._waiting: dict[tuple[str, ...], tuple[int, Any, Write]] = {}
        self.used = False
        self.failures: list[Failure] = []

    def takes(self, write: Write) -> bool:
        return len(self._waiting) < bulk.WINDOW and bulk.own_key(self._schema, write) not in self._waiting

    def add(self, position: int, one: Any, write: Write) -> None:
        self.used = True
        self._waiting[bulk.own_key(self._schema, write)] = (position, one, write)

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, written: int, rest: Iterator[Any]) -> Steps[int]:
        window, self._waiting = list(self._waiting.values()), {}
        found = yield from bulk.write_window(self._schema, self._table, window)
        self.failures += found
        written += len(window) - len(found)
        if self._progress:
            self._progress(written)
        if any(isinstance(failure.error, TransportError) for failure in found):
            raise PartlyWritten(written, self.failures, rest)
        return written


class _Chunk:
    """Requests that go together: at most 25, and none for the same item."""

    most = BATCH_WRITE_REQUESTS

    def __init__(self, schema: Schema, table: str) -> None:
        self.table = table
        self._names = schema.keys(TABLE).names
        self.given: list[Any] = []
        self._requests: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}

    def takes(self, actions: Sequence[Action]) -> bool:
        room = len(actions) == 1 and len(self._requests) < self.most
        return room and actions[0].key not in self._requests

    def add(self, one: Any, actions: Sequence[Action]) -> None:
        for action in actions:
            said = {"Item": action.parameters["Item"]} if action.kind == "Put" else {"Key": action.parameters["Key"]}
            self._requests[action.key] = (len(self.given), {f"{action.kind}Request": said})
        self.given.append(one)

    def request(self) -> Request:
        body = {"RequestItems": {self.table: [request for _, request in self._requests.values()]}}
        keys = [" / ".join(key) for key in self._requests]
        return Request("BatchWriteItem", body, ", ".join(keys))

    def keep(self, left: list[dict[str, Any]]) -> None:
        """Keeps what DynamoDB left over, in the order given."""
        keys = {self._key(request) for request in left}
        self._requests = {key: found for key, found in self._requests.items() if key in keys}

    def _key(self, request: dict[str, Any]) -> tuple[str, ...]:
        ((_, said),) = request.items()
        item = said.get("Item") or said["Key"]
        return tuple([text for name in self._names for text in item[name].values()])

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def left(self) -> list[Any]:
        """Of what was given, that of which something is left to write."""
        return [self.given[at] for at in sorted({at for at, _ in self._requests.values()})]


class _Whole(_Chunk):
    """Requests of which each is of several items, in one transaction."""

    most = TRANSACTION_ACTIONS

    def __init__(self, schema: Schema, table: str) -> None:
        super().__init__(schema, table)
        self._size = 0

    def takes(self, actions: Sequence[Action]) -> bool:
        room = len(actions) > 1 and len(self._requests) + len(actions) <= self.most
        fits = self._size + _size(actions) <= TRANSACTION_SIZE
        return room and fits and not any(action.key in self._requests for action in actions)

    def add(self, one: Any, actions: Sequence[Action]) -> None:
        super().add(one, checked_actions(actions))
        self._size += _size(actions)

    def request(self) -> Request:
        items = [
            {kind.removesuffix("Request"): {"TableName": self.table, **said}}
            for _, request in self._requests.values()
            for kind, said in request.items()
        ]
        body = {"TransactItems": items}
        return Request("TransactWriteItems", body, ", ".join([" / ".join(key) for key in self._requests]))


def _size(actions: Sequence[Action]) -> int:
    """How large items are at most: JSON is never shorter than DynamoDB counts."""
    return sum([len(msgspec.json.encode(action.parameters.get("Item", {}))) for action in actions])


def _send(chunk: _Chunk, written: int, rest: Iterator[Any], progress: Progress | None) -> Steps[int]:
    attempt = 0
    while len(chunk):
        before = len(chunk)
        try:
            answer = yield chunk.request()
        except DynamoDBError as error:
            if error.code not in _THROTTLED and not passing(error):
                raise
        else:
            chunk.keep(answer.get("UnprocessedItems", {}).get(chunk.table, []))
            if progress and len(chunk) < before:
                progress(written + len(chunk.given) - len(chunk.left))
        attempt = attempt + 1 if len(chunk) == before else 0
        if attempt == ATTEMPTS:
            done = written + len(chunk.given) - len(chunk.left)
            raise Unprocessed(
                f"DynamoDB took nothing of a batch {ATTEMPTS} times, the table is too busy; {done} were written",
                done,
                chain(chunk.left, rest),
            )
        if len(chunk):
            yield pause(attempt + 1)
    return written + len(chunk.given)


def _unconditional(schema: Schema, write: Write) -> Sequence[Action] | None:
    """The actions of a write that a batch can do; None if it has to check something, or to read first."""
    if write.read or write.verb not in ("put", "delete"):
        return None
    entity = write.entity
    if entity.patterns and any(pattern.unbatched(write) for pattern in entity.patterns):
        return None
    actions = expand(schema, write)
    if entity.patterns and len(with_others(schema, [write])) > 1:
        return None
    if any("ConditionExpression" in one.parameters or one.kind not in _BATCHED for one in actions):
        return None
    for action in actions:
        item = action.parameters.get("Item")
        # JSON is never shorter than DynamoDB counts: most items need not be counted.
        if item and len(msgspec.json.encode(item)) > ITEM_SIZE and (large := too_large(action)):
            raise large
    return actions
