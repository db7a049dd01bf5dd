"""The choice of keys: every read served that can be, with the fewest structures, and of those the cheapest.

Entities that nothing asks for together are chosen for apart. Indexes are shared by all, so there are as many as the
part that needs most; copies add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, pairwise, permutations, product
from zlib import crc32

import msgspec

from prejoin.design.assumed import per_second
from prejoin.design.candidates import MOST_PERMUTED, Candidate, base_candidates, index_candidates, serves
from prejoin.design.decided import UNLIMITED, Decided, decided
from prejoin.design.frozen import Frozen, frozen
from prejoin.design.keeping import copy_cents, find_cents, index_cents, reads_first, writes_of
from prejoin.design.model import Design
from prejoin.design.needs import Need, Question, addressed, finds
from prejoin.design.program import InfeasibleError, Program
from prejoin.workload.lookup import root
from prejoin.workload.model import Action, Entity, Workload, Write

OWN = 0
"""The entity's own item; copies are 1, 2, …"""
BASE = 0
"""The table; indexes are 1, 2, …"""
MOST_COPIES = 4
"""Copies of one entity that are thought of."""


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
    """Whether no other choice is better; else it is the best that was found."""
    least: int = 0
    """Structures that any choice has that serves as much."""

    @property
    def score(self) -> Score:
        return Score(len(self.unserved), self.indexes + self.copies, self.money)


Forbidden = frozenset[Placed]
"""Keys that cannot all be: side by side they would have to lie in an order that there is not."""


class Task(msgspec.Struct, frozen=True):
    """All that a choice is made for."""

    workload: Workload
    questions: tuple[Question, ...]
    finds: tuple[Question, ...]
    decided: Decided
    frozen: Frozen
    told: Callable[[str], None]
    """Hears how far the search is."""
    forbidden: tuple[Forbidden, ...] = ()
    rivals: tuple[frozenset[Together], ...] = ()
    """Ways of several reads in one partition, not all of which can be: a parent has two neighbours."""


def task_of(
    workload: Workload,
    questions: Sequence[Question],
    kept: Design | None = None,
    told: Callable[[str], None] | None = None,
) -> Task:
    pins = decided(workload)
    asked = tuple(q for q in questions if q.read.id not in pins.aside)
    sought = tuple(f for f in finds(workload) if f.read.id not in pins.aside)
    return Task(workload, asked, sought, pins, frozen(workload, pins.keys, kept), told or _nobody)


def _nobody(text: str) -> None:
    pass


class Part(msgspec.Struct, frozen=True):
    """Entities that reads ask for together, with all that is asked of them."""

    entities: tuple[Entity, ...]
    questions: tuple[Question, ...]


