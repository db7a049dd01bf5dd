"""The SQLite store: its schema, its connections, and the two ways in, reading and writing."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal, ParamSpec, TypeVar

from prejoin.engine.recent import Recent
from prejoin.protocol.errors import DynamoDBError

P = ParamSpec("P")
T = TypeVar("T")

Durability = Literal["memory", "normal", "full"]

_SCHEMA_VERSION = 3
_BUSY_SECONDS = 5.0
_CHECKPOINT_PAGES = 8000
"""Of the log, before it goes into the file, 32 MB: each time waits for the disk, and takes a page once however often it
was changed. SQLite's own 1,000 doubles what a write takes."""
_MEMORY_PAGE = 8192
"""SQLite looks through all pages in memory when a commit follows the split of one, so that fewer and larger ones are
better; and keeps a copy of each that a transaction changes, so that smaller ones are."""
_SCHEMA = """
CREATE TABLE tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, definition BLOB NOT NULL
);
CREATE TABLE items (
    key BLOB PRIMARY KEY, size INTEGER NOT NULL, item BLOB NOT NULL, expires INTEGER
) WITHOUT ROWID;
CREATE INDEX expiring ON items (expires) WHERE expires IS NOT NULL;
CREATE TABLE entries (
    key BLOB PRIMARY KEY, size INTEGER NOT NULL, item BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE tokens (
    token TEXT PRIMARY KEY, digest BLOB NOT NULL, answer BLOB NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX forgetting ON tokens (expires);
"""


class Cursor(sqlite3.Cursor):
    """A cursor, used again and again: a new one for every statement would add a tenth to its cost.

    In memory it has the rows of items that were read or written last: nobody else can change them there.
    """

    recent: Recent | None = None

    def forget(self) -> None:
        if self.recent is not None:
            self.recent.clear()


