"""The form of index keys: `with_index_keys(design, workload)` makes them natural where that is decided, or better.

A composite key is a text of its own, `gsi1pk = "TEAM#red#STATUS#OPEN"`. Several entities can share such an index, and
it can be sparse. But every write has to keep the texts right: a change of the status must know the team, or read it.

A natural key consists of attributes of the items, up to four for the partition and four for the order. Nothing is
stored twice, a change of one attribute needs no other, and a new index needs no backfill. In return, an item is in the
index exactly if it has all of these attributes, and there are no words to tell types apart. So an index can be natural
if one entity is in it, or several with the same attributes that are always read together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile

from msgspec.structs import replace

from prejoin import keys
from prejoin.design.cost.objective import Objective, objective
from prejoin.design.layout.key_words import upper
from prejoin.design.layout.projection import WORTH
from prejoin.design.mapping.facets import is_natural, planner_facet
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Facet, InputGroup, Item, KeyAttribute, Operation, Slot
from prejoin.design.pins import pins_of
from prejoin.design.solver.fixed_keys import free_name
from prejoin.protocol.limits import INDEX_PARTITION_ATTRIBUTES, INDEX_SORT_ATTRIBUTES
from prejoin.workload.model import Entity, IndexKeyForm, IndexKeys, Workload


def with_index_keys(
    design: Design, workload: Workload, fixed: Design, finish: Callable[[Design], Design] = lambda design: design
) -> Design:
    """The mapped design with natural keys in the indexes where they are decided, or better by the objective.

    Indexes of an approved design, and those with decided keys, keep their form. Designs are compared as they are after
    `finish`. A write may have to read first because of several indexes, so the search begins with natural keys
    everywhere and takes texts back where nothing is lost.
    """
    form = decided_form(workload)
    # Selected keys have texts already.
    if form is IndexKeyForm.COMPOSITE:
        return design
    natural, names = _with_natural_keys(design, workload, fixed)
    if form or not names:
        return natural

    def score(other: Design) -> Objective:
        return objective(workload, finish(other))

    # From natural keys back to texts, one index at a time: a write reads first because of any of them.
    best = score(natural)
    for name in names:
        with_text = map_patterns(_with_slot_of(natural, design, name), workload)
        text_score = score(with_text)
        if not _is_worth(best, text_score):
            natural, best = with_text, text_score
    return natural if _is_worth(best, score(design)) else design


def _with_natural_keys(design: Design, workload: Workload, fixed_design: Design) -> tuple[Design, list[str]]:
    """The design with natural keys in all new indexes that can have them, and the names of these indexes."""
    fixed_names = {slot.name for slot in fixed_design.slots}
    names: list[str] = []
    for index in design.indexes:
        slot = design.slot(index.name) if index.name not in fixed_names else None
        natural = natural_form(design, workload, slot) if slot else None
        if natural:
            design = natural
            names.append(index.name)
    return design, names


def _is_worth(natural: Objective, texts: Objective) -> bool:
    """Whether natural keys are better: by more than money, or by a dollar. Texts stay open to other entities."""
    return natural < replace(texts, dollars=texts.dollars - WORTH)


def _with_slot_of(design: Design, other: Design, name: str) -> Design:
    """The design with an index as another design has it."""
    slots = [(other.slot(name) or slot) if slot.name == name else slot for slot in design.slots]
    items: list[Item] = []
    for item in design.items:
        counterpart = other.item(item.entity, item.copy)
        facet = counterpart.facet(name) if counterpart else None
        items.append(_with_facet(item, facet) if facet else item)
    return replace(design, slots=tuple(slots), items=tuple(items))


def _with_facet(item: Item, facet: Facet) -> Item:
    """The item with another key in a slot that it is in."""
    facets = [facet if former.slot == facet.slot else former for former in item.facets]
    return replace(item, facets=tuple(facets))


def _with_index(design: Design, slot: Slot, pk: tuple[KeyAttribute, ...], sk: tuple[KeyAttribute, ...]) -> Design:
    """The design with other key attributes of an index."""
    slots = [replace(slot, pk=pk, sk=sk) if other is slot else other for other in design.slots]
    return replace(design, slots=tuple(slots))


def decided_form(workload: Workload) -> IndexKeyForm | None:
    """The form of index keys that a decision demands."""
    decided_forms = [pin.form for pin in pins_of(workload, IndexKeys)]
    return decided_forms[0] if decided_forms else None


def is_natural_index(design: Design, slot: Slot) -> bool:
    """Whether the keys of an index are attributes of the items."""
    facets = list(filter(None, (item.facet(slot.name) for item in design.items)))
    return bool(facets) and all(is_natural(facet.templates, slot.key_attributes) for facet in facets)


def other_form(design: Design, workload: Workload, slot: Slot) -> Design | None:
    """The mapped design with the keys of an index in the other form; None if there is no such form."""
    form = composite_form if is_natural_index(design, slot) else natural_form
    return form(design, workload, slot)


def composite_form(design: Design, workload: Workload, slot: Slot) -> Design:
    """The mapped design with texts as the keys of a natural index, for comparison."""
    separator = design.separator
    items: list[Item] = []
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity and item.facet(slot.name):
            pk = separator.join(f"{upper(a.name)}{separator}{{{a.name}}}" for a in slot.pk)
            names = dict.fromkeys((*(a.name for a in slot.sk), *(a.name for a in entity.id)))
            sk = separator.join([upper(entity.name), *(f"{{{name}}}" for name in names)])
            item = _with_facet(item, Facet(slot.name, (pk,), (sk,)))
        items.append(item)
    index_pk, index_sk = (KeyAttribute(free_name(f"{slot.name}{end}", workload)) for end in ("pk", "sk"))
    with_texts = _with_index(design, slot, (index_pk,), (index_sk,))
    return map_patterns(replace(with_texts, items=tuple(items)), workload)


def natural_form(design: Design, workload: Workload, slot: Slot) -> Design | None:
    """The mapped design with natural keys in an index; None if these cannot serve the same reads in the same way."""
    if slot.local:
        return None
    sides: list[_Names | None] = []
    for item in design.items:
        facet = item.facet(slot.name)
        if facet:
            sides.append(_attributes(design, workload, item, facet))
    names = [side for side in sides if side]
    partitions = {pk for pk, _ in names}
    if len(names) < len(sides) or len(partitions) != 1:
        return None
    (pk,) = partitions
    # Several entities can share an index by attributes only if all of them have these attributes, in this order.
    common = takewhile(lambda column: len(set(column)) == 1, zip(*(sk for _, sk in names), strict=False))
    sk = tuple(column[0] for column in common)
    # The end of a composite sort key makes it unique, which an index does not need.
    for size in range(min(len(sk), INDEX_SORT_ATTRIBUTES) + 1):
        natural = _with_natural_index(design, workload, slot, pk, sk[:size])
        if natural and _serves_alike(design, natural):
            return natural
    return None


_Names = tuple[tuple[str, ...], tuple[str, ...]]


def _attributes(design: Design, workload: Workload, item: Item, facet: Facet) -> _Names | None:
    """The attributes of a composite key, in order; None if it is made of more than attributes."""
    entity = workload.entity(item.entity)
    # A natural key has no place for a sparse condition on a value: who has the attributes is in the index.
    if entity is None or facet.when or (item.copy and item.facets[0].when):
        return None
    form = planner_facet(design, entity, item, facet)
    pk_fields, sk_fields = ([*side.fields] if side else [] for side in (form.pk, form.sk))
    if not pk_fields or any(_is_derived(entity, field) for field in (*pk_fields, *sk_fields)):
        return None
    pk = tuple(dict.fromkeys(field.attribute for field in pk_fields))
    sk = tuple(dict.fromkeys(field.attribute for field in sk_fields if field.attribute not in pk))
    return (pk, sk) if len(pk) <= INDEX_PARTITION_ATTRIBUTES else None


def _is_derived(entity: Entity, field: keys.KeyField) -> bool:
    """Whether a field of a key differs from its attribute, or from the order of its values."""
    attribute = entity.attribute(field.attribute)
    if attribute is None or keys.tag_of(attribute.type) is None:
        return True
    return field.optional or field.encoding.derived or field.encoding.descending


def _with_natural_index(
    design: Design, workload: Workload, slot: Slot, pk: tuple[str, ...], sk: tuple[str, ...]
) -> Design | None:
    """The mapped design with an index by these attributes; None if they do not have one type in all entities.

    DynamoDB refuses an item that has a key attribute of an index with another type, even if it has only one of several.
    """
    stored_entities = [workload.entity(item.entity) for item in design.items]
    entities = [entity for entity in stored_entities if entity]
    tags = {name: _tags_of(name, entities) for name in (*pk, *sk)}
    if any(len(types) != 1 or "" in types for types in tags.values()):
        return None
    index_pk, index_sk = (tuple(KeyAttribute(name, *tags[name]) for name in side) for side in (pk, sk))
    facet = Facet(slot.name, tuple(f"{{{name}}}" for name in pk), tuple(f"{{{name}}}" for name in sk))
    items = tuple(_with_facet(item, facet) for item in design.items)
    with_attributes = _with_index(design, slot, index_pk, index_sk)
    return map_patterns(replace(with_attributes, items=items), workload)


def _tags_of(name: str, entities: Iterable[Entity]) -> set[str]:
    """DynamoDB's types of an attribute in the entities that have it; empty for one that no key can have."""
    tags: set[str] = set()
    for entity in entities:
        attribute = entity.attribute(name)
        if attribute:
            tags.add(keys.tag_of(attribute.type) or "")
    return tags


def _serves_alike(before: Design, after: Design) -> bool:
    """Whether every pattern is served as before, with no more requests and no more filters."""
    return all(_is_as_good(after.operation(operation.pattern), operation) for operation in before.operations)


def _is_as_good(operation: Operation | None, former: Operation) -> bool:
    if operation is None or operation.served != former.served or len(operation.requests) > len(former.requests):
        return False
    return not former.served or not _has_new_filters(operation, former)


def _has_new_filters(operation: Operation, former: Operation) -> bool:
    """Whether an operation filters by something that another one does not."""
    return not _filters_of(operation) <= _filters_of(former)


def _filters_of(operation: Operation) -> frozenset[InputGroup]:
    return frozenset[InputGroup]().union(*(request.filters for request in operation.requests))
