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
        attribute = entity.attribute(condition.attribute)
        if condition.absent:
            decided_values[condition.attribute] = None
        elif attribute and condition.values:
            # Checks report a value that the attribute cannot have.
            with suppress(ValueError, ArithmeticError):
                decided_values[condition.attribute] = constant(condition.values[0], attribute.type)
    required = _required_attributes(design, entity)
    required.update(condition.attribute for condition in conditions if not condition.absent)
    # What a key requires is never absent: without it there would be no key to show.
    for name in [name for name, value in decided_values.items() if value is None and name in required]:
        del decided_values[name]
    return plausible_values(workload, entity, varying_names, decided_values, required)


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
    stored_names = held_attributes(design, item) if item.attributes else set(values)
    for name, value in values.items():
        if name in stored_names and name not in keys:
            sample[name] = plain(value)
    return sample


def held_attributes(design: Design, item: Item) -> set[str]:
    """The attributes of a copy: the listed ones, and those of its keys and of its item's keys."""
    original = design.item(item.entity)
    facets = (*item.facets, *(original.facets[:1] if original else ()))
    names = set(item.attributes)
    for facet in facets:
        names |= _names_in(facet.pk) | _names_in(facet.sk)
    return names


def written_key(
    design: Design, entity: Entity, slot: Slot, facet: Facet, values: Values
) -> Iterator[tuple[str, object]]:
    """The attributes of a key with their values; the template if the values make no key."""
    attributes = (*slot.pk, *slot.sk)
    for attribute, text in zip(attributes, (*facet.pk, *facet.sk), strict=False):
        if text == f"{{{attribute.name}}}" and attribute.name in values:
            yield attribute.name, plain(values[attribute.name])  # the attribute is the key
            continue
        try:
            template = Template.of(text, entity.types, design.separator, design.raw_keys)
            yield attribute.name, template.build({**dict.fromkeys(fields_of(text)), **values})
        except (TemplateError, KeyValueError):
            yield attribute.name, text


def varying(entity: Entity, facet: Facet) -> tuple[str, ...]:
    """The attributes that differ between two items of one partition: those of the sort key alone."""
    fixed = _names_in(facet.pk) | {condition.attribute for condition in facet.when}
    unique_groups: list[tuple[str, ...]] = [(attribute.name,) for attribute in entity.attributes if attribute.unique]
    unique_groups += [tuple(attribute.name for attribute in entity.id), *entity.unique]
    unique_groups = [group for group in unique_groups if group]
    if any(fixed.issuperset(group) for group in unique_groups):
        return ()  # there is only one such item
    sort_names = [name for text in facet.sk for name in fields_of(text)]
    names = {name: None for name in sort_names if name not in fixed and entity.attribute(name)}
    if names:
        # The second sample is another item, so one attribute of each unique group has to differ, too.
        for group in unique_groups:
            if names.keys().isdisjoint(group):
                names[next(name for name in group if name not in fixed)] = None
    return tuple(names)


def _names_in(texts: Iterable[str]) -> set[str]:
    """The attributes in key templates."""
    return {name for text in texts for name in fields_of(text)}


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
    stored = plain(value)
    # Conditions are written as in documents: `paid is true`, not Python's `True`.
    text = str(stored).lower() if isinstance(stored, bool) else str(stored)
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
    facets = [facet for item in design.items if item.entity == entity.name for facet in item.facets]
    return [text for facet in facets for text in (*facet.pk, *facet.sk)]