class Store:
    """Connections to one database. In memory there is one, shared; on a file as many as threads use at once.

    Writers of this process queue for a lock of their own first, so that SQLite's, which polls, is only contended
    between processes.
    """

    def __init__(self, path: str | os.PathLike[str] | None, durability: Durability) -> None:
        self._path = None if path is None else os.fspath(path)
        self._durability = durability
        self.writer = threading.Lock()
        self._shared = threading.RLock()
        self._idle: list[Cursor] = []
        self._open: list[sqlite3.Connection] = []
        self._abandoned: list[sqlite3.Connection] = []
        self._closed = False
        connection = patiently(self._prepared)
        self._idle.append(self._cursor(connection))
        _stores.add(self)

    def reading(self, *, snapshot: bool = False) -> Reading:
        """A cursor to read with; as a snapshot, all reads see one state."""
        # Nobody else writes in memory while the one connection is taken: every reading is a snapshot.
        return Reading(self, snapshot=snapshot and self._path is not None)

    def writing(self) -> Writing:
        """A cursor in a transaction that no other writer shares: committed at the end, undone on an error."""
        return Writing(self)

    def close(self) -> None:
        with self._shared:
            self._closed = True
            for connection in self._open:
                connection.close()
            self._open.clear()
            self._idle.clear()

    def begin_after_fork(self) -> None:
        """In the child of a fork: locks that another thread held stay held for ever, and a connection to a file
        must not be used, nor closed, on both sides."""
        self.writer, self._shared = threading.Lock(), threading.RLock()
        if self._path is not None:
            self._abandoned += self._open
            self._open, self._idle = [], []

    def take(self) -> Cursor:
        """A cursor that is nobody else's until it is given back, on a connection of its own."""
        if self._path is None:
            # The one connection in memory stays locked while it is used.
            self._shared.acquire()
            if not self._closed:
                return self._idle[0]
            self._shared.release()
            raise sqlite3.ProgrammingError("the store is closed")
        with self._shared:
            if self._closed:
                raise sqlite3.ProgrammingError("the store is closed")
            return self._idle.pop() if self._idle else self._cursor(self._connect())

    def give_back(self, cursor: Cursor) -> None:
        if self._path is None:
            self._shared.release()
        else:
            with self._shared:
                if self._closed:
                    cursor.connection.close()
                else:
                    self._idle.append(cursor)

    def _cursor(self, connection: sqlite3.Connection) -> Cursor:
        cursor = Cursor(connection)
        if self._path is None:
            cursor.recent = Recent()
        return cursor

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path or ":memory:",
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
        )
        try:
            if self._path is not None:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
            else:
                connection.execute(f"PRAGMA page_size={_MEMORY_PAGE}")
            connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS[self._durability]}")
            connection.execute("PRAGMA cache_size=-16000")
            # Some builds overwrite with zeros whatever is deleted or replaced, at a sixth of the cost of a write.
            connection.execute("PRAGMA secure_delete=OFF")
        except BaseException:
            connection.close()
            raise
        self._open.append(connection)
        return connection

    def _prepared(self) -> sqlite3.Connection:
        """The first connection, on a file that is ours, with our tables in it."""
        name = Path(self._path or "").name
        try:
            connection = self._connect()
            try:
                connection.execute("BEGIN IMMEDIATE")
                version = self._create(connection)
                connection.execute("COMMIT")
            except BaseException:
                self.close()
                self._closed = False
                raise
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise ValueError(f"{name} is not a file of prejoin's: {error}") from error
        if version != _SCHEMA_VERSION:
            self.close()
            age = "newer" if version > _SCHEMA_VERSION else "older"
            raise ValueError(
                f"{name} was written by another prejoin: its format, {version}, is {age} than {_SCHEMA_VERSION}"
                if version
                else f"{name} is a database of something else"
            )
        return connection

    @staticmethod
    def _create(connection: sqlite3.Connection) -> int:
        """Make the tables in an empty database; returns the version of what is there, 0 for someone else's."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
            return _SCHEMA_VERSION
        return int(version)


_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _begin_after_fork() -> None:
    for store in _stores:
        store.begin_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_after_fork)


class Reading:
    """One use of a connection to read. Not a generator: entering and leaving one takes longer than a read does."""

    __slots__ = ("_cursor", "_snapshot", "_store")

    def __init__(self, store: Store, *, snapshot: bool) -> None:
        self._store = store
        self._snapshot = snapshot

    def __enter__(self) -> Cursor:
        cursor = self._cursor = self._store.take()
        if self._snapshot:
            try:
                cursor.execute("BEGIN")
            except BaseException:
                self._store.give_back(cursor)
                raise
        return cursor

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._snapshot:
                self._cursor.execute("COMMIT")
        finally:
            self._store.give_back(self._cursor)


class Writing:
    """One transaction. Writers of one process wait for each other here, where waiting costs nothing."""

    __slots__ = ("_cursor", "_store", "_writer")

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> Cursor:
        writer = self._writer = self._store.writer
        writer.acquire()
        try:
            cursor = self._cursor = self._store.take()
            try:
                cursor.execute("BEGIN IMMEDIATE")
            except BaseException:
                self._store.give_back(cursor)
                raise
        except BaseException:
            writer.release()
            raise
        return cursor

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        cursor, done = self._cursor, False
        try:
            if kind is None:
                cursor.execute("COMMIT")
                done = True
        finally:
            try:
                if not done:
                    self._undo(cursor)
            finally:
                self._store.give_back(cursor)
                self._writer.release()

    @staticmethod
    def _undo(cursor: Cursor) -> None:
        """Where the work failed, or the commit did. SQLite may have done it already."""
        cursor.forget()
        if cursor.connection.in_transaction:
            cursor.execute("ROLLBACK")


def patiently(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Do some work, and again while another process holds the file, for a minute at most.

    Only for work that is undone when it fails. SQLite waits by itself in most places; in a few, as when two
    processes open a new file at once, it cannot.
    """
    deadline = 0.0
    while True:
        try:
            return work(*arguments, **named)
        except sqlite3.OperationalError as error:
            now = time.monotonic()
            deadline = deadline or now + _PATIENCE_SECONDS
            if error.sqlite_errorcode & 0xFF not in _BUSY_CODES:
                raise
            if now > deadline:
                raise DynamoDBError(
                    "InternalServerError", "Another process holds the file: no turn to write within a minute"
                ) from error
            time.sleep(random.uniform(0.001, 0.05))  # noqa: S311


_BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_PATIENCE_SECONDS = 60.0
_SYNCHRONOUS = {"memory": "OFF", "normal": "NORMAL", "full": "FULL"}
