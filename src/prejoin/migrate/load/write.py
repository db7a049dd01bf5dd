"""Write pages of rows as items: with the client, so that copies, guards and index keys are written as in production.

Writing a page twice gives the same items as writing it once. Entities without patterns are put in batches. The others
are inserted in transactions, and those that exist already, from a page that was written before a kill, are put over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from prejoin.diagnostics import Code
from prejoin.migrate import codes
from prejoin.migrate.load.contents import LargeContents, PlacedRecord
from prejoin.migrate.load.encode import EncodedPut, row_encoder
from prejoin.migrate.load.state import DeadLetter, LoadState, decode_key, encode_key, now_text, row_json
from prejoin.migrate.mapping.rows import EntityRows, Row, RowError
from prejoin.migrate.verify.compare import canonical_text
from prejoin.patterns.large.large import LargePattern
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.proof.package import LoadedPackage
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import BATCH_WRITE_REQUESTS
from prejoin.table.client.client import Client
from prejoin.table.errors import AlreadyExists, ItemTooLarge, NotUnique, PartlyWritten, TableError, Unprocessed
from prejoin.table.write.batch import write_requests
from prejoin.transport.errors import TransportError

T = TypeVar("T")

CHUNK = 250
"""Rows that one worker writes at a time."""
_ATTEMPTS = 8
_TEMPORARY = frozenset(
    {"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError"}
)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of writing a page."""

    rows: int
    dead: tuple[DeadLetter, ...]


