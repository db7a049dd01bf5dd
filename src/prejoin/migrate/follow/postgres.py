"""The log of PostgreSQL: a logical replication slot, read on an ordinary connection.

The slot is created before the first snapshot, so each change is in the snapshot or after the slot's position, or both.
Changes are peeked at, written, recorded in the state, and only then confirmed to the slot. After a crash of either side
the same changes are peeked at again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import Format
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from prejoin.migrate import codes
from prejoin.migrate.follow.log import (
    LIMIT,
    ChangeLog,
    Columns,
    LogPart,
    RowChange,
    SourceTransaction,
    changes_lost,
)
from prejoin.migrate.follow.pgoutput import Relation, decode
from prejoin.migrate.source.connection import SourceDatabase, SourceSnapshot, unreadable
from prejoin.pipeline.errors import PipelineError, RefusedError

_SLOT_LOST = (psycopg.errors.UndefinedObject, psycopg.errors.ObjectNotInPrerequisiteState)
"""Exceptions for a slot that was dropped, or whose log PostgreSQL removed (`max_slot_wal_keep_size`)."""
_BUSY = 60
"""Seconds to wait for a slot that the connection of a killed follower still holds."""


@dataclass(frozen=True, slots=True)
class _Table:
    schema: str
    name: str
    identity: frozenset[str]
    """The columns of its replica identity: what the log says about an updated or deleted row."""


class PostgresLog(ChangeLog):
    def __init__(self, source: SourceDatabase, columns: Columns, name: str) -> None:
        self._source = source
        self._columns = columns
        self.name = name
        self.created = (f"the replication slot {name}", f"the publication {name}")
        self._names: dict[tuple[str, str], str] = {}

    # --- Begin and end ----------------------------------------------------------------------------------------------

    def begin(self) -> str:
        with self._connection() as db:
            level = _value(db, "SHOW wal_level")
            if level != "logical":
                fix = "set `wal_level = logical` and restart PostgreSQL, or use the outbox"
                raise RefusedError(codes.NO_LOG, f"{self._source}: wal_level is {level}, not logical", fix)
            tables = self._tables(db)
            self._require_identity(tables)
            names = ", ".join(f"{_quote(table.schema)}.{_quote(table.name)}" for table in tables.values())
            if not _value(db, "SELECT 1 FROM pg_publication WHERE pubname = %s", self.name):
                options = "WITH (publish_via_partition_root = true)"
                with self._source.writing() as writer:
                    writer.exec_driver_sql(f"CREATE PUBLICATION {_quote(self.name)} FOR TABLE {names} {options}")
            if not self._has_slot(db):
                db.exec_driver_sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (self.name,)).close()
            return str(
                _value(db, "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s", self.name)
            )

    def require(self) -> None:
        with self._connection() as db:
            if not self._has_slot(db):
                raise self._changes_lost("it does not exist any more")

    def _changes_lost(self, reason: str) -> PipelineError:
        return changes_lost(f"changes are lost: the replication slot {self.name}: {reason}")

    def end(self) -> None:
        with self._connection() as db:
            self._when_free(
                db, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s"
            )
        with self._source.writing() as writer:
            writer.exec_driver_sql(f"DROP PUBLICATION IF EXISTS {_quote(self.name)}")

    def _has_slot(self, db: Connection) -> bool:
        return bool(_value(db, "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", self.name))

    def _tables(self, db: Connection) -> dict[str, _Table]:
        """The tables as PostgreSQL knows them, by the names of the mapping."""
        tables = {}
        for name in self._columns:
            quoted_name = ".".join(_quote(part) for part in name.split("."))
            schema, table, identity = db.exec_driver_sql(_TABLE, {"name": quoted_name}).one()
            tables[name] = _Table(schema, table, frozenset(identity))
        return tables

    def _require_identity(self, tables: dict[str, _Table]) -> None:
        """Refuses tables whose log does not identify rows. Publishing one makes the application's UPDATEs fail."""
        missing: dict[str, list[str]] = {}
        for name, table in tables.items():
            columns = set(self._columns[name])
            if not table.identity or not table.identity.issuperset(columns):
                missing[name] = sorted(columns - table.identity)
        if missing:
            lists = "; ".join(f"{name}: {', '.join(columns) or 'no key'}" for name, columns in missing.items())
            message = f"the log does not say the old values of columns that make up keys of items ({lists})"
            fix = " ".join(f"ALTER TABLE {name} REPLICA IDENTITY FULL;" for name in missing)
            raise RefusedError(codes.IDENTITY, message, f"run `{fix}`; it makes the log of these tables larger")

    # --- Reading ----------------------------------------------------------------------------------------------------

    def read(self, snapshot: SourceSnapshot, after: str, limit: int = LIMIT) -> LogPart:
        with self._connection() as db:
            if not self._names:
                tables = self._tables(db)
                self._names = {(table.schema, table.name): name for name, table in tables.items()}
            # All that is committed before this point is peeked at below, so the log has nothing of ours up to here.
            end = str(_value(db, "SELECT pg_current_wal_flush_lsn()"))
            unseen = _Unseen(snapshot)
            rows = self._when_free(db, _PEEK, limit)
            driver = db.connection.driver_connection
            assert isinstance(driver, psycopg.Connection)
            transformer = Transformer(driver)

            def load(oid: int, text: bytes) -> Any:
                return transformer.get_loader(oid, Format.TEXT).load(text)

            transactions: list[SourceTransaction] = []
            is_cut, is_whole = False, len(rows) < limit
            for decoded in decode((bytes(row[0]) for row in rows), self._columns_of, load):
                if decoded.end <= _number(after):
                    continue  # the slot did not get the last confirmation
                is_seen = not unseen.has(decoded.xid)
                is_cut = is_cut or not is_seen
                # A snapshot may see a transaction, and not yet one that is before it in the log.
                is_whole = is_whole and not (is_cut and is_seen)
                if not is_cut:
                    changes = tuple(self._changes(decoded.rows))
                    transactions.append(SourceTransaction(_lsn(decoded.end), changes, decoded.committed))
            if transactions or is_cut:
                return LogPart(tuple(transactions), is_whole, transactions[-1].position if transactions else after)
            return LogPart((), is_whole, max(after, end, key=_number))

    def _columns_of(self, relation: Relation) -> Sequence[str]:
        return self._columns.get(self._names.get((relation.schema, relation.name), ""), ())

    def _changes(self, rows: Sequence[tuple[Relation, tuple[Any, ...]]]) -> Iterator[RowChange]:
        for relation, images in rows:
            name = self._names.get((relation.schema, relation.name))
            if name is not None:
                yield RowChange(name, images)

    def confirm(self, position: str) -> None:
        with self._connection() as db:
            lsn = _value(db, "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s", self.name)
            if lsn is not None and _number(str(lsn)) < _number(position):
                self._when_free(db, f"SELECT pg_replication_slot_advance(%s, '{_lsn(_number(position))}')")

    def behind(self, position: str) -> int:
        with self._connection() as db:
            return max(0, _number(str(_value(db, "SELECT pg_current_wal_flush_lsn()"))) - _number(position))

    def _when_free(self, db: Connection, sql: str, *values: Any) -> list[Any]:
        """Runs a statement with the slot, once no other connection uses it."""
        publication = [self.name] if sql is _PEEK else []  # the publication has the name of the slot
        start = time.monotonic()
        while True:
            try:
                return list(db.exec_driver_sql(sql, (self.name, *values, *publication)))
            except DBAPIError as problem:
                if isinstance(problem.orig, _SLOT_LOST):
                    raise self._changes_lost(str(problem.orig).split("\n")[0]) from problem
                if not isinstance(problem.orig, psycopg.errors.ObjectInUse) or time.monotonic() - start > _BUSY:
                    raise
                time.sleep(0.1)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            with self._source.engine.connect() as db:
                yield db.execution_options(isolation_level="AUTOCOMMIT")
        except SQLAlchemyError as problem:
            if isinstance(getattr(problem, "orig", None), psycopg.errors.InsufficientPrivilege):
                text = str(getattr(problem, "orig", "")).split("\n")[0]
                fix = "the user needs REPLICATION, and must own the tables; or use the outbox"
                raise PipelineError(codes.NO_LOG, f"{self._source}: {text}", fix) from problem
            raise unreadable(self._source, problem) from problem


