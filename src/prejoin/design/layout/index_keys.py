"""The form of index keys: `with_index_keys(design, workload)` makes them natural where that is decided, or better.

A composite key is a text of its own, `gsi1pk = "TEAM#red#STATUS#OPEN"`. Several entities can share such an index, and
it can be sparse. But every write has to keep the texts right: a change of the status must know the team, or read it.

A natural key consists of attributes of the items, up to four for the partition and four for the order. Nothing is
stored twice, a change of one attribute needs no other, and a new index needs no backfill. In return, an item is in the
index exactly if it has all of these attributes, and there are no words to tell types apart. So an index can be natural
if one entity is in it, or several with the same attributes that are always read together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

from msgspec.structs import replace

from prejoin import keys
from prejoin.design.cost.objective import Objective, objective
from prejoin.design.layout.key_words import upper
from prejoin.design.layout.projection import WORTH
from prejoin.design.mapping.facets import is_natural, planner_facet
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Facet, Item, KeyAttribute, Operation, Slot
from prejoin.design.solver.fixed_keys import free_name
from prejoin.protocol.limits import INDEX_PARTITION_ATTRIBUTES, INDEX_SORT_ATTRIBUTES
from prejoin.workload.model import Entity, IndexKeyForm, IndexKeys, Workload


def with_index_keys(
    design: Design, workload: Workload, fixed: Design, finished: Callable[[Design], Design] = lambda design: design
) -> Design:
    """The mapped design with natural keys in the indexes where they are decided, or better by the objective.

    Indexes of an approved design, and those with decided keys, keep their form. Designs are compared as they are when
    `finished`. A write may have to read first because of several indexes, so the search begins with natural keys
    everywhere and takes texts back where nothing is lost.
    """
    wanted = decided_form(workload)
    there = {slot.name for slot in fixed.slots}
    free = [slot.name for slot in design.indexes if slot.name not in there]
    if wanted is IndexKeyForm.COMPOSITE:
        return design
    natural, made = design, []
    for name in free:
        slot = natural.slot(name)
        if slot and (found := natural_form(natural, workload, slot)):
            natural = found
            made.append(name)
    if wanted or not made:
        return natural

    def score(one: Design) -> Objective:
        return objective(workload, finished(one))

    best = score(natural)
    for name in made:
        texts = map_patterns(_with_slot_of(natural, design, name), workload)
        if not _is_worth(best, now := score(texts)):
            natural, best = texts, now
    return natural if _is_worth(best, score(design)) else design


def _is_worth(natural: Objective, texts: Objective) -> bool:
    """Whether natural keys are better: by more than money, or by a dollar. Texts stay open to other entities."""
    return natural < replace(texts, dollars=texts.dollars - WORTH)


def _with_slot_of(design: Design, other: Design, name: str) -> Design:
    """The design with an index as another design has it."""
    slots = tuple(found if one.name == name and (found := other.slot(name)) else one for one in design.slots)
    items = []
    for item in design.items:
        there = other.item(item.entity, item.copy)
        mine = there.facet(name) if there else None
        items.append(replace(item, facets=tuple(mine if mine and f.slot == name else f for f in item.facets)))
    return replace(design, slots=slots, items=tuple(items))


def decided_form(workload: Workload) -> IndexKeyForm | None:
    """The form of index keys that a decision demands."""
    return next((d.pin.form for d in workload.decisions if isinstance(d.pin, IndexKeys)), None)


def is_natural_index(design: Design, slot: Slot) -> bool:
    """Whether the keys of an index are attributes of the items."""
    facets = [facet for item in design.items if (facet := item.facet(slot.name))]
    return bool(facets) and all(is_natural((*f.pk, *f.sk), (*slot.pk, *slot.sk)) for f in facets)


def other_form(design: Design, workload: Workload, slot: Slot) -> Design | None:
    """The mapped design with the keys of an index in the other form; None if there is no such form."""
    form = composite_form if is_natural_index(design, slot) else natural_form
    return form(design, workload, slot)


def composite_form(design: Design, workload: Workload, slot: Slot) -> Design:
    """The mapped design with texts as the keys of a natural index, for comparison."""
    between = design.separator
    items = []
    for item in design.items:
        facet, entity = item.facet(slot.name), workload.entity(item.entity)
        if facet and entity:
            pk = between.join(f"{upper(a.name)}{between}{{{a.name}}}" for a in slot.pk)
            names = dict.fromkeys((*(a.name for a in slot.sk), *(a.name for a in entity.id)))
            sk = between.join([upper(entity.name), *(f"{{{name}}}" for name in names)])
            made = Facet(slot.name, (pk,), (sk,))
            item = replace(item, facets=tuple(made if one is facet else one for one in item.facets))
        items.append(item)
    ours = [KeyAttribute(free_name(f"{slot.name}{end}", workload)) for end in ("pk", "sk")]
    slots = tuple(replace(slot, pk=(ours[0],), sk=(ours[1],)) if one is slot else one for one in design.slots)
    return map_patterns(replace(design, slots=slots, items=tuple(items)), workload)


def natural_form(design: Design, workload: Workload, slot: Slot) -> Design | None:
    """The mapped design with natural keys in an index; None if these cannot serve the same reads in the same way."""
    there = [(item, facet) for item in design.items if (facet := item.facet(slot.name))]
    if slot.local or not there:
        return None
    sides = [names for item, facet in there if (names := _attributes(design, workload, item, facet))]
    if len(sides) < len(there) or len({pk for pk, _ in sides}) > 1:
        return None
    pk = sides[0][0]
    alike = takewhile(lambda names: len(set(names)) == 1, zip(*(sk for _, sk in sides), strict=False))
    sk = tuple(names[0] for names in alike)
    # The end of a composite sort key makes it unique, which an index does not need.
    for size in range(min(len(sk), INDEX_SORT_ATTRIBUTES) + 1):
        found = _with(design, workload, slot, pk, sk[:size])
        if found and _serves_alike(design, found):
            return found
    return None


_Names = tuple[tuple[str, ...], tuple[str, ...]]


def _attributes(design: Design, workload: Workload, item: Item, facet: Facet) -> _Names | None:
    """The attributes of a composite key, in order; None if it is made of more than attributes."""
    entity = workload.entity(item.entity)
    if entity is None or facet.when or (item.copy and item.facets[0].when):
        return None
    form = planner_facet(design, entity, item, facet)
    pk, sk = ([*side.fields] if side else [] for side in (form.pk, form.sk))
    if not pk or any(_is_made(entity, field) for field in (*pk, *sk)):
        return None
    names = tuple(dict.fromkeys(field.attribute for field in pk))
    rest = tuple(dict.fromkeys(field.attribute for field in sk if field.attribute not in names))
    return (names, rest) if len(names) <= INDEX_PARTITION_ATTRIBUTES else None


def _is_made(entity: Entity, field: keys.KeyField) -> bool:
    """Whether a field of a key differs from its attribute, or from the order of its values."""
    attribute = entity.attribute(field.attribute)
    if attribute is None or keys.tag_of(attribute.type) is None:
        return True
    return field.optional or field.encoding.derived or field.encoding.descending


def _with(design: Design, workload: Workload, slot: Slot, pk: tuple[str, ...], sk: tuple[str, ...]) -> Design | None:
    """The mapped design with an index by these attributes; None if they do not have one type in all entities.

    DynamoDB refuses an item that has a key attribute of an index with another type, even if it has only one of several.
    """
    stored = [entity for item in design.items if (entity := workload.entity(item.entity))]
    tags = {
        name: {keys.tag_of(attribute.type) or "" for entity in stored if (attribute := entity.attribute(name))}
        for name in (*pk, *sk)
    }
    if any(len(found) != 1 or "" in found for found in tags.values()):
        return None
    first, second = (tuple(KeyAttribute(name, *tags[name]) for name in side) for side in (pk, sk))
    facet = Facet(slot.name, tuple(f"{{{n}}}" for n in pk), tuple(f"{{{n}}}" for n in sk))
    slots = tuple(replace(slot, pk=first, sk=second) if one is slot else one for one in design.slots)
    items = tuple(
        replace(item, facets=tuple(facet if one.slot == slot.name else one for one in item.facets))
        for item in design.items
    )
    return map_patterns(replace(design, slots=slots, items=items), workload)


def _serves_alike(before: Design, after: Design) -> bool:
    """Whether every pattern is served as before, with no more requests and no more filters."""
    return all(_is_as_good(after.operation(one.pattern), one) for one in before.operations)


def _is_as_good(one: Operation | None, other: Operation) -> bool:
    if one is None or one.served != other.served or len(one.requests) > len(other.requests):
        return False
    return not other.served or all(not more for more in _added_filters(one, other))


def _added_filters(one: Operation, other: Operation) -> Iterator[set[str]]:
    had = {text for request in other.requests for text in request.filters}
    yield from (set(request.filters) - had for request in one.requests)
