"""The log of MariaDB: its binary log in row format, read as a replica reads it.

Nothing is created in the database. MariaDB tells the position of the log that a snapshot corresponds to, so each round
knows exactly which transactions its snapshot sees. MySQL does not tell it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pymysql
import sqlglot
from pymysql.err import MySQLError
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import QueryEvent, XidEvent
from pymysqlreplication.row_event import DeleteRowsEvent, RowsEvent, UpdateRowsEvent, WriteRowsEvent
from sqlglot import exp

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
from prejoin.migrate.source.connection import SourceDatabase, SourceSnapshot, unreadable
from prejoin.pipeline.errors import RefusedError

_SETTINGS = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}
_KEYS = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year", "date", "datetime", "enum"}
    | {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "binary", "varbinary"}
)
"""Types that the log tells as queries return them. Others, such as TIMESTAMP and BIT, cannot be followed in keys."""
_LOG_PURGED = 1236
"""The error number of a position that the server does not have any more."""


class BinaryLog(ChangeLog):
    def __init__(self, source: SourceDatabase, columns: Columns) -> None:
        self._source = source
        self._columns = columns
        self._database = str(source.url.database)
        self._names = {tuple(f"{self._database}.{name}".split(".")[-2:]): name for name in columns}
        self._widths: dict[tuple[str, str], int] | None = None

    # --- Begin and end ----------------------------------------------------------------------------------------------

    def begin(self) -> str:
        with self._source.snapshot() as snapshot:
            self._require_settings(snapshot)
            self._require_types(snapshot)
            self._require_no_cascades(snapshot)
            return _position(snapshot)

    def require(self) -> None:
        """Nothing was created. A log that was purged is found when it is read."""

    def end(self) -> None:
        """Nothing was created."""

    def _require_settings(self, snapshot: SourceSnapshot) -> None:
        variables = {row["Variable_name"]: row["Value"] for row in snapshot.rows("SHOW VARIABLES")}
        if "MariaDB" not in variables["version"]:
            message = f"{self._source}: MySQL does not tell the position of its log that a snapshot corresponds to"
            raise RefusedError(codes.NO_LOG, message, "use the outbox: `--outbox`")
        wrong = [name for name, value in _SETTINGS.items() if variables.get(name, "").upper() != value]
        if wrong:
            settings = ", ".join(f"{name} is {variables.get(name)}" for name in wrong)
            commands = ", ".join(f"{name} = {_SETTINGS[name]}" for name in wrong)
            raise RefusedError(codes.NO_LOG, f"{self._source}: {settings}", f"set {commands}; or use the outbox")

    def _require_types(self, snapshot: SourceSnapshot) -> None:
        for table, name in self._names.items():
            for column, (kind, _) in _types(snapshot, *table).items():
                if column in self._columns[name] and kind not in _KEYS:
                    message = (
                        f"{name}.{column} is part of a key, and the log tells a {kind} in another form than queries"
                    )
                    raise RefusedError(codes.NOT_FOLLOWED, message, "use the outbox: `--outbox`")

    def _require_no_cascades(self, snapshot: SourceSnapshot) -> None:
        """Refuses foreign keys with effects: InnoDB does not log the rows that they delete or change."""
        sql = "SELECT constraint_schema AS s, table_name AS t, constraint_name AS c, delete_rule AS d, update_rule AS u"
        for row in snapshot.rows(f"{sql} FROM information_schema.referential_constraints"):
            name = self._names.get((row["s"], row["t"]))
            if name is not None and not {row["d"], row["u"]} <= {"RESTRICT", "NO ACTION"}:
                rules = f"ON DELETE {row['d']} ON UPDATE {row['u']}"
                message = f"{name}: the foreign key {row['c']} has {rules}, and MariaDB does not log what it changes"
                fix = "use RESTRICT and let the application change these rows; or stop writes during the load"
                raise RefusedError(codes.NOT_FOLLOWED, message, fix)

    # --- Reading ----------------------------------------------------------------------------------------------------

    def read(self, snapshot: SourceSnapshot, after: str, limit: int = LIMIT) -> LogPart:
        end = _position(snapshot)
        if self._widths is None:
            self._widths = self._binary_widths(snapshot)
        transactions: list[SourceTransaction] = []
        changes = 0
        if _order(after) >= _order(end):
            return LogPart((), True, after)
        try:
            for transaction in self._transactions(after):
                if _order(transaction.position) > _order(end):
                    break  # the snapshot does not see it: the next round has it
                if transaction.changes:
                    transactions.append(transaction)
                    changes += len(transaction.changes)
                    if changes >= limit:
                        return LogPart(tuple(transactions), transaction.position == end, transaction.position)
        except MySQLError as problem:
            if problem.args[:1] == (_LOG_PURGED,):
                message = f"{self._source}: the binary log was purged before it was read: {problem.args[1]}"
                raise changes_lost(message) from problem
            raise unreadable(self._source, problem) from problem
        return LogPart(tuple(transactions), True, end)

    def _binary_widths(self, snapshot: SourceSnapshot) -> dict[tuple[str, str], int]:
        """The width of each BINARY column, by table and column."""
        widths: dict[tuple[str, str], int] = {}
        for table, name in self._names.items():
            for column, (kind, width) in _types(snapshot, *table).items():
                if kind == "binary":
                    widths[name, column] = width
        return widths

    def _transactions(self, after: str) -> Iterator[SourceTransaction]:
        file, _, offset = after.rpartition(":")
        url = self._source.url
        stream = BinLogStreamReader(
            {"host": url.host, "port": url.port or 3306, "user": url.username, "password": url.password or ""},
            random.randrange(1 << 16, 1 << 31),  # noqa: S311 - a number that no other replica has
            log_file=file,
            log_pos=int(offset),
            resume_stream=True,
            only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent, XidEvent, QueryEvent],
            only_tables=[table for _, table in self._names],
            only_schemas=list({schema for schema, _ in self._names}),
            enable_logging=False,
            pymysql_wrapper=_connect,
        )
        pending: list[RowChange] = []
        try:
            for event in stream:
                if isinstance(event, RowsEvent):
                    pending += self._changes(event)
                    continue
                query = event.query if isinstance(event, QueryEvent) else "COMMIT"
                # BEGIN is a query event; the end of a transaction of InnoDB is an XID event, which means COMMIT.
                if query in ("BEGIN", "ROLLBACK"):
                    pending = []
                    continue
                if query != "COMMIT":  # a DDL statement, which is a transaction by itself
                    pending += self._truncations(event, query)
                commit_time = datetime.fromtimestamp(event.timestamp, UTC)
                yield SourceTransaction(f"{stream.log_file}:{stream.log_pos}", tuple(pending), commit_time)
                pending = []
        finally:
            stream.close()

    def _changes(self, event: Any) -> Iterator[RowChange]:
        name = self._names.get((event.schema, event.table))
        if name is None:
            return
        for row in event.rows:
            images = [row["values"]] if "values" in row else [row["before_values"], row["after_values"]]
            yield RowChange(name, tuple(self._image(name, image) for image in images))

    def _image(self, name: str, image: dict[str, Any]) -> dict[str, Any]:
        widths = self._widths or {}
        values = {column: image[column] for column in self._columns[name]}
        for column, value in values.items():
            if (name, column) in widths and value is not None:
                # The log has BINARY(n) without trailing zeros; the decoder returns nothing but zeros as an empty text.
                values[column] = (value or b"").ljust(widths[name, column], b"\0")
        return values

    def _truncations(self, event: Any, query: str) -> Iterator[RowChange]:
        """The tables that a TRUNCATE emptied, which the log has as a text."""
        if "TRUNCATE" not in query.upper():
            return
        statement = sqlglot.parse_one(query, dialect="mysql")
        if isinstance(statement, exp.TruncateTable):
            schema = event.schema.decode() if isinstance(event.schema, bytes) else event.schema
            for table in statement.expressions:
                name = self._names.get((table.db or schema, table.name))
                if name is not None:
                    yield RowChange(name)

    def confirm(self, position: str) -> None:
        """The server keeps its log for as long as it is configured to."""

    def behind(self, position: str) -> int:
        with self._source.snapshot() as snapshot:
            logs = {str(row["Log_name"]): int(row["File_size"]) for row in snapshot.rows("SHOW BINARY LOGS")}
        file_number, offset = _order(position)
        sizes = [size for name, size in logs.items() if _order(f"{name}:0")[0] >= file_number]
        return max(0, sum(sizes) - offset)


def _connect(**settings: Any) -> Any:
    """A connection, with the name of the database as this version of PyMySQL wants it."""
    return pymysql.connect(**{"database" if name == "db" else name: value for name, value in settings.items()})


def _types(snapshot: SourceSnapshot, schema: str, table: str) -> dict[str, tuple[str, int]]:
    """The type and width of each column."""
    sql = "SELECT column_name AS c, data_type AS d, character_octet_length AS w FROM information_schema.columns"
    values = {"schema": schema, "table": table}
    rows = snapshot.rows(f"{sql} WHERE table_schema = :schema AND table_name = :table", values)
    return {row["c"]: (row["d"], int(row["w"] or 0)) for row in rows}


def _position(snapshot: SourceSnapshot) -> str:
    """The position of the log that the snapshot corresponds to: it sees all before, and nothing after."""
    rows = snapshot.rows("SHOW STATUS LIKE 'binlog_snapshot_%'")
    status = {row["Variable_name"].lower(): row["Value"] for row in rows}
    return f"{status['binlog_snapshot_file']}:{status['binlog_snapshot_position']}"


def _order(position: str) -> tuple[int, int]:
    """A position as numbers that can be compared.

    >>> _order("binlog.000007:1200")
    (7, 1200)
    """
    file, _, offset = position.rpartition(":")
    return int(file.rpartition(".")[2]), int(offset)
