"""Reflect a database: its tables, columns, keys and figures, as a `Database`.

Types that the database declares are facts. Others are guesses from samples of the values, and carry the reason:
a text column of a SQLite file that holds only ISO times, a TINYINT(1) that is a boolean by MySQL's convention.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
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
from prejoin.migrate.queries.statement import DIALECTS
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
    return _without_warnings(source, lambda: _reflect(source, schema, progress))


def reflect_tables(source: SourceDatabase, names: Iterable[str]) -> Database:
    """Some tables, without figures. A name may have a schema before a dot. Missing tables are left out."""
    if source.described is not None:
        return source.described
    return _without_warnings(source, lambda: _reflect_tables(source, names))


def _without_warnings(source: SourceDatabase, read: Callable[[], Database]) -> Database:
    """Reads a database; raises a PipelineError if it does not respond."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # types that SQLAlchemy does not know are judged by samples
            return read()
    except SQLAlchemyError as problem:
        raise unreadable(source, problem) from problem


def _reflect_tables(source: SourceDatabase, names: Iterable[str]) -> Database:
    tables = []
    with source.snapshot() as snapshot:
        inspector = sa.inspect(snapshot.connection)
        for full_name in dict.fromkeys(names):
            schema, _, name = full_name.rpartition(".")
            if inspector.has_table(name, schema=schema or None):
                tables.append(_Reflection(snapshot, inspector, name, schema or None).table(has_figures=False))
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
                tables.append(_Reflection(snapshot, inspector, name, schema).table())
    if not tables:
        fix = "check the name of the database; `--schema` names another schema"
        raise PipelineError(codes.NO_TABLES, f"{source} has no tables", fix)
    return Database(source.dialect, _database_name(source.url.database or ""), tuple(tables), left_out)


def _database_name(database: str) -> str:
    """The name of a database; of a SQLite file, its name without the suffix."""
    name = re.split(r"[/\\]", database)[-1]
    return name.removesuffix(".db").removesuffix(".sqlite").removesuffix(".sqlite3")


# --- Tables -----------------------------------------------------------------------------------------------------------


class _Reflection:
    """Reads one table: each method one part of it."""

    def __init__(self, snapshot: SourceSnapshot, inspector: Inspector, name: str, schema: str | None) -> None:
        self.snapshot = snapshot
        self.inspector = inspector
        self.name = name
        self.schema = schema
        self.full_name = f"{schema}.{name}" if schema else name
        self.quoted_name = snapshot.quote(self.full_name)

    def table(self, has_figures: bool = True) -> Table:
        rows, is_estimate = _count(self.snapshot, self.full_name, self.quoted_name) if has_figures else (0, True)
        key = tuple(self.inspector.get_pk_constraint(self.name, schema=self.schema).get("constrained_columns") or ())
        columns = self._columns(key)
        foreign_keys = self._foreign_keys()
        fanouts = {fk.columns: fanout(self.snapshot, self.quoted_name, fk, rows) for fk in foreign_keys}
        sizes = [column.size for column in columns if column.size is not None]
        return Table(
            self.full_name,
            columns,
            key,
            tuple(unique for unique in self._unique() if unique != key),
            foreign_keys,
            rows,
            is_estimate,
            sum(sizes) if sizes else None,
            {fk_columns: figures for fk_columns, figures in fanouts.items() if figures is not None},
        )

    def _columns(self, key: tuple[str, ...]) -> tuple[Column, ...]:
        sql = f"SELECT * FROM {self.quoted_name} AS prejoin_sample LIMIT {SAMPLE}"  # noqa: S608 - quoted by the dialect
        sample = self.snapshot.rows(sql)
        checks = self._checks()
        enums = dict(enum for check in checks for enum in _enums_of(check, self.snapshot.dialect))
        if self.snapshot.dialect == "mysql":  # SQLAlchemy does not see the checks that MariaDB has for a column
            statements = self.snapshot.rows(f"SHOW CREATE TABLE {self.quoted_name}")
            checks += [str(row.get("Create Table")) for row in statements]
        json_columns = {column for check in checks for column in _JSON.findall(check)}
        columns = []
        for description in self.inspector.get_columns(self.name, schema=self.schema):
            values = [row.get(description["name"]) for row in sample]
            columns.append(_column(description, values, key, self.snapshot.dialect, enums, json_columns))
        return tuple(columns)

    def _checks(self) -> list[str]:
        """The conditions of CHECK constraints."""
        try:
            checks = self.inspector.get_check_constraints(self.name, schema=self.schema)
        except NotImplementedError:
            return []
        return [str(check.get("sqltext") or "") for check in checks]

    def _foreign_keys(self) -> tuple[ForeignKey, ...]:
        foreign_keys = []
        for constraint in self.inspector.get_foreign_keys(self.name, schema=self.schema):
            table, schema = constraint["referred_table"], constraint.get("referred_schema")
            full_name = f"{schema}.{table}" if schema else table
            columns, parent_columns = constraint["constrained_columns"], constraint["referred_columns"]
            foreign_keys.append(ForeignKey(tuple(columns), full_name, tuple(parent_columns)))
        return tuple(foreign_keys)

    def _unique(self) -> list[tuple[str, ...]]:
        """The columns of each unique constraint and of each unique index, without duplicates."""
        constraints = self.inspector.get_unique_constraints(self.name, schema=self.schema)
        unique = [tuple(constraint["column_names"]) for constraint in constraints]
        # SQLite: SQLAlchemy looks for constraints in the text of CREATE TABLE, and misses some. Their indexes it finds.
        options = {"include_auto_indexes": True} if self.snapshot.dialect == "sqlite" else {}
        for index in self.inspector.get_indexes(self.name, schema=self.schema, **options):
            # An index of some rows only, or of an expression, does not make a column unique.
            is_partial = any(str(option).endswith("_where") for option in index.get("dialect_options", {}))
            if index.get("unique") and not is_partial and None not in index["column_names"]:
                unique.append(tuple(str(name) for name in index["column_names"]))
        return list(dict.fromkeys(unique))


