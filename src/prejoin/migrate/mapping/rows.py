"""Rows as items: the SELECT of an entity, page by page in the order of its key, and each row converted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import msgspec

from prejoin.diagnostics import Code
from prejoin.migrate import codes
from prejoin.migrate.mapping.convert import ConversionError, Converter, content_value, converter, plain, zone_of
from prejoin.migrate.mapping.model import AttributeSource, Children, EntityMapping, Join, TableMapping, as_source
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

    def __init__(self, entity: Entity, mapping: EntityMapping, table_mapping: TableMapping, database: Database) -> None:
        self.entity = entity
        self.mapping = mapping
        self.table_mapping = table_mapping
        table = database.table(mapping.table)
        self.key: tuple[str, ...] = mapping.key or (table.key if table else ())
        self.values = [
            self._value(attribute) for attribute in entity.attributes if attribute.name in mapping.attributes
        ]
        self._contents = [value.name for value in self.values if value.attribute.type.kind is Kind.CONTENT]
        self._has_sums = False
        # A page with large contents has fewer rows, so that it fits into memory.
        sizes = [value.attribute.size or _CONTENT_SIZE for value in self.values if value.name in self._contents]
        self.page = PAGE_WITH_CHILDREN if mapping.children else PAGE
        if sizes:
            self.page = max(1, min(self.page, _CONTENT_BYTES // sum(sizes)))

    def with_content_sums(self) -> EntityRows:
        """The same rows, with the size and the checksum of large contents instead of the contents."""
        reader = copy(self)
        reader._has_sums = True
        return reader

    def _value(self, attribute: Attribute) -> MappedValue:
        source = self.mapping.source(attribute.name)
        zone = zone_of(source.zone or self.mapping.zone or self.table_mapping.zone)
        return MappedValue(
            attribute.name, converter(attribute.type, source.form, zone, source.members), attribute, source
        )

    @property
    def nulls(self) -> frozenset[str]:
        """The attributes whose NULL is stored as DynamoDB's NULL."""
        values = [value for value in self.values if self.mapping.null_form(value.source) == "null"]
        return frozenset(value.name for value in values if not never_null(value.attribute, value.source))

    @property
    def keeps_key(self) -> bool:
        """Whether the id has all columns of the key as they are, so that no two rows have the same id."""
        sources = [
            self.mapping.source(attribute.name)
            for attribute in self.entity.id
            if attribute.name in self.mapping.attributes
        ]
        plain_columns = {source.column for source in sources if not (source.sql or source.form or source.members)}
        return plain_columns.issuperset(self.key)

    # --- Reading ---------------------------------------------------------------------------------------------------

    def pages(self, snapshot: SourceSnapshot, after: Sequence[Any] | None = None) -> Iterator[list[Row]]:
        """The rows after a key, page by page."""
        # No OFFSET: the database would read all rows before it again, and a load could not continue at a key.
        while True:
            rows = self._page(snapshot, after)
            if not rows:
                return
            yield rows
            after = rows[-1].key
            if len(rows) < self.page:
                return

    def _page(self, snapshot: SourceSnapshot, after: Sequence[Any] | None) -> list[Row]:
        parameters = {f"after{at}": part for at, part in enumerate(after or ())}
        sql = self.select(snapshot, [self._after_condition(snapshot)] if parameters else [])
        order = ", ".join(self._quote(snapshot, column) for column in self.key)
        tuples = snapshot.tuples(f"{sql} ORDER BY {order} LIMIT {self.page}", parameters)
        return self._rows(snapshot, tuples)

    def where(self, snapshot: SourceSnapshot, condition: str, values: Mapping[str, Any]) -> list[Row]:
        """The rows that a condition holds for. The table is `t` in it."""
        return self._rows(snapshot, snapshot.tuples(self.select(snapshot, [condition]), values))

    def by_key(self, snapshot: SourceSnapshot, key: Sequence[Any]) -> Row | None:
        """The row with a key; None if there is none any more."""
        return next(iter(self.matching(snapshot, self.key, [key])), None)

    def matching(
        self, snapshot: SourceSnapshot, columns: Sequence[str], keys: Sequence[Sequence[Any]]
    ) -> Iterator[Row]:
        """The rows whose columns have one of these combinations of values."""
        names = [self._quote(snapshot, column) for column in columns]
        page = min(PAGE_WITH_CHILDREN, self.page)
        for at in range(0, len(keys), page):
            condition, parameters = _any_of(names, keys[at : at + page])
            yield from self.where(snapshot, f"({condition})", parameters)

    def count(self, snapshot: SourceSnapshot) -> int:
        where = f" WHERE {self.mapping.where}" if self.mapping.where else ""
        table = f"{snapshot.quote(self.mapping.table)} AS {_MAIN}"
        return int(snapshot.value(f"SELECT count(*) AS {_OURS}count FROM {table}{where}"))  # noqa: S608

    def select(self, snapshot: SourceSnapshot, conditions: Sequence[str]) -> str:
        """The statement that gives the columns `k…` of the key, `v…` of the values, and `c…` for the children."""
        columns = [f"{self._quote(snapshot, column)} AS {_OURS}k{at}" for at, column in enumerate(self.key)]
        for at, value in enumerate(self.values):
            if value.source.value is None:
                columns.append(f"{self._expression(snapshot, value)} AS {_OURS}v{at}")
        for at, column in enumerate(self._link_columns()):
            columns.append(f"{self._quote(snapshot, column)} AS {_OURS}c{at}")
        joins = "".join(self._join(snapshot, name, join) for name, join in self.mapping.joins.items())
        if self.mapping.where:
            conditions = [f"({self.mapping.where})", *conditions]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {', '.join(columns)} FROM {snapshot.quote(self.mapping.table)} AS {_MAIN}{joins}{where}"  # noqa: S608

    def _join(self, snapshot: SourceSnapshot, name: str, join: Join) -> str:
        conditions = []
        for join_column, column in join.on.items():
            joined = f"{snapshot.quote(name)}.{snapshot.quote(join_column)}"
            conditions.append(f"{joined} = {self._quote(snapshot, column)}")
        # LEFT: a row without a row in the other table becomes an item, too.
        return f" LEFT JOIN {snapshot.quote(join.table)} AS {snapshot.quote(name)} ON {' AND '.join(conditions)}"

    def _link_columns(self) -> list[str]:
        """The columns of the table that children refer to."""
        columns: dict[str, None] = {}
        for children in self.mapping.children.values():
            columns |= dict.fromkeys(children.on.values())
        return list(columns)

    def _quote(self, snapshot: SourceSnapshot, column: str) -> str:
        return f"{_MAIN}.{snapshot.quote(column)}"

    def _expression(self, snapshot: SourceSnapshot, value: MappedValue) -> str:
        if value.source.sql:
            return f"({value.source.sql})"
        join, dot, column = value.source.column.rpartition(".")
        return f"{snapshot.quote(join)}.{snapshot.quote(column)}" if dot else self._quote(snapshot, column)

    def _after_condition(self, snapshot: SourceSnapshot) -> str:
        """Keys after a position. Written out, because MySQL uses no index for a comparison of tuples.

        For a key of two columns: `(a >= :after0 AND ((a > :after0) OR (a = :after0 AND b > :after1)))`.
        """
        names = [self._quote(snapshot, column) for column in self.key]
        alternatives = []
        for at, name in enumerate(names):
            equal_parts = [f"{names[before]} = :after{before}" for before in range(at)]
            alternatives.append(f"({' AND '.join([*equal_parts, f'{name} > :after{at}'])})")
        # What follows from the alternatives, so that the database looks up the first column in its index.
        lower_bound = f"{names[0]} >= :after0 AND " if len(names) > 1 else ""
        return f"({lower_bound}({' OR '.join(alternatives)}))"

    def _rows(self, snapshot: SourceSnapshot, tuples: Sequence[tuple[Any, ...]]) -> list[Row]:
        """The rows of tuples, whose columns are those of the key, then the values, then those for the children."""
        names = [value.name for value in self.values if value.source.value is None]
        constants = {value.name: value.source.value for value in self.values if value.source.value is not None}
        width = len(self.key)
        rows = [Row(columns[:width], dict(zip(names, columns[width:], strict=False))) for columns in tuples]
        if constants:
            for row in rows:
                row.values.update(constants)
        if self._has_sums:
            self._replace_contents(rows)
        self._add_children(snapshot, rows, tuples)
        return rows

    def _replace_contents(self, rows: Sequence[Row]) -> None:
        """Replaces large contents by their sizes and checksums."""
        for name in self._contents:
            for row in rows:
                if row.values[name] is not None:
                    row.values[name] = msgspec.structs.replace(content_value(row.values[name]), data=None)

    # --- Embedded children -----------------------------------------------------------------------------------------

    def _add_children(self, snapshot: SourceSnapshot, rows: Sequence[Row], tuples: Sequence[tuple[Any, ...]]) -> None:
        link_columns = self._link_columns()  # the last ones of a tuple
        for name, children in self.mapping.children.items():
            positions = [link_columns.index(column) - len(link_columns) for column in children.on.values()]
            links = [tuple(columns[at] for at in positions) for columns in tuples]
            groups = self._group_children(snapshot, children, list(dict.fromkeys(links)))
            for row, link in zip(rows, links, strict=True):
                row.values[name] = groups.get(link, [])

    def _group_children(
        self, snapshot: SourceSnapshot, children: Children, links: Sequence[tuple[Any, ...]]
    ) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
        """The children of some rows as maps, by the values that refer to their row."""
        if not links:
            return {}
        link_columns = [self._quote(snapshot, column) for column in children.on]
        sources = {name: as_source(source) for name, source in children.attributes.items()}
        columns = [f"{column} AS {_OURS}k{at}" for at, column in enumerate(link_columns)]
        for at, source in enumerate(sources.values()):
            expression = f"({source.sql})" if source.sql else self._quote(snapshot, source.column)
            columns.append(f"{expression} AS {_OURS}v{at}")
        condition, parameters = _any_of(link_columns, links)
        table = snapshot.quote(children.table)
        sql = f"SELECT {', '.join(columns)} FROM {table} AS {_MAIN} WHERE {condition}"  # noqa: S608
        if children.order:
            sql += f" ORDER BY {', '.join(self._quote(snapshot, column) for column in children.order)}"
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in snapshot.rows(sql, parameters):
            child = {}
            for at, (name, source) in enumerate(sources.items()):
                value = row[f"{_OURS}v{at}"]
                if value is not None or self.mapping.null_form(source) == "null":
                    child[name] = plain(value)
            link = tuple(row[f"{_OURS}k{at}"] for at in range(len(link_columns)))
            groups.setdefault(link, []).append(child)
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
        mapped_value = next(value for value in self.values if value.name == attribute)
        constant = mapped_value.source.value
        value = columns[mapped_value.source.column] if constant is None else constant
        return self._convert([mapped_value], {attribute: value}).get(attribute)

    def _convert(self, mapped_values: Sequence[MappedValue], row_values: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        name = ""
        try:
            for name, convert, attribute, source in mapped_values:
                value = row_values[name]
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


def _any_of(columns: Sequence[str], keys: Sequence[Sequence[Any]]) -> tuple[str, dict[str, Any]]:
    """A condition that columns have one of some combinations of values, and its parameters.

    Written out with OR: not all databases compare tuples, and not all use an index then.

    >>> _any_of(["t.a", "t.b"], [(1, 2), (3, 4)])
    ('(t.a = :p0_0 AND t.b = :p0_1) OR (t.a = :p1_0 AND t.b = :p1_1)', {'p0_0': 1, 'p0_1': 2, 'p1_0': 3, 'p1_1': 4})
    """
    alternatives = []
    parameters = {}
    for row, key in enumerate(keys):
        comparisons = []
        for position, column in enumerate(columns):
            comparisons.append(f"{column} = :p{row}_{position}")
            parameters[f"p{row}_{position}"] = key[position]
        alternatives.append(f"({' AND '.join(comparisons)})")
    return " OR ".join(alternatives), parameters


def never_null(attribute: Attribute, source: AttributeSource) -> str:
    """Why an attribute is never NULL in an item; empty if it can be."""
    if not attribute.optional:
        return "it is required"
    if source.default is not None or source.value is not None:
        return "it always has a value"
    return "an empty set is an absent attribute" if attribute.type.kind is Kind.SET else ""


def all_rows(workload: Workload, mapping: TableMapping, database: Database) -> list[EntityRows]:
    """The readers of all mapped entities, in the order of the mapping."""
    readers = []
    for name, entity_mapping in mapping.entities.items():
        entity = workload.entity(name)
        assert entity is not None  # `check_mapping` found it
        readers.append(EntityRows(entity, entity_mapping, mapping, database))
    return readers
