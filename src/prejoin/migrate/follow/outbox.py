"""The outbox as a log: what an application recorded with `record_changes`.

Its rows become visible with the changes that they are about, so a snapshot that sees one sees the other. Rows that were
read are deleted. There is no position: numbers are given before transactions are committed, so a later row may have a
smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from prejoin.migrate import codes
from prejoin.migrate.follow.log import LIMIT, ChangeLog, Columns, LogPart, RowChange, SourceTransaction
from prejoin.migrate.load.state import decode_values
from prejoin.migrate.outbox import NAME, outbox_table
from prejoin.migrate.source.connection import SourceDatabase, SourceSnapshot
from prejoin.pipeline.errors import RefusedError

_DELETE_BATCH = 500
"""Rows that one statement deletes."""


class OutboxLog(ChangeLog):
    created = (f"what {NAME} holds",)

    def __init__(self, source: SourceDatabase, columns: Columns) -> None:
        self._source = source
        self._names = {name.lower(): name for name in columns} | {
            name.rpartition(".")[2].lower(): name for name in columns
        }
        self._ids: Sequence[int] = ()
        """The rows of the last part, which are deleted when it is confirmed."""

    def begin(self) -> str:
        if not sa.inspect(self._source.engine).has_table(NAME):
            fix = "deploy the application with `record_changes` and its table first; the guide shows how"
            raise RefusedError(codes.NO_LOG, f"{self._source}: there is no table {NAME}", fix)
        return NAME

    def require(self) -> None:
        self.begin()

    def read(self, snapshot: SourceSnapshot, after: str, limit: int = LIMIT) -> LogPart:
        sql = f"SELECT id, transaction_id, table_name, images FROM {NAME} ORDER BY id LIMIT {limit + 1}"  # noqa: S608
        rows = snapshot.rows(sql)
        self._ids = [int(row["id"]) for row in rows[:limit]]
        changes: dict[str, list[RowChange]] = {}
        for row in rows[:limit]:
            transaction_changes = changes.setdefault(row["transaction_id"], [])
            name = self._names.get(row["table_name"].lower())
            if name is not None:
                transaction_changes.append(RowChange(name, (decode_values(row["images"]),)))
        transactions = tuple(SourceTransaction(NAME, tuple(group)) for group in changes.values())
        return LogPart(transactions, len(rows) <= limit, NAME)

    def confirm(self, position: str) -> None:
        table = outbox_table(sa.MetaData())
        with self._source.writing() as db:
            for start in range(0, len(self._ids), _DELETE_BATCH):
                ids = self._ids[start : start + _DELETE_BATCH]
                db.execute(sa.delete(table).where(table.c.id.in_(ids)))
        self._ids = ()

    def behind(self, position: str) -> int:
        with self._source.snapshot() as snapshot:
            return int(snapshot.value(f"SELECT count(*) FROM {NAME}"))  # noqa: S608

    def end(self) -> None:
        """Deletes what is recorded. The table is the application's."""
        if sa.inspect(self._source.engine).has_table(NAME):
            with self._source.writing() as db:
                db.execute(sa.delete(outbox_table(sa.MetaData())))
