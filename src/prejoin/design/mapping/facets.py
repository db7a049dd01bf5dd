"""Converts a design's keys to the planner's facets: templates bound to the types of the attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress

from prejoin import keys
from prejoin.constructs.registry import added_constructs, ending_in, held_attributes
from prejoin.design.model import TABLE, Design, Facet, Item, KeyAttribute, ProjectionKind, Slot, When
from prejoin.types import Kind
from prejoin.workload.constants import constant_or_text
from prejoin.workload.model import Entity, Workload

_WITHOUT_CONSTANTS = frozenset({Kind.LIST, Kind.SET, Kind.MAP, Kind.CONTENT})
"""Types whose values a sparse condition cannot compare with a constant."""


def planner_facets(design: Design, workload: Workload) -> tuple[keys.Facet, ...]:
    """All facets of a design, in the order of its items, and then those of items of constructs.

    TemplateError if one names an unknown attribute.
    """
    facets_of_items = []
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity is not None:
            facets = (*item.facets, *_implicit_facets(design, entity, item))
            facets_of_items += [planner_facet(design, entity, item, facet) for facet in facets]
    return (*facets_of_items, *_construct_facets(design, workload, facets_of_items))


def _construct_facets(design: Design, workload: Workload, facets: Iterable[keys.Facet]) -> Iterator[keys.Facet]:
    """The facets of items of constructs that share the partitions of their entity's items."""
    for base in facets:
        entity = workload.entity(base.entity)
        if entity is not None and base.slot == TABLE and not base.copy:
            for bound in added_constructs(entity, design):
                yield from bound.beside(base, design)


def usable_facets(design: Design, workload: Workload) -> Iterator[keys.Facet]:
    """The facets of a design that may have mistakes, without those that cannot be keys. Checks report those."""
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity is None:
            continue
        for facet in (*item.facets, *_implicit_facets(design, entity, item)):
            if design.slot(facet.slot) and facet.pk:
                with suppress(keys.TemplateError):
                    yield planner_facet(design, entity, item, facet)


def planner_facet(design: Design, entity: Entity, item: Item, facet: Facet) -> keys.Facet:
    slot = design.slot(facet.slot)
    pk = _form(design, entity, facet.pk, slot.pk if slot else ())
    sk = _form(design, entity, facet.sk, slot.sk if slot else ()) if facet.sk else None
    return keys.Facet(
        entity.name,
        facet.slot,
        pk,
        sk,
        _when(entity, item, facet, pk, sk),
        item.copy,
        _holds(design, item, facet, entity),
        slot is not None and slot.local,
        facet.write_only or (bool(item.copy) and item.facets[0].write_only),
    )


def partition_names(facet: keys.Facet) -> tuple[str, ...]:
    """The attributes that distinguish partitions, without shards, and without time buckets, which are all current."""
    fields = [field for field in facet.pk.fields if not field.encoding.shards and not field.encoding.bucket]
    return tuple(dict.fromkeys(field.attribute for field in fields))


def shard_count(facet: keys.Facet) -> int:
    return math.prod(field.encoding.shards or 1 for field in facet.pk.fields)


def is_natural(texts: Iterable[str], attributes: Iterable[KeyAttribute]) -> bool:
    """Whether the key attributes of the slot are attributes of the entity itself.

    >>> is_natural(["{email}"], [KeyAttribute("email")]), is_natural(["{email}"], [KeyAttribute("GSI1PK")])
    (True, False)
    """
    return tuple(texts) == _natural_texts(attributes)


def unsaid_ending(design: Design, workload: Workload) -> str:
    """The TTL attribute of a table if no entity declares it; empty if one does.

    It is also empty if an entity has text of that name: DynamoDB ignores it, and a schema would refuse it.
    """
    for entity in workload.entities:
        if design.item(entity.name) is None:
            continue
        namesake = entity.attribute(design.ttl_attribute)
        if ending_in(entity, design) or (namesake is not None and not namesake.type.numeric):
            return ""
    return design.ttl_attribute


def _form(design: Design, entity: Entity, texts: tuple[str, ...], attributes: tuple[KeyAttribute, ...]) -> keys.KeyForm:
    types = entity.types
    if is_natural(texts, attributes) and all(a.name in types for a in attributes):
        return keys.Natural.of([a.name for a in attributes], types)
    if len(texts) != 1:
        raise keys.TemplateError(
            f"{' + '.join(texts)} of {entity.name}: a key of several attributes is made of attributes as they stand, "
            f"and the slot has {' + '.join(a.name for a in attributes)}"
        )
    key = (texts[0], design.separator, design.raw_keys)
    if key not in entity.memo:  # the solver maps thousands of designs of the same few keys
        entity.memo[key] = keys.Template.of(texts[0], types, design.separator, design.raw_keys)
    template: keys.Template = entity.memo[key]
    return template


