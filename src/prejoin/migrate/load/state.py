"""The state of a load, in a folder: how far each entity is, and the rows that could not be loaded.

A SQLite file, because each page of rows has to be recorded as a whole or not at all. The position is recorded after the
items are written; after a kill in between, the page is written again, which changes nothing. A lock keeps a second
process out; the system frees it when the process dies.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from prejoin.migrate import codes
from prejoin.pipeline.errors import PipelineError, RefusedError

FOLDER = ".prejoin-migrate"
"""The usual folder of the state."""
FILE = "state.db"
DEAD_LETTERS = "dead-letters.jsonl"
_VALUE_LENGTH = 10_000
"""Characters of a value that a dead letter has. The row itself is in the database."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS progress (
    entity TEXT PRIMARY KEY, after TEXT, rows INTEGER NOT NULL DEFAULT 0, units REAL NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dead (
    entity TEXT NOT NULL, key TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, row TEXT NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (entity, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ids (
    entity TEXT NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (entity, id)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class EntityProgress:
    entity: str
    after: tuple[Any, ...] | None = None
    """The key of the last row whose item is written."""
    rows: int = 0
    units: float = 0
    done: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A row that did not become an item."""

    entity: str
    key: tuple[Any, ...]
    code: str
    reason: str
    row: Mapping[str, Any]
    """The values of the row, as text where JSON has no type for them."""
    at: str


class LoadState:
    """The open state of a load."""

    def __init__(self, folder: str | Path, lock: bool = True) -> None:
        self.folder = Path(folder)
        self._lock: BinaryIO | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if lock:
                self._lock = _lock_folder(self.folder)
            # Pages are recorded by the thread that reads; results of others are collected before.
            self._db = sqlite3.connect(self.folder / FILE, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            # With WAL, NORMAL may lose the last commits when the power fails: for example, that the table was cut over.
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as problem:
            message = f"the state in {self.folder} cannot be used: {problem}"
            raise PipelineError(codes.OTHER_PLAN, message, "name another folder with `--state`") from None

    def close(self) -> None:
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> LoadState:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # --- About ------------------------------------------------------------------------------------------------------

    def about(self, name: str) -> str:
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def all_about(self) -> dict[str, str]:
        return dict(self._db.execute("SELECT name, value FROM about"))

    def say(self, **values: str) -> None:
        """Records facts about the migration, all or none of them."""
        marks = ", ".join("(?, ?)" for _ in values)
        parts = [part for pair in values.items() for part in pair]
        self._db.execute(f"INSERT OR REPLACE INTO about VALUES {marks}", parts)  # noqa: S608 - marks only

    def restart(self) -> None:
        """Forgets the load, but not that it left large contents without items."""
        with self._transaction():
            self._db.execute("DELETE FROM about WHERE name <> 'contents'")
            for table in ("progress", "dead", "ids"):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608 - one of these names

    # --- Progress ---------------------------------------------------------------------------------------------------

    def progress(self, entity: str) -> EntityProgress:
        sql = "SELECT after, rows, units, done FROM progress WHERE entity = ?"
        row = self._db.execute(sql, (entity,)).fetchone()
        if row is None:
            return EntityProgress(entity)
        return EntityProgress(entity, None if row[0] is None else decode_key(row[0]), row[1], row[2], bool(row[3]))

    def record(
        self, now: EntityProgress, dead: Sequence[DeadLetter], loaded_keys: Sequence[tuple[Any, ...]] = ()
    ) -> None:
        """Records a page: the new position, its dead letters, and letters whose rows are loaded now."""
        after = None if now.after is None else encode_key(now.after)
        with self._transaction():
            values = (now.entity, after, now.rows, now.units, now.done)
            self._db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?)", values)
            self.forget(now.entity, loaded_keys)
            self._bury(dead)

    def record_followed(
        self, position: str, dead: Sequence[DeadLetter], loaded_rows: Sequence[tuple[str, tuple[Any, ...]]]
    ) -> None:
        """Records how far the log is followed, its dead letters, and rows that are as in the database now."""
        with self._transaction():
            for entity, key in loaded_rows:
                self.forget(entity, [key])
            self._bury(dead)
            self.say(position=position)

    def forget(self, entity: str, keys: Sequence[tuple[Any, ...]]) -> None:
        self._db.executemany(
            "DELETE FROM dead WHERE entity = ? AND key = ?", [(entity, encode_key(key)) for key in keys]
        )

    def _bury(self, dead: Sequence[DeadLetter]) -> None:
        values = []
        for letter in dead:
            row_text = json.dumps(letter.row, ensure_ascii=False)
            values.append((letter.entity, encode_key(letter.key), letter.code, letter.reason, row_text, letter.at))
        self._db.executemany("INSERT OR REPLACE INTO dead VALUES (?, ?, ?, ?, ?, ?)", values)

    def _transaction(self) -> Any:
        self._db.execute("BEGIN IMMEDIATE")
        return self._db  # its context commits, or rolls back

    # --- Ids ---------------------------------------------------------------------------------------------------------

    def claim(self, entity: str, ids: Mapping[str, str]) -> dict[str, str]:
        """Records the row of each id, by its key, and returns the ids that belong to other rows, with their keys."""
        with self._transaction():
            rows = [(entity, id_, key) for id_, key in ids.items()]
            self._db.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?, ?)", rows)
        sql = "SELECT key FROM ids WHERE entity = ? AND id = ?"
        key_of_id = {id_: str(self._db.execute(sql, (entity, id_)).fetchone()[0]) for id_ in ids}
        return {id_: key for id_, key in key_of_id.items() if key != ids[id_]}

    # --- Dead letters -----------------------------------------------------------------------------------------------

    def dead_letters(self, entity: str | None = None) -> Iterator[DeadLetter]:
        sql = "SELECT entity, key, code, reason, row, at FROM dead"
        condition, values = (" WHERE entity = ?", (entity,)) if entity else ("", ())
        for row in self._db.execute(f"{sql}{condition} ORDER BY entity, key", values):
            yield DeadLetter(row[0], decode_key(row[1]), row[2], row[3], json.loads(row[4]), row[5])

    def dead_counts(self) -> dict[tuple[str, str], int]:
        """How many dead letters there are, by entity and code."""
        rows = self._db.execute("SELECT entity, code, count(*) FROM dead GROUP BY entity, code ORDER BY 1, 2")
        return {(row[0], row[1]): row[2] for row in rows}

    def write_dead_letters(self) -> Path:
        """Writes the dead letters as JSON lines, for people and scripts; removes the file if there are none."""
        path = self.folder / DEAD_LETTERS
        letters = list(self.dead_letters())
        if not letters:
            path.unlink(missing_ok=True)
            return path
        with path.open("w", encoding="utf-8") as file:
            for letter in letters:
                line = {
                    "entity": letter.entity,
                    "key": [_key_part_json(part) for part in letter.key],
                    "code": letter.code,
                    "reason": letter.reason,
                    "row": letter.row,
                    "at": letter.at,
                }
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return path


def now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _lock_folder(folder: Path) -> BinaryIO:
    file = (folder / "lock").open("ab")
    try:
        import fcntl
    except ImportError:  # Windows: without a lock
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        message = f"another process loads with the state in {folder}"
        raise RefusedError(codes.LOCKED, message, "wait for it, or name another folder with `--state`") from None
    return file


# --- Keys as text ---------------------------------------------------------------------------------------------------

_READ: Mapping[str, Any] = {
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "uuid": UUID,
    "bytes": bytes.fromhex,
    "seconds": lambda text: timedelta(seconds=float(text)),
}


def encode_key(key: Sequence[Any]) -> str:
    """A key of any types as JSON that reads back as the same key.

    >>> decode_key(encode_key((1, "a", Decimal("1.50"), b"x")))
    (1, 'a', Decimal('1.50'), b'x')
    """
    return json.dumps([_encode_value(part) for part in key], ensure_ascii=False, separators=(",", ":"))


def decode_key(text: str) -> tuple[Any, ...]:
    return tuple(_READ[part[0]](part[1]) if isinstance(part, list) else part for part in json.loads(text))


def encode_values(values: Mapping[str, Any]) -> str:
    """Values by name as JSON that reads back as the same values."""
    return json.dumps({name: _encode_value(value) for name, value in values.items()}, ensure_ascii=False)


def decode_values(text: str) -> dict[str, Any]:
    return {
        name: _READ[part[0]](part[1]) if isinstance(part, list) else part for name, part in json.loads(text).items()
    }


def _encode_value(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return ["decimal", str(value)]
        case datetime():
            return ["datetime", value.isoformat()]
        case date():
            return ["date", value.isoformat()]
        case time():
            return ["time", value.isoformat()]
        case UUID():
            return ["uuid", str(value)]
        case bytes() | bytearray() | memoryview():
            return ["bytes", bytes(value).hex()]
        case timedelta():
            return ["seconds", str(value.total_seconds())]
    raise TypeError(f"a key cannot have a {type(value).__name__}")


def _key_part_json(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else _encode_value(value)[1]


def row_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row for JSON: what it has no type for is text."""

    def as_json(value: Any) -> Any:
        match value:
            case None | bool() | int() | float():
                return value
            case dict():
                return {str(name): as_json(member) for name, member in value.items()}
            case list() | tuple() | set() | frozenset():
                return [as_json(member) for member in value]
            case bytes() | bytearray() | memoryview():
                return shorten(bytes(value).hex())
        return shorten(str(value))

    def shorten(text: str) -> str:
        return text if len(text) <= _VALUE_LENGTH else f"{text[:_VALUE_LENGTH]}… ({len(text):,} characters)"

    return {name: as_json(value) for name, value in values.items()}