# --- Figures --------------------------------------------------------------------------------------------------------


def _count(snapshot: SourceSnapshot, name: str, quoted_name: str) -> tuple[int, bool]:
    """The number of rows, and whether it is an estimate: counting reads the whole table."""
    estimate = _estimate(snapshot, name)
    if estimate > COUNTED:
        return estimate, True
    return int(snapshot.value(f"SELECT count(*) AS prejoin_count FROM {quoted_name}")), False  # noqa: S608


def _estimate(snapshot: SourceSnapshot, name: str) -> int:
    """The number of rows by the statistics of the database; 0 if it has none. PostgreSQL says -1 before ANALYZE."""
    if snapshot.dialect == "postgresql":
        sql = "SELECT reltuples FROM pg_class WHERE oid = to_regclass(:name)"
        return int(snapshot.value(sql, {"name": snapshot.quote(name)}) or 0)
    if snapshot.dialect == "mysql":
        sql = "SELECT table_rows FROM information_schema.tables WHERE table_name = :name AND table_schema = database()"
        return int(snapshot.value(sql, {"name": name}) or 0)
    return 0


def fanout(snapshot: SourceSnapshot, quoted_name: str, fk: ForeignKey, rows: int) -> Fanout | None:
    """Rows for each parent. Of a very large table it is not computed: the grouping would sort all of it."""
    if not rows or rows > COUNTED:
        return None
    columns = ", ".join(snapshot.quote(column) for column in fk.columns)
    present = " AND ".join(f"{snapshot.quote(column)} IS NOT NULL" for column in fk.columns)
    inner = f"SELECT count(*) AS prejoin_n FROM {quoted_name} WHERE {present} GROUP BY {columns}"  # noqa: S608
    sql = f"SELECT prejoin_n, count(*) AS parents FROM ({inner}) AS g GROUP BY prejoin_n ORDER BY prejoin_n"  # noqa: S608
    groups = [(int(row["prejoin_n"]), int(row["parents"])) for row in snapshot.rows(sql)]
    return Fanout(quantile(groups, 0.5), quantile(groups, 0.99), groups[-1][0]) if groups else None