def parts(task: Task) -> list[Part]:
    """The workload taken apart, in an order that does not depend on the document's."""
    group = {e.name: e.name for e in task.workload.entities}

    def head(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    linked = [question.ask.entities for question in task.questions]
    linked += [(pin.entity, pin.parent) for pin in task.decided.under]
    linked += [tuple(placed.entity for placed in one) for one in task.forbidden]
    for first, *others in linked:
        for other in others:
            group[head(other)] = head(first)
    found: dict[str, list[Entity]] = {}
    for entity in sorted(task.workload.entities, key=lambda e: e.name):
        found.setdefault(head(entity.name), []).append(entity)
    asked = sorted(task.questions, key=lambda q: q.read.id)
    return [
        Part(tuple(entities), tuple(q for q in asked if head(q.ask.entities[0]) == name))
        for name, entities in found.items()
    ]


def choose(task: Task) -> Chosen:
    """The best choice: what can be served is, with the fewest structures, for the least money.

    Where limits leave no room for that, as little as can be is left unserved, by how often it is asked.
    """
    limits = task.decided
    pieces = [_Search(task, part) for part in parts(task)]
    if limits.money:
        return _cheapest(pieces, limits) or _limited(task, pieces)
    already = task.frozen.indexes
    fewest: int | None = None
    counts: dict[int, int] = {}
    for indexes in range(already, limits.indexes + 1):
        if fewest is not None and indexes > fewest:
            break
        task.told(f"{indexes} indexes" + (f": with {fewest} structures it can be done" if fewest is not None else ""))
        room = min(limits.copies, (limits.structures if fewest is None else fewest) - indexes)
        copies = _copies(pieces, indexes, room) if room >= 0 else None
        if copies is not None:
            counts[indexes] = indexes + copies
            fewest = indexes + copies
        if copies == 0:
            break
    if fewest is None:
        return _limited(task, pieces)
    # Of as many structures the most indexes, for then the copies are fewest.
    found = _joined([piece.solve(max(at for at, count in counts.items() if count == fewest)) for piece in pieces])
    least = min(at + sum(piece.least.get(at, piece.copies(at, UNLIMITED) or 0) for piece in pieces) for at in counts)
    exact = found.exact and all(piece.exact for piece in pieces)
    return msgspec.structs.replace(found, exact=exact, least=fewest if exact else min(least, fewest))


def _copies(pieces: Sequence[_Search], indexes: int, room: int) -> int | None:
    """How many copies all parts need together with so many indexes; None if there is no room for them."""
    total = 0
    for piece in pieces:
        needed = piece.copies(indexes, room - total)
        if needed is None:
            return None
        total += needed
    return total


def _cheapest(pieces: Sequence[_Search], limits: Decided) -> Chosen | None:
    """The choice that costs least, with as many structures as that takes; None if that is more than there may be."""
    most = min(limits.indexes, limits.structures, max((piece.most_indexes for piece in pieces), default=0))
    found = _joined([piece.solve(most, cheapest=True) for piece in pieces])
    fits = found.copies <= limits.copies and found.indexes + found.copies <= limits.structures
    return found if fits else None


def _limited(task: Task, pieces: Sequence[_Search]) -> Chosen:
    """The best choice where not all can be served that keys could serve: the parts share the copies there may be."""
    limits = task.decided
    most = min(limits.indexes, limits.structures, max((piece.most_indexes for piece in pieces), default=0))
    best: tuple[int, int, int, tuple[int, ...]] | None = None
    for indexes in range(task.frozen.indexes, max(most, task.frozen.indexes) + 1):
        task.told(f"not all can be served: {indexes} indexes")
        for copies, (lost, shares) in _shared(pieces, indexes, min(limits.copies, limits.structures - indexes)).items():
            found = (lost, indexes + copies, copies, shares)
            best = min(best or found, found)
    if best is None:
        raise InfeasibleError
    _, structures, copies, shares = best
    return _joined(
        [piece.solve_within(structures - copies, share) for piece, share in zip(pieces, shares, strict=True)]
    )


def _shared(pieces: Sequence[_Search], indexes: int, most: int) -> dict[int, tuple[int, tuple[int, ...]]]:
    """For each number of copies, the least that is left unserved, and how many copies each part then has."""
    found: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())} if most >= 0 else {}
    for piece in pieces:
        further: dict[int, tuple[int, tuple[int, ...]]] = {}
        for copies, (lost, shares) in found.items():
            for share, left in piece.left(indexes, most - copies):
                one = (lost + left, (*shares, share))
                further[copies + share] = min(further.get(copies + share, one), one)
        found = further
    return found


def _joined(found: Sequence[Chosen]) -> Chosen:
    indexes = max((chosen.indexes for chosen in found), default=0)
    copies = sum(chosen.copies for chosen in found)
    return Chosen(
        tuple(sorted(one for chosen in found for one in chosen.placed)),
        tuple(sorted(one for chosen in found for one in chosen.together)),
        tuple(sorted({one for chosen in found for one in chosen.unserved})),
        indexes,
        copies,
        sum(chosen.money for chosen in found),
        all(chosen.exact for chosen in found),
        indexes + copies,
    )


class _Model(msgspec.Struct):
    """The program of one part for a number of indexes."""

    program: Program
    places: dict[Placed, int]
    together: dict[Together, int]
    found: dict[tuple[str, str], int]
    """Writes that find an entity's items first."""
    twice: dict[str, int]
    """Writes that take two requests, because they read an item first."""
    unserved: dict[str, int]
    used: list[int]
    copies: list[int]


