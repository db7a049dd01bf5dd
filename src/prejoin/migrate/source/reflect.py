"""Reflect a database: its tables, columns, keys and figures, as a `Database`.

Types that the database declares are facts. Others are guesses from samples of the values, and carry the reason:
a text column of a SQLite file that holds only ISO times, a TINYINT(1) that is a boolean by MySQL's convention.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
import sqlglot
from sqlalchemy.engine.reflection import Inspector
from sqlalchemy.exc import SAWarning, SQLAlchemyError
from sqlglot import exp
from sqlglot.errors import SqlglotError

from prejoin.migrate import codes
from prejoin.migrate.source.connection import SourceDatabase, SourceSnapshot, unreadable
from prejoin.migrate.source.model import Column, Database, Fanout, ForeignKey, Table
from prejoin.pipeline.errors import PipelineError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.types import STRING, Kind, Type

SAMPLE = 200
"""Rows that types and sizes are judged by."""
COUNTED = 5_000_000
"""Above this estimate of the database's statistics, rows are not counted."""
BOOKKEEPING = re.compile(
    r"(sqlite_.*|alembic_version|django_(migrations|session|admin_log|content_type)|auth_permission|"
    r"schema_migrations|ar_internal_metadata|flyway_schema_history|databasechangelog(lock)?|"
    r"__EFMigrationsHistory|knex_migrations(_lock)?|_prisma_migrations|migrations|typeorm_metadata|spatial_ref_sys)",
    re.IGNORECASE,
)
"""Tables of frameworks that say nothing about the application."""
_JSON = re.compile(r"json_valid\s*\(\s*[`\"]?(\w+)", re.IGNORECASE)

_KINDS: Sequence[tuple[str, Kind]] = (
    ("Boolean", Kind.BOOLEAN),
    ("BigInteger", Kind.INTEGER),
    ("Integer", Kind.INTEGER),
    ("Float", Kind.NUMBER),
    ("Numeric", Kind.DECIMAL),
    ("DateTime", Kind.DATETIME),
    ("Date", Kind.DATE),
    ("Uuid", Kind.UUID),
    ("JSON", Kind.MAP),
    ("LargeBinary", Kind.BINARY),
    ("_Binary", Kind.BINARY),
    ("Time", Kind.STRING),
    ("Interval", Kind.STRING),
    ("INTERVAL", Kind.STRING),
    ("String", Kind.STRING),
)


def reflect(source: SourceDatabase, schema: str | None = None, progress: Progress = SILENT) -> Database:
    """The tables of a database, or of one of its schemas, with counts, sizes and the rows for each parent."""
    if source.described is not None:
        return source.described
    return _guarded(source, lambda: _reflect(source, schema, progress))


def reflect_tables(source: SourceDatabase, names: Iterable[str]) -> Database:
    """Some tables, without figures. A name may have a schema before a dot. Missing tables are left out."""
    if source.described is not None:
        return source.described
    return _guarded(source, lambda: _reflect_tables(source, names))


def _guarded(source: SourceDatabase, work: Callable[[], Database]) -> Database:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # types that SQLAlchemy does not know are judged by samples
            return work()
    except SQLAlchemyError as problem:
        raise unreadable(source, problem) from problem


def _reflect_tables(source: SourceDatabase, names: Iterable[str]) -> Database:
    tables = []
    with source.snapshot() as snapshot:
        inspector = sa.inspect(snapshot.connection)
        for full in dict.fromkeys(names):
            schema, _, name = full.rpartition(".")
            if inspector.has_table(name, schema=schema or None):
                tables.append(_table(snapshot, inspector, name, schema or None, figures=False))
    return Database(source.dialect, "", tuple(tables))


