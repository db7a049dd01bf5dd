"""A migration: document, design, mapping, database and table, opened together. All commands of `migrate` begin here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prejoin.design.files import design_beside
from prejoin.diagnostics import Diagnostic, Severity, has_errors
from prejoin.migrate import codes
from prejoin.migrate.mapping.check import check_mapping
from prejoin.migrate.mapping.model import MAPPING, TableMapping, read_mapping
from prejoin.migrate.mapping.rows import EntityRows, all_rows
from prejoin.migrate.source.connection import ENVIRONMENT, SourceDatabase, open_source
from prejoin.migrate.source.model import Database
from prejoin.migrate.source.reflect import reflect_tables
from prejoin.pipeline.connection import TablePlace, open_store
from prejoin.pipeline.document import DOCUMENT, read_document
from prejoin.pipeline.errors import InputError, PipelineError, Source
from prejoin.pipeline.query.query import QueryDesign, query_design
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.render.python.package import Options
from prejoin.table.schema.schema import Schema


@dataclass(frozen=True)
class Migration:
    """A checked migration. `source` is open."""

    query: QueryDesign
    package: LoadedPackage
    mapping: TableMapping
    mapping_file: str
    source: SourceDatabase
    database: Database
    rows: tuple[EntityRows, ...]
    """One for each entity of the mapping."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about the mapping."""

    @property
    def table(self) -> str:
        return self.query.design.table

    def of(self, entity: str) -> EntityRows:
        return next(rows for rows in self.rows if rows.entity.name == entity)

    def warnings(self) -> tuple[Source, ...]:
        return (self.query.source, Source(self.mapping_file, "", self.diagnostics).only(Severity.WARNING))

    def schema(self, place: TablePlace) -> Schema:
        """The schema of the table at a place, with its store if contents are in one. Raises a `PipelineError`."""
        if not self.package.rendered.stores:
            if place.store:
                raise PipelineError(codes.STORE, "the design keeps no contents in a store", "leave out `--store`")
            return self.package.schema
        if not place.store:
            message = "the design keeps large contents in a store, and none is named"
            raise PipelineError(codes.STORE, message, "name it: `--store s3://BUCKET`, or a folder")
        schema = self.package.schema_with(open_store(place))
        for rows in self.rows:
            _store_nulls(schema, self.package, rows, self.mapping_file)
        return schema

    def fingerprint(self, table: str, place: TablePlace) -> str:
        """A digest of all that decides which items a load writes, and where."""
        design = self.query.design
        parts = [
            msgspec.json.encode(msgspec.structs.replace(self.mapping, patterns={}, left_out={}), order="sorted"),
            msgspec.json.encode([design.slots, design.items, design.guards], order="sorted"),
            msgspec.json.encode([str(self.source), table, str(place), *([place.store] if place.store else [])]),
        ]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@contextmanager
def open_migration(
    document: str | Path = DOCUMENT, mapping: str | Path = MAPPING, url: str | None = None
) -> Iterator[Migration]:
    """Reads and checks all parts. Raises an `InputError` if one has errors.

    The database is that of `url`, of the variable PREJOIN_SOURCE, or of the mapping.
    """
    query = query_design(read_document(document))
    if not design_beside(Path(document)).is_file():
        message = f"there is no {design_beside(Path(document))}"
        raise PipelineError(codes.NO_DESIGN, message, "write it: `prejoin design --yes`", str(document))
    table_mapping = read_mapping(mapping)
    text = Path(mapping).read_text(encoding="utf-8")
    with open_source(url or os.environ.get(ENVIRONMENT) or table_mapping.source) as source:
        database = reflect_tables(source, _tables(table_mapping))
        workload = query.document.workload
        diagnostics = check_mapping(table_mapping, workload, database, text)
        if has_errors(diagnostics):
            note = "the mapping has errors; nothing was read"
            raise InputError(Source(str(mapping), text, diagnostics).only(Severity.ERROR, Severity.WARNING), note=note)
        package = load_package(workload, query.design, Options(asynchronous=False))
        rows = tuple(all_rows(workload, table_mapping, database))
        for entity_rows in rows:
            _store_nulls(package.schema, package, entity_rows, str(mapping))
        yield Migration(query, package, table_mapping, str(mapping), source, database, rows, diagnostics)


def _store_nulls(schema: Schema, package: LoadedPackage, rows: EntityRows, file: str) -> None:
    """Makes all writes of an entity store NULL as its mapping says."""
    entity, fields = schema.entity(package.classes[rows.entity.name]), package.fields[rows.entity.name]
    keys = {name for facet in entity.natural.values() for name in facet.attributes}
    if key_names := sorted(name for name in rows.nulls if fields[name] in keys):
        message = f"{rows.entity.name}.{key_names[0]} is a key of an index, which cannot be NULL"
        raise PipelineError(codes.NULL, message, f'say `null = "absent"` for {key_names[0]}', file)
    # The generated schema has no parameter for it: an application writes None as an absent attribute.
    msgspec.structs.force_setattr(entity.codec, "nulls", frozenset(fields[name] for name in rows.nulls))


def _tables(mapping: TableMapping) -> Iterator[str]:
    for entity in mapping.entities.values():
        yield entity.table
        yield from (join.table for join in entity.joins.values())
        yield from (children.table for children in entity.children.values())