class _Search:
    """The best choice for one part, by the number of indexes it may use."""

    def __init__(self, task: Task, part: Part) -> None:
        self._task = task
        self._workload = task.workload
        self._frozen = task.frozen
        self._part = part
        names = {e.name for e in part.entities}
        self._finds = [find for find in task.finds if find.ask.entities[0] in names]
        self._asks = {(n.read, n.entity): q for q in (*part.questions, *self._finds) for n in q.needs}
        self._needs = {
            name: [n for q in (*part.questions, *self._finds) for n in q.needs if n.entity == name] for name in names
        }
        self._bases = {e.name: base_candidates(self._workload, e, self._needs[e.name]) for e in part.entities}
        self._others = {e.name: index_candidates(e, self._needs[e.name]) for e in part.entities}
        self._copies: dict[int, int] = {}
        self._left: dict[tuple[int, int], int] = {}
        self.exact = True
        """Whether all that was asked of it was answered for certain."""
        self.least: dict[int, int] = {}
        """By the number of indexes, the copies that are needed at least."""
        self._reading: dict[tuple[object, ...], bool] = {}
        self._knowing: dict[tuple[str, Action, Placed], bool] = {}
        self.weights = {
            q.read.id: max(1, round(100 * per_second(q.read.rate))) for q in (*part.questions, *self._finds)
        }
        """What it counts if a pattern is not served: as often as it is asked."""
        self.most_indexes = max((len(needs) for needs in self._needs.values()), default=0) + task.frozen.indexes

    @cached_property
    def _floor(self) -> int:
        """How much no key can serve; with copies enough, or indexes where there may be none, everything else is."""
        barred = self._task.decided.without_copies & {e.name for e in self._part.entities}
        most = min(self.most_indexes, self._task.decided.indexes) if barred else 0
        model = self._model(max(self._frozen.indexes, most), len(self._part.questions))
        return model.program.minimise(self._lost(model))

    def _lost(self, model: _Model) -> dict[int, int]:
        return {at: self.weights.get(name, 1) for name, at in model.unserved.items()}

    def copies(self, indexes: int, most: int) -> int | None:
        """The fewest copies with which all is served that can be, with so many indexes; None if `most` are too few."""
        if self._copies.get(indexes - 1) == self._kept:
            self._copies[indexes] = self._kept
        if indexes not in self._copies:
            model = self._model(indexes, min(most, MOST_COPIES))
            model.program.at_most(self._floor, self._lost(model))
            model.program.at_most(most - self._kept, dict.fromkeys(model.copies, 1))
            try:
                self._copies[indexes] = self._kept + model.program.minimise(dict.fromkeys(model.copies, 1))
            except InfeasibleError:
                self.exact &= model.program.exact
                return None
            self.exact &= model.program.exact
            self.least[indexes] = self._kept + model.program.bound
        return self._copies[indexes]

    @cached_property
    def _kept(self) -> int:
        """Copies that are there already."""
        return sum(len(self._frozen.copies(e.name)) for e in self._part.entities)

    def solve(self, indexes: int, cheapest: bool = False) -> Chosen:
        """The cheapest of the choices with the fewest copies; or of all."""
        fewest = self.copies(indexes, UNLIMITED)
        assert fewest is not None
        model = self._model(indexes, MOST_COPIES if cheapest else fewest)
        model.program.at_most(self._floor, self._lost(model))
        if not cheapest:
            model.program.at_most(fewest - self._kept, dict.fromkeys(model.copies, 1))
        return self._finished(model, cheapest)

    def left(self, indexes: int, most: int) -> Iterator[tuple[int, int]]:
        """For each number of copies up to `most`, as long as more of them help: what is left unserved."""
        for copies in range(self._kept, most + 1):
            if (indexes, copies) not in self._left:
                model = self._model(indexes, copies)
                model.program.at_most(copies - self._kept, dict.fromkeys(model.copies, 1))
                try:
                    self._left[indexes, copies] = model.program.minimise(self._lost(model))
                except InfeasibleError:
                    return
            yield copies, self._left[indexes, copies]
            if self._left[indexes, copies] <= self._floor or copies == self._kept + MOST_COPIES:
                return

    def solve_within(self, indexes: int, copies: int) -> Chosen:
        """The choice that leaves least unserved with so many indexes and copies."""
        model = self._model(indexes, min(copies, MOST_COPIES))
        model.program.at_most(copies - self._kept, dict.fromkeys(model.copies, 1))
        model.program.minimise(self._lost(model))
        model.program.minimise(dict.fromkeys((*model.copies, *model.used), 1))
        return self._finished(model)

    def _finished(self, model: _Model, cheapest: bool = False) -> Chosen:
        program = model.program
        price = {at: cents for place, at in model.places.items() if (cents := self._cents(place))}
        price |= {at: self._find_cents(way) for way, at in model.found.items()}
        money = program.minimise(price) if cheapest else 0
        program.minimise(dict.fromkeys(model.used, 1))
        program.minimise(dict.fromkeys(model.copies, 1))
        if self._frozen.facets:  # least change: as few new keys as can be
            program.minimise({at: 1 for place, at in model.places.items() if not place.candidate.fixed})
        program.minimise(dict.fromkeys(model.twice.values(), 1))
        money = program.minimise(price)
        program.minimise({at: self._taste(place) for place, at in model.places.items()})
        # Of what is equal in all that matters always the same, whatever way the solver went.
        program.minimise(
            {at: _lot(str(one)) for one, at in model.places.items()}
            | {at: _lot(str(one)) for one, at in model.together.items()}
        )
        chosen = program.chosen
        return Chosen(
            tuple(place for place, at in sorted(model.places.items()) if at in chosen),
            tuple(way for way, at in sorted(model.together.items()) if at in chosen),
            tuple(name for name, at in sorted(model.unserved.items()) if at in chosen),
            sum(at in chosen for at in model.used),
            self._kept + sum(at in chosen for at in model.copies),
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
        for one in used[: self._frozen.indexes]:
            program.at_least(1, {one: 1})
        for entity in self._part.entities:
            copies += self._place(program, places, entity, used, most_copies)
        self._live_under(program, places)
        for forbidden in self._task.forbidden:
            self._forbid(program, places, forbidden, indexes)
        unserved: dict[str, int] = {}
        together: dict[Together, int] = {}
        for question in self._part.questions:
            unserved[question.read.id] = lost = program.choice()
            self._serve(program, places, together, question, indexes, lost)
        for rivals in self._task.rivals:
            self._rival(program, places, together, rivals, indexes)
        found: dict[tuple[str, str], int] = {}
        self._find(program, places, unserved, found)
        twice = self._twice(program, places, found)
        return _Model(program, places, together, found, twice, unserved, used, copies)

    def _forbid(self, program: Program, places: Mapping[Placed, int], forbidden: Forbidden, indexes: int) -> None:
        """Keys that cannot all be in one slot: in no other index neither, and of no other copies."""
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
        program: Program,
        places: Mapping[Placed, int],
        together: Mapping[Together, int],
        rivals: frozenset[Together],
        indexes: int,
    ) -> None:
        """Not all of these ways in one slot, unless a copy that lies there too makes room for another."""
        slot = min(way.slot for way in rivals)
        asked = {q.read.id: q for q in self._part.questions}
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
        self, program: Program, places: dict[Placed, int], entity: Entity, used: Sequence[int], most_copies: int
    ) -> list[int]:
        """The items of an entity and their keys: exactly one in the table, at most one in each index."""
        name = entity.name
        fixed = self._frozen.candidates.get((name, OWN, BASE))
        bases = {Placed(name, OWN, BASE, c): program.choice() for c in ([fixed] if fixed else self._bases[name])}
        places.update(bases)
        program.at_least(1, dict.fromkeys(bases.values(), 1))
        program.at_most(1, dict.fromkeys(bases.values(), 1))
        kept = len(self._frozen.copies(name))
        others = self._others[name]
        most = 0 if name in self._task.decided.without_copies else min(most_copies, len(others))
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
                    # What is only there sometimes would be in its indexes only then, too.
                    program.at_most(1, {**taken, **sparse})
        return copies

    def _keys(self, program: Program, places: dict[Placed, int], name: str, item: int, slot: int) -> dict[Placed, int]:
        """The keys that an item may have in a slot, one of which is chosen at most."""
        fixed = self._frozen.candidates.get((name, item, slot))
        without = slot != BASE and name in self._task.decided.without_indexes
        free = [] if without or not self._frozen.is_open(slot) else self._others[name]
        keys = {Placed(name, item, slot, c): program.choice() for c in ([fixed] if fixed else free)}
        places.update(keys)
        return keys

    def _live_under(self, program: Program, places: Mapping[Placed, int]) -> None:
        """What lives under another has its partition made of that one's id, or lies in the same as it does."""
        for pin in self._task.decided.under:
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

    def _roots(self, place: Placed) -> frozenset[tuple[str, str]]:
        """Whose ids a partition is made of."""
        entity = self._entity(place.entity)
        return frozenset(root(self._workload, entity, a) for n in place.candidate.pk if (a := entity.attribute(n)))

    def _entity(self, name: str) -> Entity:
        found = self._workload.entity(name)
        assert found is not None
        return found

    def _answers(self, place: Placed, need: Need) -> bool:
        if not place.candidate.fixed:
            return answers(place, need)
        question = self._asks[need.read, need.entity]
        return place.entity == need.entity and self._frozen.answers((place.entity, place.item, place.slot), question)

    def _lies(self, place: Placed, question: Question, need: Need, way: Together) -> bool:
        if not place.candidate.fixed:
            return lies(place, question, need, way)
        if (place.entity, place.slot) != (need.entity, way.slot) or not self._answers(place, need):
            return False
        pk, rest = asked_key(place, question, len(way.rest))
        return (frozenset(pk), rest) == (frozenset(way.names), way.rest)

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
        program: Program,
        places: Mapping[Placed, int],
        unserved: dict[str, int],
        found: dict[tuple[str, str], int],
    ) -> None:
        """Writes that do not know the key of what they change have to find it first, by a key that serves that."""
        names = {e.name for e in self._part.entities}
        for write, action in addressed(self._workload):
            if action.entity not in names or write.id in self._task.decided.aside:
                continue
            find = self._asks.get((write.id, action.entity))
            if action.many and find is None:
                continue  # all there are: that is a Scan, and no key helps
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
        self, program: Program, places: Mapping[Placed, int], found: Mapping[tuple[str, str], int]
    ) -> dict[str, int]:
        """Writes that do not know what they need of an item, because of a key that it has."""
        twice: dict[str, int] = {}
        for entity in self._part.entities:
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

    def _reads_first(self, place: Placed, write: Write, action: Action) -> bool:
        key = (place.entity, place.candidate, place.slot == BASE, write.id, action)
        if key not in self._reading:
            entity = self._entity(place.entity)
            self._reading[key] = reads_first(
                self._workload, entity, place.candidate, write, action, copy=place.slot == BASE
            )
        return self._reading[key]

    def _knows(self, write: Write, action: Action, place: Placed) -> bool:
        """Whether a write has what an item's key is made of: by name, or as the id that the name stands for."""
        if (found := self._knowing.get((write.id, action, place))) is not None:
            return found
        known = {i.attribute for i in write.inputs} | set(action.by)
        roots = {root(self._workload, e, a) for e in self._workload.entities for a in e.attributes if a.name in known}
        entity = self._entity(place.entity)
        self._knowing[write.id, action, place] = knows = all(
            name in known or ((a := entity.attribute(name)) and root(self._workload, entity, a) in roots)
            for name in place.candidate.attributes
        )
        return knows

    def _cents(self, place: Placed) -> int:
        entity = self._entity(place.entity)
        if place.slot != BASE:
            return index_cents(self._workload, entity, place.candidate)
        return copy_cents(self._workload, entity, place.candidate) if place.item != OWN else 0

    def _find_cents(self, way: tuple[str, str]) -> int:
        pattern = self._workload.pattern(way[0])
        return find_cents(pattern.rate if pattern else None, self._entity(way[1]))

    def _taste(self, place: Placed) -> int:
        """Of equals: short keys, partitions made of the id of one thing, few of them that hold everything."""
        candidate = place.candidate
        roots = self._roots(place)
        # The most that a partition is the id of: a part of an id has all things that share it.
        known = max((len(ids) for ids in self._ids if ids <= roots), default=0)
        everything = not candidate.pk and not self._entity(place.entity).singleton
        return (
            1
            + 4 * len(candidate.sk)
            + 6 * abs(len(candidate.pk) - max(known, 1))
            + 20 * (bool(candidate.pk) and not known)
            + 40 * everything
            + place.slot
            + (2 if candidate.when else 0)
        )

    @cached_property
    def _ids(self) -> list[frozenset[tuple[str, str]]]:
        """What the ids of the entities are made of."""
        every = self._workload.entities
        return [frozenset(root(self._workload, e, a) for a in e.id) for e in every if e.id]


