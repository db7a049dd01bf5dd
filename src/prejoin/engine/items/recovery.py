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
from prejoin.engine.store.overlay import Overlay, overlaid
from prejoin.engine.tables.definition import TableDefinition
from prejoin.protocol.key_bytes import under

RECOVERY_LOG = 1 << 22
"""The log of a table lies beside the records of its stream, under the table's id plus this."""
_DAY_SECONDS = 86_400
_AT_ONCE = 1_000


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
    place = b2a_base64(key[len(table.prefix) :], newline=False)
    session.append_record(table.id + RECOVERY_LOG, 0, b'[%d,%a,"%b",%d,%b]', time.time(), place, size, content)


def stop_log(session: Session, table: TableDefinition) -> None:
    """Remove the log of a table."""
    session.remove_records(table.id + RECOVERY_LOG, MAX_RECORD)


def items_at(session: Session, table: TableDefinition, moment: float) -> Iterator[tuple[bytes, StoredRow]]:
    """The items of a table as they were at a moment."""
    return overlaid(session.items(under(table.prefix)), _changed_since(session, table, moment))


def _changed_since(session: Session, table: TableDefinition, moment: float) -> Overlay:
    """The items that were different at a moment, as they were then."""
    found: Overlay = {}
    for record in _log(session, table):
        key = table.prefix + b64decode(record.key)
        if record.time > moment and key not in found:
            content = bytes(record.before)
            found[key] = None if content == b"null" else StoredRow(record.size, content)
    return found


class ItemChange(msgspec.Struct, frozen=True):
    """How an item has changed between two moments, and when it was last written between them."""

    before: StoredRow | None
    after: StoredRow | None
    time: float


def changes_between(session: Session, table: TableDefinition, first: float, last: float) -> Iterator[ItemChange]:
    """The items that are different at two moments. An item that was written twice is one change."""
    at_first, at_last = _changed_since(session, table, first), _changed_since(session, table, last)
    written = {
        table.prefix + b64decode(record.key): record.time for record in _log(session, table) if record.time <= last
    }
    for key, before in sorted(at_first.items(), key=lambda pair: pair[0]):
        after = at_last[key] if key in at_last else session.get(key)
        if before != after:
            yield ItemChange(before, after, written[key])


def _log(session: Session, table: TableDefinition) -> Iterator[_LogRecord]:
    first = 0
    while found := session.records(table.id + RECOVERY_LOG, first, MAX_RECORD, _AT_ONCE):
        records = list(map(_decode, found))
        yield from records
        first = records[-1].number + 1


def trim_log(session: Session, table: TableDefinition, now: float) -> int:
    """Remove a bounded number of records that nobody can go back to, and return how many."""
    log, days = table.id + RECOVERY_LOG, 0 if table.recovery is None else table.recovery[1]
    last = (session.last_record(log) or 0) - 1  # the newest stays, because it has the number that the next follows
    found = map(_decode, session.records(log, 0, last, _AT_ONCE))
    old = [record.number for record in found if record.time < now - days * _DAY_SECONDS]
    if old:
        session.remove_records(log, old[-1])
    return len(old)
