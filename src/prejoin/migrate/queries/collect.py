"""Collect the statements that an application runs: from the statistics of the database, or from files."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from prejoin.migrate import codes
from prejoin.migrate.queries.log import LoggedStatement, QueryLog, read_log
from prejoin.migrate.source.connection import SourceDatabase, begin_snapshot, bind
from prejoin.pipeline.errors import PipelineError

STATEMENT_LIMIT = 2_000
"""Statements of the statistics, the most frequent first."""

_STATEMENTS = """
SELECT s.query AS sql, sum(s.calls) AS calls FROM pg_stat_statements s
JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = current_database()
GROUP BY s.query ORDER BY sum(s.calls) DESC LIMIT {most}
"""
_SINCE = "SELECT extract(epoch FROM now() - stats_reset) FROM pg_stat_statements_info"
_DIGESTS = """
SELECT digest_text AS `sql`, sum(count_star) AS calls,
       greatest(timestampdiff(SECOND, min(first_seen), now()), 1) AS seconds
FROM performance_schema.events_statements_summary_by_digest
WHERE schema_name = database() AND digest_text IS NOT NULL
GROUP BY digest_text ORDER BY sum(count_star) DESC LIMIT {most}
"""


def from_database(source: SourceDatabase) -> tuple[QueryLog | None, str]:
    """The statements that the database counted; else None, and why: what to switch on, or to give instead."""
    if source.statements is not None:
        return source.statements, ""
    if source.dialect == "postgresql":
        return _read_statistics(
            source, "pg_stat_statements", _STATEMENTS, _SINCE, "CREATE EXTENSION pg_stat_statements"
        )
    if source.dialect == "mysql":
        return _read_statistics(
            source, "performance_schema", _DIGESTS, "", "performance_schema=ON in the server's configuration"
        )
    return None, "SQLite counts no queries: pass the application's SQL with `--queries FILE`"


def _read_statistics(
    source: SourceDatabase, origin: str, sql: str, age_sql: str, remedy: str
) -> tuple[QueryLog | None, str]:
    """The statements of a view of statistics. `age_sql` asks how long they were counted; else each row tells it."""
    missing = f"{origin} cannot be read: {remedy}, or pass the application's SQL with `--queries FILE`"
    try:
        with source.engine.connect() as connection:
            begin_snapshot(connection, source.dialect)
            rows = connection.execute(bind(sql.format(most=STATEMENT_LIMIT), {})).mappings().all()
            seconds = max((float(row.get("seconds") or 0) for row in rows), default=0.0)
            if age_sql:
                seconds = float(connection.execute(bind(age_sql, {})).scalar() or 0)
    except SQLAlchemyError:
        return None, missing
    statements = tuple(LoggedStatement(str(row["sql"]), float(row["calls"])) for row in rows)
    if not statements:
        return None, f"{origin} has counted no queries of this database: pass SQL with `--queries FILE`"
    return QueryLog(origin, statements, seconds or None), ""


def from_file(path: str) -> QueryLog:
    """The statements of a SQL file or a log."""
    try:
        text = Path(path).read_bytes().decode("utf-8", "replace")
    except OSError as problem:
        message = f"{path} cannot be read: {problem.strerror or problem}"
        raise PipelineError(codes.SOURCE, message, "check the path and its permissions", path) from None
    return read_log(text, path)