def _reflect(source: SourceDatabase, schema: str | None, progress: Progress) -> Database:
    with source.snapshot() as snapshot:
        inspector = sa.inspect(snapshot.connection)
        names = inspector.get_table_names(schema=schema)
        views = inspector.get_view_names(schema=schema)
        left_out = dict.fromkeys(views, "a view: its rows come from other tables")
        left_out |= {name: "bookkeeping of a framework" for name in names if BOOKKEEPING.fullmatch(name)}
        tables = []
        for number, name in enumerate(names, 1):
            if name not in left_out:
                progress.update(f"table {number} of {len(names)}: {name}")
                tables.append(_table(snapshot, inspector, name, schema))
    if not tables:
        fix = "check the name of the database; `--schema` names another schema"
        raise PipelineError(codes.NO_TABLES, f"{source} has no tables", fix)
    database = source.url.database or ""
    name = re.split(r"[/\\]", database)[-1].removesuffix(".db").removesuffix(".sqlite").removesuffix(".sqlite3")
    return Database(source.dialect, name, tuple(tables), left_out)


def _table(
    snapshot: SourceSnapshot, inspector: Inspector, name: str, schema: str | None, figures: bool = True
) -> Table:
    full = f"{schema}.{name}" if schema else name
    quoted = snapshot.quote(full)
    rows, estimated = _count(snapshot, full, quoted) if figures else (0, True)
    sample = snapshot.rows(f"SELECT * FROM {quoted} AS prejoin_sample LIMIT {SAMPLE}")  # noqa: S608 - quoted by the dialect
    key = tuple(inspector.get_pk_constraint(name, schema=schema).get("constrained_columns") or ())
    checks = _checks(inspector, name, schema)
    members = dict(found for check in checks for found in _members(check, snapshot.dialect))
    if snapshot.dialect == "mysql":  # SQLAlchemy does not see the checks that MariaDB has for a column
        checks += [str(row.get("Create Table")) for row in snapshot.rows(f"SHOW CREATE TABLE {quoted}")]
    documents = {found for check in checks for found in _JSON.findall(check)}
    columns = tuple(
        _column(described, [row.get(described["name"]) for row in sample], key, snapshot.dialect, members, documents)
        for described in inspector.get_columns(name, schema=schema)
    )
    foreign = tuple(
        ForeignKey(
            tuple(fk["constrained_columns"]),
            f"{fk['referred_schema']}.{fk['referred_table']}" if fk.get("referred_schema") else fk["referred_table"],
            tuple(fk["referred_columns"]),
        )
        for fk in inspector.get_foreign_keys(name, schema=schema)
    )
    unique = [tuple(u["column_names"]) for u in inspector.get_unique_constraints(name, schema=schema)]
    # SQLite: SQLAlchemy looks for constraints in the text of CREATE TABLE, and misses some. Their indexes it finds.
    automatic = {"include_auto_indexes": True} if snapshot.dialect == "sqlite" else {}
    for index in inspector.get_indexes(name, schema=schema, **automatic):
        partial = any(str(option).endswith("_where") for option in index.get("dialect_options", {}))
        if index.get("unique") and not partial and None not in index["column_names"]:
            unique.append(tuple(str(one) for one in index["column_names"]))
    size = sum(c.size or 0 for c in columns) if sample else None
    unique = [one for one in dict.fromkeys(unique) if one != key]
    found = Table(full, columns, key, tuple(unique), foreign, rows, estimated, size)
    return replace(found, fanouts={fk.columns: f for fk in foreign if (f := fanout(snapshot, quoted, fk, rows))})


# --- Figures --------------------------------------------------------------------------------------------------------


def _count(snapshot: SourceSnapshot, name: str, quoted: str) -> tuple[int, bool]:
    if (estimate := _estimate(snapshot, name)) > COUNTED:
        return estimate, True
    return int(snapshot.value(f"SELECT count(*) AS prejoin_count FROM {quoted}")), False  # noqa: S608


def _estimate(snapshot: SourceSnapshot, name: str) -> int:
    if snapshot.dialect == "postgresql":
        found = snapshot.value(
            "SELECT reltuples FROM pg_class WHERE oid = to_regclass(:name)", {"name": snapshot.quote(name)}
        )
    elif snapshot.dialect == "mysql":
        sql = "SELECT table_rows FROM information_schema.tables WHERE table_name = :name AND table_schema = database()"
        found = snapshot.value(sql, {"name": name})
    else:
        return 0
    return int(found or 0)


