"""Write many objects with BatchWriteItem, 25 per request. Unprocessed items are sent again.

A batch has no conditions, and may apply only some of its writes. So objects with copies are written in transactions,
and objects whose patterns need conditions or counters by `bulk`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec

from prejoin.keys import TABLE
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import BATCH_WRITE_REQUESTS, ITEM_SIZE, TRANSACTION_ACTIONS, TRANSACTION_SIZE
from prejoin.table.conversation import ItemKeys, Parallel, Request, Steps, pause
from prejoin.table.errors import Failure, PartlyWritten, TableError, UnknownValue, Unprocessed
from prejoin.table.options import NOT_GIVEN, Progress
from prejoin.table.schema.schema import Schema
from prejoin.transport.errors import TransportError

from . import bulk
from .execute import is_temporary, prepare, size_error
from .expand import expand
from .from_call import delete_write, insert_write, put_write
from .merge import add_pattern_writes
from .model import ItemAction, Write, check_actions

E = TypeVar("E")

ATTEMPTS = 10
"""How many requests in a row may write nothing. Each item that is written starts the count again."""

_BATCH_KINDS = ("Put", "Delete")
_THROTTLING_CODES = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"})


def put_many(
    schema: Schema, table: str, records: Iterable[Any], progress: Progress | None, read: bool = False
) -> Steps[int]:
    return _write_all(schema, table, records, lambda record: put_write(schema, record, None, None, read), progress)


def insert_many(schema: Schema, table: str, records: Iterable[Any], progress: Progress | None) -> Steps[int]:
    return _write_all(schema, table, records, lambda record: insert_write(schema, record), progress)


def delete_many(
    schema: Schema, table: str, cls: type[E], keys: Iterable[Any], progress: Progress | None, read: bool = False
) -> Steps[int]:
    entity = schema.entity(cls)

    def write(key: Any) -> Write:
        attributes = entity.codec.values(key) if isinstance(key, cls) else key
        # A batch cannot check known values, so only the key of an object is used.
        key_attributes = (
            {name: attributes[name] for name in entity.base.attributes} if isinstance(key, cls) else attributes
        )
        return delete_write(schema, cls, None, key_attributes, read or NOT_GIVEN, None)

    return _write_all(schema, table, keys, write, progress)


def write_requests(
    schema: Schema, table: str, requests: Mapping[tuple[str, ...], Any], side: int = bulk.SIDE
) -> Steps[None]:
    """Send requests of BatchWriteItem, by the keys of their items, up to `side` batches at the same time.

    A request is a dict, or its JSON as `msgspec.Raw`.
    """
    chunks: list[_Chunk] = []
    remaining = iter(requests.items())
    while batch := dict(islice(remaining, BATCH_WRITE_REQUESTS)):
        chunks.append(_Chunk(schema, table))
        chunks[-1].fill(batch)
    if chunks:
        yield Parallel(tuple([_send_in_turn(chunks[at::side]) for at in range(min(side, len(chunks)))]))


def _send_in_turn(chunks: Sequence[_Chunk]) -> Steps[None]:
    for chunk in chunks:
        yield from _send(chunk, 0, iter(()), None)


def _write_all(
    schema: Schema, table: str, objects: Iterable[Any], write: Callable[[Any], Write], progress: Progress | None
) -> Steps[int]:
    """Write chunk after chunk. So of two puts with the same key, the later one stays."""
    remaining = iter(objects)
    chunk = _Chunk(schema, table)
    window = _Window(schema, table, progress)
    write_count = 0
    for position, record in enumerate(remaining):
        try:
            prepared_write = yield from prepare(schema, table, write(record))
            actions = _unconditional(schema, prepared_write)
        except (TableError, ValueError) as error:
            # The argument is missing for all objects.
            if not window.used or isinstance(error, UnknownValue):
                raise
            window.failures.append(Failure(position, record, error))
            continue
        if actions is None:
            if len(chunk):
                write_count = yield from _send(chunk, write_count, chain([record], remaining), progress)
                chunk = _Chunk(schema, table)
            key = bulk.own_key(schema, prepared_write)
            if not window.takes(key):
                write_count = yield from window.send(write_count, chain([record], remaining))
            window.add(key, position, record, prepared_write)
            continue
        if len(window):
            write_count = yield from window.send(write_count, chain([record], remaining))
        if not chunk.takes(actions):
            write_count = yield from _send(chunk, write_count, chain([record], remaining), progress)
            chunk = _Chunk(schema, table) if len(actions) == 1 else _TransactionChunk(schema, table)
        chunk.add(record, actions)
    if len(window):
        write_count = yield from window.send(write_count, remaining)
    write_count = yield from _send(chunk, write_count, remaining, progress)
    if window.failures:
        raise PartlyWritten(write_count, window.failures)
    return write_count


class _Window:
    """Objects that a batch cannot write, collected for `bulk`."""

    def __init__(self, schema: Schema, table: str, progress: Progress | None) -> None:
        self._schema = schema
        self._table = table
        self._progress = progress
        self._waiting: dict[tuple[str, ...], tuple[int, Any, Write]] = {}
        self.used = False
        self.failures: list[Failure] = []

    def takes(self, key: bulk.KeyTexts) -> bool:
        return len(self._waiting) < bulk.WINDOW and key not in self._waiting

    def add(self, key: bulk.KeyTexts, position: int, record: Any, write: Write) -> None:
        self.used = True
        self._waiting[key] = (position, record, write)

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, write_count: int, remaining: Iterator[Any]) -> Steps[int]:
        window, self._waiting = list(self._waiting.values()), {}
        failures = yield from bulk.write_window(self._schema, self._table, window)
        self.failures += failures
        write_count += len(window) - len(failures)
        if self._progress:
            self._progress(write_count)
        if any(isinstance(failure.error, TransportError) for failure in failures):
            raise PartlyWritten(write_count, self.failures, remaining)
        return write_count


class _Chunk:
    """The requests of one BatchWriteItem: at max_requests 25, for different items."""

    max_requests = BATCH_WRITE_REQUESTS

    def __init__(self, schema: Schema, table: str) -> None:
        self.table = table
        self._names = schema.keys(TABLE).names
        self.objects: list[Any] = []
        self._requests: dict[tuple[str, ...], tuple[int, Any]] = {}

    def takes(self, actions: Sequence[ItemAction]) -> bool:
        # BatchWriteItem refuses two requests for the same item.
        room = len(actions) == 1 and len(self._requests) < self.max_requests
        return room and actions[0].key not in self._requests

    def add(self, record: Any, actions: Sequence[ItemAction]) -> None:
        for action in actions:
            part = "Item" if action.kind == "Put" else "Key"
            self._requests[action.key] = (len(self.objects), {f"{action.kind}Request": {part: action.parameters[part]}})
        self.objects.append(record)

    def fill(self, requests: Mapping[tuple[str, ...], Any]) -> None:
        self.objects = list(requests.values())
        self._requests = {key: (at, request) for at, (key, request) in enumerate(requests.items())}

    def request(self) -> Request:
        body = {"RequestItems": {self.table: [request for _, request in self._requests.values()]}}
        return Request("BatchWriteItem", body, self._keys)

    @property
    def _keys(self) -> ItemKeys:
        return ItemKeys([" / ".join(key) for key in self._requests])

    def keep(self, requests: list[dict[str, Any]]) -> None:
        """Keep only the unprocessed requests, in their order."""
        keys = {self._key(request) for request in requests}
        self._requests = {key: entry for key, entry in self._requests.items() if key in keys}

    def _key(self, request: dict[str, Any]) -> tuple[str, ...]:
        ((_, parameters),) = request.items()
        item = parameters.get("Item") or parameters["Key"]
        return tuple([text for name in self._names for text in item[name].values()])

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def remaining(self) -> list[Any]:
        """The objects that are not written yet, or not completely."""
        positions = {position for position, _ in self._requests.values()}
        return [self.objects[position] for position in sorted(positions)]


class _TransactionChunk(_Chunk):
    """The requests of one transaction, for objects of several items each."""

    max_requests = TRANSACTION_ACTIONS

    def __init__(self, schema: Schema, table: str) -> None:
        super().__init__(schema, table)
        self._size = 0

    def takes(self, actions: Sequence[ItemAction]) -> bool:
        room = len(actions) > 1 and len(self._requests) + len(actions) <= self.max_requests
        fits = self._size + _size(actions) <= TRANSACTION_SIZE
        return room and fits and not any(action.key in self._requests for action in actions)

    def add(self, record: Any, actions: Sequence[ItemAction]) -> None:
        super().add(record, check_actions(actions))
        self._size += _size(actions)

    def request(self) -> Request:
        items = [
            {kind.removesuffix("Request"): {"TableName": self.table, **parameters}}
            for _, request in self._requests.values()
            for kind, parameters in request.items()
        ]
        body = {"TransactItems": items}
        return Request("TransactWriteItems", body, self._keys)


def _size(actions: Sequence[ItemAction]) -> int:
    """Return an upper bound of the size of items: JSON is never shorter than the size that DynamoDB counts."""
    return sum([len(msgspec.json.encode(action.parameters.get("Item", {}))) for action in actions])


def _send(chunk: _Chunk, write_count: int, remaining: Iterator[Any], progress: Progress | None) -> Steps[int]:
    attempt = 0
    while len(chunk):
        before = len(chunk)
        try:
            answer = yield chunk.request()
        except DynamoDBError as error:
            if error.code not in _THROTTLING_CODES and not is_temporary(error):
                raise
        else:
            chunk.keep(answer.get("UnprocessedItems", {}).get(chunk.table, []))
            if progress and len(chunk) < before:
                progress(write_count + len(chunk.objects) - len(chunk.remaining))
        attempt = attempt + 1 if len(chunk) == before else 0
        if attempt == ATTEMPTS:
            total = write_count + len(chunk.objects) - len(chunk.remaining)
            raise Unprocessed(
                f"{ATTEMPTS} requests in a row wrote nothing, because the table has no capacity left; {total} objects "
                "were written",
                total,
                chain(chunk.remaining, remaining),
            )
        if len(chunk):
            yield pause(attempt + 1)
    return write_count + len(chunk.objects)


def _unconditional(schema: Schema, write: Write) -> Sequence[ItemAction] | None:
    """Return the actions of a write that a batch can do; None if it has conditions, or reads first."""
    if write.read_first or write.verb not in ("put", "delete"):
        return None
    entity = write.entity
    actions = expand(schema, write)
    if entity.patterns and len(add_pattern_writes(schema, [write])) > 1:
        return None
    if any("ConditionExpression" in action.parameters or action.kind not in _BATCH_KINDS for action in actions):
        return None
    for action in actions:
        item = action.parameters.get("Item")
        # JSON is never shorter than the size that DynamoDB counts, so max_requests items need no exact size.
        if item and len(msgspec.json.encode(item)) > ITEM_SIZE and (large := size_error(action)):
            raise large
    return actions
