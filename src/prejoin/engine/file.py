"""The store in a file, which SQLite keeps: its schema, its connections, and what is asked of it as SQL."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

from prejoin.engine.session import BusyError, Durability, Row, Session, Shelf, Store, StoreError, Stretch, Token
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.keybytes import Range

P = ParamSpec("P")
T = TypeVar("T")

_SCHEMA_VERSION = 3
_BUSY_SECONDS = 5.0
_CHECKPOINT_PAGES = 8000
"""Of the log, before it goes into the file, 32 MB: each time waits for the disk, and takes a page once however often it
was changed. SQLite's own 1,000 doubles what a write takes."""
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


class FileSession(Session):
    """A connection in use, by one cursor: a new one for every statement would add a tenth to its cost."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        self.execute = self._cursor.execute
        self._waits = True

    def wait(self, waits: bool) -> None:
        """Whether statements wait for other processes."""
        if waits is not self._waits:
            self.execute(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000) if waits else 0}")
            self._waits = waits

    def get(self, key: bytes) -> Row | None:
        found = self.execute("SELECT size, item FROM items WHERE key = ?", (_blob(key),)).fetchone()
        return None if found is None else Row(*found)

    def put(self, key: bytes, before: Row | None, row: Row) -> None:
        # An upsert would look again for what was there.
        if before is None:
            self.execute("INSERT INTO items VALUES (?, ?, ?, NULL)", (_blob(key), row.size, _blob(row.content)))
        else:
            self.execute(
                "UPDATE items SET size = ?, item = ? WHERE key = ?", (row.size, _blob(row.content), _blob(key))
            )

    def put_expiring(self, key: bytes, before: Row | None, row: Row, expires: int | None) -> None:
        if before is None:
            self.execute("INSERT INTO items VALUES (?, ?, ?, ?)", (_blob(key), row.size, _blob(row.content), expires))
        else:
            self.execute(
                "UPDATE items SET size = ?, item = ?, expires = ? WHERE key = ?",
                (row.size, _blob(row.content), expires, _blob(key)),
            )

    def delete(self, key: bytes) -> None:
        self.execute("DELETE FROM items WHERE key = ?", (_blob(key),))

    def put_entry(self, key: bytes, row: Row, *, new: bool) -> None:
        if new:
            self.execute("INSERT INTO entries VALUES (?, ?, ?)", (_blob(key), row.size, _blob(row.content)))
        else:
            self.execute(
                "UPDATE entries SET size = ?, item = ? WHERE key = ?", (row.size, _blob(row.content), _blob(key))
            )

    def move_entry(self, old: bytes, key: bytes, row: Row) -> None:
        self.execute(
            "UPDATE entries SET key = ?, size = ?, item = ? WHERE key = ?",
            (_blob(key), row.size, _blob(row.content), _blob(old)),
        )

    def delete_entry(self, key: bytes) -> None:
        self.execute("DELETE FROM entries WHERE key = ?", (_blob(key),))

    def clear(self, shelf: Shelf, bounds: Range) -> None:
        self.execute(f"DELETE FROM {shelf} WHERE key >= ? AND key < ?", bounds)  # noqa: S608

    def items(self, bounds: Range) -> Iterator[tuple[bytes, Row]]:
        # A cursor of its own, since it is read on while others are written.
        found = self.connection.execute("SELECT key, size, item FROM items WHERE key >= ? AND key < ?", bounds)
        return ((key, Row(size, content)) for key, size, content in found)

    def contents(self, stretch: Stretch) -> Iterator[list[bytes]]:
        self.execute(f"SELECT item {_source(stretch)}", (*stretch.bounds, stretch.limit, 0))
        while found := self._cursor.fetchmany(_AT_ONCE):
            yield [content for (content,) in found]

    def rows(self, stretch: Stretch, skipped: int) -> Iterator[Row]:
        self.execute(f"SELECT size, item {_source(stretch)}", (*stretch.bounds, stretch.limit - skipped, skipped))
        while found := self._cursor.fetchmany(_AT_ONCE):
            for size, content in found:
                yield Row(size, content)

    def size(self, stretch: Stretch) -> int:
        summing = f"SELECT coalesce(sum(size), 0) FROM (SELECT size {_source(stretch)})"  # noqa: S608
        (size,) = self.execute(summing, (*stretch.bounds, stretch.limit, 0)).fetchone()
        return int(size)

    def count(self, shelf: Shelf, bounds: Range) -> tuple[int, int]:
        counting = f"SELECT count(*), coalesce(sum(size), 0) FROM {shelf} WHERE key >= ? AND key < ?"  # noqa: S608
        number, size = self.execute(counting, bounds).fetchone()
        return number, size

    def set_expiry(self, key: bytes, expires: int) -> None:
        self.execute("UPDATE items SET expires = ? WHERE key = ?", (expires, key))

    def clear_expiries(self, bounds: Range) -> None:
        self.execute("UPDATE items SET expires = NULL WHERE key >= ? AND key < ? AND expires IS NOT NULL", bounds)

    def expired(self, first: float, last: float, most: int) -> list[bytes]:
        found = self.execute(
            "SELECT key FROM items WHERE expires BETWEEN ? AND ? ORDER BY expires LIMIT ?", (first, last, most)
        ).fetchall()
        return [key for (key,) in found]

    def table_version(self, name: str) -> tuple[int, int] | None:
        found: tuple[int, int] | None = self.execute(
            "SELECT id, revision FROM tables WHERE name = ?", (name,)
        ).fetchone()
        return found

    def table_definition(self, identity: int) -> bytes:
        (definition,) = self.execute("SELECT definition FROM tables WHERE id = ?", (identity,)).fetchone()
        return definition  # type: ignore[no-any-return]

    def table_name(self, identity: int) -> str:
        (name,) = self.execute("SELECT name FROM tables WHERE id = ?", (identity,)).fetchone()
        return name  # type: ignore[no-any-return]

    def table_names(self, after: str, most: int) -> list[str]:
        found = self.execute("SELECT name FROM tables WHERE name > ? ORDER BY name LIMIT ?", (after, most)).fetchall()
        return [name for (name,) in found]

    def add_table(self, name: str, definition: bytes) -> None:
        self.execute("INSERT INTO tables (name, revision, definition) VALUES (?, ?, ?)", (name, 1, definition))

    def change_table(self, identity: int, definition: bytes) -> None:
        self.execute("UPDATE tables SET definition = ?, revision = revision + 1 WHERE id = ?", (definition, identity))

    def remove_table(self, identity: int) -> None:
        self.execute("DELETE FROM tables WHERE id = ?", (identity,))

    def token(self, token: str) -> Token | None:
        found = self.execute("SELECT digest, answer, expires FROM tokens WHERE token = ?", (token,)).fetchone()
        return None if found is None else Token(*found)

    def keep_token(self, token: str, what: Token) -> None:
        self.execute(
            "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?)",
            (token, _blob(what.digest), _blob(what.answer), what.expires),
        )

    def forget_tokens(self, before: float) -> None:
        self.execute("DELETE FROM tokens WHERE expires < ?", (before,))


_AT_ONCE = 100
_blob = bytearray
"""How bytes are handed to SQLite where it counts: for bytes its driver looks for adapters first, each time."""


def _source(stretch: Stretch) -> str:
    return _SOURCES[stretch.shelf, stretch.forward]


_SOURCES = {
    (shelf, forward): f"FROM {shelf} WHERE key >= ? AND key < ? "
    f"ORDER BY key{'' if forward else ' DESC'} LIMIT ? OFFSET ?"
    for shelf in ("items", "entries")
    for forward in (True, False)
}
"""Where to read, as SQL: all else are parameters."""


class FileStore(Store):
    """Connections to one file, as many as threads use at once.

    Writers of this process queue for a lock of their own first, so that SQLite's, which polls, is only contended
    between processes.
    """

    def __init__(self, path: str | os.PathLike[str], durability: Durability) -> None:
        self._path = os.fspath(path)
        self._durability = durability
        self.writer = threading.Lock()
        self._shared = threading.RLock()
        self._idle: list[FileSession] = []
        self._open: list[sqlite3.Connection] = []
        self._abandoned: list[sqlite3.Connection] = []
        self._closed = False
        connection = _patiently(self._prepared)
        self._idle.append(FileSession(connection))
        _stores.add(self)

    def reading(self, *, snapshot: bool = False) -> _Reading:
        return _Reading(self, snapshot=snapshot)

    def writing(self) -> _Writing:
        return _Writing(self)

    def patiently(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        try:
            return _patiently(work, *arguments, **named)
        except sqlite3.Error as error:
            raise StoreError(str(error)) from error

    def once(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        try:
            return work(*arguments, **named)
        except sqlite3.Error as error:
            raise StoreError(str(error)) from error

    def now(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        _impatient.here = True
        try:
            return work(*arguments, **named)
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF in _BUSY_CODES:
                raise BusyError from error
            raise StoreError(str(error)) from error
        finally:
            _impatient.here = False

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
        self._abandoned += self._open
        self._open, self._idle = [], []

    def take(self) -> FileSession:
        """A session that is nobody else's until it is given back, on a connection of its own."""
        with self._shared:
            if self._closed:
                raise StoreError("it is closed")
            session = self._idle.pop() if self._idle else FileSession(self._connect())
        session.wait(not _impatient.here)
        return session

    def give_back(self, session: FileSession) -> None:
        with self._shared:
            if self._closed:
                session.connection.close()
            else:
                self._idle.append(session)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=512
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
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
        name = Path(self._path).name
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