class _Unseen:
    """The transactions that a snapshot does not see.

    The log may have a transaction before new snapshots see it: while it waits for a synchronous standby, for example.
    """

    def __init__(self, snapshot: SourceSnapshot) -> None:
        _, end, running = str(snapshot.value("SELECT pg_current_snapshot()::text")).split(":")
        self._end = int(end)
        self._running = {int(xid) & 0xFFFFFFFF for xid in running.split(",") if xid}

    def has(self, xid: int) -> bool:
        # The log has 32 bits of the number of a transaction, which wrap around: later are those in the next half.
        distance = (xid - self._end) & 0xFFFFFFFF
        return xid in self._running or distance < 1 << 31


_TABLE = """
SELECT n.nspname, c.relname, array(
    SELECT a.attname FROM pg_attribute a
    LEFT JOIN pg_index i ON i.indrelid = c.oid
        AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND (c.relreplident = 'f' OR a.attnum = ANY(i.indkey))
)::text[] FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%(name)s)
"""
_PEEK = (
    "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, NULL, %s, 'proto_version', '1', 'publication_names', %s)"
)


def _value(db: Connection, sql: str, *values: Any) -> Any:
    return db.exec_driver_sql(sql, values or None).scalar()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _number(lsn: str) -> int:
    """A position in the log (LSN) as a number.

    >>> _number("1/A0"), _lsn(0x1000000A0)
    (4294967456, '1/A0')
    """
    high, _, low = lsn.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


def _lsn(number: int) -> str:
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"
