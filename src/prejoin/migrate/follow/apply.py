"""Write changed rows: the items that they are now, and no item that they were before.

Rows that the same transactions of the source changed are written in one transaction of DynamoDB, if they fit into one.
Several small ones share a request. If a request is refused it is divided, until the row that is refused stands alone:
it is a dead letter.

A row that was changed alone, and whose put is made of the row alone, needs no transaction, which costs twice as much.
Such rows are put in batches, several at the same time: no two of them are the same item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from prejoin.migrate import codes
from prejoin.migrate.follow.affected_items import AffectedItems, EntityItems, ItemKey, RowKey
from prejoin.migrate.follow.log import SourceTransaction
from prejoin.migrate.load.contents import HeldContent, LargeContents
from prejoin.migrate.load.encode import EncodedPut, row_encoder
from prejoin.migrate.load.state import DeadLetter
from prejoin.migrate.load.write import RowWriter, dead_letter, is_about_item, is_plain, refusal_code
from prejoin.migrate.mapping.rows import Row, RowError
from prejoin.migrate.migration import Migration
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import BATCH_WRITE_REQUESTS, TRANSACTION_ACTIONS
from prejoin.table.client.client import Client
from prejoin.table.errors import Conflict, ItemTooLarge, NotUnique, TableError, TooMany, TransactionCancelled
from prejoin.table.write.batch import write_requests
from prejoin.table.write.bulk import SIDE
from prejoin.table.write.execute import is_temporary

_ROWS = TRANSACTION_ACTIONS // 2
"""Rows that are tried in one request. A row has several actions if its entity has copies or unique values."""

_PUTS = BATCH_WRITE_REQUESTS * SIDE
"""Rows that are put at the same time, in batches."""


@dataclass(slots=True)
class _Target:
    """The writes for one row."""

    row: RowKey
    record: Any = None
    """The object to put; None if the row is gone, or fits no item."""
    item: ItemKey | None = None
    """The key of the object."""
    put: EncodedPut | None = None
    """The put of the object, if it is made of the row alone."""
    stored: bool = False
    """Whether large contents were stored for the object."""
    unused: list[HeldContent] = field(default_factory=list)
    """Large contents that no item refers to when the row is written."""
    deletions: set[ItemKey] = field(default_factory=set)
    """Items to delete."""
    letter: DeadLetter | None = None


@dataclass(slots=True)
class ApplyResult:
    """The result of writing."""

    rows: int = 0
    split: int = 0
    """Groups of rows that were changed together and did not fit into one transaction of DynamoDB."""
    dead: list[DeadLetter] = field(default_factory=list)
    done: list[RowKey] = field(default_factory=list)
    """Rows that are as in the database now."""


class Applier:
    """Writes the rows that transactions of the source changed."""

    def __init__(
        self,
        migration: Migration,
        affected: AffectedItems,
        client: Client,
        throttle: WriteThrottle,
        contents: LargeContents,
    ) -> None:
        self._package = migration.package
        self._touched = affected
        self._client = client
        self._throttle = throttle
        self._contents = contents
        self._reading = {one.name for one in affected.entities.values() if not is_plain(client, one.cls)}
        self._encoders = {name: row_encoder(migration.package, one.rows) for name, one in affected.entities.items()}
        self._refused: list[tuple[_Target, Exception]] = []

    def apply(
        self, snapshot: SourceSnapshot, transactions: Sequence[SourceTransaction], again: Iterable[RowKey] = ()
    ) -> ApplyResult:
        """Writes the rows that the transactions changed, as the snapshot sees them. It has to see all of them.

        `again` are rows that were refused before, and may be written now.
        """
        with self._contents.attempt():
            return self._apply(snapshot, transactions, again)

    def _apply(
        self, snapshot: SourceSnapshot, transactions: Sequence[SourceTransaction], again: Iterable[RowKey]
    ) -> ApplyResult:
        self._refused = []
        targets: dict[RowKey, _Target] = {key: _Target(key) for key in again}
        groups: list[list[RowKey]] = [[key] for key in targets]
        for one in transactions:
            keys: dict[RowKey, None] = {}
            for change in one.changes:
                rows, items = self._touched.of(snapshot, change)
                for row in rows:
                    targets.setdefault(row, _Target(row))
                for row, item in items:
                    targets.setdefault(row, _Target(row)).deletions.add(item)
                keys |= dict.fromkeys([*rows, *(row for row, _ in items)])
            groups.append(list(keys))
        applied = ApplyResult()
        emptied = {c.table for one in transactions for c in one.changes if not c.images}
        for entity in self._touched.entities.values():
            if emptied.intersection(entity.tables):
                self._refill(snapshot, entity, applied)
        known = set(targets)
        self._read(snapshot, targets)
        groups.append([key for key in targets if key not in known])
        kept = {t.item for t in targets.values() if t.item is not None}
        for target in targets.values():
            target.deletions -= kept
            if target.letter is not None:
                target.deletions.clear()  # the item stays as it was, until the row is corrected
            for name, key in target.deletions:
                entity = self._touched.entities[name]
                target.unused += self._contents.held(entity.cls, entity.named((name, key)))
        applied.rows = len(targets)
        applied.dead += [t.letter for t in targets.values() if t.letter is not None]
        self._write([[targets[key] for key in group] for group in connected(groups, targets)], applied)
        self._again(applied)
        failed = {(one.entity, one.key) for one in applied.dead}
        applied.done = [key for key in targets if key not in failed]
        self._contents.remove([one for key in applied.done for one in targets[key].unused])
        stored = [target for target in targets.values() if target.stored]
        if any(one.row in failed for one in stored) or len({one.item for one in stored}) < len(stored):
            self._contents.note_unused()  # a row was refused, or another row became the same item
        return applied

    def _read(self, snapshot: SourceSnapshot, targets: dict[RowKey, _Target]) -> None:
        """Reads the rows as the snapshot sees them, and makes their objects."""
        for name, entity in self._touched.entities.items():
            keys = [key for one, key in targets if one == name]
            for row in entity.rows.matching(snapshot, entity.rows.key, keys):
                # A row that is returned with another form of its key than in the log becomes a target of its own.
                target = targets.setdefault((name, row.key), _Target((name, row.key)))
                self._make(entity, row, target)

    def _make(self, entity: EntityItems, row: Row, target: _Target) -> None:
        try:
            values = entity.rows.convert(row)
            target.record = self._package.record(entity.name, values)
            target.item = entity.item_key(values)
        except RowError as problem:
            target.letter = dead_letter(entity.name, row, problem.code, problem.reason)
        except (TypeError, ValueError) as problem:
            target.letter = dead_letter(entity.name, row, codes.VALUE, str(problem))
        if target.letter is None and self._contents.of(entity.cls):
            (placed,) = self._contents.place([target.record])
            if isinstance(placed, TableError):
                target.letter = dead_letter(entity.name, row, codes.REFUSED, str(placed))
                target.record = target.item = None
            else:
                target.record, target.stored, target.unused = placed.record, bool(placed.new), list(placed.old)
        encode = self._encoders[entity.name]
        if encode and target.letter is None:
            with suppress(Exception):  # a row that does not fit: the transaction says why
                target.put = encode(row)

    def _refill(self, snapshot: SourceSnapshot, entity: EntityItems, applied: ApplyResult) -> None:
        """Deletes all items of an entity whose table was truncated, and loads the rows that it has by now."""
        for page in self._client.everything(entity.cls, hidden=True, consistent=True):
            self._client.delete_many(entity.cls, page.items, read=True)
            self._contents.remove_of(page.items)
        writer = RowWriter(self._client, self._package, entity.rows, self._throttle, self._contents)
        for rows in entity.rows.pages(snapshot):
            applied.dead += writer.write(rows).dead

    # --- Writing ----------------------------------------------------------------------------------------------------

    def _write(self, groups: Sequence[Sequence[_Target]], applied: ApplyResult) -> None:
        """Writes groups in order, several in a request where they fit."""
        pending: list[Sequence[_Target]] = []
        for group in self._put_single(groups):
            if pending and sum(map(len, pending)) + len(group) > _ROWS:
                self._together(pending, applied)
                pending = []
            pending.append(group)
        if pending:
            self._together(pending, applied)

    def _put_single(self, groups: Sequence[Sequence[_Target]]) -> Sequence[Sequence[_Target]]:
        """Puts the rows that are a group of their own, in batches, and returns the groups that are left."""
        puts: list[EncodedPut] = []
        left: list[Sequence[_Target]] = []
        for group in groups:
            put = group[0].put if len(group) == 1 and not group[0].deletions else None
            if put is None:
                left.append(group)
            else:
                puts.append(put)
        try:
            for at in range(0, len(puts), _PUTS):
                self._throttle.wait()
                requests = dict(puts[at : at + _PUTS])
                self._client._run(write_requests(self._client.schema, self._client.table, requests))
        except DynamoDBError as error:
            if not is_about_item(error):
                raise
            return groups  # the transactions find out which one is refused
        return left

    def _together(self, groups: Sequence[Sequence[_Target]], applied: ApplyResult) -> None:
        try:
            self._send([target for group in groups for target in group])
        except (TableError, ValueError, DynamoDBError) as error:
            if not _can_be_divided(error):
                raise
            if len(groups) > 1:
                middle = len(groups) // 2
                self._together(groups[:middle], applied)
                self._together(groups[middle:], applied)
            else:
                self._alone(groups[0], error, applied)

    def _alone(self, group: Sequence[_Target], error: Exception, applied: ApplyResult) -> None:
        """Writes the rows of a group that cannot be one transaction."""
        if len(group) > 1:
            applied.split += 1
            if isinstance(error, TooMany) and not isinstance(error, ItemTooLarge):
                size = min(_ROWS, -(-len(group) // 2))
                for at in range(0, len(group), size):
                    self._together([group[at : at + size]], applied)
                return
        for target in group:
            if problem := self._refusal(target):
                self._refused.append((target, problem))

    def _again(self, applied: ApplyResult) -> None:
        """Tries the refused rows again, when all others are written: a unique value may be free by now."""
        left = self._refusals(target for target, _ in self._refused)
        taken = [target for target, problem in left if isinstance(problem, NotUnique)]
        if len(taken) > 1:  # they may hold the values for each other: all are deleted, then written
            for target in taken:
                self._send(
                    [_Target(target.row, deletions=target.deletions | ({target.item} if target.item else set()))]
                )
        if len(self._refused) > 1:  # the first of them may have waited for one that was accepted after it
            left = self._refusals(target for target, _ in left)
        for target, problem in left:
            values = self._package.values(target.record)[1] if target.record is not None else {}
            row = Row(target.row[1], values)
            applied.dead.append(dead_letter(target.row[0], row, refusal_code(problem), str(problem)))

    def _refusals(self, targets: Iterable[_Target]) -> list[tuple[_Target, Exception]]:
        return [(target, problem) for target in targets if (problem := self._refusal(target))]

    def _refusal(self, target: _Target) -> Exception | None:
        """Writes one row, and returns why it was refused."""
        try:
            self._send([target])
        except (TableError, ValueError, DynamoDBError) as error:
            if not _can_be_divided(error):
                raise
            return error.failures[0] if isinstance(error, TransactionCancelled) and error.failures else error
        return None

    def _send(self, targets: Iterable[_Target]) -> None:
        self._throttle.wait()
        with self._client.transaction() as tx:
            for target in targets:
                for item in sorted(target.deletions, key=repr):
                    entity = self._touched.entities[item[0]]
                    tx.delete(entity.cls, read=item[0] in self._reading, **entity.named(item))
                if target.record is not None:
                    tx.put(target.record, read=target.row[0] in self._reading)


def connected(groups: Sequence[Sequence[RowKey]], targets: Mapping[RowKey, _Target]) -> list[list[RowKey]]:
    """Joins the groups that share a row or an item, in the order of their first rows. Empty ones are left out.

    Each row is written once, as the snapshot sees it. So transactions that changed the same row are seen together.
    """
    parent = list(range(len(groups)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = at = parent[parent[at]]
        return at

    owner: dict[Any, int] = {}
    for at, group in enumerate(groups):
        for key in group:
            target = targets[key]
            for token in (("row", key), *(("item", item) for item in (*target.deletions, target.item) if item)):
                parent[root(at)] = root(owner.setdefault(token, at))
    found: dict[int, dict[RowKey, None]] = {}
    for at, group in enumerate(groups):
        found.setdefault(root(at), {}).update(dict.fromkeys(group))
    return [list(keys) for keys in found.values() if keys]


def _can_be_divided(error: Exception) -> bool:
    """Whether a part of the request may succeed: not if the table cannot be reached, or does not exist."""
    if isinstance(error.__cause__, DynamoDBError) and is_temporary(error.__cause__):
        return False
    if isinstance(error, TransactionCancelled):
        return all(_can_be_divided(one) for one in error.failures)
    return is_about_item(error) if isinstance(error, DynamoDBError) else not isinstance(error, Conflict)