def quantile(groups: Sequence[tuple[int, int]], share: float) -> int:
    """The smallest value that this share of a distribution does not exceed; groups are (value, how often), sorted.

    >>> quantile([(1, 98), (7, 1), (500, 1)], 0.5), quantile([(1, 98), (7, 1), (500, 1)], 0.99)
    (1, 7)
    """
    threshold = share * sum(count for _, count in groups)
    total = 0
    for value, count in groups:
        total += count
        if total >= threshold:
            return value
    return groups[-1][0]


# --- Columns --------------------------------------------------------------------------------------------------------


def _column(
    description: Mapping[str, Any],
    values: Sequence[Any],
    key: tuple[str, ...],
    dialect: str,
    enums: Mapping[str, tuple[str, ...]],
    json_columns: Set[str],
) -> Column:
    """A column. `enums` and `json_columns` are what checks of the table say about types."""
    name, sql_type = str(description["name"]), description["type"]
    present = [value for value in values if value is not None]
    type_, guess = _type(sql_type, present, dialect)
    if name in json_columns:  # JSON of MariaDB is a text with a check
        type_, guess = _json_type(present)
    if name in enums and type_.kind is Kind.STRING:
        type_ = Type(Kind.ENUM, values=enums[name])
    # The driver has no type for an array of enums, and returns its text.
    conversion = "array" if isinstance(sql_type, sa.ARRAY) and isinstance(sql_type.item_type, sa.Enum) else ""
    if type_.kind is Kind.DATETIME and present and all(isinstance(value, int | float) for value in present):
        conversion, unit = _epoch_form(present)
        guess = f"the values are numbers: read as {unit} since 1970"
    return Column(
        name,
        type_,
        str(sql_type).split(" COLLATE")[0],
        bool(description.get("nullable", True)) and name not in key,
        _is_numbered(description, is_only_key=key == (name,), dialect=dialect),
        sum(len(_text(value)) for value in present) // len(values) if values else None,
        guess,
        conversion,
    )


def _epoch_form(values: Sequence[float]) -> tuple[str, str]:
    """The form and the unit of times that are numbers: 1e11 seconds are the year 5138, 1e11 milliseconds 1973."""
    if min(map(abs, values)) > 1e11:
        return "epoch-ms", "milliseconds"
    return "epoch", "seconds"


def _is_numbered(description: Mapping[str, Any], is_only_key: bool, dialect: str) -> bool:
    """Whether the database generates the values of a column."""
    if description.get("autoincrement") is True or description.get("identity"):
        return True
    if "nextval(" in str(description.get("default") or ""):
        return True
    # A SQLite INTEGER PRIMARY KEY numbers itself; the others say so.
    return dialect == "sqlite" and is_only_key and str(description["type"]).upper() == "INTEGER"


def _text(value: Any) -> str | bytes:
    return value if isinstance(value, str | bytes) else str(value)


def _type(sql_type: Any, present: Sequence[Any], dialect: str) -> tuple[Type, str]:
    """The type of a column, and why it is a guess.

    Types of a dialect come first, because SQLAlchemy derives them from general ones: TINYINT is an Integer.
    """
    if isinstance(sql_type, sa.Enum) and sql_type.enums:
        return Type(Kind.ENUM, values=tuple(sql_type.enums)), ""
    if isinstance(sql_type, sa.ARRAY):
        item_type, _ = _type(sql_type.item_type, [], dialect)
        return Type(Kind.LIST, of=item_type), ""
    bases = [cls.__name__ for cls in type(sql_type).__mro__]
    mysql_type = _mysql_type(sql_type, bases, present, dialect)
    if mysql_type is not None:
        return mysql_type
    kind = next((kind for base, kind in _KINDS if base in bases), None)
    if kind is Kind.MAP:
        return _json_type(present)
    if kind in (Kind.STRING, None):
        return type_of_texts(sql_type, present, dialect, is_text=kind is not None)
    return Type(kind), ""


