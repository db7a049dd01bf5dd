"""The file store: gives sessions to threads, queues writers, and checkpoints the log."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from threading import get_ident
from typing import TypeVar, TypeVarTuple

from prejoin.engine.store.file.fork import FORK_MESSAGE, gate, pass_gate, register
from prejoin.engine.store.file.format import check_file, describe_error, is_busy, prepare_schema, resolve_path, uri
from prejoin.engine.store.file.session import BUSY_MILLISECONDS, FileSession, FileSnapshot, WriteTransaction
from prejoin.engine.store.interface import BusyError, Durability, OpenError, Store, StoreError
from prejoin.protocol.errors import DynamoDBError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_PATIENCE_SECONDS = 60.0
_SYNCHRONOUS = {"normal": "NORMAL", "full": "FULL"}
_LOG_BYTES = 32 * 1024 * 1024
"""The log is checkpointed when it is longer than this. A checkpoint waits for the disk and writes each page once,
however often it was changed: with a quarter of this length, writes take twice as long.
"""
_LOG_LOOKS = 64
"""The number of this process's writes between two checks of the log's length."""
_NO_QUEUE = nullcontext()


class _Current(threading.local):
    """The state of the calling thread."""

    session: FileSession
    waits = True
    """Whether it may wait for another process. An event loop may not."""


class FileStore(Store):
    """Connections to one file, as many as threads use at once.

    Writers of this process queue for a lock of their own first. SQLite's lock, which polls, is then only contended
    between processes.

    An interrupt such as Ctrl-C can raise KeyboardInterrupt between any two bytecodes of Python. So everything that must
    be released is entered by `with` on an object implemented in C, which an interrupt cannot separate from its
    `__exit__`: the queue's lock, the session's lock, and the connection, which rolls back an open transaction. A
    session is returned to the pool only after a call that ended normally. Any other session is closed, by its user or,
    if that was interrupted too, by the next thread that needs one. Decision 021 in `docs/decisions/engine-files.md` has
    the background.
    """

    def __init__(self, path: str | os.PathLike[str], durability: Durability, *, verify_all: bool = False) -> None:
        self._path = resolve_path(path)
        self._durability = durability
        self._verify_all = verify_all
        self._prepared = self._closed = False
        self._writer = threading.Lock()
        self._current = _Current()
        self._sessions: set[FileSession] = set()
        self._idle: list[FileSession] = []
        self._writes = 0
        self._log_is_long = False
        """Whether the next write that may wait has to shorten the log."""
        register(self)
        try:
            _retry_while_busy(self._use, lambda: None)
        except sqlite3.Error as error:
            raise OpenError(describe_error(error, self._path)) from error
        except DynamoDBError as error:
            raise OpenError(f"{self._path} cannot be opened: {error.message}") from error
        except StoreError as error:
            raise OpenError(f"{self._path} cannot be opened: {error}") from error

    def reading(self, *, snapshot: bool = False) -> FileSession | FileSnapshot:
        session = self._current.session
        return FileSnapshot(session) if snapshot else session

    def writing(self) -> WriteTransaction:
        return WriteTransaction(self._current.session)

    def read(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        try:
            return self._use(work, *arguments)
        except sqlite3.Error as error:
            return self._again(error, self._use, work, *arguments)

    def write(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        try:
            return self._write(work, *arguments)
        except sqlite3.Error as error:
            return self._again(error, self._write, work, *arguments)

    def try_write(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        try:
            return self._write(work, *arguments)
        except sqlite3.Error as error:
            raise StoreError(describe_error(error, self._path)) from error

    def read_now(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        return self._now(lambda: self._use(work, *arguments))

    def write_now(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        if self._log_is_long or self._writer.locked():
            raise BusyError
        return self._now(lambda: self._write(work, *arguments))

    def _now(self, work: Callable[[], T]) -> T:
        if gate:
            raise BusyError
        self._current.waits = False
        try:
            return work()
        except sqlite3.Error as error:
            if is_busy(error):
                raise BusyError from error
            raise StoreError(describe_error(error, self._path)) from error
        finally:
            self._current.waits = True

    def _again(self, error: sqlite3.Error, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Retry some work if another process locked the file. Otherwise raise a StoreError that says what is wrong."""
        if not is_busy(error):
            raise StoreError(describe_error(error, self._path)) from error
        try:
            return _retry_while_busy(work, *arguments)
        except sqlite3.Error as later:
            raise StoreError(describe_error(later, self._path)) from later

    def close(self) -> None:
        self._closed = True
        for session in list(self._sessions):
            # In a signal handler, the interrupted call of this thread may hold a session. It closes that itself.
            if not (session.lock.locked() and session.thread == get_ident()):
                self._discard(session)

    def verify_file(self) -> list[str]:
        """List what SQLite finds wrong with the structure of the file."""

        def check() -> list[str]:
            session = self._current.session
            return [text for (text,) in session.execute("PRAGMA integrity_check").fetchall() if text != "ok"]

        return self.read(check)

    def _write(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        if gate:
            pass_gate()
        # An event loop stays out of the queue, where a thread may wait for another process. SQLite itself tells it at
        # once whether anybody else writes.
        with self._writer if self._current.waits else _NO_QUEUE:
            result = self._use(work, *arguments)
            self._writes += 1
            if self._log_is_long or self._writes % _LOG_LOOKS == 1:
                self._shorten_log()
            return result

    def _use(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Run a function with a session that no other thread uses meanwhile."""
        while True:
            if gate:
                pass_gate()
            session = self._idle.pop() if self._idle else self._new_session()
            with session.lock:
                # A fork closes the gate, then looks for locked sessions: either it sees our lock, or we see the gate.
                if session.closed:
                    continue
                if gate:
                    self._idle.append(session)
                    continue
                is_clean = False
                session.thread = get_ident()
                try:
                    connection = session.connection if session.ready else self._connect(session)
                    self._current.session = session
                    if session.waits is not self._current.waits:
                        session.set_waits(self._current.waits)
                    with connection:  # type: ignore[union-attr]
                        result = work(*arguments)
                    is_clean = True
                    return result
                except DynamoDBError:
                    session.finish()
                    is_clean = True
                    raise
                finally:
                    if is_clean and not self._closed:
                        self._idle.append(session)
                    else:
                        session.close()
                        self._sessions.discard(session)

    def _new_session(self) -> FileSession:
        """A session without a connection. Closes sessions that an interrupt kept from being returned."""
        if self._closed:
            raise StoreError("it is closed")
        idle = set(self._idle)
        for lost in list(self._sessions):
            if lost not in idle and not lost.lock.locked():
                # If its user is only about to lock it, it takes another.
                self._discard(lost)
        session = FileSession(verify_all=self._verify_all)
        self._sessions.add(session)
        return session

    def _discard(self, session: FileSession) -> None:
        with session.lock:
            session.close()
            self._sessions.discard(session)

    def _connect(self, session: FileSession) -> sqlite3.Connection:
        if not self._prepared:
            check_file(self._path)
        # The file is created once. If it is deleted later, it is not replaced by an empty one.
        name = uri(self._path, "mode=rw" if self._prepared else "mode=rwc")
        session.waits = self._current.waits
        # Stored in the session at once, so that it is closed with it, whatever happens next.
        session.connection = sqlite3.connect(
            name,
            timeout=BUSY_MILLISECONDS / 1000 if session.waits else 0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
            uri=True,
        )
        connection = session.connection
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        # After a checkpoint the log is written from its beginning again. Its space is kept: overwriting it takes less
        # time. But not all of `_LOG_BYTES` is kept, so that a longer log is found by its size.
        connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES * 15 // 16}")
        connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS[self._durability]}")
        connection.execute("PRAGMA cache_size=-16000")
        # Some builds overwrite deleted content with zeros, which costs a sixth of a write.
        connection.execute("PRAGMA secure_delete=OFF")
        if not self._prepared:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                prepare_schema(connection, self._path)
                connection.execute("COMMIT")
            self._prepared = True
        session.open(connection)
        return connection

    def _shorten_log(self) -> None:
        """Checkpoint the log when it has become long.

        SQLite's automatic checkpoints are off. Until SQLite 3.51.3, a checkpoint that runs while another connection
        commits can, in a rare race, skip frames that the commit has just written at the beginning of the log. Here one
        connection holds the write lock, so that no process can commit, while another one runs the checkpoint.
        """
        try:
            self._log_is_long = os.path.getsize(f"{self._path}-wal") > _LOG_BYTES
            if self._log_is_long and self._current.waits:
                # If the checkpoint fails, the next look finds the log long again.
                self._log_is_long = False
                self._use(self._checkpoint)
        except (OSError, sqlite3.Error, StoreError):
            # The write is done; the checkpoint can wait.
            pass

    def _checkpoint(self) -> None:
        session = self._current.session
        session.execute("BEGIN IMMEDIATE")
        checkpointer = FileSession(verify_all=False)
        self._sessions.add(checkpointer)
        # Not through `_use`: it would wait for a fork, which waits for this session.
        with checkpointer.lock:
            checkpointer.thread = get_ident()
            try:
                self._connect(checkpointer).execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            finally:
                checkpointer.close()
                self._sessions.discard(checkpointer)
        session.execute("ROLLBACK")

    def threads_inside(self) -> list[int]:
        """The threads that are using a session."""
        return [session.thread for session in list(self._sessions) if session.lock.locked()]

    def close_sessions(self) -> None:
        """Close every connection. No session may be in use, and the gate must be closed."""
        for session in list(self._sessions):
            session.close()
        self._sessions.clear()
        self._idle.clear()

    def begin_in_child(self, *, safe: bool) -> None:
        """In a forked child, replace the locks, which the parent's threads may hold. Leave open connections alone."""
        self._writer = threading.Lock()
        if not safe:
            for session in list(self._sessions):
                if session.connection is not None:
                    _keep_open(session.connection)
                session.disable(FORK_MESSAGE)
        self._sessions, self._idle = set(), []


def _keep_open(connection: sqlite3.Connection) -> None:
    """Keep the parent's connection from being closed here, even at exit. Closing it could delete the log that other
    processes write to.
    """
    with suppress(ImportError, AttributeError):
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _retry_while_busy(work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Run a function, and retry for up to a minute while another process locks the file.

    Only for work that is rolled back when it fails. SQLite waits by itself in most places, but not in all, for example
    when two processes create the same file at once.
    """
    deadline = 0.0
    while True:
        try:
            return work(*arguments)
        except sqlite3.OperationalError as error:
            now = time.monotonic()
            deadline = deadline or now + _PATIENCE_SECONDS
            if not is_busy(error):
                raise
            if now > deadline:
                raise DynamoDBError(
                    "InternalServerError", "Another process has locked the file for a minute"
                ) from error
            time.sleep(random.uniform(0.001, 0.05))  # noqa: S311
