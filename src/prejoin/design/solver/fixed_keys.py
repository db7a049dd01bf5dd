"""Keys that are there already, or decided: they stay as they are, and others are found beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from prejoin import keys
from prejoin.design.mapping.facets import planner_facet
from prejoin.design.model import TABLE, Design, Facet, Item, KeyAttribute, ProjectionKind, Slot
from prejoin.design.solver.candidates import Candidate
from prejoin.design.solver.needs import ReadNeeds, SortAttribute
from prejoin.workload.model import Entity, FixedKey, Naming, Workload

_KEYS = (("partition key", "pk"), ("sort key", "sk"))
"""What decisions call the attributes that are the table's key, and what they are called if none does."""
Place = tuple[str, int, int]
"""An entity, the number of its item (0 is its own), the number of the slot (0 is the table)."""


class FixedKeys(msgspec.Struct, frozen=True):
    """A design as far as it is fixed."""

    design: Design
    facets: Mapping[Place, Facet]
    candidates: Mapping[Place, Candidate]
    planned: Mapping[Place, keys.Facet]

    def slot(self, number: int) -> Slot | None:
        return self.design.slots[number] if number < len(self.design.slots) else None

    @property
    def indexes(self) -> int:
        return max(0, len(self.design.slots) - 1)

    def is_open(self, number: int) -> bool:
        """Whether other entities can have keys in a slot: one text on each side, that nobody else gives a meaning.

        And it holds whole items: what it holds was chosen for those that are there, and stays. A local index has the
        table's partitions, and one that turns the table's key round has its texts: neither takes others.
        """
        slot = self.slot(number)
        if slot is None:
            return True
        others = {a.name for other in self.design.slots if other.name != slot.name for a in (*other.pk, *other.sk)}
        if number and (slot.local or others & {a.name for a in (*slot.pk, *slot.sk)}):
            return False
        texts = [(f.pk, f.sk) for place, f in self.facets.items() if place[2] == number]
        natural = any(pk == (f"{{{slot.pk[0].name}}}",) for pk, _ in texts)
        whole = slot.projection.kind is ProjectionKind.ALL
        return len(slot.pk) == len(slot.sk) == 1 and slot.pk[0].type == slot.sk[0].type == "S" and whole and not natural

    def copies(self, entity: str) -> Sequence[Item]:
        return [item for item in self.design.items if item.entity == entity and item.copy]

    def answers(self, place: Place, question: ReadNeeds) -> bool:
        """Whether the planner finds with this key what a question asks of its entity."""
        ask, entity = question.ask, place[0]
        order = tuple(one for one in ask.order if one.entity in ("", entity))
        own = msgspec.structs.replace(ask, entities=(entity,), order=order)
        return isinstance(keys.plan([self.planned[place]], own), keys.Plan)


def fixed_keys(workload: Workload, decided: Sequence[FixedKey], kept: Design | None = None) -> FixedKeys:
    """What stays: a design that is kept, and keys that somebody decided."""
    design = kept or _named(workload)
    for pin in decided:
        design = _with(design, pin, workload)
    facets: dict[Place, Facet] = {}
    candidates: dict[Place, Candidate] = {}
    planned: dict[Place, keys.Facet] = {}
    numbers = {slot.name: number for number, slot in enumerate(design.slots)}
    counts: dict[str, int] = {}
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity is None:
            continue
        number = 0
        if item.copy:
            number = counts[entity.name] = counts.get(entity.name, 0) + 1
        for facet in item.facets:
            place = (entity.name, number, numbers[facet.slot])
            facets[place] = facet
            planned[place] = found = planner_facet(design, entity, item, facet)
            candidates[place] = _candidate(entity, facet, found)
    return FixedKeys(design, facets, candidates, planned)


def names_in(workload: Workload) -> dict[str, str]:
    """What decisions call the table, its key attributes, its type attribute and its separator."""
    return {d.pin.what: d.pin.name for d in workload.decisions if isinstance(d.pin, Naming)}


def key_names(workload: Workload) -> tuple[str, str]:
    """What the attributes are called that are the key of a new table."""
    names = names_in(workload)
    pk, sk = (names.get(said) or free_name(usual, workload) for said, usual in _KEYS)
    return pk, sk


def free_name(name: str, workload: Workload) -> str:
    """A name for an attribute of the table's own, which no entity has."""
    while any(entity.attribute(name) for entity in workload.entities):
        name = f"_{name}"
    return name


def _named(workload: Workload) -> Design:
    """A table without items, with the names that are decided."""
    names = names_in(workload)
    design = Design(names.get("table", TABLE))
    return msgspec.structs.replace(
        design,
        type_attribute=names.get("type attribute", design.type_attribute),
        separator=names.get("separator", design.separator),
    )


def _with(design: Design, pin: FixedKey, workload: Workload) -> Design:
    """A design with a key that was decided; the slot is made if it is not there. A key that is there stays."""
    pk, sk = map(KeyAttribute, key_names(workload))
    slots = list(design.slots) or [Slot(TABLE, (pk,), (sk,))]
    name = pin.index or TABLE
    if name not in [slot.name for slot in slots]:
        pk, sk = (KeyAttribute(free_name(f"{name}{end}", workload)) for end in ("pk", "sk"))
        slots.append(Slot(name, (pk,), (sk,)))
    entity = workload.entity(pin.entity)
    if entity is None:
        return msgspec.structs.replace(design, slots=tuple(slots))
    facet = Facet(name, (pin.pk,), (pin.sk,) if pin.sk else ())
    items = list(design.items)
    at = next((at for at, item in enumerate(items) if item.entity == pin.entity and not item.copy), None)
    if at is None:
        items.append(Item(pin.entity, pin.entity, (facet,)))
    elif items[at].facet(name) is None:
        facets = tuple(sorted((*items[at].facets, facet), key=_table_first))
        items[at] = msgspec.structs.replace(items[at], facets=facets)
    return msgspec.structs.replace(design, slots=tuple(slots), items=tuple(items))


def _table_first(facet: Facet) -> bool:
    return facet.slot != TABLE


def _candidate(entity: Entity, facet: Facet, planned: keys.Facet) -> Candidate:
    sk = planned.sk.attributes if planned.sk else ()
    when = tuple((one.attribute, one.values[0]) for one in facet.when if len(one.values) == 1)
    return Candidate(entity.name, tuple(planned.pk.attributes), tuple(map(SortAttribute, sk)), when, 0, fixed=True)
