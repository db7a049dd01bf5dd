"""A design's keys as the planner knows them: templates bound to the types of the workload's attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prejoin import keys
from prejoin.design.model import TABLE, Design, Facet, Item, KeyAttribute, ProjectionKind, Slot
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
            facets = (*item.facets, *_unsaid(design, entity, item))
            found += [planner_facet(design, entity, item, facet) for facet in facets]
    return tuple(found)


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
    )


def is_natural(texts: Iterable[str], attributes: Iterable[KeyAttribute]) -> bool:
    """Whether a key is attributes as they stand: the key attributes of the slot are the item's own.

    >>> is_natural(["{email}"], [KeyAttribute("email")]), is_natural(["{email}"], [KeyAttribute("GSI1PK")])
    (True, False)
    """
    return list(texts) == [f"{{{a.name}}}" for a in attributes]


def _form(design: Design, entity: Entity, texts: tuple[str, ...], attributes: tuple[KeyAttribute, ...]) -> keys.KeyForm:
    types = types_of(entity)
    if is_natural(texts, attributes) and all(a.name in types for a in attributes):
        return keys.Natural.of([a.name for a in attributes], types)
    if len(texts) != 1:
        raise keys.TemplateError(
            f"{' + '.join(texts)} of {entity.name}: a key of several attributes is made of attributes as they stand, "
            f"and the slot has {' + '.join(a.name for a in attributes)}"
        )
    return keys.Template.of(texts[0], types, design.separator, design.raw_keys)


def _unsaid(design: Design, entity: Entity, item: Item) -> Iterator[Facet]:
    """Where an item is in an index without being keyed for it: it has the attributes that are the index's keys."""
    types, held = types_of(entity), _held(design, item)
    for slot in design.indexes:
        names = [a.name for a in (*slot.pk, *slot.sk)]
        if item.facet(slot.name) is None and all(n in types and (held is None or n in held) for n in names):
            pk, sk = (tuple(f"{{{a.name}}}" for a in side) for side in (slot.pk, slot.sk))
            yield Facet(slot.name, pk, sk)


def _when(entity: Entity, item: Item, facet: Facet, pk: keys.KeyForm, sk: keys.KeyForm | None) -> tuple[keys.When, ...]:
    """What holds for the items that are there: what is said, and that they have what the key is made of."""
    # Where there is no copy, there is none in an index.
    said = [*(item.facets[0].when if item.copy and facet.slot != TABLE else ()), *facet.when]
    found = [keys.When(w.attribute, frozenset(w.values) if w.values else None) for w in said]
    known = {w.attribute for w in found}
    for field in (*pk.fields, *(sk.fields if sk else ())):
        attribute = entity.attribute(field.attribute)
        if attribute and attribute.optional and not field.optional and attribute.name not in known:
            found.append(keys.When(attribute.name))
    return tuple(dict.fromkeys(found))


def _holds(design: Design, item: Item, facet: Facet, entity: Entity) -> frozenset[str] | None:
    """The attributes that can be read there beside the keys; None: all."""
    held = _held(design, item)
    slot = design.slot(facet.slot)
    if slot is not None and slot.projection.kind is not ProjectionKind.ALL:
        included = (frozenset(slot.projection.attributes) | _natural_names(design, slot)) & types_of(entity).keys()
        held = included if held is None else included & held
        if slot.projection.kind is ProjectionKind.KEYS_ONLY:
            return held
    return None if held is not None and held >= types_of(entity).keys() else held


def _held(design: Design, item: Item) -> frozenset[str] | None:
    """What an item has; a copy has what it holds, and what its keys and those of its item are made of."""
    if not item.attributes:
        return None
    own = design.item(item.entity)
    facets = (*item.facets, *(own.facets[:1] if own else ()))
    placing = item.facets if len(item.facets) > 1 else ()
    made = {name for f in facets for text in (*f.pk, *f.sk) for name in keys.fields_of(text)}
    return frozenset({*item.attributes, *made, *(w.attribute for f in placing for w in f.when)})


def _natural_names(design: Design, slot: Slot) -> frozenset[str]:
    """The names of the keys that are in an index in any case: an attribute that is one itself is there, too."""
    table = design.slot(TABLE)
    return frozenset(a.name for one in (slot, table) if one for a in (*one.pk, *one.sk))
