"""Sample items of the table and of each index, in the order of DynamoDB, as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from prejoin.design.document.samples import held_attributes, plain, sample_values, varying, written_key
from prejoin.design.mapping.facets import counter_templates, history_key, is_natural
from prejoin.design.model import TABLE, Design, Facet, Guard, Item, KeyAttribute, ProjectionKind, Slot
from prejoin.keys import KeyValueError, Template, TemplateError
from prejoin.keys.content import PART, UPLOAD, part_facet
from prejoin.keys.counter import SHARD
from prejoin.keys.guard import guard_key
from prejoin.workload.contents import contents_of
from prejoin.workload.model import Entity, Workload

_UPLOAD = "01K9ZV1Q"
"""The beginning of a sample upload; a whole one has 26 characters."""


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
    found = [row for item in design.items for row in _rows(workload, design, slot, item)]
    found += pattern_rows(workload, design, slot)
    found.sort(key=lambda row: (_order(row.pk, slot.pk), _order(row.sk, slot.sk), row.entity, row.note))
    groups = groupby(found, key=lambda row: row.pk)
    return tuple(Partition(pk, tuple(rows)) for pk, rows in groups)


def pattern_rows(workload: Workload, design: Design, slot: Slot) -> list[Row]:
    """The sample items that patterns keep in the table: guards, shards, earlier versions and parts of contents."""
    if slot.name != TABLE:
        return []
    found = [row for guard in design.guards for row in _guard(workload, design, slot, guard)]
    return found + [row for entity in workload.entities for row in _kept(workload, design, slot, entity)]


def _order(values: Sequence[str], attributes: Sequence[KeyAttribute]) -> tuple[tuple[float, bytes], ...]:
    """Keys as DynamoDB sorts them: numbers as numbers, texts by their bytes."""
    return tuple(_placed(value, attribute.type) for value, attribute in zip(values, attributes, strict=False))


def _placed(value: str, type_: str) -> tuple[float, bytes]:
    try:
        return (float(value), b"") if type_ == "N" else (0, value.encode("utf-8", "surrogatepass"))
    except ValueError:
        return 0, value.encode("utf-8", "surrogatepass")


def _rows(workload: Workload, design: Design, slot: Slot, item: Item) -> Iterator[Row]:
    facet, entity = item.facet(slot.name), workload.entity(item.entity)
    if facet is None or entity is None:
        return
    others = varying(entity, facet)
    for second in ((), others) if others else ((),):
        values = sample_values(workload, entity, design, second, facet.when)
        key = [_text(value) for _, value in written_key(design, entity, slot, facet, values)]
        shown = _seen(design, slot, item, entity, values)
        yield Row(
            tuple(key[: len(slot.pk)]),
            tuple(key[len(slot.pk) :]),
            facet.pk,
            facet.sk,
            item.entity,
            f"copy {item.copy}" if item.copy else "",
            tuple((name, _text(plain(value))) for name, value in shown.items()),
        )


def _seen(design: Design, slot: Slot, item: Item, entity: Entity, values: dict[str, object]) -> dict[str, object]:
    """The attributes that a read of the slot gets, without its key attributes."""
    keys = {attribute.name for attribute in (*slot.pk, *slot.sk)}
    held = held_attributes(design, item) if item.attributes else set(values)
    seen = {name: value for name, value in values.items() if name in held and name not in keys}
    if slot.projection.kind is ProjectionKind.ALL:
        return seen
    named = set(slot.projection.attributes) if slot.projection.kind is ProjectionKind.INCLUDE else set()
    base: dict[str, object] = {}
    if (table := design.slot(TABLE)) and item.facets:
        base = dict(written_key(design, entity, table, item.facets[0], values))
    # Whatever else an index has, it has the keys of the table.
    return {**{n: v for n, v in base.items() if n not in keys}, **{n: v for n, v in seen.items() if n in named}}


def _guard(workload: Workload, design: Design, slot: Slot, guard: Guard) -> Iterator[Row]:
    entity, own = workload.entity(guard.entity), design.item(guard.entity)
    if entity is None or own is None or not guard.attributes:
        return
    try:
        templates = guard_key(own.tag, guard.attributes, entity.types, design.separator, bool(slot.sk))
        built = [one.build(sample_values(workload, entity, design)) for one in templates if one]
    except (TemplateError, KeyValueError):
        return  # a guard that no key can be made of is for the checks to tell
    texts = [one.text for one in templates if one]
    note = f"guard of {' + '.join(guard.attributes)}"
    yield Row(tuple(built[:1]), tuple(built[1:]), tuple(texts[:1]), tuple(texts[1:]), guard.entity, note, ())


def _kept(workload: Workload, design: Design, slot: Slot, entity: Entity) -> Iterator[Row]:
    """A shard of the entity's counter, an earlier version of an item, and a part of each large content."""
    own, counter = design.item(entity.name), design.counter(entity.name)
    if own is None or not own.facets or not slot.sk:
        return
    key, types = own.facets[0], entity.types
    if not key.pk or not key.sk or is_natural((*key.pk, *key.sk), (*slot.pk, *slot.sk)):
        return
    values = {**sample_values(workload, entity, design), SHARD: 0, UPLOAD: _UPLOAD, PART: 0}
    found: list[tuple[str, tuple[Template, ...]]] = []
    try:
        if counter:
            note = f"one of {counter.shards} shards of {', '.join(counter.attributes)}"
            found.append((note, counter_templates(design, entity)))
        if entity.history:
            texts = history_key(design, entity)
            found.append(("earlier version", tuple(Template.of(text, types, design.separator) for text in texts)))
        for name in (a.name for a in contents_of(entity) if not design.in_store(entity.name, a.name)):
            base, others = (Template.of(text, types, design.separator) for text in (key.pk[0], key.sk[0]))
            part = part_facet(own.tag, name, base, others.attributes, types, design.separator).sk
            assert isinstance(part, Template)
            found.append((f"part of {name}", (base, part)))
        for note, templates in found:
            pk, sk = (template.build(values) for template in templates)
            sorting = templates[1].text.replace(f"{{{UPLOAD}}}", "{upload}").replace(f"{{{PART}:06d}}", "{part}")
            yield Row((pk,), (sk,), (templates[0].text,), (sorting,), entity.name, note, ())
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
