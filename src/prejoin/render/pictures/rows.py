"""Sample items of the table and of each index, in the order of DynamoDB, as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from prejoin.constructs.construct import AddedConstruct
from prejoin.constructs.registry import added_in, lines_of
from prejoin.design.document.samples import held_attributes, plain, sample_values, varying, written_key
from prejoin.design.mapping.facets import is_natural
from prejoin.design.model import TABLE, Design, Facet, Item, KeyAttribute, ProjectionKind, Slot
from prejoin.keys import KeyValueError, Template, TemplateError
from prejoin.workload.model import Entity, Workload


@dataclass(frozen=True, slots=True)
class Row:
    """An item in a slot."""

    pk: tuple[str, ...]
    sk: tuple[str, ...]
    pk_templates: tuple[str, ...]
    sk_templates: tuple[str, ...]
    entity: str
    note: str
    """The kind of an item that is not the entity's own: a copy, a guard, a shard, an earlier version, a part."""
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """An item collection: the items that one query can read."""

    pk: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def templates(self) -> tuple[tuple[str, ...], ...]:
        """The templates of the partition key; they differ if its items have different names for the id."""
        return tuple(dict.fromkeys(row.pk_templates for row in self.rows))


def partitions_of(workload: Workload, design: Design, slot: Slot) -> tuple[Partition, ...]:
    """The sample items of a slot, by partition and in order."""
    rows: list[Row] = []
    for item in design.items:
        rows += _rows(workload, design, slot, item)
    rows += pattern_rows(workload, design, slot)
    rows.sort(key=lambda row: (_order(row.pk, slot.pk), _order(row.sk, slot.sk), row.entity, row.note))
    return tuple(Partition(pk, tuple(group)) for pk, group in groupby(rows, key=attrgetter("pk")))


def pattern_rows(workload: Workload, design: Design, slot: Slot) -> list[Row]:
    """The sample items that patterns keep in the table: guards, shards, parts of contents and earlier versions."""
    if slot.name != TABLE:
        return []
    rows: list[Row] = []
    for bound in added_in(workload, design):
        rows += _construct_rows(workload, design, bound)
    for entity in workload.entities:
        rows += _version_rows(workload, design, slot, entity)
    return rows


def _order(values: Sequence[str], attributes: Sequence[KeyAttribute]) -> tuple[tuple[float, bytes], ...]:
    """Keys as DynamoDB sorts them: numbers as numbers, texts by their bytes."""
    return tuple(_sort_value(value, attribute.type) for value, attribute in zip(values, attributes, strict=False))


def _sort_value(value: str, type_: str) -> tuple[float, bytes]:
    try:
        return (float(value), b"") if type_ == "N" else (0, value.encode("utf-8", "surrogatepass"))
    except ValueError:
        return 0, value.encode("utf-8", "surrogatepass")


def _rows(workload: Workload, design: Design, slot: Slot, item: Item) -> Iterator[Row]:
    facet, entity = item.facet(slot.name), workload.entity(item.entity)
    if facet is None or entity is None:
        return
    # A second item with other values shows what several items of one partition look like.
    for varying_attributes in dict.fromkeys(((), varying(entity, facet))):
        values = sample_values(workload, entity, design, varying_attributes, facet.when)
        key = [_text(value) for _, value in written_key(design, entity, slot, facet, values)]
        attributes = _read_attributes(design, slot, item, entity, values)
        yield Row(
            tuple(key[: len(slot.pk)]),
            tuple(key[len(slot.pk) :]),
            facet.pk,
            facet.sk,
            item.entity,
            f"copy {item.copy}" if item.copy else "",
            tuple((name, _text(plain(value))) for name, value in attributes.items()),
        )


def _read_attributes(
    design: Design, slot: Slot, item: Item, entity: Entity, values: dict[str, object]
) -> dict[str, object]:
    """The attributes that a read of the slot gets, without its key attributes."""
    keys = slot.key_names
    held_names = held_attributes(design, item) if item.attributes else set(values)
    shown_values = {name: value for name, value in values.items() if name in held_names and name not in keys}
    projection = slot.projection
    if projection.kind is ProjectionKind.ALL:
        return shown_values
    projected_values: dict[str, object] = {}
    table = design.slot(TABLE)
    # Whatever else an index has, it has the keys of the table.
    if table is not None and item.facets:
        projected_values |= written_key(design, entity, table, item.facets[0], values)
        for name in keys:
            projected_values.pop(name, None)
    if projection.kind is ProjectionKind.INCLUDE:
        projected_values |= {name: value for name, value in shown_values.items() if name in projection.attributes}
    return projected_values


def _construct_rows(workload: Workload, design: Design, bound: AddedConstruct) -> Iterator[Row]:
    """The item of a construct that the design adds to an entity."""
    try:
        templates = bound.templates(design)
        values = {**sample_values(workload, bound.entity, design), **bound.sample}
        key_values = [template.build(values) for template in templates]
    except (TemplateError, KeyValueError):
        return  # a key that cannot be made is for the checks to tell
    if not templates:
        return  # it is in a store
    texts = [template.text for template in templates]
    name = bound.entity.name
    yield Row(tuple(key_values[:1]), tuple(key_values[1:]), tuple(texts[:1]), tuple(texts[1:]), name, bound.note, ())


def _version_rows(workload: Workload, design: Design, slot: Slot, entity: Entity) -> Iterator[Row]:
    """The items of the constructs of an entity: an earlier version."""
    item = design.item(entity.name)
    if item is None or not item.facets or not slot.sk:
        return
    key, types = item.facets[0], entity.types
    if not key.pk or not key.sk or is_natural(key.templates, slot.key_attributes):
        return
    values = sample_values(workload, entity, design)
    noted_templates: list[tuple[str, Template, Template]] = []
    try:
        for bound in lines_of(entity):
            for kept_item in bound.items(design):
                pk = Template.of(kept_item.pk, types, design.separator)
                sk = Template.of(kept_item.sk, types, design.separator)
                noted_templates.append((kept_item.note, pk, sk))
        for note, pk, sk in noted_templates:
            yield Row((pk.build(values),), (sk.build(values),), (pk.text,), (sk.text,), entity.name, note, ())
    except (TemplateError, KeyValueError):
        return  # a key that cannot be made is for the checks to tell


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def facets_in(design: Design, slot: Slot) -> Iterator[tuple[Item, Facet]]:
    """The items that are in a slot, each with its key there."""
    for item in design.items:
        if facet := item.facet(slot.name):
            yield item, facet
