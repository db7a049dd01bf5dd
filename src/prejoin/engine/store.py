"""The SQLite store: its schema, its connections, and the two ways in, reading and writing."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Durability = Literal["memory", "normal", "full"]

_SCHEMA_VERSION = 1
_BUSY_SECONDS = 60.0
_SCHEMA = """
CREATE TABLE tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, definition BLOB NOT NULL
);
CREATE TABLE items (
    tid INTEGER NOT NULL, pk BLOB NOT NULL, sk BLOB NOT NULL, size INTEGER NOT NULL, item BLOB NOT NULL,
    PRIMARY KEY (tid, pk, sk)
) WITHOUT ROWID;
CREATE TABLE entries (
    tid INTEGER NOT NULL, number INTEGER NOT NULL, ipk BLOB NOT NULL, isk BLOB NOT NULL,
    pk BLOB NOT NULL, sk BLOB NOT NULL, size INTEGER NOT NULL, item BLOB NOT NULL,
    PRIMARY KEY (tid, number, ipk, isk, pk, sk)
) WITHOUT ROWID;
CREATE TABLE tokens (
    token TEXT PRIMARY KEY, digest BLOB NOT NULL, answer BLOB NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
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
        connection = self._connect()
        self._create(connection)
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
        if self._path is not None:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS[self._durability]}")
        connection.execute("PRAGMA cache_size=-16000")
        self._open.append(connection)
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        connection.execute("COMMIT")
        if version > _SCHEMA_VERSION:
            self.close()
            name = Path(self._path or "").name
            raise ValueError(f"{name} was written by a newer prejoin: its format is {version}")


_SYNCHRONOUS = {"memory": "OFF", "normal": "NORMAL", "full": "FULL"}
