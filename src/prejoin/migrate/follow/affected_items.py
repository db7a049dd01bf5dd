"""From changed rows to items: which rows of which entities have to be read again, and which items they were before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prejoin.migrate import codes
from prejoin.migrate.follow.log import Columns, RowChange
from prejoin.migrate.mapping.rows import EntityRows, RowError
from prejoin.migrate.migration import Migration
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.pipeline.errors import PipelineError, RefusedError

RowKey = tuple[str, tuple[Any, ...]]
"""An entity, and the key of a row."""
ItemKey = tuple[str, tuple[Any, ...]]
"""An entity, and the attributes of the key of an item, in the order of `EntityItems.attributes`."""


class EntityItems:
    """The items of one entity: the attributes of their keys, and the columns that these come from."""

    def __init__(self, migration: Migration, rows: EntityRows) -> None:
        self.rows = rows
        self.name = rows.entity.name
        self.cls = migration.package.classes[self.name]
        names = {field: name for name, field in migration.package.fields[self.name].items()}
        self.attributes = tuple(names[field] for field in migration.package.schema.entity(self.cls).base.attributes)
        self.fields = migration.package.named(self.name, {name: name for name in self.attributes})
        for name in self.attributes:
            source = rows.mapping.source(name) if name in rows.mapping.attributes else None
            if source is None or source.sql or "." in source.column:
                message = (
                    f"{self.name}.{name} is part of a key, and does not come from a column of {rows.mapping.table}"
                )
                fix = "map it from a column of the entity's own table; or stop writes during the load"
                raise RefusedError(codes.NOT_FOLLOWED, message, fix)

    @property
    def columns(self) -> Iterator[str]:
        """The columns of the table that identify a row, and that make up the key of its item."""
        yield from self.rows.key
        yield from (c for a in self.attributes if (c := self.rows.mapping.source(a).column))

    @property
    def tables(self) -> Iterator[str]:
        """All tables whose rows are part of an item."""
        yield self.rows.mapping.table
        yield from (one.table for one in self.rows.mapping.related)

    def item_key(self, values: Mapping[str, Any]) -> ItemKey:
        """The key of an item, from its values."""
        return self.name, tuple(values.get(name) for name in self.attributes)

    def item_of(self, image: Mapping[str, Any]) -> ItemKey | None:
        """The key of the item that a row was; None if the row was no item."""
        try:
            return self.item_key({a: self.rows.convert_one(a, image) for a in self.attributes})
        except RowError:
            return None

    def named(self, key: ItemKey) -> dict[str, Any]:
        """The key of an item as arguments of the client."""
        fields = {attribute: field for field, attribute in self.fields.items()}
        return {fields[name]: value for name, value in zip(self.attributes, key[1], strict=True)}


class AffectedItems:
    """Finds the rows and items that changes touch."""

    def __init__(self, migration: Migration) -> None:
        self.entities = {rows.entity.name: EntityItems(migration, rows) for rows in migration.rows}

    def columns(self) -> Columns:
        """By table, the columns that the log has to tell."""
        found: dict[str, dict[str, None]] = {}
        for one in self.entities.values():
            mapping = one.rows.mapping
            found.setdefault(mapping.table, {}).update(dict.fromkeys(one.columns))
            for other in mapping.related:
                found.setdefault(other.table, {}).update(dict.fromkeys(other.on))
        return {table: tuple(columns) for table, columns in found.items()}

    def of(self, snapshot: SourceSnapshot, change: RowChange) -> tuple[list[RowKey], list[tuple[RowKey, ItemKey]]]:
        """The rows whose items a change may touch, and the items that the changed row was, before and after."""
        try:
            return list(self._rows(snapshot, change)), list(self._items(change))
        except KeyError as missing:
            message = f"the log lacks the column {missing} of {change.table}"
            raise PipelineError(codes.NOT_FOLLOWED, message, "give all columns to `record_rows`") from None

    def _rows(self, snapshot: SourceSnapshot, change: RowChange) -> Iterator[RowKey]:
        for one in self.entities.values():
            mapping = one.rows.mapping
            if mapping.table == change.table:
                yield from ((one.name, key) for key in _values(change.images, one.rows.key))
            for other in mapping.related:
                if other.table == change.table:
                    found = list(_values(change.images, tuple(other.on)))
                    yield from (
                        (one.name, row.key) for row in one.rows.matching(snapshot, tuple(other.on.values()), found)
                    )

    def _items(self, change: RowChange) -> Iterator[tuple[RowKey, ItemKey]]:
        for one in self.entities.values():
            if one.rows.mapping.table == change.table:
                for image in change.images:
                    key = next(_values([image], one.rows.key), None)
                    item = one.item_of(image)
                    if key is not None and item is not None:
                        yield (one.name, key), item


def _values(images: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The distinct values of columns; without NULL, which refers to nothing."""
    found = (tuple(image[column] for column in columns) for image in images)
    yield from dict.fromkeys(key for key in found if None not in key)
