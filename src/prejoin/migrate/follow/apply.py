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
    has_new_contents: bool = False
    """Whether large contents were stored for the object."""
    old_contents: list[HeldContent] = field(default_factory=list)
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
    current: list[RowKey] = field(default_factory=list)
    """Rows that are as in the database now."""


@dataclass(slots=True)
class _Batch:
    """The rows that some transactions of the source changed, on their way into the table."""

    targets: dict[RowKey, _Target] = field(default_factory=dict)
    groups: list[list[RowKey]] = field(default_factory=list)
    """Rows that belong into one transaction. Groups may share rows."""
    truncated_tables: set[str] = field(default_factory=set)

    def target(self, key: RowKey) -> _Target:
        return self.targets.setdefault(key, _Target(key))


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
        self._affected = affected
        self._client = client
        self._throttle = throttle
        self._contents = contents
        entities = affected.entities
        self._reading = {name for name, entity in entities.items() if not is_plain(client, entity.cls)}
        """Entities whose stored item has to be read before it is replaced."""
        self._encoders = {name: row_encoder(migration.package, entity.rows) for name, entity in entities.items()}
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
        """The steps, in the only order that works.

        1. Collect which rows changed, and which items they were.
        2. Refill truncated tables: what the other steps write comes after the deletion of all their items.
        3. Read the rows, which makes more targets: the items of step 5 are compared with those of all rows.
        4. Note the rows without an item as dead letters, before anything is written: their old items have to stay.
        5. Cancel the deletions of items that another row became: they would remove what is written, and a transaction
           of DynamoDB writes an item only once. Then find the contents of the others, before their items are gone.
        6. Write the groups; then what was refused, because it may have waited for another row.
        7. Remove old contents, when no item refers to them any more.
        """
        self._refused = []
        result = ApplyResult()
        batch = self._collect(snapshot, transactions, again)
        self._refill_truncated(snapshot, batch, result)
        self._read_rows(snapshot, batch)
        targets = batch.targets
        result.rows = len(targets)
        result.dead += [target.letter for target in targets.values() if target.letter is not None]
        self._settle_deletions(targets)
        groups = connected(batch.groups, targets)
        self._write([[targets[key] for key in group] for group in groups], result)
        self._write_refused(result)
        dead_rows = {(letter.entity, letter.key) for letter in result.dead}
        result.current = [key for key in targets if key not in dead_rows]
        self._remove_old_contents(targets, result.current)
        return result

    def _collect(
        self, snapshot: SourceSnapshot, transactions: Sequence[SourceTransaction], again: Iterable[RowKey]
    ) -> _Batch:
        """The rows to read, and the items that they were: each transaction is a group, each row of `again` its own."""
        batch = _Batch()
        for key in again:
            batch.target(key)
            batch.groups.append([key])
        for transaction in transactions:
            group: dict[RowKey, None] = {}
            for change in transaction.changes:
                rows, items = self._affected.of(snapshot, change)
                for row in rows:
                    batch.target(row)
                for row, item in items:
                    batch.target(row).deletions.add(item)
                group |= dict.fromkeys([*rows, *(row for row, _ in items)])
                if not change.images:
                    batch.truncated_tables.add(change.table)
            batch.groups.append(list(group))
        return batch

    def _read_rows(self, snapshot: SourceSnapshot, batch: _Batch) -> None:
        """Reads the rows as the snapshot sees them, and makes their objects."""
        logged_rows = set(batch.targets)
        for name, entity in self._affected.entities.items():
            keys = [key for entity_name, key in batch.targets if entity_name == name]
            for row in entity.rows.matching(snapshot, entity.rows.key, keys):
                # A row that is returned with another form of its key than in the log becomes a target of its own.
                self._make(entity, row, batch.target((name, row.key)))
        batch.groups.append([key for key in batch.targets if key not in logged_rows])

    def _settle_deletions(self, targets: Mapping[RowKey, _Target]) -> None:
        """Decides which items are deleted, and finds the large contents that they hold."""
        new_items = {target.item for target in targets.values() if target.item is not None}
        for target in targets.values():
            target.deletions -= new_items
            if target.letter is not None:
                target.deletions.clear()  # the item stays as it was, until the row is corrected
            for name, key in target.deletions:
                entity = self._affected.entities[name]
                target.old_contents += self._contents.held(entity.cls, entity.named((name, key)))

    def _remove_old_contents(self, targets: Mapping[RowKey, _Target], current: Sequence[RowKey]) -> None:
        self._contents.remove([content for key in current for content in targets[key].old_contents])
        with_contents = [target for target in targets.values() if target.has_new_contents]
        items = {target.item for target in with_contents}
        current_rows = set(current)
        if any(target.row not in current_rows for target in with_contents) or len(items) < len(with_contents):
            self._contents.note_unused()  # a row was refused, or another row became the same item

    def _make(self, entity: EntityItems, row: Row, target: _Target) -> None:
        """Makes the object of a row, or the dead letter that says why it is none."""
        try:
            values = entity.rows.convert(row)
            target.record = self._package.record(entity.name, values)
            target.item = entity.item_key(values)
        except RowError as problem:
            target.letter = dead_letter(entity.name, row, problem.code, problem.reason)
        except (TypeError, ValueError) as problem:
            target.letter = dead_letter(entity.name, row, codes.VALUE, str(problem))
        if target.letter is None and self._contents.of(entity.cls):
            self._place_contents(entity, row, target)
        encode = self._encoders[entity.name]
        if encode and target.letter is None:
            with suppress(Exception):  # a row that does not fit: the transaction says why
                target.put = encode(row)

    def _place_contents(self, entity: EntityItems, row: Row, target: _Target) -> None:
        """Stores the large contents of an object, which refers to them from now on."""
        (placement,) = self._contents.place([target.record])
        if isinstance(placement, TableError):
            target.letter = dead_letter(entity.name, row, codes.REFUSED, str(placement))
            target.record = target.item = None
        else:
            target.record = placement.record
            target.has_new_contents = bool(placement.new)
            target.old_contents = list(placement.old)

    def _refill_truncated(self, snapshot: SourceSnapshot, batch: _Batch, result: ApplyResult) -> None:
        for entity in self._affected.entities.values():
            if batch.truncated_tables.intersection(entity.tables):
                self._refill(snapshot, entity, result)

    def _refill(self, snapshot: SourceSnapshot, entity: EntityItems, result: ApplyResult) -> None:
        """Deletes all items of an entity whose table was truncated, and loads the rows that it has by now."""
        for page in self._client.everything(entity.cls, hidden=True, consistent=True):
            self._client.delete_many(entity.cls, page.items, read=True)
            self._contents.remove_of(page.items)
        writer = RowWriter(self._client, self._package, entity.rows, self._throttle, self._contents)
        for rows in entity.rows.pages(snapshot):
            result.dead += writer.write(rows).dead

    # --- Writing ----------------------------------------------------------------------------------------------------

    def _write(self, groups: Sequence[Sequence[_Target]], result: ApplyResult) -> None:
        """Writes groups in order, several in a request where they fit.

        If a request is refused, `_write_together` divides it in the middle, until a group is refused alone. Then its
        rows are written one by one, and those that are refused again go to `_write_refused`.
        """
        pending: list[Sequence[_Target]] = []
        for group in self._put_plain_rows(groups):
            if pending and sum(map(len, pending)) + len(group) > _ROWS:
                self._write_together(pending, result)
                pending = []
            pending.append(group)
        if pending:
            self._write_together(pending, result)

    def _put_plain_rows(self, groups: Sequence[Sequence[_Target]]) -> Sequence[Sequence[_Target]]:
        """Puts the rows that are a group of their own, in batches, and returns the groups that are left."""
        puts: list[EncodedPut] = []
        remaining: list[Sequence[_Target]] = []
        for group in groups:
            put = group[0].put if len(group) == 1 and not group[0].deletions else None
            if put is None:
                remaining.append(group)
            else:
                puts.append(put)
        try:
            for start in range(0, len(puts), _PUTS):
                self._throttle.wait()
                requests = dict(puts[start : start + _PUTS])
                self._client._run(write_requests(self._client.schema, self._client.table, requests))
        except DynamoDBError as error:
            if not is_about_item(error):
                raise
            return groups  # the transactions find out which one is refused
        return remaining

    def _write_together(self, groups: Sequence[Sequence[_Target]], result: ApplyResult) -> None:
        try:
            self._send([target for group in groups for target in group])
        except (TableError, ValueError, DynamoDBError) as error:
            if not _can_be_divided(error):
                raise
            if len(groups) > 1:
                middle = len(groups) // 2
                self._write_together(groups[:middle], result)
                self._write_together(groups[middle:], result)
            else:
                self._write_separately(groups[0], error, result)

    def _write_separately(self, group: Sequence[_Target], error: Exception, result: ApplyResult) -> None:
        """Writes the rows of a group that cannot be one transaction."""
        if len(group) > 1:
            result.split += 1
            if isinstance(error, TooMany) and not isinstance(error, ItemTooLarge):
                size = min(_ROWS, -(-len(group) // 2))
                for start in range(0, len(group), size):
                    self._write_together([group[start : start + size]], result)
                return
        for target in group:
            problem = self._refusal(target)
            if problem is not None:
                self._refused.append((target, problem))

    def _write_refused(self, result: ApplyResult) -> None:
        """Tries the refused rows again, when all others are written: a unique value may be free by now."""
        refusals = self._refusals(target for target, _ in self._refused)
        not_unique = [target for target, problem in refusals if isinstance(problem, NotUnique)]
        if len(not_unique) > 1:  # they may hold the values for each other: all are deleted, then written
            for target in not_unique:
                items = {target.item} if target.item else set()
                self._send([_Target(target.row, deletions=target.deletions | items)])
        if len(self._refused) > 1:  # the first of them may have waited for one that was accepted after it
            refusals = self._refusals(target for target, _ in refusals)
        for target, problem in refusals:
            values = self._package.values(target.record)[1] if target.record is not None else {}
            row = Row(target.row[1], values)
            result.dead.append(dead_letter(target.row[0], row, refusal_code(problem), str(problem)))

    def _refusals(self, targets: Iterable[_Target]) -> list[tuple[_Target, Exception]]:
        """Writes rows one by one, and returns those that were refused, with the reasons."""
        problems = [(target, self._refusal(target)) for target in targets]
        return [(target, problem) for target, problem in problems if problem is not None]

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
                    entity = self._affected.entities[item[0]]
                    tx.delete(entity.cls, read=item[0] in self._reading, **entity.named(item))
                if target.record is not None:
                    tx.put(target.record, read=target.row[0] in self._reading)


def connected(groups: Sequence[Sequence[RowKey]], targets: Mapping[RowKey, _Target]) -> list[list[RowKey]]:
    """Joins the groups that share a row or an item, in the order of their first rows. Empty ones are left out.

    Each row is written once, as the snapshot sees it. So transactions that changed the same row are seen together.
    """
    # Union-find over the groups: `parents` leads from a group to the one that it was joined with.
    parents = list(range(len(groups)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = index = parents[parents[index]]
        return index

    owners: dict[Any, int] = {}
    for index, group in enumerate(groups):
        for key in group:
            target = targets[key]
            items = [item for item in (*target.deletions, target.item) if item]
            for token in (("row", key), *(("item", item) for item in items)):
                parents[root(index)] = root(owners.setdefault(token, index))
    joined_groups: dict[int, dict[RowKey, None]] = {}
    for index, group in enumerate(groups):
        joined_groups.setdefault(root(index), {}).update(dict.fromkeys(group))
    return [list(keys) for keys in joined_groups.values() if keys]


def _can_be_divided(error: Exception) -> bool:
    """Whether a part of the request may succeed: not if the table cannot be reached, or does not exist."""
    if isinstance(error.__cause__, DynamoDBError) and is_temporary(error.__cause__):
        return False
    if isinstance(error, TransactionCancelled):
        return all(_can_be_divided(failure) for failure in error.failures)
    return is_about_item(error) if isinstance(error, DynamoDBError) else not isinstance(error, Conflict)
