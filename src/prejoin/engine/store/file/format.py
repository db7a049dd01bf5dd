"""The file format: its SQLite tables and version, how a file is recognised, and how an older one is upgraded.

A file is a SQLite database in WAL mode. `items` holds each item under its key bytes (see `key_layout`): the size that
DynamoDB counts, a checksum, the item as DynamoDB JSON, and the second at which it expires. `entries` holds index
entries in the same way. `tables` holds table definitions as JSON; a definition's revision grows with each change, so
that other processes notice it. `tokens` holds client tokens. `items`, `entries` and `tokens` are WITHOUT ROWID: rows
lie in the B-tree in key order, so a Query is one range scan. `records` holds stream records under the table's id and a
sequence number in one integer, because appending to a table with rowids takes half the time. Some files of version 4
lack it.

The checksum of a row is the CRC-32 of key and content, seeded with the size. `user_version` in SQLite's header is the
version of this format, and `application_id` marks the file as prejoin's.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from zlib import crc32

from prejoin.engine.store.interface import OpenError

VERSION = 5
APPLICATION_ID = int.from_bytes(b"prjn")
"""In the header of every file since version 4, to distinguish it from files of other programs."""
_FIRST_MARKED = 4
_OLDEST = 3
"""The oldest version that can be upgraded."""

_ITEMS = """
CREATE TABLE items (
    key BLOB PRIMARY KEY, size INTEGER NOT NULL, checksum INTEGER NOT NULL, item BLOB NOT NULL, expires INTEGER
) WITHOUT ROWID;
CREATE INDEX expiring ON items (expires) WHERE expires IS NOT NULL;
"""
_ENTRIES = """
CREATE TABLE entries (
    key BLOB PRIMARY KEY, size INTEGER NOT NULL, checksum INTEGER NOT NULL, item BLOB NOT NULL
) WITHOUT ROWID;
"""
_TABLES = """
CREATE TABLE tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL,
    checksum INTEGER NOT NULL, definition BLOB NOT NULL
);
"""
_TOKENS = """
CREATE TABLE tokens (
    token BLOB PRIMARY KEY, checksum INTEGER NOT NULL, record BLOB NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX forgetting ON tokens (expires);
"""
_RECORDS = "CREATE TABLE records (number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, record BLOB NOT NULL);"
_SCHEMA = _TABLES + _ITEMS + _ENTRIES + _TOKENS + _RECORDS
_BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_HEADER = 100
"""The length of the header of a SQLite file."""
_OUR_TABLES = {"tables", "items", "entries", "tokens"}


def item_checksum(key: bytes, size: int, content: bytes) -> int:
    """The checksum of an item or index entry, to detect changes on the disk."""
    return crc32(key + content, size)


def table_checksum(name: str, definition: bytes) -> int:
    return crc32(definition, crc32(name.encode()))


def resolve_path(path: str | os.PathLike[str]) -> str:
    """The absolute path of a file that can probably be opened or created."""
    name = os.fsdecode(path)
    if name in ("", ":memory:"):
        raise OpenError(f"{name!r} is not a path. To keep everything in memory, use Embedded() without one")
    if "\0" in name:
        raise OpenError(f"{name!r} is not a path: it contains a null character")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise OpenError(f"{name!r} is not a path: it contains half of a surrogate pair") from None
    # Absolute: connections are opened later as well, when the program may be in another folder. It also keeps SQLite
    # from taking a name such as "file:x" for a URI.
    absolute_path = os.path.abspath(name)
    folder = os.path.dirname(absolute_path)
    try:
        mode = os.stat(absolute_path).st_mode
    except FileNotFoundError:
        if not os.path.isdir(folder):
            raise OpenError(f"{name} cannot be created: there is no folder {folder}") from None
        return absolute_path
    except OSError as error:
        raise OpenError(f"{name} cannot be opened: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        raise OpenError(f"{name} is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise OpenError(f"{name} is not a regular file")
    return absolute_path


def check_file(path: str) -> None:
    """Refuse a file of another program, without changing it or its folder.

    The file is read through SQLite: closing a file handle of our own would drop the POSIX locks that SQLite may hold on
    the same file in this process.
    """
    try:
        first_stat = os.stat(path)
    except OSError:
        # A new file, or one that cannot be opened: SQLite reports why.
        return
    if first_stat.st_size == 0:
        return
    if first_stat.st_size < _HEADER:
        # SQLite may take a file without a whole header for an empty one.
        raise OpenError(f"{path} is not a prejoin file, or it is truncated")
    if not _has_log(path):
        # Probably not open elsewhere: read it without locks, which would create files beside it.
        try:
            _check_version(path, *_read_marks(path, "mode=ro&immutable=1"))
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            pass
        except OpenError:
            second_stat = os.stat(path)
            if not _has_log(path) and (second_stat.st_size, second_stat.st_mtime_ns) == (
                first_stat.st_size,
                first_stat.st_mtime_ns,
            ):
                raise
        else:
            return
    try:
        marks = _read_marks(path, "mode=ro")
    except sqlite3.DatabaseError as error:
        if is_busy(error):
            raise
        raise OpenError(describe_error(error, path)) from error
    except UnicodeDecodeError as error:
        raise OpenError(f"{path} is damaged: its list of tables cannot be read") from error
    _check_version(path, *marks)


def _has_log(path: str) -> bool:
    return os.path.exists(f"{path}-wal")


def _read_marks(path: str, mode: str) -> tuple[int, int, set[str]]:
    with closing(sqlite3.connect(uri(path, mode), uri=True)) as connection:
        # One snapshot: another process may be creating the tables.
        connection.execute("BEGIN")
        return _marks_of(connection)


def uri(path: str, mode: str) -> str:
    """The URI with which SQLite opens a file in a given mode."""
    return f"{Path(path).as_uri()}?{mode}"


def _marks_of(connection: sqlite3.Connection) -> tuple[int, int, set[str]]:
    """The version, the application id, and the names of the tables."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return version, mark, {name for (name,) in names}


def _check_version(path: str, version: int, mark: int, names: set[str]) -> None:
    if version == 0 and mark == 0 and not names:
        return  # empty
    # Before version 4 a file had no mark, and is recognised by its tables.
    is_ours = mark == APPLICATION_ID if version >= _FIRST_MARKED else mark == 0 and version > 0 and names >= _OUR_TABLES
    if not is_ours:
        raise OpenError(f"{path} is a database of another program")
    if not _OLDEST <= version <= VERSION:
        age = "newer" if version > VERSION else "older"
        raise OpenError(
            f"{path} was written by another version of prejoin: its format, {version}, is {age} than {VERSION}"
        )
    if missing_tables := _OUR_TABLES - names:
        raise OpenError(f"{path} is damaged: it lacks the tables {', '.join(sorted(missing_tables))}")


def prepare_schema(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables in an empty database, or upgrade an older one, in one transaction."""
    version, mark, names = _marks_of(connection)
    _check_version(path, version, mark, names)
    if version == VERSION:
        return
    if names:
        from prejoin.engine.store.file.upgrade import upgrade  # few files need it

        connection.create_function("table_checksum", 2, table_checksum, deterministic=True)
        other_tables = _TABLES + _TOKENS if version == _OLDEST else ""
        records = "" if "records" in names else _RECORDS
        upgrade(connection, version, other_tables + _ITEMS + _ENTRIES + records, item_checksum)
    else:
        # Not `executescript`, which would commit the transaction.
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={VERSION}")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection locks the file, so that the same statement may work a moment later."""
    return isinstance(error, sqlite3.OperationalError) and _result_code(error) in _BUSY_CODES


def _result_code(error: sqlite3.Error) -> int:
    """The primary result code of SQLite. Zero for an error that Python's module raises itself, which has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def describe_error(error: sqlite3.Error, path: str) -> str:
    """Describe what is wrong with a file."""
    code = _result_code(error)
    if code == sqlite3.SQLITE_NOTADB:
        return f"{path} is not a prejoin file, or its header is damaged: {error}"
    if code == sqlite3.SQLITE_CORRUPT:
        return f"{path} is damaged: {error}"
    if "Could not decode to UTF-8" in str(error):
        return f"{path} is damaged: a text in it is not UTF-8"
    if code == sqlite3.SQLITE_FULL:
        return f"{path} cannot be written: the disk is full"
    if code == sqlite3.SQLITE_IOERR:
        return f"{path} cannot be read or written: {error}. The disk may be full, or failing"
    if code == sqlite3.SQLITE_READONLY:
        return f"{path} cannot be written: it, or its folder, is read-only"
    if code == sqlite3.SQLITE_CANTOPEN:
        return f"{path} cannot be opened: there is no permission, or its folder is read-only"
    return f"{path}: {error}"
