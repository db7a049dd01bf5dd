"""Audit: find items that do not match the schema, while the table is in use.

A Scan reads each item once, with the items of its patterns: copies and guards. An item that looks wrong is read again,
with all items that it depends on in one transaction, so that concurrent writes are not reported. For an item with
counts, its children are read and counted.

Cost: half a read unit for each 4 KB of the table, and the same again for each copy, guard, parent, source and count. A
suspicion costs a transaction of reads. Memory: one page of the table, 1 MB, and the items of its patterns.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from prejoin.patterns.aggregates.verify import Counts
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import BATCH_GET_KEYS, TRANSACTION_ACTIONS
from prejoin.table.codec.values import Json
from prejoin.table.conversation import Request, Steps, pause
from prejoin.table.errors import ArgumentError, Conflict
from prejoin.table.options import Progress
from prejoin.table.read.execute import send_all
from prejoin.table.read.scan import MOST_SEGMENTS
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .findings import Around, Finding, Judge, KeyTexts, same

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

ATTEMPTS = 6


@overload
def audit(db: Client, *, segments: int = 1, progress: Progress | None = None) -> Iterator[Finding]: ...
@overload
def audit(db: AsyncClient, *, segments: int = 1, progress: Progress | None = None) -> AsyncIterator[Finding]: ...
def audit(
    db: Client | AsyncClient, *, segments: int = 1, progress: Progress | None = None
) -> Iterator[Finding] | AsyncIterator[Finding]:
    """Yield the items in the table that do not match the schema. The table may be in use.

    Expired items are left out, because DynamoDB deletes them. `segments` is the number of parts of the table that are
    read at the same time. `progress` is called with the number of items that were read, after each page.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Unique, repair
    >>> from prejoin import Client, Entity, Key
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     email: str
    >>> schema = Schema(Entity(User, Key("USER#{user_id}", "PROFILE"), patterns=[Unique("email")]))
    >>> db = Client(schema, "shop", Embedded())
    >>> db.create_table()
    >>> user = db.insert(User("1", "a@b.com"))
    >>> _ = db.call("DeleteItem", {"Key": schema.key(User, user_id="1")})     # by whoever knows no better
    >>> for finding in audit(db):
    ...     print(finding)
    ...     repair(db, finding)
    orphaned: User unique email UNIQUE#User#email#a@b.com / UNIQUE: delete it
    True
    >>> list(audit(db))
    []
    """
    from prejoin.table.client.client import Client

    audit_run = Audit(db.schema, db.table, segments)
    return _waiting(db, audit_run, progress) if isinstance(db, Client) else _awaiting(db, audit_run, progress)


def _waiting(db: Client, audit: Audit, progress: Progress | None) -> Iterator[Finding]:
    while not audit.done:
        yield from db._run(audit.next())
        if progress:
            progress(audit.count)


async def _awaiting(db: AsyncClient, audit: Audit, progress: Progress | None) -> AsyncIterator[Finding]:
    while not audit.done:
        for finding in await db._run(audit.next()):
            yield finding
        if progress:
            progress(audit.count)


class Suspect(NamedTuple):
    """An item of a page that may be wrong."""

    item: Json
    looks_wrong: bool
    """Whether it does not fit the items beside it, which were read a moment later."""
    has_counts: bool
    """Whether its children have to be counted."""


class Audit:
    """A running audit: the position of each segment of the Scan."""

    def __init__(self, schema: Schema, table: str, segments: int = 1) -> None:
        if not 1 <= segments <= MOST_SEGMENTS:
            raise ArgumentError(f"segments is {segments}, and has to be from 1 to {MOST_SEGMENTS}")
        self._judge = Judge(schema)
        self._counts = Counts(self._judge, table)
        self._table = table
        self.starts: list[Json | None] = [None] * segments
        """The key after which each segment goes on: None at its beginning, empty at its end."""
        self.count = 0
        self.page: list[Json] = []
        """The items that were read last."""

    @property
    def done(self) -> bool:
        return all(start == {} for start in self.starts)

    def next(self) -> Steps[list[Finding]]:
        """Return the findings of the next page."""
        findings: list[Finding] = []
        for suspect in (yield from self.next_suspects()):
            findings += yield from self.confirm(suspect)
        return findings

    def next_suspects(self) -> Steps[list[Suspect]]:
        """Read the next page, and return its items that may be wrong: `confirm` looks at each of them again."""
        segments = [segment for segment, start in enumerate(self.starts) if start != {}]
        answers = yield from send_all([self._scan(segment) for segment in segments])
        items: list[Json] = []
        for segment, answer in zip(segments, answers, strict=True):
            self.starts[segment] = answer.get("LastEvaluatedKey") or {}
            items += answer["Items"]
        self.count += len(items)
        self.page = items
        judge = self._judge
        page_items = {judge.key(item): item for item in items}
        neighbour_keys = dict[KeyTexts, Json]()
        for item in items:
            neighbour_keys.update((judge.key(key), key) for key in judge.neighbours(item))
        unread_keys = [key for texts, key in neighbour_keys.items() if texts not in page_items]
        neighbours = yield from read_items(self._table, judge, unread_keys)
        around: Around = {**neighbours, **page_items}
        suspects = [Suspect(item, bool(judge.findings(item, around)), self._counts.has_counts(item)) for item in items]
        return [suspect for suspect in suspects if suspect.looks_wrong or suspect.has_counts]

    def confirm(self, suspect: Suspect) -> Steps[list[Finding]]:
        """Return the findings of an item, in its present state."""
        findings: list[Finding] = []
        if suspect.looks_wrong:
            findings += yield from self._confirm_again(suspect.item)
        if suspect.has_counts:
            findings += yield from self._counts.wrong(suspect.item)
        return findings

    def _confirm_again(self, item: Json) -> Steps[list[Finding]]:
        """Return the findings of an item, read again with all items that it depends on in one transaction."""
        judge, key = self._judge, self._judge.key_of(item)
        (current,) = yield from _read_together(self._table, [key])
        for attempt in range(ATTEMPTS):
            if attempt:
                yield pause(attempt)
            if current is None:
                return []
            keys = {judge.key(item_key): item_key for item_key in (key, *judge.neighbours(current))}
            # What lies beside an owner is known only when the owner is.
            current_items = yield from _read_together(self._table, list(keys.values()))
            around = dict(zip(keys, current_items, strict=True))
            previous, current = current, around[judge.key(key)]
            if current is not None and same(current, previous):
                return judge.findings(current, around)
        return []  # it is being written again and again, by those who know how

    def _scan(self, segment: int) -> Request:
        body: dict[str, Any] = {"TableName": self._table}
        if len(self.starts) > 1:
            body |= {"Segment": segment, "TotalSegments": len(self.starts)}
        if self.starts[segment]:
            body["ExclusiveStartKey"] = self.starts[segment]
        return Request("Scan", body, f"{self._table}, segment {segment}")


def read_items(table: str, judge: Judge, keys: Sequence[Json]) -> Steps[dict[KeyTexts, Json | None]]:
    """Read items by their keys, eventually consistent: items that look wrong are read again."""
    items: dict[KeyTexts, Json | None] = {judge.key(key): None for key in keys}
    unread, attempt = list(keys), 0
    while unread:
        batch, unread = unread[:BATCH_GET_KEYS], unread[BATCH_GET_KEYS:]
        answer = yield Request("BatchGetItem", {"RequestItems": {table: {"Keys": batch}}}, table)
        for item in answer["Responses"].get(table, ()):
            items[judge.key(item)] = item
        unprocessed_keys = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
        attempt = attempt + 1 if unprocessed_keys else 0
        if unprocessed_keys:
            yield pause(attempt)
        unread = unprocessed_keys + unread
    return items


def _read_together(table: str, keys: Sequence[Json]) -> Steps[list[Json | None]]:
    """Read items in one transaction; if they are too many, in several, each with the first item."""
    first_key, items = keys[0], list[Any]()
    batch_size = TRANSACTION_ACTIONS - 1
    for start in range(1, max(len(keys), 2), batch_size):
        batch = [first_key, *keys[start : start + batch_size]]
        body = {"TransactItems": [{"Get": {"TableName": table, "Key": key}} for key in batch]}
        answers = yield from patiently(Request("TransactGetItems", body, ", ".join(map(key_text, batch))))
        batch_items = [response.get("Item") for response in answers["Responses"]]
        # If the first item is the same in two transactions, the items of both belong to it as it is now.
        if items and not same(batch_items[0] or {}, items[0] or {}):
            return (yield from _read_together(table, keys))
        items = [batch_items[0], *items[1:], *batch_items[1:]]
    return items


def patiently(request: Request) -> Steps[Any]:
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        try:
            return (yield request)
        except DynamoDBError as error:
            if reasons(error) != {"TransactionConflict"}:
                raise
    raise Conflict(f"{request.key} was being written at each of {ATTEMPTS} attempts")


def is_race(error: DynamoDBError) -> bool:
    """Return whether a write failed because an item was changed at the same time."""
    return bool(reasons(error)) and reasons(error) <= {"ConditionalCheckFailed", "TransactionConflict"}


def reasons(error: DynamoDBError) -> set[str]:
    """Return the reasons why a transaction was cancelled."""
    if error.code == "ConditionalCheckFailedException":
        return {"ConditionalCheckFailed"}
    reasons: Any = error.fields.get("CancellationReasons") or []
    return {reason.get("Code", "None") for reason in reasons} - {"None"}