def _implicit_facets(design: Design, entity: Entity, item: Item) -> Iterator[Facet]:
    """The facet of an item that is in an index without a key for it: it has the attributes of the index's key."""
    if not item.facets:
        return  # it is in no table
    types, held_names = entity.types, held_by(design, entity, item)
    for slot in design.indexes:
        # A local index has the table's partitions.
        names = [attribute.name for attribute in slot.sk] if slot.local else slot.key_names
        has_all = held_names.issuperset(names) if held_names is not None else True
        if item.facet(slot.name) is None and has_all and types.keys() >= set(names):
            pk = item.facets[0].pk if slot.local else _natural_texts(slot.pk)
            yield Facet(slot.name, pk, _natural_texts(slot.sk))


def _natural_texts(attributes: Iterable[KeyAttribute]) -> tuple[str, ...]:
    """The templates of a key that has attributes as they are: `{country}`, `{city}`."""
    return tuple(f"{{{attribute.name}}}" for attribute in attributes)


def _when(entity: Entity, item: Item, facet: Facet, pk: keys.KeyForm, sk: keys.KeyForm | None) -> tuple[keys.When, ...]:
    """The sparse conditions of a facet: the stated ones, and the presence of its key attributes."""
    # A copy that does not exist is not in an index, either.
    of_copy = item.facets[0].when if item.copy and facet.slot != TABLE else ()
    stated_conditions = (*of_copy, *facet.when)
    conditions = [keys.When(when.attribute, when_values(when, entity), when.absent) for when in stated_conditions]
    tested_names = {when.attribute for when in stated_conditions}
    for field in (*pk.fields, *(sk.fields if sk else ())):
        attribute = entity.attribute(field.attribute)
        # An item without an attribute of a key is not in the index.
        is_required = attribute is not None and attribute.optional and not field.optional
        if is_required and field.attribute not in tested_names:
            conditions.append(keys.When(field.attribute))
    return tuple(dict.fromkeys(conditions))


def when_values(when: When, entity: Entity) -> frozenset[object] | None:
    """The values of a sparse condition with the attribute's type; None if any value will do."""
    attribute = entity.attribute(when.attribute)
    if when.values and attribute and attribute.type.kind in _WITHOUT_CONSTANTS:
        raise keys.TemplateError(f"{when.attribute} is a {attribute.type}, and a condition can only ask if it exists")
    try:
        values = [constant_or_text(text, attribute.type) if attribute else text for text in when.values]
    except (ValueError, ArithmeticError):
        kind = attribute.type if attribute else ""
        raise keys.TemplateError(f"{when.attribute} is a {kind}, and never {' or '.join(when.values)}") from None
    return frozenset(values) if values else None


def _holds(design: Design, item: Item, facet: Facet, entity: Entity) -> frozenset[str] | None:
    """The attributes that can be read in a slot beside the keys; None for all."""
    held_names = held_by(design, entity, item)
    slot = design.slot(facet.slot)
    if slot is not None and slot.projection.kind is not ProjectionKind.ALL:
        projected_names = (frozenset(slot.projection.attributes) | _natural_names(design, slot)) & entity.types.keys()
        held_names = projected_names if held_names is None else projected_names & held_names
        if slot.projection.kind is ProjectionKind.KEYS_ONLY:
            return held_names
    return None if held_names is not None and held_names >= entity.types.keys() else held_names


def held_by(design: Design, entity: Entity, item: Item) -> frozenset[str] | None:
    """The attributes that an item has; None for all.

    A copy has its listed attributes, those of its keys and of its item's keys, and what reads test to hide items.
    """
    if not item.attributes:
        return None
    own = design.item(item.entity)
    names = held_attributes(entity).union(item.attributes)
    for facet in (*item.facets, *(own.facets[:1] if own else ())):
        names |= facet.fields
    for facet in item.facets if len(item.facets) > 1 else ():
        names = names.union(when.attribute for when in facet.when)
    return names


def _natural_names(design: Design, slot: Slot) -> frozenset[str]:
    """The names of the key attributes that an index always holds."""
    return frozenset((*slot.key_names, *design.table_keys))
