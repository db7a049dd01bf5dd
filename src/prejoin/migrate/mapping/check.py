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
from prejoin.workload.model import Entity, Workload

_ZONED = re.compile(r"WITH TIME ZONE|TIMESTAMPTZ|TIMESTAMP\(.*timezone", re.IGNORECASE)


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
        yield from self._zone(self.mapping.zone, None)
        for name, one in self.mapping.entities.items():
            span = self._span(name)
            entity = self.workload.entity(name)
            if entity is None:
                meant = suggest(name, [e.name for e in self.workload.entities])
                fix = f"did you mean `{meant}`?" if meant else "remove the section, or add the entity to the document"
                yield codes.NO_ENTITY.at(span, f"the document has no entity `{name}`", fix)
                continue
            table = self.database.table(one.table)
            if table is None:
                fix = "correct the name; `schema.table` names one of another schema"
                yield codes.NO_COLUMN.at(span, f"{name}: the database has no table `{one.table}`", fix)
                continue
            yield from self._entity(entity, one, table)
        for entity in self.workload.entities:
            if entity.name not in self.mapping.entities:
                fix = f"add `[entities.{entity.name}]`; if the application fills it later, that is no problem"
                yield codes.NOT_MOVED.at(None, f"no rows become items of `{entity.name}`", fix)

    def _span(self, entity: str, attribute: str = "") -> Span | None:
        """The line of an entity's section, or of an attribute in it."""
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

    def _zone(self, zone: str, span: Span | None) -> Iterator[Diagnostic]:
        try:
            zone_of(zone)
        except ValueError as problem:
            yield codes.CONVERSION.at(span, str(problem), 'name it as in `zone = "Europe/Zurich"`')

    def _entity(self, entity: Entity, one: EntityMapping, table: Table) -> Iterator[Diagnostic]:
        yield from self._zone(one.zone, self._span(entity.name))
        if entity.history:
            fix = f"remove `History` from `{entity.name}`, and add it when the data is moved"
            message = f"`{entity.name}` has a history, and the client counts its versions: rows have other ones"
            yield codes.HISTORY.at(self._span(entity.name), message, fix)
        tables: dict[str, Table | None] = {"": table}
        for name, join in one.joins.items():
            tables[name] = self.database.table(join.table)
            if tables[name] is None:
                message = f"{entity.name}: the database has no table `{join.table}`"
                yield codes.NO_COLUMN.at(self._span(entity.name), message, "correct the name in `joins`")
            yield from self._linked(entity, name, join.on, table, tables[name])
        for name, children in one.children.items():
            yield from self._children(entity, name, children, table)
        for name in one.attributes:
            yield from self._attribute(entity, one, name, tables)
        mapped = {*one.attributes, *one.children}
        for attribute in entity.attributes:
            if attribute.name not in mapped and not attribute.optional and attribute.default is None:
                message = f"{entity.name}.{attribute.name} is required, and not mapped"
                fix = f'add `{attribute.name} = "column"`, or mark it optional in the document'
                yield codes.NOT_MAPPED.at(self._span(entity.name), message, fix)
        yield from self._key(entity, one, table)
        used = {as_source(s).column for s in one.attributes.values()} | set(one.ignore)
        used |= {c for s in one.attributes.values() for c in re.findall(r"\w+", as_source(s).sql)}
        left = [c.name for c in table.columns if c.name not in used]
        if left:
            fix = f"map them, or say `ignore = [{', '.join(repr(c).replace(chr(39), chr(34)) for c in left)}]`"
            message = (
                f"{entity.name}: {', '.join(left)} of `{table.name}` {'is' if len(left) == 1 else 'are'} not moved"
            )
            yield codes.NOT_MOVED.at(self._span(entity.name), message, fix)

    def _attribute(
        self, entity: Entity, one: EntityMapping, name: str, tables: dict[str, Table | None]
    ) -> Iterator[Diagnostic]:
        span, source = self._span(entity.name, name), one.source(name)
        attribute = entity.attribute(name)
        if attribute is None:
            meant = suggest(name, [a.name for a in entity.attributes])
            fix = f"did you mean `{meant}`?" if meant else "add it to the document, or remove it here"
            yield codes.NO_ATTRIBUTE.at(span, f"{entity.name} has no attribute `{name}`", fix)
            return
        given = [bool(source.column), bool(source.sql), source.value is not None]
        if sum(given) != 1:
            message = f"{entity.name}.{name} has {sum(given) or 'none'} of `column`, `sql` and `value`"
            yield codes.MAPPING.at(span, message, "give one of them")
            return
        if source.form and source.form not in FORMS.get(attribute.type.kind, ()):
            known = ", ".join(sorted(FORMS.get(attribute.type.kind, ()))) or "none"
            message = f'{entity.name}.{name}: `as = "{source.form}"` is no form of a {attribute.type.kind}'
            yield codes.CONVERSION.at(span, message, f"forms of a {attribute.type.kind}: {known}")
        if source.null == "null" and (why := never_null(attribute, source)):
            message = f'{entity.name}.{name}: `null = "null"` cannot be: {why}'
            yield codes.NULL.at(span, message, "remove `null`, or mark the attribute optional in the document")
        yield from self._zone(source.zone, span)
        if source.column:
            join, _, column = source.column.rpartition(".")
            yield from self._column(entity, name, tables.get(join) if join in tables else None, join, column, span)
            yield from self._unzoned(entity, one, name, source, tables.get(join), column, span)

    def _column(
        self, entity: Entity, name: str, table: Table | None, join: str, column: str, span: Span | None
    ) -> Iterator[Diagnostic]:
        if table is None:
            message = f"{entity.name}.{name}: there is no join `{join}`"
            yield codes.NO_COLUMN.at(span, message, f"declare it in `[entities.{entity.name}.joins.{join}]`")
        elif table.column(column) is None:
            meant = suggest(column, [c.name for c in table.columns])
            fix = f"did you mean `{meant}`?" if meant else f"it has {', '.join(c.name for c in table.columns)}"
            yield codes.NO_COLUMN.at(span, f"{entity.name}.{name}: `{table.name}` has no column `{column}`", fix)

    def _unzoned(
        self,
        entity: Entity,
        one: EntityMapping,
        name: str,
        source: AttributeSource,
        table: Table | None,
        column: str,
        span: Span | None,
    ) -> Iterator[Diagnostic]:
        found, attribute = table.column(column) if table else None, entity.attribute(name)
        if found is None or attribute is None or attribute.type.kind is not Kind.DATETIME or source.form:
            return
        zoned = _ZONED.search(found.sql_type) or "timezone=True" in found.sql_type
        if not zoned and not (source.zone or one.zone or self.mapping.zone):
            message = f"{entity.name}.{name}: `{column}` ({found.sql_type}) has no zone; it is read as UTC"
            yield codes.ZONE.at(span, message, 'declare it: `zone = "UTC"` at the top of the mapping, or another zone')

    def _linked(
        self, entity: Entity, name: str, on: dict[str, str], table: Table, other: Table | None
    ) -> Iterator[Diagnostic]:
        pairs: Iterable[tuple[Table | None, str]] = [*((other, c) for c in on), *((table, c) for c in on.values())]
        for where, column in pairs:
            if where is not None and where.column(column) is None:
                message = f"{entity.name}: `{where.name}` has no column `{column}`"
                yield codes.NO_COLUMN.at(self._span(entity.name), message, f"correct `on` of `{name}`")

    def _children(self, entity: Entity, name: str, children: Children, table: Table) -> Iterator[Diagnostic]:
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
        yield from self._linked(entity, name, children.on, table, other)
        for one in [*(as_source(s).column for s in children.attributes.values()), *children.order]:
            if one and other.column(one) is None:
                yield codes.NO_COLUMN.at(
                    span, f"{entity.name}: `{other.name}` has no column `{one}`", f"correct `{name}`"
                )

    def _key(self, entity: Entity, one: EntityMapping, table: Table) -> Iterator[Diagnostic]:
        span = self._span(entity.name)
        if missing := [c for c in one.key if table.column(c) is None]:
            message = f"{entity.name}: `{table.name}` has no column `{missing[0]}`"
            yield codes.NO_COLUMN.at(span, message, "correct `key`")
            return
        if not (one.key or table.key):
            fix = 'say `key = ["column"]` with columns that are unique and never NULL'
            yield codes.KEY_LOST.at(span, f"{entity.name}: `{table.name}` has no primary key", fix)
            return
        sources = [as_source(one.attributes[a.name]) for a in entity.id if a.name in one.attributes]
        columns = {s.column for s in sources}
        known = [set(u) for u in (one.key, table.key, *table.unique) if u]
        if entity.id and not any(k <= columns for k in known) and not any(s.sql for s in sources):
            names = ", ".join(a.name for a in entity.id)
            message = f"{entity.name}: rows of `{table.name}` can have the same {names}"
            fix = f"map the id from {', '.join(table.key)}, or say `key = […]` if these columns are unique"
            yield codes.KEY_LOST.at(span, message, fix)