def fanout(snapshot: SourceSnapshot, quoted: str, fk: ForeignKey, rows: int) -> Fanout | None:
    """Rows for each parent. Of a very large table it is not computed: the grouping would sort all of it."""
    if not rows or rows > COUNTED:
        return None
    columns = ", ".join(snapshot.quote(c) for c in fk.columns)
    present = " AND ".join(f"{snapshot.quote(c)} IS NOT NULL" for c in fk.columns)
    inner = f"SELECT count(*) AS prejoin_n FROM {quoted} WHERE {present} GROUP BY {columns}"  # noqa: S608
    sql = f"SELECT prejoin_n, count(*) AS parents FROM ({inner}) AS g GROUP BY prejoin_n ORDER BY prejoin_n"  # noqa: S608
    groups = [(int(row["prejoin_n"]), int(row["parents"])) for row in snapshot.rows(sql)]
    return Fanout(quantile(groups, 0.5), quantile(groups, 0.99), groups[-1][0]) if groups else None


def quantile(groups: Sequence[tuple[int, int]], share: float) -> int:
    """The smallest value that this share of a distribution does not exceed; groups are (value, how often), sorted.

    >>> quantile([(1, 98), (7, 1), (500, 1)], 0.5), quantile([(1, 98), (7, 1), (500, 1)], 0.99)
    (1, 7)
    """
    wanted, seen = share * sum(n for _, n in groups), 0
    for value, n in groups:
        seen += n
        if seen >= wanted:
            return value
    return groups[-1][0]


# --- Columns --------------------------------------------------------------------------------------------------------


def _column(
    described: Mapping[str, Any],
    values: Sequence[Any],
    key: tuple[str, ...],
    dialect: str,
    members: Mapping[str, tuple[str, ...]],
    documents: Set[str],
) -> Column:
    name, declared = str(described["name"]), described["type"]
    present = [value for value in values if value is not None]
    type_, guess = _type(declared, present, dialect)
    if name in documents:  # JSON of MariaDB is a text with a check
        type_, guess = _json_type(present)
    if name in members and type_.kind is Kind.STRING:
        type_ = Type(Kind.ENUM, values=members[name])
    # The driver has no type for an array of enums, and returns its text.
    conversion = "array" if isinstance(declared, sa.ARRAY) and isinstance(declared.item_type, sa.Enum) else ""
    if type_.kind is Kind.DATETIME and present and all(isinstance(v, int | float) for v in present):
        conversion = "epoch-ms" if min(map(abs, present)) > 1e11 else "epoch"
        guess = f"the values are numbers: read as {'milli' if conversion == 'epoch-ms' else ''}seconds since 1970"
    size = sum(len(_text(v)) for v in present) // max(len(values), 1) if values else None
    sole = len(key) == 1 and key[0] == name
    # A SQLite INTEGER PRIMARY KEY numbers itself; the others say so.
    numbered = described.get("autoincrement") is True or bool(described.get("identity"))
    numbered |= "nextval(" in str(described.get("default") or "")
    numbered |= dialect == "sqlite" and sole and str(declared).upper() == "INTEGER"
    nullable = bool(described.get("nullable", True)) and name not in key
    return Column(name, type_, str(declared).split(" COLLATE")[0], nullable, numbered, size, guess, conversion)


def _text(value: Any) -> str | bytes:
    return value if isinstance(value, str | bytes) else str(value)


