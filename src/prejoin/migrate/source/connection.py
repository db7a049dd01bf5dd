"""A read-only connection to a relational database, with one consistent snapshot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from prejoin.migrate import codes
from prejoin.migrate.queries.log import QueryLog
from prejoin.migrate.source.model import Database
from prejoin.pipeline.errors import InvalidArgumentError, PipelineError

ENVIRONMENT = "PREJOIN_SOURCE"
"""The variable with the URL of the source, if none is given."""
_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
_COLONS = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|::|:(?P<name>\w+)|:")
_FORMS = "sqlite:///shop.db, postgresql://user@host/shop, mysql://user@host/shop or dynamodb://localhost:8000"


class SourceDatabase:
    """A database that rows are read from. Every transaction is read-only, by the database's own means."""

    described: Database | None = None
    """The tables, if the source knows them without a reflection."""
    statements: QueryLog | None = None
    """The statements that are served, if the source knows them."""

    def __init__(self, url: str) -> None:
        self.url = _read_url(url)
        self.dialect = {"mariadb": "mysql"}.get(self.url.get_backend_name(), self.url.get_backend_name())
        self.log = self.dialect
        """The kind of log that changes can be read from."""
        self.engine: Engine = _engine(self.url, self.dialect)

    def __str__(self) -> str:
        """The URL without its password."""
        return public_url(self.url)

    def renew(self) -> None:
        """Makes later snapshots see the source as it is now. Only a source that is read from a copy has to do it."""

    @contextmanager
    def snapshot(self) -> Iterator[SourceSnapshot]:
        """A transaction that sees the database as it is now, until it ends."""
        try:
            with self.engine.connect() as connection:
                begin_snapshot(connection, self.dialect)
                yield SourceSnapshot(self, connection)
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as problem:
            raise unreadable(self, problem) from problem

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write: only what a migration keeps in the source, and says before."""
        engine = sa.create_engine(self.url)
        try:
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as problem:
            raise unreadable(self, problem) from problem
        finally:
            engine.dispose()

    def close(self) -> None:
        self.engine.dispose()

    def __enter__(self) -> SourceDatabase:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


class SourceSnapshot:
    """An open transaction. Values come as the driver returns them: types are converted by the mapping."""

    def __init__(self, source: SourceDatabase, connection: Connection) -> None:
        self.source = source
        self.dialect = source.dialect
        self.connection = connection

    def quote(self, name: str) -> str:
        preparer = self.source.engine.dialect.identifier_preparer
        return ".".join(preparer.quote_identifier(part) for part in name.split("."))

    def rows(self, sql: str, values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """The rows of a statement with `:name` parameters."""
        result = self.connection.execute(bind(sql, values or {}))
        names = tuple(result.keys())
        return [dict(zip(names, row, strict=True)) for row in result]  # a third of the time of `row._mapping`

    def tuples(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a statement, as the driver makes them: SQLAlchemy's own rows take as long again."""
        with self.connection.execute(bind(sql, values or {})) as result:
            assert result.cursor is not None  # the statement is a SELECT
            return list(result.cursor.fetchall())

    def value(self, sql: str, values: Mapping[str, Any] | None = None) -> Any:
        row = self.connection.execute(bind(sql, values or {})).first()
        return None if row is None else row[0]

    def stream(self, sql: str, values: Mapping[str, Any] | None = None, size: int = 1000) -> Iterator[Sequence[Any]]:
        """Rows as tuples, fetched `size` at a time, so that memory stays flat."""
        options = {"stream_results": True, "max_row_buffer": size}
        result = self.connection.execution_options(**options).execute(bind(sql, values or {}))
        try:
            yield from result
        finally:
            result.close()


def bind(sql: str, values: Mapping[str, Any]) -> sa.TextClause:
    """A statement whose parameters are exactly the names of `values`; other colons, as in a cast, are text.

    >>> str(bind("SELECT a::text, ':key' FROM t WHERE a = :key", {"key": 1}))
    "SELECT a::text, ':key' FROM t WHERE a = :key"
    """

    def escape(match: re.Match[str]) -> str:
        if match.group("name") in values:
            return match.group()
        return match.group().replace(":", "\\:")

    for name, value in values.items():
        if isinstance(value, list):  # SQLAlchemy writes the parentheses of a list itself
            sql = sql.replace(f"(:{name})", f":{name}")
    text = sa.text(_COLONS.sub(escape, sql))
    return text.bindparams(*(_parameter(name, value) for name, value in values.items()))


