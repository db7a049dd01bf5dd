"""Check a mapping against the document and the database. Each finding has a code and a fix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prejoin.diagnostics import Diagnostic, Span
from prejoin.migrate import codes
from prejoin.migrate.mapping.convert import FORMS, zone_of
from prejoin.migrate.mapping.model import AttributeSource, Children, EntityMapping, TableMapping, as_source
from prejoin.migrate.mapping.rows import never_null
from prejoin.migrate.source.model import Database, Table
from prejoin.types import Kind
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Attribute, Entity, Workload

_TYPE_WITH_ZONE = re.compile(r"WITH TIME ZONE|TIMESTAMPTZ|TIMESTAMP\(.*timezone", re.IGNORECASE)


def check_mapping(
    mapping: TableMapping, workload: Workload, database: Database, text: str = ""
) -> tuple[Diagnostic, ...]:
    """The diagnostics about a mapping. `text` is its source, to find lines in."""
    return tuple(_Check(mapping, workload, database, text).run())


class _Check:
    def __init__(self, mapping: TableMapping, workload: Workload, database: Database, text: str) -> None:
        self.mapping = mapping
        self.workload = workload
        self.database = database
        self.lines = text.splitlines()

    def run(self) -> Iterator[Diagnostic]:
        yield from self._check_zone(self.mapping.zone, None)
        for name, entity_mapping in self.mapping.entities.items():
            span = self._span(name)
            entity = self.workload.entity(name)
            if entity is None:
                suggestion = suggest(name, [entity.name for entity in self.workload.entities])
                fix = "remove the section, or add the entity to the document"
                if suggestion:
                    fix = f"did you mean `{suggestion}`?"
                yield codes.NO_ENTITY.at(span, f"the document has no entity `{name}`", fix)
                continue
            table = self.database.table(entity_mapping.table)
            if table is None:
                fix = "correct the name; `schema.table` names one of another schema"
                yield codes.NO_COLUMN.at(span, f"{name}: the database has no table `{entity_mapping.table}`", fix)
                continue
            yield from self._check_entity(entity, entity_mapping, table)
        for entity in self.workload.entities:
            if entity.name not in self.mapping.entities:
                fix = f"add `[entities.{entity.name}]`; if the application fills it later, that is no problem"
                yield codes.NOT_MOVED.at(None, f"no rows become items of `{entity.name}`", fix)

    def _span(self, entity: str, attribute: str = "") -> Span | None:
        """The line of an entity's section, or of an attribute in it."""
        # The reader of TOML does not keep lines, so they are searched in the text.
        section = ""
        for number, line in enumerate(self.lines, 1):
            if line.startswith("["):
                section = line.strip("[] ")
            at_entity = section.replace('"', "").startswith(f"entities.{entity}")
            if at_entity and not attribute:
                return Span(number, 1, line)
            if at_entity and re.match(rf'"?{re.escape(attribute)}"?\s*=', line):
                return Span(number, 1, line)
        return None

    def _check_zone(self, zone: str, span: Span | None) -> Iterator[Diagnostic]:
        try:
            zone_of(zone)
        except ValueError as problem:
            yield codes.CONVERSION.at(span, str(problem), 'name it as in `zone = "Europe/Zurich"`')

    def _check_entity(self, entity: Entity, mapping: EntityMapping, table: Table) -> Iterator[Diagnostic]:
        yield from self._check_zone(mapping.zone, self._span(entity.name))
        if entity.history:
            fix = f"remove `History` from `{entity.name}`, and add it when the data is moved"
            message = f"`{entity.name}` has a history, and the client counts its versions: rows have other ones"
            yield codes.HISTORY.at(self._span(entity.name), message, fix)
        tables: dict[str, Table | None] = {"": table}  # by the name of the join; the entity's own has none
        for name, join in mapping.joins.items():
            tables[name] = self.database.table(join.table)
            if tables[name] is None:
                message = f"{entity.name}: the database has no table `{join.table}`"
                yield codes.NO_COLUMN.at(self._span(entity.name), message, "correct the name in `joins`")
            yield from self._check_link(entity, name, join.on, table, tables[name])
        for name, children in mapping.children.items():
            yield from self._check_children(entity, name, children, table)
        for name in mapping.attributes:
            yield from self._check_attribute(entity, mapping, name, tables)
        yield from self._check_required(entity, mapping)
        yield from self._check_key(entity, mapping, table)
        yield from self._check_columns(entity, mapping, table)

    def _check_required(self, entity: Entity, mapping: EntityMapping) -> Iterator[Diagnostic]:
        for attribute in entity.attributes:
            # The same rule as in `convert`: an attribute with a default may be NULL.
            is_required = not attribute.optional and attribute.default is None
            is_mapped = attribute.name in mapping.attributes or attribute.name in mapping.children
            if is_required and not is_mapped:
                message = f"{entity.name}.{attribute.name} is required, and not mapped"
                fix = f'add `{attribute.name} = "column"`, or mark it optional in the document'
                yield codes.NOT_MAPPED.at(self._span(entity.name), message, fix)

    def _check_columns(self, entity: Entity, mapping: EntityMapping, table: Table) -> Iterator[Diagnostic]:
        """Notes the columns that no attribute has, and that are not ignored."""
        moved_columns = set(mapping.ignore)
        for source in map(as_source, mapping.attributes.values()):
            moved_columns.add(source.column)
            moved_columns.update(re.findall(r"\w+", source.sql))  # any word of it may be a column
        names = [column.name for column in table.columns if column.name not in moved_columns]
        if names:
            quoted_names = ", ".join(repr(name).replace("'", '"') for name in names)
            verb = "is" if len(names) == 1 else "are"
            message = f"{entity.name}: {', '.join(names)} of `{table.name}` {verb} not moved"
            fix = f"map them, or say `ignore = [{quoted_names}]`"
            yield codes.NOT_MOVED.at(self._span(entity.name), message, fix)

    def _check_attribute(
        self, entity: Entity, mapping: EntityMapping, name: str, tables: dict[str, Table | None]
    ) -> Iterator[Diagnostic]:
        span, source = self._span(entity.name, name), mapping.source(name)
        attribute = entity.attribute(name)
        if attribute is None:
            suggestion = suggest(name, [attribute.name for attribute in entity.attributes])
            fix = f"did you mean `{suggestion}`?" if suggestion else "add it to the document, or remove it here"
            yield codes.NO_ATTRIBUTE.at(span, f"{entity.name} has no attribute `{name}`", fix)
            return
        setting_count = sum((bool(source.column), bool(source.sql), source.value is not None))
        if setting_count != 1:
            message = f"{entity.name}.{name} has {setting_count or 'none'} of `column`, `sql` and `value`"
            yield codes.MAPPING.at(span, message, "give one of them")
            return
        forms = FORMS.get(attribute.type.kind, frozenset())
        if source.form and source.form not in forms:
            message = f'{entity.name}.{name}: `as = "{source.form}"` is no form of a {attribute.type.kind}'
            fix = f"forms of a {attribute.type.kind}: {', '.join(sorted(forms)) or 'none'}"
            yield codes.CONVERSION.at(span, message, fix)
        reason = never_null(attribute, source)
        if source.null == "null" and reason:
            message = f'{entity.name}.{name}: `null = "null"` cannot be: {reason}'
            yield codes.NULL.at(span, message, "remove `null`, or mark the attribute optional in the document")
        yield from self._check_zone(source.zone, span)
        if source.column:
            join, _, column = source.column.rpartition(".")
            yield from self._check_column(entity, name, tables.get(join), join, column, span)
            zone = source.zone or mapping.zone or self.mapping.zone
            if not zone:
                yield from self._check_time_has_zone(entity, attribute, source, tables.get(join), column, span)

    def _check_column(
        self, entity: Entity, name: str, table: Table | None, join: str, column: str, span: Span | None
    ) -> Iterator[Diagnostic]:
        if table is None:
            message = f"{entity.name}.{name}: there is no join `{join}`"
            yield codes.NO_COLUMN.at(span, message, f"declare it in `[entities.{entity.name}.joins.{join}]`")
        elif table.column(column) is None:
            names = [column.name for column in table.columns]
            suggestion = suggest(column, names)
            fix = f"did you mean `{suggestion}`?" if suggestion else f"it has {', '.join(names)}"
            yield codes.NO_COLUMN.at(span, f"{entity.name}.{name}: `{table.name}` has no column `{column}`", fix)

    def _check_time_has_zone(
        self,
        entity: Entity,
        attribute: Attribute,
        source: AttributeSource,
        table: Table | None,
        name: str,
        span: Span | None,
    ) -> Iterator[Diagnostic]:
        """Notes a column of times without a zone, for which the mapping names none."""
        column = table.column(name) if table else None
        if column is None or attribute.type.kind is not Kind.DATETIME or source.form:
            return
        # Some types have the zone in their name, others only in their arguments: `DateTime(timezone=True)`.
        has_zone = _TYPE_WITH_ZONE.search(column.sql_type) or "timezone=True" in column.sql_type
        if not has_zone:
            message = f"{entity.name}.{attribute.name}: `{name}` ({column.sql_type}) has no zone; it is read as UTC"
            yield codes.ZONE.at(span, message, 'declare it: `zone = "UTC"` at the top of the mapping, or another zone')

    def _check_link(
        self, entity: Entity, name: str, on: dict[str, str], table: Table, other: Table | None
    ) -> Iterator[Diagnostic]:
        """Checks the columns by which a join or children are linked."""
        pairs: Iterable[tuple[Table | None, str]] = [
            *((other, column) for column in on),
            *((table, column) for column in on.values()),
        ]
        for column_table, column in pairs:
            if column_table is not None and column_table.column(column) is None:
                message = f"{entity.name}: `{column_table.name}` has no column `{column}`"
                yield codes.NO_COLUMN.at(self._span(entity.name), message, f"correct `on` of `{name}`")

    def _check_children(self, entity: Entity, name: str, children: Children, table: Table) -> Iterator[Diagnostic]:
        span = self._span(entity.name)
        attribute = entity.attribute(name)
        if attribute is None or attribute.type.kind is not Kind.LIST:
            message = f"{entity.name} has no list `{name}`"
            yield codes.NO_ATTRIBUTE.at(span, message, f"add `{name}` (list) to the document, or remove it here")
        other = self.database.table(children.table)
        if other is None:
            message = f"{entity.name}: the database has no table `{children.table}`"
            yield codes.NO_COLUMN.at(span, message, f"correct the table of `{name}`")
            return
        yield from self._check_link(entity, name, children.on, table, other)
        for column in [*(as_source(source).column for source in children.attributes.values()), *children.order]:
            if column and other.column(column) is None:
                message = f"{entity.name}: `{other.name}` has no column `{column}`"
                yield codes.NO_COLUMN.at(span, message, f"correct `{name}`")

    def _check_key(self, entity: Entity, mapping: EntityMapping, table: Table) -> Iterator[Diagnostic]:
        span = self._span(entity.name)
        missing_columns = [column for column in mapping.key if table.column(column) is None]
        if missing_columns:
            message = f"{entity.name}: `{table.name}` has no column `{missing_columns[0]}`"
            yield codes.NO_COLUMN.at(span, message, "correct `key`")
        elif not (mapping.key or table.key):
            fix = 'say `key = ["column"]` with columns that are unique and never NULL'
            yield codes.KEY_LOST.at(span, f"{entity.name}: `{table.name}` has no primary key", fix)
        elif entity.id and not _has_unique_id(entity, mapping, table):
            names = ", ".join(attribute.name for attribute in entity.id)
            message = f"{entity.name}: rows of `{table.name}` can have the same {names}"
            fix = f"map the id from {', '.join(table.key)}, or say `key = […]` if these columns are unique"
            yield codes.KEY_LOST.at(span, message, fix)


def _has_unique_id(entity: Entity, mapping: EntityMapping, table: Table) -> bool:
    """Whether the columns of the id contain a key, or are computed, which is believed."""
    sources = [
        as_source(mapping.attributes[attribute.name]) for attribute in entity.id if attribute.name in mapping.attributes
    ]
    if any(source.sql for source in sources):
        return True
    columns = {source.column for source in sources}
    keys = [set(key) for key in (mapping.key, table.key, *table.unique) if key]
    return any(key <= columns for key in keys)
