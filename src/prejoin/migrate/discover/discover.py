"""`discover_database`: a document of access patterns and a mapping, from a database and the SQL that runs on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from prejoin.diagnostics import Diagnostic
from prejoin.migrate.discover.document import DiscoveredDocument, Misfit, interpret, write_document
from prejoin.migrate.discover.entities import TableEntity, table_entities, usable_tables
from prejoin.migrate.mapping.model import (
    AttributeSource,
    EntityMapping,
    PatternSource,
    Source,
    TableMapping,
    write_mapping,
)
from prejoin.migrate.queries.collect import from_database, from_file
from prejoin.migrate.queries.log import QueryLog
from prejoin.migrate.queries.statement import parse_statements
from prejoin.migrate.source.connection import open_source
from prejoin.migrate.source.model import Column, Database, Table
from prejoin.migrate.source.reflect import reflect
from prejoin.pipeline.document import document_text
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.types import Kind
from prejoin.workload.model import Workload


@dataclass(frozen=True, slots=True)
class Discovery:
    """The result of discovering a database."""

    database: Database
    workload: Workload
    mapping: TableMapping
    document: str
    """The text of access-patterns.md."""
    mapping_text: str
    """The text of mapping.toml."""
    statements: int
    """Statements that were seen; 0 if no queries are known."""
    misfits: tuple[Misfit, ...]
    review: tuple[str, ...]
    """Guesses that a person should look at."""
    unread: tuple[Diagnostic, ...]
    """Statements that could not be parsed."""
    no_queries: str = ""
    """Why no queries are known, and what to do; empty if they are."""


def discover_database(
    url: str | None = None,
    *,
    queries: Sequence[str] = (),
    period: float | None = None,
    schema: str | None = None,
    tables: Sequence[str] = (),
    all_tables: bool = False,
    title: str | None = None,
    progress: Progress = SILENT,
) -> Discovery:
    """Derives entities, access patterns and a mapping from a relational database.

    `url` is `sqlite:///shop.db`, `postgresql://…` or `mysql://…`; without one, the variable PREJOIN_SOURCE. `queries`
    are files of SQL or logs; without any, the statistics of the database are read. `period` is the time in seconds that
    the files cover. If statements are known, only tables that they use become entities, and those in `tables`; with
    `all_tables`, all of them.

    Raises a `PipelineError` if the database or a file cannot be read.
    """
    with open_source(url) as source:
        progress.begin("reading the schema", "schema")
        database = reflect(source, schema, progress)
        progress.result(f"{len(database.tables)} tables")
        progress.begin("reading statements", "queries")
        logs, why = _logs(source, queries, period)
        address = str(source)
    usable, left_out = usable_tables(database)
    parsed = parse_statements(logs, database.dialect)
    progress.result(f"{parsed.logged:,} statements, {len(parsed.statements)} different")
    known = table_entities(usable)
    interpreted = interpret(parsed.statements, known, database.dialect) if parsed.statements else None
    if interpreted is not None and not all_tables:
        used = _used(parsed.statements, known, tables)
        left_out |= {t: f"{e.table.rows:,} rows; no statement uses it" for t, e in known.items() if t not in used}
        known = {table: entity for table, entity in known.items() if table in used}
    name = title or _title(database.name)
    found = write_document(name, known, interpreted, [log.origin for log in logs], left_out)
    mapping = _mapping(address, known, found, left_out)
    return Discovery(
        database,
        found.workload,
        mapping,
        document_text(found.workload, "md"),
        write_mapping(mapping),
        parsed.logged,
        found.misfits,
        found.review,
        parsed.unread,
        why if not logs else "",
    )


def _logs(source: object, queries: Sequence[str], period: float | None) -> tuple[list[QueryLog], str]:
    if queries:
        logs = [from_file(path) for path in queries]
        return [replace(log, seconds=period) for log in logs] if period else logs, ""
    log, why = from_database(source)  # type: ignore[arg-type]
    return ([log] if log else []), why


def _used(statements: Iterable[object], tables: dict[str, TableEntity], asked: Sequence[str]) -> set[str]:
    """The tables that statements use, those asked for, and the parents that foreign keys lead to."""
    from sqlglot import exp

    names = {table.rpartition(".")[2].lower(): table for table in tables}
    used = {names[name] for name in (a.rpartition(".")[2].lower() for a in asked) if name in names}
    for statement in statements:
        for node in statement.tree.find_all(exp.Table):  # type: ignore[attr-defined]
            if node.name.lower() in names:
                used.add(names[node.name.lower()])
    waiting = list(used)
    while waiting:
        for fk in tables[waiting.pop()].table.foreign_keys:
            if fk.table in tables and fk.table not in used:
                used.add(fk.table)
                waiting.append(fk.table)
    return used


def _title(name: str) -> str:
    words = name.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:] if words.replace(" ", "").isalnum() else "Application"


def _mapping(
    source: str, entities: dict[str, TableEntity], interpretation: DiscoveredDocument, left_out: dict[str, str]
) -> TableMapping:
    patterns = {id_: PatternSource(sql) for id_, sql in interpretation.sql.items()}
    mapped = {one.name: _entity_mapping(one) for one in entities.values()}
    return TableMapping(source, "", mapped, patterns, dict(sorted(left_out.items())))


def _entity_mapping(one: TableEntity) -> EntityMapping:
    attributes = {
        name: _source(column, one.table) for c, name in one.attributes.items() if (column := one.table.column(c))
    }
    key = () if one.table.primary_key else one.table.key
    return EntityMapping(one.table.name, attributes, key=key)


def _source(column: Column, table: Table) -> Source:
    if column.conversion:
        return AttributeSource(column.name, form=column.conversion)
    if column.type.kind is Kind.SET and "SET" in column.sql_type.upper():
        return AttributeSource(column.name, form="csv")
    return column.name
