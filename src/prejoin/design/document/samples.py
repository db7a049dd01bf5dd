"""Sample items with plausible values and their real keys. They are the same for the same design."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from hashlib import sha256

from prejoin.design.mapping.addressing import held
from prejoin.design.model import Design, Facet, Item, Slot, When
from prejoin.keys import KeyValueError, Template, TemplateError, fields_of
from prejoin.keys.template.encoding import encode_datetime
from prejoin.workload.constants import constant
from prejoin.workload.model import Entity, Workload
from prejoin.workload.samples import SampleContent, plausible_values

Values = Mapping[str, object]


def sample_values(
    workload: Workload,
    entity: Entity,
    design: Design,
    second: Iterable[str] = (),
    when: Iterable[When] = (),
    known: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The attributes of a sample item. Those in `second` have another value than in the first sample.

    `known` has values that are decided, None for an absent attribute.
    """
    varying_names, conditions = frozenset(second), tuple(when)
    paths = {name: f"/docs/{2025 + (name in varying_names)}" for name in _path_attributes(design, entity)}
    decided_values = {**paths, **(known or {})}
    for condition in conditions:
        decided_values |= _value_of_condition(entity, condition)
    required_names = _required_attributes(design, entity)
    required_names.update(condition.attribute for condition in conditions if not condition.absent)
    # What a key requires is never absent: without it there would be no key to show.
    for name in required_names & decided_values.keys():
        if decided_values[name] is None:
            del decided_values[name]
    return plausible_values(workload, entity, varying_names, decided_values, required_names)


def _value_of_condition(entity: Entity, condition: When) -> dict[str, object]:
    """The value that a condition of a sparse key demands; none if several would do."""
    if condition.absent:
        return {condition.attribute: None}
    attribute = entity.attribute(condition.attribute)
    if attribute is not None and condition.values:
        # Checks report a value that the attribute cannot have.
        with suppress(ValueError, ArithmeticError):
            return {condition.attribute: constant(condition.values[0], attribute.type)}
    return {}


def sample_item(design: Design, workload: Workload, item: Item, second: Iterable[str] = ()) -> dict[str, object]:
    """A stored item in JSON: keys, type, attributes. `second` as in `sample_values`."""
    entity = workload.entity(item.entity)
    if entity is None:
        return {}
    # If two slots want different values of one attribute, the first slot, usually the table, decides.
    conditions = {condition.attribute: condition for facet in reversed(item.facets) for condition in facet.when}
    values = sample_values(workload, entity, design, second, conditions.values())
    keys: dict[str, object] = {}
    for facet in item.facets:
        slot = design.slot(facet.slot)
        if slot and _is_in_slot(facet, values):
            keys |= dict(written_key(design, entity, slot, facet, values))
    sample = {**keys, design.type_attribute: item.tag}
    stored_names = held(item, design, entity)
    for name, value in values.items():
        if name in stored_names and name not in keys:
            sample[name] = plain(value)
    return sample


def held_attributes(design: Design, item: Item) -> set[str]:
    """The attributes of a copy: the listed ones, and those of its keys and of its item's keys."""
    original = design.item(item.entity)
    names = set(item.attributes)
    for facet in (*item.facets, *(original.facets[:1] if original else ())):
        names |= facet.fields
    return names


def written_key(
    design: Design, entity: Entity, slot: Slot, facet: Facet, values: Values
) -> Iterator[tuple[str, object]]:
    """The attributes of a key with their values; the template if the values make no key."""
    for name, text in zip(slot.key_names, facet.templates, strict=False):
        if text == f"{{{name}}}" and name in values:
            yield name, plain(values[name])  # the attribute is the key
            continue
        try:
            template = Template.of(text, entity.types, design.separator, design.raw_keys)
            yield name, template.build({**dict.fromkeys(fields_of(text)), **values})
        except (TemplateError, KeyValueError):
            yield name, text


def varying(entity: Entity, facet: Facet) -> tuple[str, ...]:
    """The attributes that differ between two items of one partition: those of the sort key alone."""
    fixed_names = {condition.attribute for condition in facet.when}.union(*map(fields_of, facet.pk))
    groups = list(_unique_groups(entity))
    if any(fixed_names.issuperset(group) for group in groups):
        return ()  # there is only one such item
    names: dict[str, None] = {}
    for text in facet.sk:
        names.update((name, None) for name in fields_of(text) if name not in fixed_names and entity.attribute(name))
    if names:
        # The second sample is another item, so one attribute of each unique group has to differ, too.
        for group in groups:
            if names.keys().isdisjoint(group):
                names[next(name for name in group if name not in fixed_names)] = None
    return tuple(names)


def _unique_groups(entity: Entity) -> Iterator[tuple[str, ...]]:
    """The attributes that no two items have in common: unique values, the id, and what is unique together."""
    for attribute in entity.attributes:
        if attribute.unique:
            yield (attribute.name,)
    if entity.id:
        yield tuple(part.name for part in entity.id)
    yield from filter(None, entity.unique)


def plain(value: object) -> object:
    """A value in JSON, in its stored form."""
    match value:
        case datetime():
            return encode_datetime(value)
        case date():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case uuid.UUID():
            return str(value)
        case SampleContent():
            return {"place": "item", "size": len(value), "sha256": sha256(value).hexdigest()}
        case bytes():
            return base64.b64encode(value).decode()
        case list() | set():
            return [plain(element) for element in value]
        case _:
            return value


def _is_in_slot(facet: Facet, values: Values) -> bool:
    """Whether an item with some values meets the conditions of a sparse key."""
    return all(_is_met(condition, values.get(condition.attribute)) for condition in facet.when)


def _is_met(condition: When, value: object) -> bool:
    if condition.absent or value is None:
        return condition.absent and value is None
    plain_value = plain(value)
    # Conditions are written as in documents: `paid is true`, not Python's `True`.
    text = str(plain_value).lower() if isinstance(plain_value, bool) else str(plain_value)
    return not condition.values or text in condition.values


def _required_attributes(design: Design, entity: Entity) -> set[str]:
    """The attributes that the keys of an item require; `{attribute?}` is optional."""
    names: set[str] = set()
    for text in _key_texts(design, entity):
        names.update(name for name in fields_of(text) if f"{{{name}?" not in text)
    return names


def _path_attributes(design: Design, entity: Entity) -> set[str]:
    """The attributes that keys write as paths: `{folder:tree}`."""
    names: set[str] = set()
    for text in _key_texts(design, entity):
        fields = re.findall(r"\{([^{}:?]+)\??:([^{}]*)\}", text)
        names.update(name for name, spec in fields if re.search(r"\btree\b", spec))
    return names


def _key_texts(design: Design, entity: Entity) -> list[str]:
    """The templates of all keys of an entity, with those of its copies."""
    texts: list[str] = []
    for item in design.items:
        for facet in item.facets if item.entity == entity.name else ():
            texts += facet.templates
    return texts
