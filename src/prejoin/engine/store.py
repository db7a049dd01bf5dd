"""The SQLite store: its schema, its connections, and the two ways in, reading and writing."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

from prejoin.protocol.errors import DynamoDBError

P = ParamSpec("P")
T = TypeVar("T")

Durability = Literal["memory", "normal", "full"]

_SCHEMA_VERSION = 2
_BUSY_SECONDS = 5.0
_SCHEMA = """
CREATE TABLE tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, definition BLOB NOT NULL
);
CREATE TABLE items (
    tid INTEGER NOT NULL, hash INTEGER NOT NULL, pk BLOB NOT NULL, sk BLOB NOT NULL,
    size INTEGER NOT NULL, item BLOB NOT NULL, expires INTEGER,
    PRIMARY KEY (tid, hash, pk, sk)
) WITHOUT ROWID;
CREATE INDEX expiring ON items (expires) WHERE expires IS NOT NULL;
CREATE TABLE entries (
    tid INTEGER NOT NULL, number INTEGER NOT NULL, ihash INTEGER NOT NULL, ipk BLOB NOT NULL, isk BLOB NOT NULL,
    pk BLOB NOT NULL, sk BLOB NOT NULL, size INTEGER NOT NULL, item BLOB NOT NULL,
    PRIMARY KEY (tid, number, ihash, ipk, isk, pk, sk)
) WITHOUT ROWID;
CREATE TABLE tokens (
    token TEXT PRIMARY KEY, digest BLOB NOT NULL, answer BLOB NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX forgetting ON tokens (expires);
"""


class Store:
    """Connections to one database. In memory there is one, shared; on a file as many as threads use at once.

    Writers of this process queue for a lock of their own first, so that SQLite's, which polls, is only contended
    between processes.
    """

    def __init__(self, path: str | os.PathLike[str] | None, durability: Durability) -> None:
        self._path = None if path is None else os.fspath(path)
        self._durability = durability
        self._writing = threading.Lock()
        self._shared = threading.RLock()
        self._idle: list[sqlite3.Connection] = []
        self._open: list[sqlite3.Connection] = []
        self._abandoned: list[sqlite3.Connection] = []
        self._pid = os.getpid()
        self._closed = False
        connection = patiently(self._prepared)
        self._idle.append(connection)

    @contextmanager
    def reading(self, *, snapshot: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection to read with; as a snapshot, all reads see one state."""
        connection = self._take()
        try:
            if snapshot:
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    connection.execute("COMMIT")
            else:
                yield connection
        finally:
            self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction that no other writer shares: committed at the end, undone on an error."""
        if self._pid != os.getpid():
            self._begin_after_fork()
        with self._writing:
            connection = self._take()
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            finally:
                self._give_back(connection)

    def close(self) -> None:
        with self._shared:
            self._closed = True
            for connection in self._open:
                connection.close()
            self._open.clear()
            self._idle.clear()

    def _begin_after_fork(self) -> None:
        """In the child of a fork: locks that another thread held stay held for ever, and a connection to a file
        must not be used, nor closed, on both sides."""
        self._pid = os.getpid()
        self._writing, self._shared = threading.Lock(), threading.RLock()
        if self._path is not None:
            self._abandoned += self._open
            self._open, self._idle = [], []

    def _take(self) -> sqlite3.Connection:
        if self._pid != os.getpid():
            self._begin_after_fork()
        self._shared.acquire()
        try:
            if self._closed:
                raise sqlite3.ProgrammingError("the store is closed")
            if self._path is None:
                return self._idle[0]
            return self._idle.pop() if self._idle else self._connect()
        finally:
            # The one connection in memory stays locked while it is used.
            if self._path is not None or self._closed:
                self._shared.release()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._path is None:
            self._shared.release()
        else:
            with self._shared:
                if self._closed:
                    connection.close()
                else:
                    self._idle.append(connection)

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
            connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS[self._durability]}")
            connection.execute("PRAGMA cache_size=-16000")
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
