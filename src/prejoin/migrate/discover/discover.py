"""`discover_database`: a document of access patterns and a mapping, from a database and the SQL that runs on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

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
from prejoin.migrate.queries.statement import Statement, parse_statements
from prejoin.migrate.source.connection import SourceDatabase, open_source
from prejoin.migrate.source.model import Column, Database
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
        logs, no_queries = _read_logs(source, queries, period)
        address = str(source)
    usable, left_out = usable_tables(database)
    log = parse_statements(logs, database.dialect)
    progress.result(f"{log.count:,} statements, {len(log.statements)} different")
    entities = table_entities(usable)
    interpretation = interpret(log.statements, entities, database.dialect) if log.statements else None
    if interpretation is not None and not all_tables:
        in_use = _tables_in_use(log.statements, entities, tables)
        unused_tables = [name for name in entities if name not in in_use]
        left_out |= {name: f"{entities[name].table.rows:,} rows; no statement uses it" for name in unused_tables}
        entities = {name: entity for name, entity in entities.items() if name in in_use}
    origins = [query_log.origin for query_log in logs]
    document = write_document(title or _title(database.name), entities, interpretation, origins, left_out)
    mapping = _mapping(address, entities, document, left_out)
    return Discovery(
        database,
        document.workload,
        mapping,
        document_text(document.workload, "md"),
        write_mapping(mapping),
        log.count,
        document.misfits,
        document.review,
        log.unread,
        "" if logs else no_queries,
    )


def _read_logs(source: SourceDatabase, queries: Sequence[str], period: float | None) -> tuple[list[QueryLog], str]:
    """The statements of files, or those that the database counted; and why there are none."""
    if queries:
        logs = [from_file(path) for path in queries]
        return [replace(log, seconds=period) for log in logs] if period else logs, ""
    log, reason = from_database(source)
    return ([log] if log else []), reason


def _tables_in_use(
    statements: Iterable[Statement], entities: Mapping[str, TableEntity], table_names: Sequence[str]
) -> set[str]:
    """The tables that statements use, those that were named, and the parents that foreign keys lead to."""
    by_bare_name = {_bare_name(table): table for table in entities}
    names = {_bare_name(name) for name in table_names}
    for statement in statements:
        names |= {node.name.lower() for node in statement.tree.find_all(exp.Table)}
    in_use = {by_bare_name[name] for name in names if name in by_bare_name}
    pending = list(in_use)
    while pending:
        for fk in entities[pending.pop()].table.foreign_keys:
            if fk.table in entities and fk.table not in in_use:
                in_use.add(fk.table)
                pending.append(fk.table)
    return in_use


def _bare_name(table: str) -> str:
    """The name of a table without its schema."""
    return table.rpartition(".")[2].lower()


def _title(name: str) -> str:
    words = name.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:] if words.replace(" ", "").isalnum() else "Application"


def _mapping(
    source: str, entities: Mapping[str, TableEntity], document: DiscoveredDocument, left_out: Mapping[str, str]
) -> TableMapping:
    patterns = {pattern_id: PatternSource(sql) for pattern_id, sql in document.sql.items()}
    mappings = {entity.name: _entity_mapping(entity) for entity in entities.values()}
    return TableMapping(source, "", mappings, patterns, dict(sorted(left_out.items())))


def _entity_mapping(entity: TableEntity) -> EntityMapping:
    table = entity.table
    attributes = {entity.attributes[column.name]: _attribute_source(column) for column in table.columns}
    key = () if table.primary_key else table.key
    return EntityMapping(table.name, attributes, key=key)


def _attribute_source(column: Column) -> Source:
    if column.conversion:
        return AttributeSource(column.name, form=column.conversion)
    if column.type.kind is Kind.SET and "SET" in column.sql_type.upper():
        return AttributeSource(column.name, form="csv")  # SET of MySQL comes as a text with commas
    return column.name
