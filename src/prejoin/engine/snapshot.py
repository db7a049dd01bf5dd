"""Snapshots: all tables of an engine, saved in memory or in a file, and restored.

A snapshot in memory is a memory store. Between two memory stores everything is copied at once; to and from a file, row
by row, in one transaction.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from prejoin.engine.items import rows
from prejoin.engine.items.copy import copy_records, copy_rows
from prejoin.engine.items.recovery import RECOVERY_LOG
from prejoin.engine.operations.database import Database
from prejoin.engine.store.file import FileStore
from prejoin.engine.store.interface import HIDDEN_PREFIX, OpenError, Session, Store
from prejoin.engine.store.memory import InMemoryStore
from prejoin.engine.tables.definition import TableDefinition

_ALL_TABLES = 1 << 31


class Snapshot:
    """All tables as they were when `Embedded.snapshot` was called. It can be restored any number of times, in any
    engine.
    """

    def __init__(self, store: InMemoryStore) -> None:
        self._store = store


def take(database: Database) -> Snapshot:
    copy = InMemoryStore()
    _copy_store(database.store, copy)
    return Snapshot(copy)


def save(database: Database, path: str | os.PathLike[str]) -> None:
    """Save all tables in a file, in place of those that it has."""
    _with_file(path, lambda file: _copy_store(database.store, file))


def restore(database: Database, source: Snapshot | str | os.PathLike[str]) -> None:
    """Replace all tables of an engine by those of a snapshot, or of a file."""

    def forget() -> None:
        database.catalog.forget()
        database.counter.forget()

    if isinstance(source, Snapshot):
        _copy_store(source._store, database.store, forget)
    elif not os.path.exists(source):
        raise OpenError(f"there is no file {os.fspath(source)}")
    else:
        _with_file(source, lambda file: _copy_store(file, database.store, forget))


def _with_file(path: str | os.PathLike[str], work: Callable[[FileStore], None]) -> None:
    file = FileStore(path, "normal")
    try:
        work(file)
    finally:
        file.close()


def _copy_store(source: Store, target: Store, on_replaced: Callable[[], None] = lambda: None) -> None:
    """Make one store like another. `on_replaced` is called before others may use the target."""

    def replace_all() -> None:
        if isinstance(source, InMemoryStore) and isinstance(target, InMemoryStore):
            target.take_over(source)
        else:
            with target.writing() as target_session, source.reading(snapshot=True) as source_session:
                _replace_tables(source_session, target_session)
        on_replaced()

    # A session is opened only inside of `read` or `write`, so these surround the copy as a whole.
    source.read(target.write, replace_all)


def _replace_tables(source: Session, target: Session) -> None:
    for identity in _table_ids(target).values():
        rows.drop_all(target, identity)
        target.remove_table(identity)
    for name, identity in _table_ids(source).items():
        definition = source.table_definition(identity)
        # Under a new id, so that no process takes a definition in its cache for this one.
        new_id = target.add_table(name, definition)
        copy_rows(source, identity, target, new_id)
        for log in (0, RECOVERY_LOG):
            copy_records(source, identity + log, target, new_id + log)
        if not name.startswith(HIDDEN_PREFIX):
            rows.set_expiries(target, TableDefinition.from_bytes(new_id, definition))


def _table_ids(session: Session) -> dict[str, int]:
    """The ids of tables and artifacts beside them, by name."""
    names = [*session.table_names("", _ALL_TABLES), *session.hidden_names("")]
    return {name: version[0] for name in names if (version := session.table_version(name)) is not None}
