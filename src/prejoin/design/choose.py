"""The choice of keys: for each item and slot the candidate that, all in all, serves most with the least to keep.

Entities that no read asks for together are chosen for apart. Indexes are shared by all, so there are as many as the
part that needs most; copies add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, pairwise, permutations

import msgspec

from prejoin.design.candidates import MOST_PERMUTED, Candidate, base_candidates, index_candidates, serves
from prejoin.design.keeping import copy_cents, index_cents
from prejoin.design.needs import Need, Question
from prejoin.design.program import InfeasibleError, Program
from prejoin.workload.lookup import root
from prejoin.workload.model import Action, Entity, Verb, Workload, Write

OWN = 0
"""The entity's own item; copies are 1, 2, …"""
BASE = 0
"""The table; indexes are 1, 2, …"""
MOST_INDEXES = 20
MOST_COPIES = 4


class Placed(msgspec.Struct, frozen=True, order=True):
    """A candidate chosen for an item of an entity, in a slot."""

    entity: str
    item: int
    slot: int
    candidate: Candidate


class Together(msgspec.Struct, frozen=True, order=True):
    """Where a read of several entities finds them: the slot, what makes the partition, and what comes before the type.

    Both as the read calls it.
    """

    read: str
    slot: int
    names: tuple[str, ...]
    rest: tuple[str, ...] = ()


class Score(msgspec.Struct, frozen=True, order=True):
    """What is to be small, the first first."""

    unserved: int
    structures: int
    money: int


class Chosen(msgspec.Struct, frozen=True):
    placed: tuple[Placed, ...]
    together: tuple[Together, ...]
    unserved: tuple[str, ...]
    indexes: int
    copies: int
    money: int
    exact: bool = True

    @property
    def score(self) -> Score:
        return Score(len(self.unserved), self.indexes + self.copies, self.money)


class Part(msgspec.Struct, frozen=True):
    """Entities that reads ask for together, with all that is asked of them."""

    entities: tuple[Entity, ...]
    questions: tuple[Question, ...]


