"""Keys that exist already or that a decision fixes. The solver keeps them and adds others beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from prejoin import keys
from prejoin.design.mapping.facets import planner_facet
from prejoin.design.model import TABLE, Design, Facet, Item, KeyAttribute, ProjectionKind, Slot
from prejoin.design.pins import pins_of
from prejoin.design.solver.candidates import Candidate
from prejoin.design.solver.needs import ReadNeeds, SortAttribute
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.workload.model import Entity, FixedKey, Naming, Workload

_KEYS = (("partition key", "pk"), ("sort key", "sk"))
"""The names of the key attributes in decisions, and their defaults."""
_ATTRIBUTES_OF_THE_TABLE = frozenset({"partition key", "sort key", "type attribute"})
"""What a decision may name that is stored in each item."""
Place = tuple[str, int, int]
"""An entity, the number of its item (0 is its own item) and the number of the slot (0 is the table)."""


class FixedKeys(msgspec.Struct, frozen=True):
    """The fixed part of a design."""

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
        """Whether keys of other entities may be added to a slot.

        It needs one text attribute for each side of its key, which no entity uses as its own attribute, and must hold
        whole items. A local index shares the table's partitions, and an inverted index shares its texts: neither is
        open.
        """
        slot = self.slot(number)
        if slot is None:
            return True
        other_names: set[str] = set()
        for other in self.design.slots:
            if other.name != slot.name:
                other_names.update(other.key_names)
        if number and (slot.local or not other_names.isdisjoint(slot.key_names)):
            return False
        # A natural key has no word that tells one entity from another.
        partitions = [facet.pk for place, facet in self.facets.items() if place[2] == number]
        is_natural = (f"{{{slot.pk[0].name}}}",) in partitions
        has_two_texts = len(slot.pk) == len(slot.sk) == 1 and {a.type for a in slot.key_attributes} == {"S"}
        return has_two_texts and slot.projection.kind is ProjectionKind.ALL and not is_natural

    def copies(self, entity: str) -> Sequence[Item]:
        return [item for item in self.design.copies if item.entity == entity]

    def answers(self, place: Place, question: ReadNeeds) -> bool:
        """Whether the planner answers a read's need of this entity with this key."""
        ask, entity = question.ask, place[0]
        order = tuple(clause for clause in ask.order if clause.entity in ("", entity))
        # Of this entity alone: whether the others are its neighbours is known only after the layout.
        own = msgspec.structs.replace(ask, entities=(entity,), order=order)
        return isinstance(keys.plan([self.planned[place]], own), keys.Plan)


def fixed_keys(workload: Workload, decisions: Sequence[FixedKey], approved_design: Design | None = None) -> FixedKeys:
    """The approved design, if there is one, with the keys that decisions fix.

    A decided key that has a sort key where its index has none, or the other way round, makes it infeasible.
    """
    design = approved_design or _named_table(workload)
    for pin in decisions:
        design = _with(design, pin, workload, _has_sort_key(pin.index, decisions))
    facets: dict[Place, Facet] = {}
    candidates: dict[Place, Candidate] = {}
    planner_facets: dict[Place, keys.Facet] = {}
    # Copies have no numbers in a design: they are counted in the order of its items.
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
            slot = design.slots[numbers[facet.slot]]
            if (len(facet.pk), len(facet.sk)) != (len(slot.pk), len(slot.sk)):
                raise InfeasibleError
            place = (entity.name, number, numbers[facet.slot])
            facets[place] = facet
            planner_facets[place] = bound_facet = planner_facet(design, entity, item, facet)
            candidates[place] = _candidate(entity, facet, bound_facet)
    return FixedKeys(design, facets, candidates, planner_facets)


def names_in(workload: Workload) -> dict[str, str]:
    """The names that decisions give to the table, its key attributes, its type attribute and its separator."""
    return {pin.what: pin.name for pin in pins_of(workload, Naming)}


def key_names(workload: Workload) -> tuple[str, str]:
    """The names of the key attributes of a new table."""
    names = names_in(workload)
    pk, sk = (names.get(label) or free_name(usual, workload) for label, usual in _KEYS)
    return pk, sk


def free_name(name: str, workload: Workload) -> str:
    """A name for a physical attribute that no entity has, and that no decision gives to another one."""
    decided_names = {other for label, other in names_in(workload).items() if label in _ATTRIBUTES_OF_THE_TABLE}
    # A key attribute with the name of an attribute would be overwritten by its value.
    while name in decided_names or any(entity.attribute(name) for entity in workload.entities):
        name = f"_{name}"
    return name


def _named_table(workload: Workload) -> Design:
    """A table without items, with the decided names."""
    names = names_in(workload)
    design = Design(names.get("table", TABLE))
    return msgspec.structs.replace(
        design,
        type_attribute=names.get("type attribute", design.type_attribute),
        separator=names.get("separator", design.separator),
    )


def _with(design: Design, pin: FixedKey, workload: Workload, sorted_slot: bool) -> Design:
    """The design with a decided key. A missing slot is added, sorted if keys in it have two parts; a key stays."""
    pk, sk = map(KeyAttribute, key_names(workload))
    slots = list(design.slots) or [Slot(TABLE, (pk,), (sk,))]
    name = pin.index or TABLE
    if name not in [slot.name for slot in slots]:
        pk, sk = (KeyAttribute(free_name(f"{name}{end}", workload)) for end in ("pk", "sk"))
        slots.append(Slot(name, (pk,), (sk,) if sorted_slot else ()))
    entity = workload.entity(pin.entity)
    if entity is None:
        return msgspec.structs.replace(design, slots=tuple(slots))
    facet = Facet(name, (pin.pk,), (pin.sk,) if pin.sk else ())
    items = list(design.items)
    own_item = design.item(pin.entity)
    if own_item is None:
        items.append(Item(pin.entity, pin.entity, (facet,)))
    elif own_item.facet(name) is None:
        facets = tuple(sorted((*own_item.facets, facet), key=_table_first))
        items[items.index(own_item)] = msgspec.structs.replace(own_item, facets=facets)
    return msgspec.structs.replace(design, slots=tuple(slots), items=tuple(items))


def _has_sort_key(index: str, decisions: Sequence[FixedKey]) -> bool:
    """Whether the decided keys of an index have a sort key. Without one, it holds only keys that are decided."""
    return any(pin.sk for pin in decisions if pin.index == index)


def _table_first(facet: Facet) -> bool:
    return facet.slot != TABLE


def _candidate(entity: Entity, facet: Facet, bound_facet: keys.Facet) -> Candidate:
    sk = bound_facet.sk.attributes if bound_facet.sk else ()
    with_one_value = [condition for condition in facet.when if len(condition.values) == 1]
    when = tuple([(condition.attribute, condition.values[0]) for condition in with_one_value])
    return Candidate(entity.name, tuple(bound_facet.pk.attributes), tuple(map(SortAttribute, sk)), when, 0, fixed=True)