class RowWriter:
    """Writes rows of one entity."""

    def __init__(
        self,
        client: Client,
        package: LoadedPackage,
        rows: EntityRows,
        throttle: WriteThrottle,
        contents: LargeContents,
        workers: int = 1,
        state: LoadState | None = None,
    ) -> None:
        self._client = client
        self._package = package
        self._rows = rows
        self._throttle = throttle
        self._workers = workers
        cls = package.classes[rows.entity.name]
        self._contents = contents if contents.of(cls) else None
        self._plain = is_plain(client, cls)
        self._ids = [a.name for a in rows.entity.id]
        # Two rows can only have the same id if the id is not the key of the table.
        self._encode = row_encoder(package, rows) if rows.keeps_key else None
        self._state = None if rows.keeps_key else state

    def write(self, rows: Sequence[Row]) -> WriteResult:
        """Writes a page. Errors of single rows are dead letters; a table that cannot be reached raises."""
        dead: list[DeadLetter] = []
        left: list[Row] = [] if self._encode else list(rows)
        for found in self._each(self._send_encoded, _chunks(self._encoded(rows, left), self._size(len(rows)))):
            dead += found
        records = self._records(left, dead)
        send = self._send_with_contents if self._contents else self._send
        for found in self._each(send, _chunks(iter(records), self._size(len(records)))):
            dead += found
        return WriteResult(len(rows), tuple(dead))

    def _encoded(self, rows: Sequence[Row], left: list[Row]) -> Iterator[tuple[Row, EncodedPut]]:
        """The rows that the encoder takes. The others are added to `left`."""
        if self._encode is None:
            return
        for row in rows:
            try:
                put = self._encode(row)
            except Exception:
                left.append(row)
            else:
                yield row, put

    def _records(self, rows: Sequence[Row], dead: list[DeadLetter]) -> list[tuple[Row, Any]]:
        """The rows as objects of the class. The letters of those that cannot be objects are added to `dead`."""
        records: list[tuple[Row, Any]] = []
        seen: dict[tuple[Any, ...], Row] = {}
        for row in rows:
            try:
                values = self._rows.convert(row)
                key = tuple(values.get(name) for name in self._ids)
                if key in seen:
                    raise RowError(codes.TWICE, f"it has the same id as the row {list(seen[key].key)}: {list(key)}")
                seen[key] = row
                records.append((row, self._package.record(self._rows.entity.name, values)))
            except RowError as problem:
                dead.append(self._letter(row, problem.code, problem.reason))
            except (TypeError, ValueError) as problem:
                dead.append(self._letter(row, codes.VALUE, str(problem)))
        if self._state is not None:
            held = self._state.claim(
                self._rows.entity.name, {canonical_text(key): encode_key(row.key) for key, row in seen.items()}
            )
            twice = {id(seen[key]): held[text] for key in seen if (text := canonical_text(key)) in held}
            for row, _ in records:
                if id(row) in twice:
                    other = list(decode_key(twice[id(row)]))
                    dead.append(self._letter(row, codes.TWICE, f"it has the same id as the row {other}"))
            records = [(row, record) for row, record in records if id(row) not in twice]
        return records

    def _size(self, rows: int) -> int:
        """The rows of a chunk, so that each worker gets some."""
        least = 1 if self._contents else BATCH_WRITE_REQUESTS
        return CHUNK if self._workers == 1 else max(least, min(CHUNK, -(-rows // self._workers)))

    def _each(
        self, send: Callable[[list[T]], list[DeadLetter]], chunks: Iterator[list[T]]
    ) -> Iterator[list[DeadLetter]]:
        """Sends chunks, with several workers at the same time, and while later ones are encoded."""

        def patiently(chunk: list[T]) -> list[DeadLetter]:
            return self._patiently(send, chunk)

        if self._workers == 1:
            yield from map(patiently, chunks)
            return
        with ThreadPoolExecutor(self._workers) as threads:
            yield from threads.map(patiently, chunks)

    def _patiently(self, send: Callable[[list[T]], list[DeadLetter]], chunk: list[T]) -> list[DeadLetter]:
        for attempt in range(_ATTEMPTS):
            self._throttle.wait()
            try:
                return send(chunk)
            except Unprocessed:
                if attempt == _ATTEMPTS - 1:
                    raise
            except DynamoDBError as problem:
                if problem.code not in _TEMPORARY or attempt == _ATTEMPTS - 1:
                    raise
            time.sleep(min(0.5 * 2**attempt, 20))
        raise AssertionError  # the last attempt returns or raises

    def _send_encoded(self, chunk: Sequence[tuple[Row, EncodedPut]]) -> list[DeadLetter]:
        try:
            # Of two items with the same key, the later one stays.
            requests = dict([put for _, put in chunk])
            self._client._run(write_requests(self._client.schema, self._client.table, requests, side=1))
        except DynamoDBError as error:
            if not is_about_item(error):
                raise
        else:
            return []
        dead: list[DeadLetter] = []
        records = self._records([row for row, _ in chunk], dead)  # each is sent alone, to see which one is refused
        return dead + [letter for row, record in records if (letter := self._alone(row, record))]

    def _send_with_contents(self, chunk: Sequence[tuple[Row, Any]]) -> list[DeadLetter]:
        contents = self._contents
        assert contents is not None
        with contents.attempt():
            placed: list[tuple[Row, PlacedRecord]] = []
            letters: list[DeadLetter] = []
            for (row, _), one in zip(chunk, contents.place([record for _, record in chunk]), strict=True):
                if isinstance(one, TableError):
                    letters.append(self._letter(row, codes.REFUSED, str(one)))
                else:
                    placed.append((row, one))
            letters += self._send([(row, one.record) for row, one in placed])
            refused = {letter.key for letter in letters}
            for row, one in placed:
                contents.remove(one.new if row.key in refused else one.old)
        return letters

    def _send(self, chunk: Sequence[tuple[Row, Any]]) -> list[DeadLetter]:
        records = [record for _, record in chunk]
        try:
            if self._plain:
                self._client.put_many(records)
            else:
                self._client.insert_many(records)
            return []
        except PartlyWritten as problem:
            lost = next((f.error for f in problem.failures if isinstance(f.error, TransportError)), None)
            if lost is not None:
                raise lost from problem
            again = [chunk[f.position] for f in problem.failures]
        except (TableError, ValueError, DynamoDBError) as error:
            if isinstance(error, Unprocessed) or (isinstance(error, DynamoDBError) and not is_about_item(error)):
                raise
            again = list(chunk)  # one of them is refused: each is sent alone, to see which
        return [letter for row, record in again if (letter := self._alone(row, record))]

    def _alone(self, row: Row, record: Any) -> DeadLetter | None:
        try:
            try:
                if self._plain:
                    self._client.put(record)
                else:
                    self._client.insert(record)
            except AlreadyExists:
                self._client.put(record, read=True)
        except (TableError, ValueError, DynamoDBError) as error:
            if isinstance(error, DynamoDBError) and not is_about_item(error):
                raise
            return self._letter(row, refusal_code(error), str(error))
        return None

    def _letter(self, row: Row, code: Code, reason: str) -> DeadLetter:
        return dead_letter(self._rows.entity.name, row, code, reason)


def _chunks(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while chunk := list(islice(items, size)):
        yield chunk


def is_plain(client: Client, cls: type[Any]) -> bool:
    """Whether a write of the entity needs not know the item that it replaces.

    TimeToLive and Large add nothing to a put; copies and unique values depend on the stored item.
    """
    patterns = client.schema.entity(cls).patterns
    return all(isinstance(p, LargePattern) or type(p).__name__.endswith("TimeToLive") for p in patterns)


def dead_letter(entity: str, row: Row, code: Code, reason: str) -> DeadLetter:
    return DeadLetter(entity, row.key, code.id, reason, row_json(row.values), now_text())


def is_about_item(error: DynamoDBError) -> bool:
    """Whether DynamoDB refuses the item itself: sending it again would not help."""
    return error.code == "ValidationException"


def refusal_code(error: Exception) -> Code:
    """The code of the dead letter for an item that was refused."""
    if isinstance(error, NotUnique):
        return codes.NOT_UNIQUE
    return codes.TOO_LARGE if isinstance(error, ItemTooLarge) else codes.REFUSED
