"""Compare reads of an item with its children. They need no SQL: the rows of children follow from references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prejoin.migrate.mapping.rows import EntityRows
from prejoin.migrate.verify.compare import ItemDifference, KeyedValues, compare_items, shown_key
from prejoin.migrate.verify.sides import (
    PatternComparison,
    Sample,
    Sides,
    has_next_page,
    id_of,
    pattern_difference,
    records_of_collection,
)
from prejoin.render.python.method import InputValue, Method
from prejoin.workload.model import Entity, Read


def compare_collection(sides: Sides, read: Read, method: Method, samples: Sequence[Sample]) -> PatternComparison:
    """Compares the answers for sampled parents, if they are read by nothing but their id."""
    migration = sides.migration
    if not set(read.entities) <= set(migration.mapping.entities):
        return PatternComparison(read.id, 0, skipped="one of its entities is not mapped")
    parent, *children = [migration.of(name) for name in read.entities]
    id_names = [attribute.name for attribute in parent.entity.id]
    link_columns = [_link_columns(child, parent.entity, id_names) for child in children]
    if not all(link_columns) or not _is_read_by_id(read, id_names):
        return PatternComparison(read.id, 0, skipped="it has other conditions than the id of its first entity")
    collection = _Collection(sides, read, method, parent, list(zip(children, link_columns, strict=True)))
    differences: list[ItemDifference] = []
    for sample in samples:
        differences += collection.compare(sample)
    return PatternComparison(read.id, len(samples), tuple(differences), "" if samples else "no row has its arguments")


def _is_read_by_id(read: Read, id_names: list[str]) -> bool:
    if [read_input.attribute for read_input in read.inputs] != id_names:
        return False
    return not any(read_input.constant or read_input.many for read_input in read.inputs)


def _link_columns(child: EntityRows, parent: Entity, id_names: Sequence[str]) -> list[str]:
    """The columns of a child that hold the id of its parent, in the order of the id; empty if they are not known."""
    columns = []
    for name in id_names:
        targets = {f"{parent.name}.{name}"}
        if len(id_names) == 1:
            targets.add(parent.name)  # `→ Event` means the id of the event, if that is one attribute
        references = (attribute.name for attribute in child.entity.attributes if attribute.references in targets)
        reference = next(references, "")
        if reference not in child.mapping.attributes or not child.mapping.source(reference).column:
            return []
        columns.append(child.mapping.source(reference).column)
    return columns


class _Collection:
    """A read of a parent with its children. Each child comes with the columns that hold the id of the parent."""

    def __init__(
        self,
        sides: Sides,
        read: Read,
        method: Method,
        parent: EntityRows,
        children: Sequence[tuple[EntityRows, list[str]]],
    ) -> None:
        self.sides = sides
        self.read = read
        self.method = method
        self.parent = parent
        self.children = children

    def compare(self, sample: Sample) -> Iterator[ItemDifference]:
        """Compares the answer for one parent."""
        values = sample[1]
        arguments = {}
        for param in self.method.params:
            if isinstance(param.meaning, InputValue):
                arguments[param.name] = values[param.meaning.input]
        answer = self.sides.call(self.method, arguments)
        if has_next_page(answer):
            return  # only a part of the children
        items = self._stored_items(answer)
        for entity, row_items in self._expected_items(sample).items():
            for difference in compare_items(entity, row_items, items.get(entity, [])):
                key = shown_key(id_of(self.parent.entity, values))
                yield pattern_difference(
                    entity,
                    f"{self.read.id} ({key}): {difference.key}",
                    difference.attribute or difference.kind,
                    difference.expected,
                    difference.found,
                )

    def _stored_items(self, answer: object) -> dict[str, list[KeyedValues]]:
        """The items of an answer, by entity."""
        migration = self.sides.migration
        items: dict[str, list[KeyedValues]] = {}
        for record in records_of_collection(answer):
            entity, values = migration.package.values(record)
            items.setdefault(entity, []).append((id_of(migration.of(entity).entity, values), values))
        return items

    def _expected_items(self, sample: Sample) -> dict[str, list[KeyedValues]]:
        """The items that the row of a parent and the rows of its children should have become, by entity."""
        row = sample[0]
        snapshot = self.sides.snapshot
        parameters = {f"v{at}": row.values[id_.name] for at, id_ in enumerate(self.parent.entity.id)}
        rows = {self.parent.entity.name: [row]}
        for child, columns in self.children:
            comparisons = [f"t.{snapshot.quote(column)} = :v{at}" for at, column in enumerate(columns)]
            rows[child.entity.name] = child.where(snapshot, " AND ".join(comparisons), parameters)
        items = {}
        for entity, entity_rows in rows.items():
            items[entity] = list(self.sides.convert_rows(self.sides.migration.of(entity), entity_rows))
        return items
