"""A design's keys as the planner knows them: templates bound to the types of the workload's attributes."""

from __future__ import annotations

from collections.abc import Mapping

from prejoin import keys
from prejoin.design.model import Design, Facet, Item, ProjectionKind
from prejoin.types import Type
from prejoin.workload.model import Entity, Workload


def types_of(entity: Entity) -> Mapping[str, Type]:
    return {a.name: a.type for a in entity.attributes}


def planner_facets(design: Design, workload: Workload) -> tuple[keys.Facet, ...]:
    """All facets of a design, in the order of its items; TemplateError where one names an unknown attribute."""
    found = []
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity is not None:
            found += [planner_facet(design, entity, item, facet) for facet in item.facets]
    return tuple(found)


def planner_facet(design: Design, entity: Entity, item: Item, facet: Facet) -> keys.Facet:
    types = types_of(entity)
    templates = [keys.Template.of(text, types, design.separator, design.raw_keys) for text in (*facet.pk, *facet.sk)]
    return keys.Facet(
        entity.name,
        facet.slot,
        templates[0],
        templates[1] if facet.sk else None,
        tuple(keys.When(w.attribute, frozenset(w.values) if w.values else None) for w in facet.when),
        item.copy,
        _holds(design, item, facet),
    )


def _holds(design: Design, item: Item, facet: Facet) -> frozenset[str] | None:
    """The attributes that can be read there beside the keys."""
    own = frozenset(item.attributes) if item.attributes else None
    slot = design.slot(facet.slot)
    if slot is None or slot.projection.kind is ProjectionKind.ALL:
        return own
    included = frozenset(slot.projection.attributes)
    return included if own is None else included & own