def _type(declared: Any, present: Sequence[Any], dialect: str) -> tuple[Type, str]:
    """The type of a column, and why it is a guess."""
    if isinstance(declared, sa.Enum) and declared.enums:
        return Type(Kind.ENUM, values=tuple(declared.enums)), ""
    bases = [cls.__name__ for cls in type(declared).__mro__]
    if isinstance(declared, sa.ARRAY):
        inner, _ = _type(declared.item_type, [], dialect)
        return Type(Kind.LIST, of=inner), ""
    if "SET" in bases and dialect == "mysql":
        return Type(Kind.SET, of=STRING), ""
    if "TINYINT" in bases and getattr(declared, "display_width", None) == 1:
        if all(value in (0, 1) for value in present):
            return Type(Kind.BOOLEAN), "TINYINT(1), and all sampled values are 0 or 1"
        return Type(Kind.INTEGER), ""
    if "BIT" in bases and dialect == "mysql":
        single = getattr(declared, "length", None) in (None, 1)
        return Type(Kind.BOOLEAN if single else Kind.BINARY), "BIT" if single else ""
    if "YEAR" in bases:
        return Type(Kind.INTEGER), ""
    kind = next((kind for base, kind in _KINDS if base in bases), None)
    if kind is Kind.MAP:
        return _json_type(present)
    if kind in (Kind.STRING, None):
        return judged_type(declared, present, dialect, known=kind is not None)
    return Type(kind), ""


def _json_type(present: Sequence[Any]) -> tuple[Type, str]:
    values = [_parsed(v) if isinstance(v, str | bytes) else v for v in present]
    if values and all(isinstance(v, list) for v in values):
        return Type(Kind.LIST), "JSON, and all sampled values are arrays"
    if all(isinstance(v, dict) for v in values):
        return Type(Kind.MAP), "JSON, and all sampled values are objects" if values else "JSON without a sample"
    return STRING, "JSON with values of several kinds: kept as text"


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def judged_type(declared: Any, present: Sequence[Any], dialect: str, known: bool) -> tuple[Type, str]:
    """The type of a text column, or of one whose type is not known, by the sampled values."""
    if not present:
        return STRING, "" if known else f"the type {declared} is not known, and there is no sample"
    length = getattr(declared, "length", None)
    texts = [v for v in present if isinstance(v, str)]
    if len(texts) == len(present):
        if (length in (None, 32, 36) or dialect == "sqlite") and _all(texts, UUID) and _all(texts, _is_dashed):
            return Type(Kind.UUID), "text, and all sampled values are UUIDs"
        if dialect == "sqlite" and _all(texts, datetime.fromisoformat):
            if all(len(text) == 10 for text in texts):
                return Type(Kind.DATE), "text, and all sampled values are ISO dates"
            return Type(Kind.DATETIME), "text, and all sampled values are ISO times"
        return STRING, "" if known else f"the type {declared} is not known; the sampled values are texts"
    if known:
        return STRING, "declared as text, and some values are not" if dialect == "sqlite" else ""
    for kind, cls in ((Kind.INTEGER, int), (Kind.NUMBER, float), (Kind.BINARY, bytes), (Kind.MAP, dict)):
        if all(isinstance(v, cls) for v in present):
            return Type(kind), f"the type {declared} is not known; judged by the sampled values"
    return STRING, f"the type {declared} is not known; kept as text"


def _is_dashed(text: str) -> None:
    if len(text) != 36:
        raise ValueError(text)


def _all(texts: Iterable[str], read: Callable[[str], object]) -> bool:
    try:
        for text in texts:
            read(text)
    except ValueError:
        return False
    return True


def _checks(inspector: Inspector, name: str, schema: str | None) -> list[str]:
    try:
        return [str(check.get("sqltext") or "") for check in inspector.get_check_constraints(name, schema=schema)]
    except NotImplementedError:
        return []


def _members(check: str, dialect: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    try:
        tree = sqlglot.parse_one(check, dialect={"postgresql": "postgres"}.get(dialect, dialect))
    except SqlglotError:
        return
    while isinstance(tree, exp.Paren):
        tree = tree.this
    options: Sequence[exp.Expr] = ()
    if isinstance(tree, exp.In):
        options = tree.expressions
    elif isinstance(tree, exp.EQ) and isinstance(tree.expression, exp.Any):  # PostgreSQL: = ANY (ARRAY[…])
        options = next((found.expressions for found in tree.expression.find_all(exp.Array)), ())
    column = tree.this.find(exp.Column) if options else None
    texts = [literal.this for one in options if (literal := one.find(exp.Literal)) and literal.is_string]
    if column is not None and texts and len(texts) == len(options):
        yield column.name, tuple(texts)
