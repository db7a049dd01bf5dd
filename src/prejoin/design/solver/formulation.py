"""The integer program of one component: its variables, its constraints and its cost functions.

All variables are 0 or 1. After NoSE (Mior et al., ICDE 2016), one variable says whether a candidate is used. Here it is
a `Placement`: candidate c is the key of item i of entity e in slot s, where item 0 is the entity's own item and 1, 2, …
are copies, and slot 0 is the table and 1, 2, … are indexes. Further variables say that an index is used, that a copy
exists, that a read of several entities is served in one place (`CollectionPlace`), that a read or write is not served,
that a write has to find its item first, and that a write takes two requests. The constraints:

Keys: an entity's own item has exactly one key in the table. A copy has one if it exists. Every item has at most one key
in each index, and only in a used index.

Reads: of the placements that serve a read, at least one is chosen, or the read is counted as not served. A read of
several entities needs one place where each of them has a key.

Writes: a write that does not know the item's key needs a placement that finds the item, or is not served.

Contiguity cuts: types that one Query reads together must be neighbours in sort order. Stating that for all orders in
advance would take too many constraints, so the program ignores it at first. When `solve` finds that the chosen keys
cannot be ordered so, it forbids this set of keys (`Problem.forbidden`) or of places (`Problem.rivals`) in every index,
and solves again.

Symmetry: index n + 1 is used only if index n is, and copies are numbered in the same way.

The functions `lost`, `price`, `taste` and `everything` are the costs. The search decides which of them to minimise, and
with how many indexes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, pairwise, permutations, product

import msgspec

from prejoin.design.cost.assumptions import per_second
from prejoin.design.cost.upkeep import copy_cents, find_cents, index_cents, reads_first, writes_of
from prejoin.design.mapping.addressing import known
from prejoin.design.solver.candidates import MOST_PERMUTED, Candidate, base_candidates, index_candidates
from prejoin.design.solver.integer_program import IntegerProgram
from prejoin.design.solver.needs import Need, ReadNeeds, item_changes
from prejoin.design.solver.placement import (
    BASE,
    MOST_COPIES,
    OWN,
    CollectionPlace,
    Component,
    Forbidden,
    Placement,
    Problem,
    key_as_asked,
    lies_in,
    placement_answers,
)
from prejoin.design.solver.taste import Taste
from prejoin.workload.lookup import root
from prejoin.workload.model import Action, Entity, Write


class ComponentProgram(msgspec.Struct):
    """The program of one component with a given number of indexes, and its variables by meaning."""

    program: IntegerProgram
    places: dict[Placement, int]
    together: dict[CollectionPlace, int]
    found: dict[tuple[str, str], int]
    """Writes that find an entity's items first."""
    twice: dict[str, int]
    """Writes that take two requests, because they read an item first."""
    unserved: dict[str, int]
    used: list[int]
    copies: list[int]