def answers(place: Placed, need: Need) -> bool:
    if place.entity != need.entity:
        return False
    if serves(place.candidate, need):
        return True
    # The whole key of an item is given, and more: one item is read, and compared with the rest.
    whole = (place.item, place.slot) == (OWN, BASE) and set(place.candidate.attributes) <= need.given
    return whole and not need.shared and not need.ranged


def lies(place: Placed, question: Question, need: Need, way: Together) -> bool:
    """Whether an item lies where a read of several entities finds them."""
    if (place.entity, place.slot) != (need.entity, way.slot):
        return False
    name = question.ask.name
    pk = frozenset(a for a in need.given if name(need.entity, a) in way.names)
    if not serves(place.candidate, need, pk):
        return False
    return tuple(name(need.entity, one.attribute) for one in place.candidate.sk[: len(way.rest)]) == way.rest


def asked_key(place: Placed, question: Question, rest: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a partition is made of and what comes first in the sort key, as a read calls it."""
    name, candidate = question.ask.name, place.candidate
    pk = tuple(name(place.entity, one) for one in candidate.pk)
    return pk, tuple(name(place.entity, one.attribute) for one in candidate.sk[:rest])


def _lot(choice: str) -> int:
    """A number drawn for a choice: always the same for the same one, and hardly ever the same for two."""
    return 1 + crc32(choice.encode()) % 100_000


def _sparse(entity: Entity, candidate: Candidate) -> bool:
    """Whether not every item has the key."""
    return bool(candidate.when) or any((a := entity.attribute(name)) and a.optional for name in candidate.pk)


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
