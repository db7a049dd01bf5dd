"""Rows as items: the SELECT of an entity, page by page in the order of its key, and each row converted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import msgspec

from prejoin.diagnostics import Code
from prejoin.migrate import codes
from prejoin.migrate.mapping.convert import ConversionError, Converter, content_value, converter, plain, zone_of
from prejoin.migrate.mapping.model import AttributeSource, Children, EntityMapping, TableMapping, as_source
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.migrate.source.model import Database
from prejoin.types import Kind
from prejoin.workload.model import Attribute, Entity, Workload

PAGE = 2_000
"""Rows of one SELECT."""
PAGE_WITH_CHILDREN = 200
_CONTENT_BYTES = 64 * 1024 * 1024
"""Large contents of one SELECT, which are in memory together."""
_CONTENT_SIZE = 1024 * 1024
"""The size of contents whose document does not say one."""
_MAIN = "t"
_OURS = "prejoin_"
"""Begins the names of our columns: so the statistics of the database tell our statements from the application's."""


class RowError(Exception):
    """A row cannot become an item: a code, and the reason."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Row(NamedTuple):
    """A row: the position of its key, and the value of each attribute as the database has it."""

    key: tuple[Any, ...]
    values: dict[str, Any]


class MappedValue(NamedTuple):
    """An attribute, and where its values come from."""

    name: str
    convert: Converter
    attribute: Attribute
    source: AttributeSource


class EntityRows:
    """Reads the rows of one entity, and converts them to values by the names of the document."""

    def __init__(self, entity: Entity, mapping: EntityMapping, whole: TableMapping, database: Database) -> None:
        self.entity = entity
        self.mapping = mapping
        self.whole = whole
        table = database.table(mapping.table)
        self.key: tuple[str, ...] = mapping.key or (table.key if table else ())
        self.values = [self._value(a) for a in entity.attributes if a.name in mapping.attributes]
        self._contents = [v.name for v in self.values if v.attribute.type.kind is Kind.CONTENT]
        self._summed = False
        sizes = [v.attribute.size or _CONTENT_SIZE for v in self.values if v.name in self._contents]
        self.page = PAGE_WITH_CHILDREN if mapping.children else PAGE
        if sizes:
            self.page = max(1, min(self.page, _CONTENT_BYTES // sum(sizes)))

    def summed(self) -> EntityRows:
        """The same rows, with the size and the checksum of large contents instead of the contents."""
        found = copy(self)
        found._summed = True
        return found

    def _value(self, attribute: Attribute) -> MappedValue:
        source = self.mapping.source(attribute.name)
        zone = zone_of(source.zone or self.mapping.zone or self.whole.zone)
        return MappedValue(
            attribute.name, converter(attribute.type, source.form, zone, source.members), attribute, source
        )

    @property
    def nulls(self) -> frozenset[str]:
        """The attributes whose NULL is stored as DynamoDB's NULL."""
        stored = [v for v in self.values if self.mapping.null_form(v.source) == "null"]
        return frozenset(v.name for v in stored if not never_null(v.attribute, v.source))

    @property
    def keeps_key(self) -> bool:
        """Whether the id has all columns of the key as they are, so that no two rows have the same id."""
        sources = [self.mapping.source(a.name) for a in self.entity.id if a.name in self.mapping.attributes]
        as_they_are = {one.column for one in sources if not (one.sql or one.form or one.members)}
        return as_they_are.issuperset(self.key)

    # --- Reading ---------------------------------------------------------------------------------------------------

    def pages(self, snapshot: SourceSnapshot, after: Sequence[Any] | None = None) -> Iterator[list[Row]]:
        """The rows after a key, page by page."""
        while True:
            rows = self._page(snapshot, after)
            if not rows:
                return
            yield rows
            after = rows[-1].key
            if len(rows) < self.page:
                return

    def _page(self, snapshot: SourceSnapshot, after: Sequence[Any] | None) -> list[Row]:
        values = {f"after{at}": one for at, one in enumerate(after)} if after is not None else {}
        sql = self.select(snapshot, [self._beyond(snapshot)] if values else [])
        order = ", ".join(self._quoted(snapshot, c) for c in self.key)
        found = snapshot.tuples(f"{sql} ORDER BY {order} LIMIT {self.page}", values)
        return self._rows(snapshot, found)

    def where(self, snapshot: SourceSnapshot, condition: str, values: Mapping[str, Any]) -> list[Row]:
        """The rows that a condition holds for. The table is `t` in it."""
        return self._rows(snapshot, snapshot.tuples(self.select(snapshot, [condition]), values))

    def by_key(self, snapshot: SourceSnapshot, key: Sequence[Any]) -> Row | None:
        """The row with a key; None if there is none any more."""
        return next(iter(self.matching(snapshot, self.key, [key])), None)

    def matching(
        self, snapshot: SourceSnapshot, columns: Sequence[str], wanted: Sequence[Sequence[Any]]
    ) -> Iterator[Row]:
        """The rows whose columns have one of the wanted combinations of values."""
        names = [self._quoted(snapshot, c) for c in columns]
        page = min(PAGE_WITH_CHILDREN, self.page)
        for at in range(0, len(wanted), page):
            some = wanted[at : at + page]
            each = [" AND ".join(f"{name} = :p{n}_{c}" for c, name in enumerate(names)) for n in range(len(some))]
            values = {f"p{n}_{c}": value for n, one in enumerate(some) for c, value in enumerate(one)}
            yield from self.where(snapshot, f"({' OR '.join(f'({one})' for one in each)})", values)

    def count(self, snapshot: SourceSnapshot) -> int:
        where = f" WHERE {self.mapping.where}" if self.mapping.where else ""
        table = f"{snapshot.quote(self.mapping.table)} AS {_MAIN}"
        return int(snapshot.value(f"SELECT count(*) AS {_OURS}count FROM {table}{where}"))  # noqa: S608

    def select(self, snapshot: SourceSnapshot, conditions: Sequence[str]) -> str:
        columns = [f"{self._quoted(snapshot, c)} AS {_OURS}k{at}" for at, c in enumerate(self.key)]
        columns += [
            f"{self._expression(snapshot, v)} AS {_OURS}v{at}"
            for at, v in enumerate(self.values)
            if v.source.value is None
        ]
        linked = self._linked()
        columns += [f"{self._quoted(snapshot, c)} AS {_OURS}c{at}" for at, c in enumerate(linked)]
        joins = "".join(
            f" LEFT JOIN {snapshot.quote(join.table)} AS {snapshot.quote(name)} ON "
            + " AND ".join(
                f"{snapshot.quote(name)}.{snapshot.quote(theirs)} = {self._quoted(snapshot, ours)}"
                for theirs, ours in join.on.items()
            )
            for name, join in self.mapping.joins.items()
        )
        found = [*([f"({self.mapping.where})"] if self.mapping.where else []), *conditions]
        where = f" WHERE {' AND '.join(found)}" if found else ""
        return f"SELECT {', '.join(columns)} FROM {snapshot.quote(self.mapping.table)} AS {_MAIN}{joins}{where}"  # noqa: S608

    def _linked(self) -> list[str]:
        """The columns of the table that children refer to."""
        return list(dict.fromkeys(ours for c in self.mapping.children.values() for ours in c.on.values()))

    def _quoted(self, snapshot: SourceSnapshot, column: str) -> str:
        return f"{_MAIN}.{snapshot.quote(column)}"

    def _expression(self, snapshot: SourceSnapshot, value: MappedValue) -> str:
        if value.source.sql:
            return f"({value.source.sql})"
        join, dot, column = value.source.column.rpartition(".")
        return f"{snapshot.quote(join)}.{snapshot.quote(column)}" if dot else self._quoted(snapshot, column)

    def _beyond(self, snapshot: SourceSnapshot) -> str:
        """Keys after a position. Written out, because MySQL uses no index for a comparison of tuples."""
        names = [self._quoted(snapshot, c) for c in self.key]
        steps = [
            " AND ".join([*(f"{names[b]} = :after{b}" for b in range(at)), f"{names[at]} > :after{at}"])
            for at in range(len(names))
        ]
        first = f"{names[0]} >= :after0 AND " if len(names) > 1 else ""
        return f"({first}({' OR '.join(f'({step})' for step in steps)}))"

    def _rows(self, snapshot: SourceSnapshot, found: Sequence[tuple[Any, ...]]) -> list[Row]:
        selected = [v.name for v in self.values if v.source.value is None]
        constant = {v.name: v.source.value for v in self.values if v.source.value is not None}
        width = len(self.key)  # the columns are those of the key, then those that are selected
        rows = [Row(row[:width], dict(zip(selected, row[width:], strict=False))) for row in found]
        for row in rows if constant else ():
            row.values.update(constant)
        for name in self._contents if self._summed else ():
            for row in rows:
                if row.values[name] is not None:
                    row.values[name] = msgspec.structs.replace(content_value(row.values[name]), data=None)
        self._add_children(snapshot, rows, found)
        return rows

    # --- Embedded children -----------------------------------------------------------------------------------------

    def _add_children(self, snapshot: SourceSnapshot, rows: Sequence[Row], found: Sequence[tuple[Any, ...]]) -> None:
        linked = self._linked()  # the last columns
        for name, children in self.mapping.children.items():
            places = [linked.index(column) - len(linked) for column in children.on.values()]
            ours = [tuple(row[at] for at in places) for row in found]
            groups = self._grouped(snapshot, children, list(dict.fromkeys(ours)))
            for row, key in zip(rows, ours, strict=True):
                row.values[name] = groups.get(key, [])

    def _grouped(
        self, snapshot: SourceSnapshot, children: Children, keys: Sequence[tuple[Any, ...]]
    ) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
        if not keys:
            return {}
        theirs = [f"{_MAIN}.{snapshot.quote(c)}" for c in children.on]
        sources = {name: as_source(one) for name, one in children.attributes.items()}
        columns = [f"{one} AS {_OURS}k{at}" for at, one in enumerate(theirs)]
        columns += [
            f"{f'({s.sql})' if s.sql else f'{_MAIN}.{snapshot.quote(s.column)}'} AS {_OURS}v{at}"
            for at, s in enumerate(sources.values())
        ]
        values = {f"p{n}_{at}": one for n, key in enumerate(keys) for at, one in enumerate(key)}
        wanted = " OR ".join(
            "(" + " AND ".join(f"{one} = :p{n}_{at}" for at, one in enumerate(theirs)) + ")" for n in range(len(keys))
        )
        order = ", ".join(f"{_MAIN}.{snapshot.quote(c)}" for c in children.order)
        table = snapshot.quote(children.table)
        sql = f"SELECT {', '.join(columns)} FROM {table} AS {_MAIN} WHERE {wanted}"  # noqa: S608
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in snapshot.rows(f"{sql} ORDER BY {order}" if order else sql, values):
            one = {
                name: plain(value)
                for at, (name, source) in enumerate(sources.items())
                if (value := row[f"{_OURS}v{at}"]) is not None or self.mapping.null_form(source) == "null"
            }
            groups.setdefault(tuple(row[f"{_OURS}k{at}"] for at in range(len(theirs))), []).append(one)
        return groups

    # --- Converting ------------------------------------------------------------------------------------------------

    def convert(self, row: Row) -> dict[str, Any]:
        """The values of an item, without those that are absent. Raises a `RowError`."""
        values = self._convert(self.values, row.values)
        for name in self.mapping.children:
            values[name] = row.values[name]
        return values

    def convert_one(self, attribute: str, columns: Mapping[str, Any]) -> Any:
        """The value of one attribute, from columns of the table. Raises a `RowError`; a KeyError if one is missing."""
        one = next(v for v in self.values if v.name == attribute)
        value = columns[one.source.column] if one.source.value is None else one.source.value
        return self._convert([one], {attribute: value}).get(attribute)

    def _convert(self, wanted: Sequence[MappedValue], given: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        name = ""
        try:
            for name, convert, attribute, source in wanted:
                value = given[name]
                if value is None:
                    value = source.default
                    if value is None:
                        if not attribute.optional and attribute.default is None:
                            raise RowError(codes.VALUE, f"{name}: NULL, and the attribute is required")
                        continue
                values[name] = convert(value)
        except ConversionError as problem:
            raise RowError(codes.VALUE, f"{name}: {problem}") from None
        return values


def never_null(attribute: Attribute, source: AttributeSource) -> str:
    """Why an attribute is never NULL in an item; empty if it can be."""
    if not attribute.optional:
        return "it is required"
    if source.default is not None or source.value is not None:
        return "it always has a value"
    return "an empty set is an absent attribute" if attribute.type.kind is Kind.SET else ""


def all_rows(workload: Workload, mapping: TableMapping, database: Database) -> list[EntityRows]:
    """The readers of all mapped entities, in the order of the mapping."""
    found = []
    for name, one in mapping.entities.items():
        entity = workload.entity(name)
        assert entity is not None  # `check_mapping` found it
        found.append(EntityRows(entity, one, mapping, database))
    return found