def _parameter(name: str, value: Any) -> sa.BindParameter[Any]:
    is_list = isinstance(value, list)
    sample = value[0] if is_list and value else value
    if isinstance(sample, str):
        # SQLAlchemy would cast it to VARCHAR, which PostgreSQL does not compare with an enum, nor with CHAR as it does.
        return sa.bindparam(name, value, type_=sa.types.NULLTYPE, expanding=is_list)
    return sa.bindparam(name, value, expanding=is_list)


def open_source(url: str | None) -> SourceDatabase:
    """The database of a URL, or of the environment variable PREJOIN_SOURCE. Checks that it responds."""
    address = url or os.environ.get(ENVIRONMENT, "")
    if not address:
        raise InvalidArgumentError(codes.SOURCE, "no database is given", f"pass a URL ({_FORMS}), or set {ENVIRONMENT}")
    if address.startswith("dynamodb:"):
        from prejoin.migrate.source.dynamodb import DynamoDBSource  # it is one of these sources itself

        return DynamoDBSource(address)
    source = SourceDatabase(address)
    with source.snapshot() as snapshot:
        snapshot.value("SELECT 1")
    return source


def public_url(url: URL | str) -> str:
    """A URL without its password and its query."""
    full_url = make_url(url) if isinstance(url, str) else url
    backend = full_url.get_backend_name()
    return full_url.set(drivername=backend, password=None, query={}).render_as_string(hide_password=True)


def _read_url(text: str) -> URL:
    if "://" not in text and Path(text).is_file():
        text = f"sqlite:///{text}"
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, SQLAlchemyError, ValueError):
        raise InvalidArgumentError(codes.SOURCE, "the URL of the database cannot be read", f"write {_FORMS}") from None
    if backend not in _DRIVERS:
        message = f"`{backend}` is not a database that can be read"
        raise InvalidArgumentError(codes.SOURCE, message, f"use SQLite, PostgreSQL, MySQL or MariaDB: {_FORMS}")
    url = url.set(drivername=_DRIVERS[backend])
    if url.get_backend_name() == "mysql" and url.password is None and "MYSQL_PWD" in os.environ:
        url = url.set(password=os.environ["MYSQL_PWD"])
    return url


def _engine(url: URL, dialect: str) -> Engine:
    if dialect == "sqlite":
        path = Path(url.database or "")
        if not path.is_file():
            message = f"there is no file `{path}`"
            raise PipelineError(codes.SOURCE, message, "check the path: sqlite:///shop.db is relative, with 3 slashes")
        # mode=ro: SQLite itself refuses writes, and never creates a file.
        address = f"sqlite+pysqlite:///file:{path.absolute()}?mode=ro&uri=true"
        return sa.create_engine(address, connect_args={"check_same_thread": False})
    if dialect == "postgresql":
        url_options = url.query.get("options", "")  # such as a search_path
        options = [url_options] if isinstance(url_options, str) else [*url_options]
        options.append("-c default_transaction_read_only=on")
        return sa.create_engine(url, connect_args={"options": " ".join(options).strip()})
    return sa.create_engine(url, connect_args={"init_command": "SET SESSION TRANSACTION READ ONLY"})


def begin_snapshot(connection: Connection, dialect: str) -> None:
    """Begins a read-only transaction whose snapshot is taken now."""
    connection.execution_options(isolation_level="AUTOCOMMIT")
    if dialect == "sqlite":
        # A deferred transaction takes its snapshot with the first read.
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").close()
    elif dialect == "postgresql":
        connection.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.exec_driver_sql("SELECT 1").close()
    else:
        connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")


def unreadable(source: SourceDatabase, problem: Exception) -> PipelineError:
    """The error for a database that does not respond, or refuses a statement. Never with the password."""
    text = str(getattr(problem, "orig", None) or problem).strip().split("\n")[0]
    if source.url.password:
        text = text.replace(str(source.url.password), "***")
    fix = "check the URL, the network, and that this user may read the tables"
    return PipelineError(codes.UNREADABLE, f"{source}: {text}", fix)
