"""Point-in-time recovery: a log of each item before its writes, and a table restored to a moment.

While recovery is on, each write adds a record to the log in its own transaction. To restore a table, the records that
are younger than the moment are undone on a copy of its items.
"""

from __future__ import annotations

import time
from base64 import b64decode
from binascii import b2a_base64
from collections.abc import Iterator

import msgspec

from prejoin.engine.store.interface import MAX_RECORD, Session, StoredRow
from prejoin.engine.store.overlay import Overlay, apply_overlay
from prejoin.engine.tables.definition import TableDefinition
from prejoin.protocol.key_bytes import under

RECOVERY_LOG = 1 << 22
"""The log of a table lies beside the records of its stream, under the table's id plus this."""
_DAY_SECONDS = 86_400
_RECORDS_AT_ONCE = 1_000


class _LogRecord(msgspec.Struct, array_like=True, frozen=True):
    """A record as stored."""

    number: int
    time: float
    key: str
    """The key bytes of the item, without the id of its table."""
    size: int
    before: msgspec.Raw
    """The item before the write, or null."""


_decode = msgspec.json.Decoder(_LogRecord).decode


def log_change(
    session: Session, table: TableDefinition, key: bytes, before: StoredRow | None, after: StoredRow | None
) -> None:
    """Add a record for a write, unless it has changed nothing."""
    if before == after:
        return
    size, content = (0, b"null") if before is None else (before.size, before.content)
    # Without the id of the table, because a snapshot restores the table and its log under another one.
    encoded_key = b2a_base64(key[len(table.prefix) :], newline=False)
    session.append_record(table.id + RECOVERY_LOG, 0, b'[%d,%a,"%b",%d,%b]', time.time(), encoded_key, size, content)


def stop_log(session: Session, table: TableDefinition) -> None:
    """Remove the log of a table."""
    session.remove_records(table.id + RECOVERY_LOG, MAX_RECORD)


def items_at(session: Session, table: TableDefinition, moment: float) -> Iterator[tuple[bytes, StoredRow]]:
    """The items of a table as they were at a moment."""
    return apply_overlay(session.items(under(table.prefix)), _items_before_changes(session, table, moment))


def _items_before_changes(session: Session, table: TableDefinition, moment: float) -> Overlay:
    """The items that were different at a moment, as they were then."""
    items_then: Overlay = {}
    for record in _read_log(session, table):
        key = table.prefix + b64decode(record.key)
        # The oldest record since the moment has the item as it was at the moment.
        if record.time > moment and key not in items_then:
            content = bytes(record.before)
            items_then[key] = None if content == b"null" else StoredRow(record.size, content)
    return items_then


class ItemDifference(msgspec.Struct, frozen=True):
    """How an item has changed between two moments, and when it was last written between them."""

    before: StoredRow | None
    after: StoredRow | None
    time: float


def changes_between(session: Session, table: TableDefinition, first: float, last: float) -> Iterator[ItemDifference]:
    """The items that are different at two moments. An item that was written twice is one change."""
    at_first, at_last = _items_before_changes(session, table, first), _items_before_changes(session, table, last)
    write_times = {
        table.prefix + b64decode(record.key): record.time for record in _read_log(session, table) if record.time <= last
    }
    for key, before in sorted(at_first.items(), key=lambda pair: pair[0]):
        # An item that has not changed since the last moment is still stored as it was.
        after = at_last[key] if key in at_last else session.get(key)
        if before != after:
            yield ItemDifference(before, after, write_times[key])


def _read_log(session: Session, table: TableDefinition) -> Iterator[_LogRecord]:
    first = 0
    # In pieces, because a log has a record for each write of many days.
    while contents := session.records(table.id + RECOVERY_LOG, first, MAX_RECORD, _RECORDS_AT_ONCE):
        records = list(map(_decode, contents))
        yield from records
        first = records[-1].number + 1


def trim_log(session: Session, table: TableDefinition, now: float) -> int:
    """Remove a bounded number of records that nobody can go back to, and return how many."""
    log, days = table.id + RECOVERY_LOG, 0 if table.recovery is None else table.recovery[1]
    # The newest stays, because it has the number that the next follows.
    last = (session.last_record(log) or 0) - 1
    records = map(_decode, session.records(log, 0, last, _RECORDS_AT_ONCE))
    expired_numbers = [record.number for record in records if record.time < now - days * _DAY_SECONDS]
    if expired_numbers:
        session.remove_records(log, expired_numbers[-1])
    return len(expired_numbers)