class _Impatient(threading.local):
    """Whether this thread runs an event loop, and must not wait for a lock."""

    here = False


_impatient = _Impatient()
_stores: weakref.WeakSet[FileStore] = weakref.WeakSet()


def _begin_after_fork() -> None:
    for store in _stores:
        store.begin_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_after_fork)


class _Reading:
    """One use of a connection to read. Not a generator: entering and leaving one takes longer than a read does."""

    __slots__ = ("_session", "_snapshot", "_store")

    def __init__(self, store: FileStore, *, snapshot: bool) -> None:
        self._store = store
        self._snapshot = snapshot

    def __enter__(self) -> FileSession:
        session = self._session = self._store.take()
        if self._snapshot:
            try:
                session.execute("BEGIN")
            except BaseException:
                self._store.give_back(session)
                raise
        return session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._snapshot:
                self._session.execute("COMMIT")
        finally:
            self._store.give_back(self._session)


class _Writing:
    """One transaction. Writers of one process wait for each other here, where waiting costs nothing."""

    __slots__ = ("_session", "_store", "_writer")

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def __enter__(self) -> FileSession:
        writer = self._writer = self._store.writer
        if _impatient.here and writer.locked():
            raise BusyError
        writer.acquire()
        try:
            session = self._session = self._store.take()
            try:
                session.execute("BEGIN IMMEDIATE")
            except BaseException:
                self._store.give_back(session)
                raise
        except BaseException:
            writer.release()
            raise
        return session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, done = self._session, False
        try:
            if kind is None:
                session.execute("COMMIT")
                done = True
        finally:
            try:
                if not done:
                    self._undo(session)
            finally:
                self._store.give_back(session)
                self._writer.release()

    @staticmethod
    def _undo(session: FileSession) -> None:
        """Where the work failed, or the commit did. SQLite may have done it already."""
        if session.connection.in_transaction:
            session.execute("ROLLBACK")


def _patiently(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
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
_SYNCHRONOUS = {"normal": "NORMAL", "full": "FULL"}
