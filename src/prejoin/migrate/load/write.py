"""Write pages of rows as items: with the client, so that copies, guards and index keys are written as in production.

Writing a page twice gives the same items as writing it once. Entities without patterns are put in batches. The others
are inserted in transactions, and those that exist already, from a page that was written before a kill, are put over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        self._ids = [attribute.name for attribute in rows.entity.id]
        # Two rows can only have the same id if the id is not the key of the table.
        self._encode = row_encoder(package, rows) if rows.keeps_key else None
        self._state = None if rows.keeps_key else state

    def write(self, rows: Sequence[Row]) -> WriteResult:
        """Writes a page. Errors of single rows are dead letters; a table that cannot be reached raises."""
        letters: list[DeadLetter] = []
        # Rows that the encoder does not take are added to `unencoded` while the others are sent.
        unencoded: list[Row] = [] if self._encode else list(rows)
        encoded_chunks = _chunks(self._encode_rows(rows, unencoded), self._chunk_size(len(rows)))
        for chunk_letters in self._send_chunks(self._send_encoded, encoded_chunks):
            letters += chunk_letters
        records = self._records(unencoded, letters)
        send = self._send_with_contents if self._contents else self._send
        for chunk_letters in self._send_chunks(send, _chunks(iter(records), self._chunk_size(len(records)))):
            letters += chunk_letters
        return WriteResult(len(rows), tuple(letters))

    def _encode_rows(self, rows: Sequence[Row], unencoded: list[Row]) -> Iterator[tuple[Row, EncodedPut]]:
        """The rows that the encoder takes. The others are added to `unencoded`."""
        if self._encode is None:
            return
        for row in rows:
            try:
                put = self._encode(row)
            except Exception:
                unencoded.append(row)  # the general way finds out why
            else:
                yield row, put

    def _records(self, rows: Sequence[Row], letters: list[DeadLetter]) -> list[tuple[Row, Any]]:
        """The rows as objects of the class. The letters of those that cannot be objects are added to `letters`."""
        records: list[tuple[Row, Any]] = []
        row_of_id: dict[tuple[Any, ...], Row] = {}
        for row in rows:
            try:
                values = self._rows.convert(row)
                id_ = tuple(values.get(name) for name in self._ids)
                if id_ in row_of_id:
                    raise RowError(
                        codes.TWICE, f"it has the same id as the row {list(row_of_id[id_].key)}: {list(id_)}"
                    )
                row_of_id[id_] = row
                records.append((row, self._package.record(self._rows.entity.name, values)))
            except RowError as problem:
                letters.append(self._letter(row, problem.code, problem.reason))
            except (TypeError, ValueError) as problem:
                letters.append(self._letter(row, codes.VALUE, str(problem)))
        if self._state is None:
            return records
        return self._claim_ids(self._state, records, row_of_id, letters)

    def _claim_ids(
        self,
        state: LoadState,
        records: list[tuple[Row, Any]],
        row_of_id: Mapping[tuple[Any, ...], Row],
        letters: list[DeadLetter],
    ) -> list[tuple[Row, Any]]:
        """Claims the ids for their rows. Rows whose id belongs to a row of an earlier page become letters."""
        key_of_id = {canonical_text(id_): encode_key(row.key) for id_, row in row_of_id.items()}
        owner_keys = state.claim(self._rows.entity.name, key_of_id)
        owner_of_row = {}  # by the identity of the row: rows are not hashable
        for id_, row in row_of_id.items():
            owner_key = owner_keys.get(canonical_text(id_))
            if owner_key is not None:
                owner_of_row[id(row)] = owner_key
        claimed_records = []
        for row, record in records:
            if id(row) not in owner_of_row:
                claimed_records.append((row, record))
                continue
            other = list(decode_key(owner_of_row[id(row)]))
            letters.append(self._letter(row, codes.TWICE, f"it has the same id as the row {other}"))
        return claimed_records

    def _chunk_size(self, row_count: int) -> int:
        """The rows of a chunk, so that each worker gets some."""
        if self._workers == 1:
            return CHUNK
        smallest = 1 if self._contents else BATCH_WRITE_REQUESTS
        rows_per_worker = -(-row_count // self._workers)
        return max(smallest, min(CHUNK, rows_per_worker))

    def _send_chunks(
        self, send: Callable[[list[T]], list[DeadLetter]], chunks: Iterator[list[T]]
    ) -> Iterator[list[DeadLetter]]:
        """Sends chunks, with several workers at the same time, and while later ones are encoded."""

        def send_with_retries(chunk: list[T]) -> list[DeadLetter]:
            return self._send_with_retries(send, chunk)

        # The engine does not wait for a network: threads would only make it slower.
        if self._workers == 1:
            yield from map(send_with_retries, chunks)
            return
        with ThreadPoolExecutor(self._workers) as threads:
            yield from threads.map(send_with_retries, chunks)

    def _send_with_retries(self, send: Callable[[list[T]], list[DeadLetter]], chunk: list[T]) -> list[DeadLetter]:
        # The client has tried again some times already. A load goes on for hours, so it is more patient.
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
            # BatchWriteItem refuses two requests for one key. Of two such items, the later one stays.
            requests = dict([put for _, put in chunk])
            self._client._run(write_requests(self._client.schema, self._client.table, requests, side=1))
        except DynamoDBError as error:
            if not is_about_item(error):
                raise
        else:
            return []
        letters: list[DeadLetter] = []
        records = self._records([row for row, _ in chunk], letters)
        return letters + self._send_one_by_one(records)  # to see which one is refused

    def _send_with_contents(self, chunk: Sequence[tuple[Row, Any]]) -> list[DeadLetter]:
        contents = self._contents
        assert contents is not None
        with contents.attempt():
            placed_rows: list[tuple[Row, PlacedRecord]] = []
            letters: list[DeadLetter] = []
            placements = contents.place([record for _, record in chunk])
            for (row, _), placement in zip(chunk, placements, strict=True):
                if isinstance(placement, TableError):
                    letters.append(self._letter(row, codes.REFUSED, str(placement)))
                else:
                    placed_rows.append((row, placement))
            letters += self._send([(row, placement.record) for row, placement in placed_rows])
            refused_keys = {letter.key for letter in letters}
            for row, placement in placed_rows:
                contents.remove(placement.new if row.key in refused_keys else placement.old)
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
            errors = [failure.error for failure in problem.failures]
            transport_error = next((error for error in errors if isinstance(error, TransportError)), None)
            if transport_error is not None:
                raise transport_error from problem
            refused_rows = [chunk[failure.position] for failure in problem.failures]
        except (TableError, ValueError, DynamoDBError) as error:
            if isinstance(error, Unprocessed) or (isinstance(error, DynamoDBError) and not is_about_item(error)):
                raise
            # The whole batch failed because of one row: each is sent alone, to see which.
            refused_rows = list(chunk)
        return self._send_one_by_one(refused_rows)

    def _send_one_by_one(self, records: Sequence[tuple[Row, Any]]) -> list[DeadLetter]:
        results = [self._send_one(row, record) for row, record in records]
        return [letter for letter in results if letter is not None]

    def _send_one(self, row: Row, record: Any) -> DeadLetter | None:
        try:
            try:
                if self._plain:
                    self._client.put(record)
                else:
                    self._client.insert(record)
            except AlreadyExists:
                # From a page that was written before a kill. Its copies and guards follow from the stored item.
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
    return all(
        isinstance(pattern, LargePattern) or type(pattern).__name__.endswith("TimeToLive") for pattern in patterns
    )


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
