"""A session of the file store: one SQLite connection, and the SQL behind the store's interface."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import add
from types import TracebackType
from typing import Any
from zlib import crc32

from prejoin.engine.store.file.format import item_checksum, table_checksum
from prejoin.engine.store.interface import (
    HIDDEN_PREFIX,
    MAX_RECORD,
    DamageError,
    Keyspace,
    RangeScan,
    Session,
    StoredRow,
    StoreError,
)
from prejoin.protocol.key_bytes import Range

BUSY_MILLISECONDS = 5000
"""How long SQLite waits for a lock of another process before it reports that the file is busy."""


class FileSnapshot:
    """A session in use for reading, all statements in one snapshot. Not a generator, which would be slower to enter."""

    __slots__ = ("_session",)

    def __init__(self, session: FileSession) -> None:
        self._session = session

    def __enter__(self) -> FileSession:
        self._session.execute("BEGIN")
        return self._session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.execute("COMMIT")


class WriteTransaction(FileSnapshot):
    """A session in use for writing. If an interrupt prevents the end, the store rolls back."""

    __slots__ = ()

    def __enter__(self) -> FileSession:
        self._session.execute("BEGIN IMMEDIATE")
        return self._session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session = self._session
        if kind is None:
            session.execute("COMMIT")
        # SQLite has rolled back by itself after some errors, such as a full disk.
        elif session.connection is not None and session.connection.in_transaction:
            session.execute("ROLLBACK")
        if kind is not None:
            session.forget_numbers()


class FileSession(Session):
    """A connection, used by one thread at a time.

    All statements share two cursors. A new cursor per statement would cost a tenth more, and `close` must be able to
    finish every statement, or SQLite keeps the file open.
    """

    execute: Callable[..., sqlite3.Cursor]

    def __init__(self, *, verify_all: bool) -> None:
        self.lock = threading.Lock()
        """Held, by `with`, while the session is in use."""
        self.thread = 0
        """The thread that uses it, or used it last."""
        self.connection: sqlite3.Connection | None = None
        self.ready = self.closed = False
        self.waits = True
        """Whether statements wait for other processes."""
        self._cursors: tuple[sqlite3.Cursor, ...] = ()
        self._verify_all = verify_all
        self._numbers: dict[int, tuple[int, float]] = {}
        """The number of the newest record of each table, and until when it is known well enough."""

    def __enter__(self) -> FileSession:
        """Use the session for reading, each statement on its own."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def open(self, connection: sqlite3.Connection) -> None:
        """Make the session usable with a configured connection."""
        self._cursors = self._cursor, self._second = connection.cursor(), connection.cursor()
        self.execute = self._cursor.execute
        self.ready = True

    def set_waits(self, waits: bool) -> None:
        self.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS if waits else 0}")
        self.waits = waits

    def finish(self) -> None:
        """End unfinished statements, as after an error in the middle of a result."""
        assert self.connection is not None
        self._cursor.close()
        self._second.close()
        self.open(self.connection)

    def close(self) -> None:
        """Close the connection and roll back uncommitted changes. After an interrupt it can be called again."""
        self.closed = True
        if self.connection is not None:
            for cursor in self._cursors:
                # The connection may be closed already.
                with suppress(sqlite3.ProgrammingError):
                    cursor.close()
            self.connection.close()

    def disable(self, message: str) -> None:
        """Refuse further statements, because the process was forked while this session was in use."""

        def refuse(*_: object) -> sqlite3.Cursor:
            raise StoreError(message)

        self.execute = refuse
        self.ready, self.connection = False, None

    def get(self, key: bytes) -> StoredRow | None:
        row = self.execute("SELECT size, item, checksum FROM items WHERE key = ?", (_blob(key),)).fetchone()
        if row is None:
            if self._verify_all:
                self._check_neighbours(key)
            return None
        size, content, checksum = row
        try:
            if crc32(key + content, size) == checksum:
                return StoredRow(size, content)
        except (TypeError, OverflowError):
            # The damage made it another type.
            pass
        raise DamageError("items", key, content)

    def put(self, key: bytes, before: StoredRow | None, row: StoredRow) -> None:
        # An upsert would search for the existing row again.
        size, content, checksum = row.size, _blob(row.content), item_checksum(key, row.size, row.content)
        if before is None:
            self.execute("INSERT INTO items VALUES (?, ?, ?, ?, NULL)", (_blob(key), size, checksum, content))
        else:
            self.execute(
                "UPDATE items SET size = ?, checksum = ?, item = ? WHERE key = ?",
                (size, checksum, content, _blob(key)),
            )

    def put_expiring(self, key: bytes, before: StoredRow | None, row: StoredRow, expires: int | None) -> None:
        size, content, checksum = row.size, _blob(row.content), item_checksum(key, row.size, row.content)
        if before is None:
            self.execute(
                "INSERT INTO items VALUES (?, ?, ?, ?, ?)",
                (_blob(key), size, checksum, content, expires),
            )
        else:
            self.execute(
                "UPDATE items SET size = ?, checksum = ?, item = ?, expires = ? WHERE key = ?",
                (size, checksum, content, expires, _blob(key)),
            )

    def delete(self, key: bytes) -> None:
        self.execute("DELETE FROM items WHERE key = ?", (_blob(key),))

    def put_entry(self, key: bytes, row: StoredRow, *, new: bool) -> None:
        size, content, checksum = row.size, _blob(row.content), item_checksum(key, row.size, row.content)
        if new:
            self.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (_blob(key), size, checksum, content))
        else:
            self.execute(
                "UPDATE entries SET size = ?, checksum = ?, item = ? WHERE key = ?",
                (size, checksum, content, _blob(key)),
            )

    def move_entry(self, old: bytes, key: bytes, row: StoredRow) -> None:
        size, content, checksum = row.size, _blob(row.content), item_checksum(key, row.size, row.content)
        self.execute(
            "UPDATE entries SET key = ?, size = ?, checksum = ?, item = ? WHERE key = ?",
            (_blob(key), size, checksum, content, _blob(old)),
        )

    def delete_entry(self, key: bytes) -> None:
        self.execute("DELETE FROM entries WHERE key = ?", (_blob(key),))

    def clear(self, keyspace: Keyspace, bounds: Range) -> None:
        self.execute(f"DELETE FROM {keyspace} WHERE key >= ? AND key < ?", bounds)  # noqa: S608

    def items(self, bounds: Range, damaged: list[DamageError] | None = None) -> Iterator[tuple[bytes, StoredRow]]:
        return self._verified_rows("items", bounds, damaged)

    def entries(self, bounds: Range, damaged: list[DamageError] | None = None) -> Iterator[tuple[bytes, StoredRow]]:
        return self._verified_rows("entries", bounds, damaged)

    def _verified_rows(
        self, keyspace: Keyspace, bounds: Range, damaged: list[DamageError] | None
    ) -> Iterator[tuple[bytes, StoredRow]]:
        # A second cursor, because entries may be written while this one is read.
        self._second.execute(
            f"SELECT key, size, item, checksum FROM {keyspace} WHERE key >= ? AND key < ?",  # noqa: S608
            bounds,
        )
        for key, size, content, checksum in self._second:
            if _is_intact(key, size, content, checksum):
                yield key, StoredRow(size, content)
            elif damaged is None:
                raise DamageError(keyspace, key, content)
            else:
                damaged.append(DamageError(keyspace, key, content))

    def append_record(self, table: int, first: int, form: bytes, *values: object) -> None:
        # The number is mostly one more than this session's last. If another session has taken it meanwhile, the record
        # exists already.
        now = time.monotonic()
        number, known_until = self._numbers.get(table, (0, 0.0))
        if now > known_until:
            number, known_until = self.last_record(table) or 0, now + _KNOWN_SECONDS
        while True:
            number = max(number + 1, first)
            key, content = table << _RECORD_BITS | number, form % (number, *values)
            try:
                self.execute("INSERT INTO records VALUES (?, ?, ?)", (key, crc32(content, number), _blob(content)))
                break
            except sqlite3.IntegrityError:
                number = self.last_record(table) or 0
        self._numbers[table] = (number, known_until)

    def forget_numbers(self) -> None:
        """Forget the numbers that a rolled back transaction has used, so that they are used again."""
        self._numbers.clear()

    def records(self, table: int, first: int, last: int, limit: int) -> list[bytes]:
        rows = self.execute(
            "SELECT number, checksum, record FROM records WHERE number BETWEEN ? AND ? ORDER BY number LIMIT ?",
            (table << _RECORD_BITS | first, table << _RECORD_BITS | last, limit),
        ).fetchall()
        for key, checksum, content in rows:
            if not isinstance(content, bytes) or crc32(content, key & MAX_RECORD) != checksum:
                raise StoreError(f"record {key & MAX_RECORD} of a stream is damaged; it is removed after a day")
        return [content for _, _, content in rows]

    def last_record(self, table: int) -> int | None:
        low = table << _RECORD_BITS
        query = "SELECT max(number) FROM records WHERE number BETWEEN ? AND ?"
        (key,) = self.execute(query, (low, low | MAX_RECORD)).fetchone()
        return None if key is None else key & MAX_RECORD

    def remove_records(self, table: int, last: int) -> None:
        low = table << _RECORD_BITS
        self.execute("DELETE FROM records WHERE number BETWEEN ? AND ?", (low, low | last))

    def contents(self, scan: RangeScan) -> Iterator[list[bytes]]:
        if self._verify_all:
            yield from self._verified_contents(scan)
            return
        self.execute(f"SELECT item {_from_clause(scan)}", (*scan.bounds, scan.limit, 0))
        while rows := self._cursor.fetchmany(_FETCHED_ROWS):
            yield [content for (content,) in rows]

    def _verified_contents(self, scan: RangeScan) -> Iterator[list[bytes]]:
        self.execute(f"SELECT key, item, size, checksum {_from_clause(scan)}", (*scan.bounds, scan.limit, 0))
        while rows := self._cursor.fetchmany(_FETCHED_ROWS):
            keys, contents, sizes, checksums = zip(*rows, strict=True)
            # Damage may have made a value one of another type.
            with suppress(TypeError, OverflowError):
                # The checksums of a chunk are computed in C. Only if one is wrong, rows are read one by one, to name
                # the damaged key.
                if tuple(map(crc32, map(add, keys, contents), sizes)) == checksums:
                    yield list(contents)
                    continue
            for _ in self.rows(scan, 0):
                pass
            raise StoreError("the file changed while it was read")

    def rows(self, scan: RangeScan, offset: int) -> Iterator[StoredRow]:
        self.execute(
            f"SELECT key, size, item, checksum {_from_clause(scan)}",
            (*scan.bounds, scan.limit - offset, offset),
        )
        while rows := self._cursor.fetchmany(_FETCHED_ROWS):
            for key, size, content, checksum in rows:
                if not _is_intact(key, size, content, checksum):
                    raise DamageError(scan.keyspace, key, content)
                yield StoredRow(size, content)

    def _check_neighbours(self, key: bytes) -> None:
        """Check the rows beside a missing key: one of them may be the item, with a damaged key."""
        for comparison, order in (("<", "DESC"), (">", "ASC")):
            row = self.execute(
                f"SELECT key, size, item, checksum FROM items WHERE key {comparison} ? "  # noqa: S608
                f"ORDER BY key {order} LIMIT 1",
                (_blob(key),),
            ).fetchone()
            if row is not None and not _is_intact(*row):
                raise DamageError("items", row[0], row[2])

    def size(self, scan: RangeScan) -> int:
        query = f"SELECT coalesce(sum(size), 0) FROM (SELECT size {_from_clause(scan)})"  # noqa: S608
        (size,) = self.execute(query, (*scan.bounds, scan.limit, 0)).fetchone()
        return int(size)

    def count(self, keyspace: Keyspace, bounds: Range) -> tuple[int, int]:
        query = f"SELECT count(*), coalesce(sum(size), 0) FROM {keyspace} WHERE key >= ? AND key < ?"  # noqa: S608
        number, size = self.execute(query, bounds).fetchone()
        return number, size

    def set_expiry(self, key: bytes, expires: int) -> None:
        self.execute("UPDATE items SET expires = ? WHERE key = ?", (expires, key))

    def clear_expiries(self, bounds: Range) -> None:
        self.execute("UPDATE items SET expires = NULL WHERE key >= ? AND key < ? AND expires IS NOT NULL", bounds)

    def expired_keys(self, first: float, last: float, limit: int) -> list[bytes]:
        rows = self.execute(
            "SELECT key FROM items WHERE expires BETWEEN ? AND ? ORDER BY expires LIMIT ?", (first, last, limit)
        ).fetchall()
        return [key for (key,) in rows]

    def table_version(self, name: str) -> tuple[int, int] | None:
        version: tuple[int, int] | None = self.execute(
            "SELECT id, revision FROM tables WHERE name = ?", (name,)
        ).fetchone()
        return version

    def table_definition(self, identity: int) -> bytes:
        name, definition, checksum = self.execute(
            "SELECT name, definition, checksum FROM tables WHERE id = ?", (identity,)
        ).fetchone()
        try:
            if table_checksum(name, definition) == checksum:
                return definition  # type: ignore[no-any-return]
        except (TypeError, AttributeError):
            # The damage made it another type.
            pass
        raise StoreError(f"the definition of table {name!r} is damaged")

    def table_name(self, identity: int) -> str:
        (name,) = self.execute("SELECT name FROM tables WHERE id = ?", (identity,)).fetchone()
        return name  # type: ignore[no-any-return]

    def table_names(self, after: str, limit: int) -> list[str]:
        query = "SELECT name FROM tables WHERE name > ? AND name < ? ORDER BY name LIMIT ?"
        return [name for (name,) in self.execute(query, (after, HIDDEN_PREFIX, limit)).fetchall()]

    def hidden_names(self, begin: str) -> list[str]:
        first = HIDDEN_PREFIX + begin
        query = "SELECT name FROM tables WHERE name >= ? AND substr(name, 1, ?) = ? ORDER BY name"
        return [name for (name,) in self.execute(query, (first, len(first), first)).fetchall()]

    def add_table(self, name: str, definition: bytes) -> int:
        self.execute(
            "INSERT INTO tables (name, revision, checksum, definition) VALUES (?, ?, ?, ?)",
            (name, 1, table_checksum(name, definition), definition),
        )
        identity = self._cursor.lastrowid
        assert identity is not None, "a row was inserted"
        return identity

    def change_table(self, identity: int, definition: bytes) -> None:
        checksum = table_checksum(self.table_name(identity), definition)
        self.execute(
            "UPDATE tables SET definition = ?, checksum = ?, revision = revision + 1 WHERE id = ?",
            (definition, checksum, identity),
        )

    def remove_table(self, identity: int) -> None:
        self.execute("DELETE FROM tables WHERE id = ?", (identity,))

    def token(self, token: bytes) -> bytes | None:
        row = self.execute("SELECT record, checksum FROM tokens WHERE token = ?", (_blob(token),)).fetchone()
        if row is None:
            return None
        record, checksum = row
        if not _is_intact(token, 0, record, checksum):
            raise StoreError("the record of a ClientRequestToken is damaged; it expires after ten minutes")
        return record  # type: ignore[no-any-return]

    def keep_token(self, token: bytes, record: bytes, expires: float) -> None:
        self.execute(
            "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?)",
            (_blob(token), item_checksum(token, 0, record), _blob(record), expires),
        )

    def forget_tokens(self, before: float, max_tokens: int) -> None:
        self.execute("DELETE FROM tokens WHERE expires < ?", (before,))
        self.execute(
            "DELETE FROM tokens WHERE token IN (SELECT token FROM tokens ORDER BY expires "
            "LIMIT max(0, (SELECT count(*) FROM tokens) - ?))",
            (max_tokens,),
        )


_FETCHED_ROWS = 100
_RECORD_BITS = MAX_RECORD.bit_length()
_KNOWN_SECONDS = 60.0
"""How long a session relies on the last number that it has used. Numbers are trimmed after a day."""
_blob = bytearray
"""How bytes are passed to SQLite on hot paths. For `bytes`, the sqlite3 module searches its adapters each time."""


def _is_intact(key: Any, size: Any, content: Any, checksum: Any) -> bool:
    try:
        return bool(crc32(key + content, size) == checksum)
    except (TypeError, OverflowError):
        # The damage made it another type.
        return False


def _from_clause(scan: RangeScan) -> str:
    return _FROM_CLAUSES[scan.keyspace, scan.forward]


_FROM_CLAUSES = {
    (keyspace, forward): f"FROM {keyspace} WHERE key >= ? AND key < ? "
    f"ORDER BY key{'' if forward else ' DESC'} LIMIT ? OFFSET ?"
    for keyspace in ("items", "entries")
    for forward in (True, False)
}
"""The end of each SELECT. Everything else is a parameter."""