def _mysql_type(sql_type: Any, bases: Collection[str], present: Sequence[Any], dialect: str) -> tuple[Type, str] | None:
    """The type of a column with one of MySQL's own types, and why it is a guess; None for others."""
    if "SET" in bases and dialect == "mysql":
        return Type(Kind.SET, of=STRING), ""
    if "TINYINT" in bases and getattr(sql_type, "display_width", None) == 1:
        if all(value in (0, 1) for value in present):
            return Type(Kind.BOOLEAN), "TINYINT(1), and all sampled values are 0 or 1"
        return Type(Kind.INTEGER), ""
    if "BIT" in bases and dialect == "mysql":
        is_one_bit = getattr(sql_type, "length", None) in (None, 1)
        return (Type(Kind.BOOLEAN), "BIT") if is_one_bit else (Type(Kind.BINARY), "")
    if "YEAR" in bases:
        return Type(Kind.INTEGER), ""
    return None


def _json_type(present: Sequence[Any]) -> tuple[Type, str]:
    values = [_read_json(value) if isinstance(value, str | bytes) else value for value in present]
    if values and all(isinstance(value, list) for value in values):
        return Type(Kind.LIST), "JSON, and all sampled values are arrays"
    if all(isinstance(value, dict) for value in values):
        return Type(Kind.MAP), "JSON, and all sampled values are objects" if values else "JSON without a sample"
    return STRING, "JSON with values of several kinds: kept as text"


def _read_json(text: str | bytes) -> Any:
    """A value of JSON; the text itself if it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def type_of_texts(sql_type: Any, present: Sequence[Any], dialect: str, is_text: bool) -> tuple[Type, str]:
    """The type of a text column, or of one whose type is not known, by the sampled values."""
    if not present:
        return STRING, "" if is_text else f"the type {sql_type} is not known, and there is no sample"
    texts = [value for value in present if isinstance(value, str)]
    if len(texts) == len(present):
        length = getattr(sql_type, "length", None)
        special_type = _special_text_type(texts, length, dialect)
        if special_type is not None:
            return special_type
        return STRING, "" if is_text else f"the type {sql_type} is not known; the sampled values are texts"
    if is_text:  # only SQLite stores numbers in a column of texts
        return STRING, "declared as text, and some values are not" if dialect == "sqlite" else ""
    for kind, cls in ((Kind.INTEGER, int), (Kind.NUMBER, float), (Kind.BINARY, bytes), (Kind.MAP, dict)):
        if all(isinstance(value, cls) for value in present):
            return Type(kind), f"the type {sql_type} is not known; judged by the sampled values"
    return STRING, f"the type {sql_type} is not known; kept as text"


def _special_text_type(texts: Sequence[str], length: int | None, dialect: str) -> tuple[Type, str] | None:
    """The type of texts that are all UUIDs, or all times; None for others."""
    may_be_uuids = length in (None, 32, 36) or dialect == "sqlite"
    if may_be_uuids and all(len(text) == 36 for text in texts) and _can_read_all(texts, UUID):
        return Type(Kind.UUID), "text, and all sampled values are UUIDs"
    # Other databases have types for times, so texts of times are meant as texts.
    if dialect == "sqlite" and _can_read_all(texts, datetime.fromisoformat):
        if all(len(text) == 10 for text in texts):
            return Type(Kind.DATE), "text, and all sampled values are ISO dates"
        return Type(Kind.DATETIME), "text, and all sampled values are ISO times"
    return None


def _can_read_all(texts: Iterable[str], read: Callable[[str], object]) -> bool:
    try:
        for text in texts:
            read(text)
    except ValueError:
        return False
    return True


def _enums_of(check: str, dialect: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The column and the texts of a CHECK that lists them: `status IN ('OPEN', 'SOLD')`."""
    try:
        tree = sqlglot.parse_one(check, dialect=DIALECTS[dialect])
    except SqlglotError:
        return
    while isinstance(tree, exp.Paren):
        tree = tree.this
    options: Sequence[exp.Expr] = ()
    if isinstance(tree, exp.In):
        options = tree.expressions
    elif isinstance(tree, exp.EQ) and isinstance(tree.expression, exp.Any):  # PostgreSQL: = ANY (ARRAY[…])
        options = next((array.expressions for array in tree.expression.find_all(exp.Array)), ())
    column = tree.this.find(exp.Column) if options else None
    texts = []
    for option in options:
        literal = option.find(exp.Literal)  # in PostgreSQL inside of a cast
        if literal is not None and literal.is_string:
            texts.append(literal.this)
    if column is not None and texts and len(texts) == len(options):
        yield column.name, tuple(texts)