class Formulation:
    """All candidates of a component and their costs."""

    def __init__(self, problem: Problem, component: Component) -> None:
        self._problem = problem
        self._workload = problem.workload
        self._fixed = problem.fixed
        self._component = component
        names = {e.name for e in component.entities}
        asked = (*component.reads, *(find for find in problem.finds if find.ask.entities[0] in names))
        self._asks = {(n.read, n.entity): q for q in asked for n in q.needs}
        needs = {name: [n for q in asked for n in q.needs if n.entity == name] for name in names}
        self._bases = {e.name: base_candidates(self._workload, e, needs[e.name]) for e in component.entities}
        self._others = {e.name: index_candidates(self._workload, e, needs[e.name]) for e in component.entities}
        self.candidates = len({c for found in (self._bases, self._others) for keys in found.values() for c in keys})
        """The number of keys to choose from."""
        self._reading: dict[tuple[object, ...], bool] = {}
        self._knowing: dict[tuple[str, Action], frozenset[str]] = {}
        self._taste = Taste(problem.workload)
        self._weights = {q.read.id: max(1, round(100 * per_second(q.read.rate))) for q in asked}
        self.most_indexes = max(map(len, needs.values()), default=0) + problem.fixed.indexes
        """More indexes would be of no use."""

    def lost(self, model: ComponentProgram) -> dict[int, int]:
        """The cost of patterns that are not served: their rates."""
        return {at: self._weights.get(name, 1) for name, at in model.unserved.items()}

    def price(self, model: ComponentProgram) -> dict[int, int]:
        """The cost in cents a month of keys that could be left out."""
        found = {at: cents for place, at in model.places.items() if (cents := self._cents(place))}
        return found | {at: self._find_cents(way) for way, at in model.found.items()}

    def taste(self, model: ComponentProgram) -> dict[int, int]:
        """The preference among keys of the same cost."""
        return {at: self._taste(place) + place.slot for place, at in model.places.items()}

    @cached_property
    def kept(self) -> int:
        """The number of copies in the approved design."""
        return sum(len(self._fixed.copies(e.name)) for e in self._component.entities)

    def model(self, indexes: int, most_copies: int) -> ComponentProgram:
        """The program with this many indexes, and at most `most_copies` copies of each entity."""
        program = IntegerProgram(self._problem.limit)
        places: dict[Placement, int] = {}
        copies: list[int] = []
        used = [program.choice() for _ in range(indexes)]
        for one, other in pairwise(used):
            program.at_least(0, {one: 1, other: -1})
        for one in used[: self._fixed.indexes]:
            program.at_least(1, {one: 1})
        for entity in self._component.entities:
            copies += self._place(program, places, entity, used, most_copies)
        self._live_under(program, places)
        for forbidden in self._problem.forbidden:
            self._forbid(program, places, forbidden, indexes)
        unserved: dict[str, int] = {}
        together: dict[CollectionPlace, int] = {}
        for question in self._component.reads:
            unserved[question.read.id] = lost = program.choice()
            self._serve(program, places, together, question, indexes, lost)
        for rivals in self._problem.rivals:
            self._rival(program, places, together, rivals, indexes)
        found: dict[tuple[str, str], int] = {}
        self._find(program, places, unserved, found)
        twice = self._twice(program, places, found)
        return ComponentProgram(program, places, together, found, twice, unserved, used, copies)

    def _forbid(
        self, program: IntegerProgram, places: Mapping[Placement, int], forbidden: Forbidden, indexes: int
    ) -> None:
        """A contiguity cut: these keys cannot all be in one slot, in any index and for any copies."""
        (slot,) = {placed.slot for placed in forbidden}
        copies = sorted({(placed.entity, placed.item) for placed in forbidden if placed.item != OWN})
        for other in range(1, indexes + 1) if slot != BASE else [BASE]:
            for items in product(range(1, MOST_COPIES + 1), repeat=len(copies)):
                item = dict(zip(copies, items, strict=True))
                here = {
                    msgspec.structs.replace(one, slot=other, item=item.get((one.entity, one.item), OWN))
                    for one in forbidden
                }
                if len(here) == len(forbidden) and all(placed in places for placed in here):
                    program.at_most(len(here) - 1, {places[placed]: 1 for placed in here})

    def _rival(
        self,
        program: IntegerProgram,
        places: Mapping[Placement, int],
        together: Mapping[CollectionPlace, int],
        rivals: frozenset[CollectionPlace],
        indexes: int,
    ) -> None:
        """A contiguity cut: not all of these places in one slot, unless a copy there makes room for another."""
        slot = min(way.slot for way in rivals)
        asked = {q.read.id: q for q in self._component.reads}
        for other in range(1, indexes + 1) if slot != BASE else [BASE]:
            here = [msgspec.structs.replace(way, slot=other) for way in rivals]
            if any(way not in together for way in here):
                continue
            copies = {
                at: -1
                for place, at in places.items()
                if place.item != OWN
                for way in here
                for need in asked[way.read].needs
                if self._lies(place, asked[way.read], need, way)
            }
            program.at_most(len(here) - 1, {**{together[way]: 1 for way in here}, **copies})

    def _place(
        self,
        program: IntegerProgram,
        places: dict[Placement, int],
        entity: Entity,
        used: Sequence[int],
        most_copies: int,
    ) -> list[int]:
        """The items of an entity and their keys: exactly one in the table, at most one in each index."""
        name = entity.name
        fixed = self._fixed.candidates.get((name, OWN, BASE))
        bases = {Placement(name, OWN, BASE, c): program.choice() for c in ([fixed] if fixed else self._bases[name])}
        places.update(bases)
        program.at_least(1, dict.fromkeys(bases.values(), 1))
        program.at_most(1, dict.fromkeys(bases.values(), 1))
        kept = len(self._fixed.copies(name))
        others = self._others[name]
        most = 0 if name in self._problem.constraints.without_copies else min(most_copies, len(others))
        copies: list[int] = []
        for item in range(kept + most + 1):
            sparse: dict[int, int] = {}
            there: dict[int, int] = {}
            if item > kept:
                there = {program.choice(): -1}
                if copies:
                    program.at_least(0, {copies[-1]: 1, **there})
                copies += there
            if item:
                keys = self._keys(program, places, name, item, BASE)
                one = {**dict.fromkeys(keys.values(), 1), **there}
                program.at_least(0 if there else 1, one)
                program.at_most(0 if there else 1, one)
                sparse = {at: 1 for place, at in keys.items() if _sparse(entity, place.candidate)}
            for slot, index in enumerate(used, 1):
                keys = self._keys(program, places, name, item, slot)
                taken = dict.fromkeys(keys.values(), 1)
                if any(place.candidate.fixed for place in keys):
                    program.at_least(1, taken)
                    continue
                if not taken:
                    continue
                program.at_most(0, {**taken, index: -1})
                if there:
                    program.at_most(0, {**taken, **there})
                if sparse:
                    # A sparse copy would be sparse in its indexes, too.
                    program.at_most(1, {**taken, **sparse})
        return copies

    def _keys(
        self, program: IntegerProgram, places: dict[Placement, int], name: str, item: int, slot: int
    ) -> dict[Placement, int]:
        """The keys that an item may have in a slot; at most one is chosen."""
        fixed = self._fixed.candidates.get((name, item, slot))
        without = slot != BASE and name in self._problem.constraints.without_indexes
        free = [] if without or not self._fixed.is_open(slot) else self._others[name]
        keys = {Placement(name, item, slot, c): program.choice() for c in ([fixed] if fixed else free)}
        places.update(keys)
        return keys

    def _live_under(self, program: IntegerProgram, places: Mapping[Placement, int]) -> None:
        """An entity under a parent has the parent's id as its partition, or shares the parent's partition."""
        for pin in self._problem.constraints.under:
            bases = {
                name: {p: at for p, at in places.items() if (p.entity, p.item, p.slot) == (name, OWN, BASE)}
                for name in (pin.entity, pin.parent)
            }
            if not all(bases.values()):
                continue
            parent = self._entity(pin.parent)
            ids = frozenset(root(self._workload, parent, a) for a in parent.id)
            for place, at in bases[pin.entity].items():
                roots = self._roots(place)
                same = {k: 1 for p, k in bases[pin.parent].items() if self._roots(p) == roots}
                if roots != ids:
                    program.at_least(0, {**same, at: -1})

    def _roots(self, place: Placement) -> frozenset[tuple[str, str]]:
        """The entities whose ids make up the partition."""
        entity = self._entity(place.entity)
        return frozenset(root(self._workload, entity, a) for n in place.candidate.pk if (a := entity.attribute(n)))

    def _entity(self, name: str) -> Entity:
        found = self._workload.entity(name)
        assert found is not None
        return found

    def _answers(self, place: Placement, need: Need) -> bool:
        if (need.read, place) in self._problem.refused:
            return False
        if not place.candidate.fixed:
            return placement_answers(place, need)
        question = self._asks[need.read, need.entity]
        return place.entity == need.entity and self._fixed.answers((place.entity, place.item, place.slot), question)

    def _lies(self, place: Placement, question: ReadNeeds, need: Need, way: CollectionPlace) -> bool:
        if not place.candidate.fixed:
            return lies_in(place, question, need, way)
        if (place.entity, place.slot) != (need.entity, way.slot) or not self._answers(place, need):
            return False
        pk, rest = key_as_asked(place, question, len(way.rest))
        return (frozenset(pk), rest) == (frozenset(way.names), way.rest)

    def _serve(
        self,
        program: IntegerProgram,
        places: dict[Placement, int],
        together: dict[CollectionPlace, int],
        question: ReadNeeds,
        indexes: int,
        lost: int,
    ) -> None:
        slots = range(1 if question.ask.consistent else indexes + 1)
        if len(question.needs) == 1:
            (need,) = question.needs
            ways = {at: 1 for place, at in places.items() if place.slot in slots and self._answers(place, need)}
            program.at_least(1, {**ways, lost: 1})
            return
        ways = {}
        for way in _ways(question, slots):
            mine = [{k: 1 for p, k in places.items() if self._lies(p, question, n, way)} for n in question.needs]
            if not all(mine):
                continue
            together[way] = at = program.choice()
            ways[at] = 1
            for here in mine:
                program.at_least(0, {**here, at: -1})
        program.at_least(1, {**ways, lost: 1})

    def _find(
        self,
        program: IntegerProgram,
        places: Mapping[Placement, int],
        unserved: dict[str, int],
        found: dict[tuple[str, str], int],
    ) -> None:
        """A write that does not know the key of its item has to find it first, by a key that serves that."""
        names = {e.name for e in self._component.entities}
        for write, action in item_changes(self._workload):
            if action.entity not in names or write.id in self._problem.constraints.aside:
                continue
            find = self._asks.get((write.id, action.entity))
            if action.many and find is None:
                continue  # it means all items: that is a Scan, and no key helps
            blind = [
                at
                for place, at in places.items()
                if (place.entity, place.item, place.slot) == (action.entity, OWN, BASE)
                and not self._knows(write, action, place)
            ]
            if not blind:
                continue
            ways = {at: 1 for place, at in places.items() if find and self._answers(place, find.needs[0])}
            if write.id not in unserved:
                unserved[write.id] = program.choice()
            found[write.id, action.entity] = sought = program.choice()
            for at in blind:
                program.at_least(0, {unserved[write.id]: 1, sought: 1, at: -1})
            program.at_least(0, {**ways, sought: -1})

    def _twice(
        self, program: IntegerProgram, places: Mapping[Placement, int], found: Mapping[tuple[str, str], int]
    ) -> dict[str, int]:
        """Writes that have to read an item first, because they do not know all of its keys."""
        twice: dict[str, int] = {}
        for entity in self._component.entities:
            others = [
                (p, at) for p, at in places.items() if p.entity == entity.name and (p.item, p.slot) != (OWN, BASE)
            ]
            for write, action in writes_of(self._workload, entity):
                sought = found.get((write.id, entity.name))
                because = [at for p, at in others if self._reads_first(p, write, action)]
                for at in because if sought is None else [*because, sought]:
                    twice.setdefault(write.id, program.choice() if write.id not in twice else twice[write.id])
                    program.at_least(0, {twice[write.id]: 1, at: -1})
        return twice

    def _reads_first(self, place: Placement, write: Write, action: Action) -> bool:
        key = (place.entity, place.candidate, place.slot == BASE, write.id, action)
        if key not in self._reading:
            entity = self._entity(place.entity)
            self._reading[key] = reads_first(
                self._workload, entity, place.candidate, write, action, copy=place.slot == BASE
            )
        return self._reading[key]

    def _knows(self, write: Write, action: Action, place: Placement) -> bool:
        """Whether a write knows all attributes of an item's key."""
        if (write.id, action) not in self._knowing:
            self._knowing[write.id, action] = known(self._workload, write, action)
        return self._knowing[write.id, action].issuperset(place.candidate.attributes)

    def _cents(self, place: Placement) -> int:
        entity = self._entity(place.entity)
        if place.slot != BASE:
            return index_cents(self._workload, entity, place.candidate)
        if place.item != OWN:
            return copy_cents(self._workload, entity, place.candidate)
        if self._is_everything(place):
            # One partition for all items of an entity is worth it to save an index, but not for the money alone.
            return index_cents(self._workload, entity, place.candidate) + 1
        return 0

    def _is_everything(self, place: Placement) -> bool:
        """Whether a key of the table puts all items of an entity into one partition."""
        own = (place.item, place.slot) == (OWN, BASE) and not place.candidate.fixed
        return own and not place.candidate.pk and bool(self._entity(place.entity).id)

    def everything(self, model: ComponentProgram) -> list[int]:
        """The keys of the table that put all items of an entity into one partition."""
        return [at for place, at in model.places.items() if self._is_everything(place)]

    def _find_cents(self, way: tuple[str, str]) -> int:
        pattern = self._workload.pattern(way[0])
        return find_cents(pattern.rate if pattern else None, self._entity(way[1]))


def _sparse(entity: Entity, candidate: Candidate) -> bool:
    """Whether some items lack the key."""
    return candidate.sparse or any((a := entity.attribute(name)) and a.optional for name in candidate.pk)


def _ways(question: ReadNeeds, slots: range) -> Iterator[CollectionPlace]:
    """Places where several entities can be neighbours: some given attributes are the partition, the rest comes first
    in the sort key.
    """
    names = [frozenset(question.ask.name(n.entity, a) for a in n.given) for n in question.needs]
    if len(set(names)) > 1:
        return
    every = sorted(names[0])
    for size in range(len(every), 0 if every else -1, -1):
        for pk in combinations(every, size):
            rest = [name for name in every if name not in pk]
            for order in permutations(rest) if len(rest) <= MOST_PERMUTED else [tuple(rest)]:
                for slot in slots:
                    yield CollectionPlace(question.read.id, slot, pk, order)