def parts(workload: Workload, questions: Sequence[Question]) -> list[Part]:
    """The workload taken apart, in an order that does not depend on the document's."""
    group = {e.name: e.name for e in workload.entities}

    def head(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for question in questions:
        first, *others = question.ask.entities
        for other in others:
            group[head(other)] = head(first)
    found: dict[str, list[Entity]] = {}
    for entity in sorted(workload.entities, key=lambda e: e.name):
        found.setdefault(head(entity.name), []).append(entity)
    asked = sorted(questions, key=lambda q: q.read.id)
    return [
        Part(tuple(entities), tuple(q for q in asked if head(q.ask.entities[0]) == name))
        for name, entities in found.items()
    ]


def choose(workload: Workload, questions: Sequence[Question], most_indexes: int = MOST_INDEXES) -> Chosen:
    """The best choice for the workload: what can be served is, with the fewest structures, for the least money."""
    pieces = [_Search(workload, part) for part in parts(workload, questions)]
    fewest: int | None = None
    counts: dict[int, int] = {}
    for indexes in range(most_indexes + 1):
        if fewest is not None and indexes > fewest:
            break
        room = None if fewest is None else fewest - indexes
        copies = _copies(pieces, indexes, room)
        if copies is not None:
            counts[indexes] = indexes + copies
            fewest = indexes + copies
        if copies == 0:
            break
    assert fewest is not None
    best = [_joined([piece.solve(indexes) for piece in pieces]) for indexes, count in counts.items() if count == fewest]
    return min(best, key=lambda chosen: (chosen.score, chosen.copies))


def _copies(pieces: Sequence[_Search], indexes: int, room: int | None) -> int | None:
    """How many copies all parts need together with so many indexes; None if there is no room for them."""
    total = 0
    for piece in pieces:
        needed = piece.copies(indexes, None if room is None else room - total)
        if needed is None:
            return None
        total += needed
    return total


def _joined(found: Sequence[Chosen]) -> Chosen:
    return Chosen(
        tuple(sorted(one for chosen in found for one in chosen.placed)),
        tuple(sorted(one for chosen in found for one in chosen.together)),
        tuple(sorted({one for chosen in found for one in chosen.unserved})),
        max((chosen.indexes for chosen in found), default=0),
        sum(chosen.copies for chosen in found),
        sum(chosen.money for chosen in found),
        all(chosen.exact for chosen in found),
    )


class _Model(msgspec.Struct):
    """The program of one part for a number of indexes."""

    program: Program
    places: dict[Placed, int]
    together: dict[Together, int]
    unserved: dict[str, int]
    used: list[int]
    copies: list[int]


class _Search:
    """The best choice for one part, by the number of indexes it may use."""

    def __init__(self, workload: Workload, part: Part) -> None:
        self._workload = workload
        self._part = part
        self._needs = {
            e.name: [n for q in part.questions for n in q.needs if n.entity == e.name] for e in part.entities
        }
        self._bases = {e.name: base_candidates(workload, e, self._needs[e.name]) for e in part.entities}
        self._others = {e.name: index_candidates(e, self._needs[e.name]) for e in part.entities}
        self._copies: dict[int, int] = {}

    @cached_property
    def _floor(self) -> int:
        """How much cannot be served by any key; with copies enough, everything else can."""
        model = self._model(0, len(self._part.questions))
        return model.program.minimise(dict.fromkeys(model.unserved.values(), 1))

    def copies(self, indexes: int, most: int | None) -> int | None:
        """The fewest copies with which all is served that can be, with so many indexes."""
        if self._copies.get(indexes - 1) == 0:
            self._copies[indexes] = 0
        if indexes not in self._copies:
            limit = MOST_COPIES * len(self._part.entities) if most is None else most
            model = self._model(indexes, min(limit, MOST_COPIES))
            model.program.at_most(self._floor, dict.fromkeys(model.unserved.values(), 1))
            model.program.at_most(limit, dict.fromkeys(model.copies, 1))
            try:
                self._copies[indexes] = model.program.minimise(dict.fromkeys(model.copies, 1))
            except InfeasibleError:
                return None
        return self._copies[indexes]

    def solve(self, indexes: int) -> Chosen:
        """The cheapest of the choices with the fewest copies; of equals the first."""
        fewest = self.copies(indexes, None)
        assert fewest is not None
        model = self._model(indexes, fewest)
        program = model.program
        program.at_most(self._floor, dict.fromkeys(model.unserved.values(), 1))
        program.at_most(fewest, dict.fromkeys(model.copies, 1))
        program.minimise(dict.fromkeys(model.used, 1))
        money = program.minimise({at: cents for place, at in model.places.items() if (cents := self._cents(place))})
        program.minimise({at: self._taste(place) for place, at in model.places.items()})
        chosen = program.chosen
        return Chosen(
            tuple(place for place, at in sorted(model.places.items()) if at in chosen),
            tuple(way for way, at in sorted(model.together.items()) if at in chosen),
            tuple(name for name, at in sorted(model.unserved.items()) if at in chosen),
            sum(at in chosen for at in model.used),
            sum(at in chosen for at in model.copies),
            money,
            program.exact,
        )

    def _model(self, indexes: int, most_copies: int) -> _Model:
        program = Program()
        places: dict[Placed, int] = {}
        copies: list[int] = []
        used = [program.choice() for _ in range(indexes)]
        for one, other in pairwise(used):
            program.at_least(0, {one: 1, other: -1})
        for entity in self._part.entities:
            copies += self._place(program, places, entity, used, most_copies)
        unserved: dict[str, int] = {}
        together: dict[Together, int] = {}
        for question in self._part.questions:
            unserved[question.read.id] = lost = program.choice()
            self._serve(program, places, together, question, indexes, lost)
        unserved |= dict(self._lost_writes(program, places))
        return _Model(program, places, together, unserved, used, copies)

    def _place(
        self, program: Program, places: dict[Placed, int], entity: Entity, used: Sequence[int], most_copies: int
    ) -> list[int]:
        """The items of an entity and their keys: exactly one in the table, at most one in each index."""
        name = entity.name
        bases = {Placed(name, OWN, BASE, c): program.choice() for c in self._bases[name]}
        places.update(bases)
        program.at_least(1, dict.fromkeys(bases.values(), 1))
        program.at_most(1, dict.fromkeys(bases.values(), 1))
        others = self._others[name]
        copies: list[int] = []
        if not others:
            return copies
        for item in range(min(most_copies, len(others)) + 1):
            sparse: dict[int, int] = {}
            if item:
                copy = program.choice()
                if copies:
                    program.at_least(0, {copies[-1]: 1, copy: -1})
                copies.append(copy)
                keys = {Placed(name, item, BASE, c): program.choice() for c in others}
                places.update(keys)
                program.at_least(0, {**dict.fromkeys(keys.values(), 1), copy: -1})
                program.at_most(0, {**dict.fromkeys(keys.values(), 1), copy: -1})
                sparse = {at: 1 for place, at in keys.items() if place.candidate.when}
            for slot, index in enumerate(used, 1):
                keys = {Placed(name, item, slot, c): program.choice() for c in others}
                places.update(keys)
                taken = dict.fromkeys(keys.values(), 1)
                program.at_most(0, {**taken, index: -1})
                if item:
                    program.at_most(0, {**taken, copies[-1]: -1})
                    # What is only there sometimes would be in its indexes only then, too.
                    program.at_most(1, {**taken, **sparse})
        return copies

    def _serve(
        self,
        program: Program,
        places: dict[Placed, int],
        together: dict[Together, int],
        question: Question,
        indexes: int,
        lost: int,
    ) -> None:
        slots = range(1 if question.ask.consistent else indexes + 1)
        if len(question.needs) == 1:
            (need,) = question.needs
            ways = {at: 1 for place, at in places.items() if place.slot in slots and answers(place, need)}
            program.at_least(1, {**ways, lost: 1})
            return
        ways = {}
        for way in _ways(question, slots):
            together[way] = at = program.choice()
            ways[at] = 1
            for need in question.needs:
                here = {k: 1 for place, k in places.items() if lies(place, question, need, way)}
                program.at_least(0, {**here, at: -1})
        program.at_least(1, {**ways, lost: 1})

    def _lost_writes(self, program: Program, places: dict[Placed, int]) -> Iterator[tuple[str, int]]:
        """Writes that do not know the key of what they change: they have to find it first."""
        for write in (*self._workload.writes, *self._workload.deletes):
            blind = [
                at
                for action in write.actions
                if action.verb in (Verb.UPDATE, Verb.DELETE) and not action.many
                for place, at in places.items()
                if (place.entity, place.item, place.slot) == (action.entity, OWN, BASE)
                and not self._knows(write, action, place)
            ]
            if blind:
                lost = program.choice()
                for at in dict.fromkeys(blind):
                    program.at_least(0, {lost: 1, at: -1})
                yield write.id, lost

    def _knows(self, write: Write, action: Action, place: Placed) -> bool:
        """Whether a write has what an item's key is made of: by name, or as the id that the name stands for."""
        known = {i.attribute for i in write.inputs} | set(action.by)
        roots = {root(self._workload, e, a) for e in self._workload.entities for a in e.attributes if a.name in known}
        entity = self._workload.entity(place.entity)
        assert entity is not None
        return all(
            name in known or ((a := entity.attribute(name)) and root(self._workload, entity, a) in roots)
            for name in place.candidate.attributes
        )

    def _cents(self, place: Placed) -> int:
        entity = self._workload.entity(place.entity)
        assert entity is not None
        if place.slot != BASE:
            return index_cents(self._workload, entity, place.candidate)
        return copy_cents(self._workload, entity) if place.item != OWN else 0

    def _taste(self, place: Placed) -> int:
        """Of equals: short keys, partitions made of one id, few of them that hold everything."""
        candidate = place.candidate
        entity = self._workload.entity(place.entity)
        assert entity is not None
        named = [entity.attribute(name) for name in candidate.pk]
        ids = sum(bool(a and (a.id or a.references)) for a in named)
        everything = not candidate.pk and not entity.singleton
        return (
            1
            + 4 * len(candidate.sk)
            + 6 * abs(len(candidate.pk) - 1)
            + 20 * (bool(candidate.pk) and not ids)
            + 40 * everything
            + place.slot
            + (2 if candidate.when else 0)
        )


def answers(place: Placed, need: Need) -> bool:
    if place.entity != need.entity:
        return False
    if serves(place.candidate, need):
        return True
    # The whole key of an item is given, and more: one item is read, and compared with the rest.
    whole = (place.item, place.slot) == (OWN, BASE) and set(place.candidate.attributes) <= need.given
    return whole and not need.shared


def lies(place: Placed, question: Question, need: Need, way: Together) -> bool:
    """Whether an item lies where a read of several entities finds them."""
    if (place.entity, place.slot) != (need.entity, way.slot):
        return False
    name = question.ask.name
    pk = frozenset(a for a in need.given if name(need.entity, a) in way.names)
    if not serves(place.candidate, need, pk):
        return False
    return tuple(name(need.entity, one.attribute) for one in place.candidate.sk[: len(way.rest)]) == way.rest


def _ways(question: Question, slots: range) -> Iterator[Together]:
    """Where several entities may lie side by side: in a partition made of a part of what is given, then by the rest."""
    names = [frozenset(question.ask.name(n.entity, a) for a in n.given) for n in question.needs]
    if len(set(names)) > 1:
        return
    every = sorted(names[0])
    for size in range(len(every), 0 if every else -1, -1):
        for pk in combinations(every, size):
            rest = [name for name in every if name not in pk]
            for order in permutations(rest) if len(rest) <= MOST_PERMUTED else [tuple(rest)]:
                for slot in slots:
                    yield Together(question.read.id, slot, pk, order)
