"""The keys that each entity of a component may have: `ComponentOptions(problem, component)`.

An option is a candidate in one kind of place (the table, a new index, a copy in the table), with the reads that it
serves and its price. Options that another one replaces in every selection are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, permutations

import msgspec
from msgspec.structs import replace

from prejoin.design.layout.key_words import Alike
from prejoin.design.solver.candidates import MOST_PERMUTED, Candidate, base_candidates, index_candidates, serves
from prejoin.design.solver.needs import Need, ReadNeeds, item_changes
from prejoin.design.solver.placement import (
    BASE,
    OWN,
    CollectionPlace,
    Component,
    Placement,
    Problem,
    key_as_asked,
    lies_in,
    placement_answers,
)
from prejoin.design.solver.program.pricing import Answer, Price, Prices
from prejoin.design.solver.taste import Taste
from prejoin.workload.lookup import root
from prejoin.workload.model import Action, Entity, Write
from prejoin.workload.targets import known


class Option(msgspec.Struct, frozen=True, eq=False):
    """A key that an item may have, with what it serves and costs."""

    place: Placement
    """Its slot is the table or a fixed index; `ComponentOptions.new` for an option in any new index."""
    price: Price
    ways: frozenset[CollectionPlace]
    """The places of reads of several entities in which it lies."""
    finds: frozenset[tuple[str, str]]
    """The writes and entities whose items it finds."""
    knows: frozenset[tuple[str, str]] = frozenset()
    """The writes and entities that know all attributes of this key of the table."""

    @property
    def serves(self) -> frozenset[str | CollectionPlace]:
        return frozenset(self.price.answers) | self.ways


class ComponentOptions:
    """The options of all entities of a component. They do not depend on contiguity cuts."""

    def __init__(self, problem: Problem, component: Component) -> None:
        self._problem = problem
        self._workload = problem.workload
        self._fixed = problem.fixed
        self.component = component
        self.new = problem.fixed.indexes + 1
        """The number of the first new index. In a program that is not split it stands for all of them."""
        names = {e.name for e in component.entities}
        asked = (*component.reads, *(find for find in problem.finds if find.ask.entities[0] in names))
        self.asks = {(n.read, n.entity): q for q in asked for n in q.needs}
        self.needs = {name: [n for q in asked for n in q.needs if n.entity == name] for name in names}
        self._wanted_of: dict[str, frozenset[str] | None] = {}
        alike = Alike(problem)
        self.prices = {e.name: Prices(problem, e, component.reads, alike) for e in component.entities}
        self._taste_of = Taste(problem.workload)
        self._shared = any(len(q.needs) > 1 for q in component.reads)
        self.candidates = 0
        """The number of keys to choose from."""
        self.bases: dict[str, list[Option]] = {}
        """The keys that an entity's own item may have in the table."""
        self.others: dict[str, list[Option]] = {}
        """The keys that it may have in an index."""
        self.copies: dict[str, list[Option]] = {}
        """The keys that a copy may have."""
        for entity in component.entities:
            self._add_options(entity)

    def _add_options(self, entity: Entity) -> None:
        name, prices, needs = entity.name, self.prices[entity.name], self.needs[entity.name]
        pins = self._problem.constraints
        fixed = self._fixed.candidates.get((name, OWN, BASE))
        if fixed:
            self.bases[name] = [self.fixed_option(Placement(name, OWN, BASE, fixed))]
        else:
            found = base_candidates(self._workload, entity, needs)
            self.bases[name] = self._undominated([*self._options_of(found, OWN, BASE, prices.base)])
            self.candidates += len(found)
        others = index_candidates(self._workload, entity, needs)
        self.candidates += len(others)
        free = [] if name in pins.without_indexes else others
        self.others[name] = self._undominated([*self._options_of(free, OWN, self.new, prices.index)])
        free = [] if name in pins.without_copies else others
        item = len(self._fixed.copies(name)) + 1
        copies = self._options_of(free, item, BASE, prices.copy)
        self.copies[name] = self._undominated([one for one in copies if one.serves])

    def _options_of(
        self, candidates: Iterable[Candidate], item: int, slot: int, price: Callable[[Candidate], Price]
    ) -> Iterator[Option]:
        """The candidates in one kind of place. A hot partition may stay whole for a read of several entities, or in an
        index that holds so little of each item that it is not hot.
        """
        for one in candidates:
            yield (option := self._option(Placement(one.entity, item, slot, one), price(one)))
            if not option.price.cut:
                continue
            shared = any(need.shared and serves(one, need) for need in self.needs[one.entity])
            narrow = slot == self.new and self.named(one.entity) is not None
            if shared or narrow:
                whole = replace(one, whole=True)
                option = self._option(Placement(one.entity, item, slot, whole), price(whole))
                if option.ways or (narrow and not option.price.cut and not option.price.hot):
                    yield option

    def _option(self, place: Placement, price: Price) -> Option:
        needs = self.needs[place.entity]
        ways = frozenset(
            way
            for need in needs
            if need.shared and not price.cut
            for way in self.ways[need.read]
            if lies_in(replace(place, slot=BASE), self.asks[need.read, need.entity], need, way)
        )
        finds = frozenset((write, place.entity) for write in price.finds) | {
            (n.read, n.entity) for n in needs if self._is_find(n.read) and placement_answers(place, n)
        }
        knows = self._known(place) if (place.item, place.slot) == (OWN, BASE) else frozenset()
        return Option(place, price, frozenset(replace(way, slot=place.slot) for way in ways), finds, knows)

    def fixed_option(self, place: Placement) -> Option:
        """A key that exists: the planner says what it serves, and it costs nothing more."""
        where = (place.entity, place.item, place.slot)
        answers: dict[str, Answer] = {}
        ways: set[CollectionPlace] = set()
        finds: set[tuple[str, str]] = set()
        for need in self.needs[place.entity]:
            question = self.asks[need.read, need.entity]
            if (need.read, place) in self._problem.refused or not self._fixed.answers(where, question):
                continue
            if self._is_find(need.read):
                finds.add((need.read, need.entity))
            elif not need.shared:
                answers[need.read] = Answer(False, False, 0.0)
            else:
                for way in self.ways[need.read]:
                    pk, rest = key_as_asked(place, question, len(way.rest))
                    if (frozenset(pk), rest) == (frozenset(way.names), way.rest):
                        ways.add(replace(way, slot=place.slot))
        return Option(place, Price(0.0, answers), frozenset(ways), frozenset(finds), self._known(place))

    def _undominated(self, options: Sequence[Option]) -> list[Option]:
        """The options without those that another one replaces in every selection, at no more cost."""
        ranked = sorted(options, key=lambda one: (self.taste(one.place), str(one.place.candidate), one.place))
        kept: list[Option] = []
        for one in sorted(ranked, key=lambda one: -len(one.serves) - len(one.finds) - len(one.knows)):
            if not any(self._dominates(other, one) for other in kept):
                kept = [other for other in kept if not self._dominates(one, other)] + [one]
        return sorted(kept, key=lambda one: one.place)

    def _dominates(self, one: Option, other: Option) -> bool:
        """Whether an option is at least as good as another in every respect. The key that ranks first wins a tie."""
        if not (one.serves >= other.serves and one.finds >= other.finds and one.knows >= other.knows):
            return False
        mine, theirs = one.price, other.price
        if self._shared and frozenset(one.place.candidate.pk) != frozenset(other.place.candidate.pk):
            return False  # another partition may have other neighbours
        named = self.named(one.place.entity)
        if named is not None:
            # A shorter key in the table, or attributes of the key, make an index cheaper that holds less than items.
            held = named.intersection(other.place.candidate.attributes)
            if mine.length > theirs.length or not held.issubset(one.place.candidate.attributes):
                return False
        if self.holds_id(other.place) > self.holds_id(one.place):
            return False  # writes that know the key may have to read the id first, for the keys of indexes
        if self._problem.constraints.under and self.roots(one.place) != self.roots(other.place):
            return False
        better = (
            mine.dollars <= theirs.dollars
            and mine.guards <= theirs.guards
            and mine.read_first <= theirs.read_first
            and mine.refreshes_first <= theirs.refreshes_first
            and mine.without_id <= theirs.without_id
            and mine.atomic <= theirs.atomic
            and mine.hot <= theirs.hot
            and mine.hot_if_guarded <= theirs.hot_if_guarded
            and mine.queries_each <= theirs.queries_each
            and all(mine.answers[read].is_as_good(answer) for read, answer in theirs.answers.items())
        )
        return better and self.taste(one.place) <= self.taste(other.place)

    @cached_property
    def ways(self) -> dict[str, list[CollectionPlace]]:
        return {q.read.id: list(_collection_places(q)) for q in self.component.reads if len(q.needs) > 1}

    def holds_id(self, place: Placement) -> bool:
        return {a.name for a in self.entity(place.entity).id}.issubset(place.candidate.attributes)

    def _is_find(self, pattern: str) -> bool:
        return not any(q.read.id == pattern for q in self.component.reads)

    def _known(self, place: Placement) -> frozenset[tuple[str, str]]:
        """The writes that know all attributes of an item's key."""
        changes = [(w, a) for w, a in item_changes(self._workload) if a.entity == place.entity]
        blind = {w.id for w, a in changes if not self._knows(w, a, place)}
        return frozenset((write.id, place.entity) for write, _ in changes if write.id not in blind)

    def _knows(self, write: Write, action: Action, place: Placement) -> bool:
        return known(self._workload, write, action).issuperset(place.candidate.attributes)

    def named(self, name: str) -> frozenset[str] | None:
        """The attributes that reads of an entity name as all they want; None if each of them wants whole items."""
        if name not in self._wanted_of:
            asked = [q.ask for q in self.component.reads if name in q.ask.entities and q.ask.needs is not None]
            names = frozenset(ask.attribute(name, one) for ask in asked for one in ask.needs or ())
            self._wanted_of[name] = names if asked else None
        return self._wanted_of[name]

    def taste(self, place: Placement) -> int:
        return self._taste_of(place) + min(place.slot, self.new)

    def roots(self, place: Placement) -> frozenset[tuple[str, str]]:
        """The entities whose ids make up the partition."""
        entity = self.entity(place.entity)
        return frozenset(root(self._workload, entity, a) for n in place.candidate.pk if (a := entity.attribute(n)))

    def entity(self, name: str) -> Entity:
        found = self._workload.entity(name)
        assert found is not None
        return found

    @cached_property
    def every(self) -> list[Option]:
        found = (self.bases, self.others, self.copies)
        return [option for options in found for own in options.values() for option in own]

    def needs_of(self, way: CollectionPlace) -> tuple[Need, ...]:
        """The needs of a read of several entities."""
        return next(q.needs for q in self.component.reads if q.read.id == way.read)


def moved(option: Option, slot: int) -> Option:
    """An option of a new index in a certain one."""
    ways = frozenset(replace(way, slot=slot) for way in option.ways)
    return replace(option, place=replace(option.place, slot=slot), ways=ways)


def _collection_places(question: ReadNeeds) -> Iterator[CollectionPlace]:
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
                yield CollectionPlace(question.read.id, BASE, pk, order)
