"""The two sides of a verification: the database and the table, with what a pattern answers on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prejoin.migrate.mapping.rows import EntityRows, Row, RowError
from prejoin.migrate.migration import Migration
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.migrate.verify.compare import ItemDifference, KeyedValues, Values
from prejoin.render.python.method import Method
from prejoin.table.client.client import Client
from prejoin.workload.model import Entity

MAX_ITEMS = 200
"""Items of an answer that are compared."""
Sample = tuple[Row, Mapping[str, Any]]
"""A row, and the values that it became."""


@dataclass(frozen=True, slots=True)
class PatternComparison:
    """An access pattern on both sides."""

    pattern: str
    runs: int
    differences: tuple[ItemDifference, ...] = ()
    skipped: str = ""
    """Why it was not compared."""


@dataclass(frozen=True, slots=True)
class Sides:
    """A snapshot of the database, and the table that it was loaded into."""

    migration: Migration
    snapshot: SourceSnapshot
    client: Client

    def call(self, method: Method, arguments: Mapping[str, Any]) -> Any:
        """Calls a method of the repository, with a limit if it takes one."""
        has_limit = any(param.name == "limit" for param in method.params)
        limit = {"limit": MAX_ITEMS} if has_limit else {}
        return self.migration.package.call(self.client, method, {**arguments, **limit})

    def values_of(self, record: Any) -> Values:
        return self.migration.package.values(record)[1]

    def convert_rows(self, reader: EntityRows, rows: Sequence[Row]) -> Iterator[KeyedValues]:
        """The items that rows should have become, with their ids."""
        for row in rows:
            try:
                record = self.migration.package.record(reader.entity.name, reader.convert(row))
            except RowError:
                continue  # a dead letter, which the comparison of items reports
            values = self.values_of(record)
            yield id_of(reader.entity, values), values


def id_of(entity: Entity, values: Values) -> tuple[Any, ...]:
    return tuple(values.get(attribute.name) for attribute in entity.id)


def pattern_difference(entity: str, place: str, attribute: str, row_value: Any, answer: Any) -> ItemDifference:
    return ItemDifference("pattern", entity, place, attribute, row_value, answer)


def records_of(answer: Any) -> list[Any]:
    """The objects of an answer about one entity: a page, a list, an object or None."""
    if answer is None:
        return []
    records = [answer]
    if is_page(answer):
        records = answer.items
    elif isinstance(answer, list):
        records = answer
    return [record for record in records if record is not None]


def records_of_collection(answer: Any) -> list[Any]:
    """The objects of an answer about several entities, which nests pages, lists and objects."""
    if answer is None:
        return []
    if isinstance(answer, Mapping):
        parts = list(answer.values())
    elif isinstance(answer, tuple | list):
        parts = list(answer)
    else:
        return list(answer.items) if is_page(answer) else [answer]
    records = []
    for part in parts:
        records += records_of_collection(part)
    return records


def is_page(answer: Any) -> bool:
    return hasattr(answer, "cursor")


def has_next_page(answer: Any) -> bool:
    return getattr(answer, "cursor", None) is not None
