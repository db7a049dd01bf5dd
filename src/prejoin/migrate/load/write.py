"""Write pages of rows as items: with the client, so that copies, guards and index keys are written as in production.

Writing a page twice gives the same items as writing it once. Entities without patterns are put in batches. The others
are inserted in transactions, and those that exist already, from a page that was written before a kill, are put over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from prejoin.diagnostics import Code
from prejoin.migrate import codes
from prejoin.migrate.load.state import DeadLetter, LoadState, decode_key, encode_key, now_text, row_json
from prejoin.migrate.mapping.rows import EntityRows, Row, RowError
from prejoin.migrate.verify.compare import canonical_text
from prejoin.pipeline.throttle import Throttle
from prejoin.proof.package import LoadedPackage
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.client.client import Client
from prejoin.table.errors import AlreadyExists, ItemTooLarge, NotUnique, PartlyWritten, TableError, Unprocessed
from prejoin.transport.errors import TransportError

CHUNK = 250
"""Rows that one worker writes at a time."""
_ATTEMPTS = 8
_TEMPORARY = frozenset(
    {"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError"}
)


@dataclass(frozen=True, slots=True)
class Written:
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
        throttle: Throttle,
        workers: int = 1,
        state: LoadState | None = None,
    ) -> None:
        self._client = client
        self._package = package
        self._rows = rows
        self._throttle = throttle
        self._workers = workers
        self._plain = is_plain(client, package.classes[rows.entity.name])
        self._ids = [a.name for a in rows.entity.id]
        # Rows of different pages can only have the same id if the id is not the key of the table.
        self._state = None if rows.keeps_key else state

    def write(self, rows: Sequence[Row]) -> Written:
        """Writes a page. Errors of single rows are dead letters; a table that cannot be reached raises."""
        dead: list[DeadLetter] = []
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
        size = CHUNK if self._workers == 1 else max(25, min(CHUNK, -(-len(records) // self._workers)))
        chunks = [records[at : at + size] for at in range(0, len(records), size)]
        for found in self._each(chunks):
            dead += found
        return Written(len(rows), tuple(dead))

    def _each(self, chunks: Sequence[Sequence[tuple[Row, Any]]]) -> Iterator[list[DeadLetter]]:
        if self._workers == 1 or len(chunks) < 2:
            yield from map(self._chunk, chunks)
            return
        with ThreadPoolExecutor(self._workers) as threads:
            yield from threads.map(self._chunk, chunks)

    def _chunk(self, chunk: Sequence[tuple[Row, Any]]) -> list[DeadLetter]:
        for attempt in range(_ATTEMPTS):
            self._throttle.wait()
            try:
                return self._send(chunk)
            except Unprocessed:
                if attempt == _ATTEMPTS - 1:
                    raise
            except DynamoDBError as problem:
                if problem.code not in _TEMPORARY or attempt == _ATTEMPTS - 1:
                    raise
            time.sleep(min(0.5 * 2**attempt, 20))
        raise AssertionError  # the last attempt returns or raises

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


def is_plain(client: Client, cls: type[Any]) -> bool:
    """Whether a write of the entity needs not know the item that it replaces.

    TimeToLive adds nothing to a put; copies and unique values depend on the stored item.
    """
    return all(type(p).__name__.endswith("TimeToLive") for p in client.schema.entity(cls).patterns)


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
