"""Copy the rows of a table to another table or another store, where it has another id. Keys begin with that id."""

from __future__ import annotations

from collections.abc import Iterable

from prejoin.engine.store.interface import MAX_RECORD, Session, StoredRow
from prejoin.engine.tables.definition import id_bytes
from prejoin.protocol.key_bytes import under

_RECORDS = 1_000


def copy_rows(source: Session, old_id: int, target: Session, new_id: int) -> None:
    """Copy the items and index entries of a table. What expires is not copied; `rows.set_expiries` follows."""
    copy_items(source.items(under(id_bytes(old_id))), target, new_id)
    prefix = id_bytes(new_id)
    for key, row in source.entries(under(id_bytes(old_id))):
        target.put_entry(prefix + key[len(prefix) :], row, new=True)


def copy_items(items: Iterable[tuple[bytes, StoredRow]], target: Session, new_id: int) -> None:
    """Copy items under the id of another table."""
    prefix = id_bytes(new_id)
    for key, row in items:
        target.put(prefix + key[len(prefix) :], None, row)


def copy_records(source: Session, old_id: int, target: Session, new_id: int) -> None:
    """Copy records with their numbers."""
    first = 0
    while records := source.records(old_id, first, MAX_RECORD, _RECORDS):
        for record in records:
            # A record begins with its number, and `append_record` writes one: this one, because no smaller one is
            # allowed.
            number, remaining_members = record[1:].split(b",", 1)
            target.append_record(new_id, int(number), b"[%d,%b", remaining_members)
            first = int(number) + 1
