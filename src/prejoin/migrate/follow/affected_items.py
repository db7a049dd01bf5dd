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
        sources = (self.rows.mapping.source(attribute) for attribute in self.attributes)
        yield from (source.column for source in sources if source.column)

    @property
    def tables(self) -> Iterator[str]:
        """All tables whose rows are part of an item."""
        yield self.rows.mapping.table
        yield from (related.table for related in self.rows.mapping.related)

    def item_key(self, values: Mapping[str, Any]) -> ItemKey:
        """The key of an item, from its values."""
        return self.name, tuple(values.get(name) for name in self.attributes)

    def item_of(self, image: Mapping[str, Any]) -> ItemKey | None:
        """The key of the item that a row was; None if the row was no item."""
        try:
            return self.item_key({name: self.rows.convert_one(name, image) for name in self.attributes})
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
        columns: dict[str, dict[str, None]] = {}
        for entity in self.entities.values():
            mapping = entity.rows.mapping
            columns.setdefault(mapping.table, {}).update(dict.fromkeys(entity.columns))
            for related in mapping.related:
                columns.setdefault(related.table, {}).update(dict.fromkeys(related.on))
        return {table: tuple(names) for table, names in columns.items()}

    def of(self, snapshot: SourceSnapshot, change: RowChange) -> tuple[list[RowKey], list[tuple[RowKey, ItemKey]]]:
        """The rows whose items a change may touch, and the items that the changed row was, before and after."""
        try:
            return list(self._rows(snapshot, change)), list(self._items(change))
        except KeyError as missing:
            message = f"the log lacks the column {missing} of {change.table}"
            raise PipelineError(codes.NOT_FOLLOWED, message, "give all columns to `record_rows`") from None

    def _rows(self, snapshot: SourceSnapshot, change: RowChange) -> Iterator[RowKey]:
        """The changed row itself, and the rows of entities that embed or join it."""
        for entity in self.entities.values():
            mapping = entity.rows.mapping
            if mapping.table == change.table:
                for key in _values(change.images, entity.rows.key):
                    yield entity.name, key
            for related in mapping.related:
                if related.table != change.table:
                    continue
                references = list(_values(change.images, tuple(related.on)))
                for row in entity.rows.matching(snapshot, tuple(related.on.values()), references):
                    yield entity.name, row.key

    def _items(self, change: RowChange) -> Iterator[tuple[RowKey, ItemKey]]:
        for entity in self.entities.values():
            if entity.rows.mapping.table != change.table:
                continue
            # Before and after: an UPDATE of a key leaves an item of the old key, which has to be deleted.
            for image in change.images:
                key = next(_values([image], entity.rows.key), None)
                item = entity.item_of(image)
                if key is not None and item is not None:
                    yield (entity.name, key), item


def _values(images: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The distinct values of columns; without NULL, which refers to nothing."""
    keys = (tuple(image[column] for column in columns) for image in images)
    yield from dict.fromkeys(key for key in keys if None not in key)
