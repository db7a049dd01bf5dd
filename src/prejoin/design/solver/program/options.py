"""The keys that each entity of a component may have: `ComponentOptions(problem, component)`.

An option is a candidate in one kind of place (the table, a new index, a copy in the table), with the reads that it
serves and its price. Options that another one replaces in every selection are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, combinations

import msgspec
from msgspec.structs import replace

from prejoin.design.layout.key_words import Alike
from prejoin.design.solver.candidates import Candidate, base_candidates, index_candidates, orders_of, serves
from prejoin.design.solver.needs import Need, ReadNeeds, item_changes
from prejoin.design.solver.placement import (
    BASE,
    OWN,
    CollectionPlace,
    Component,
    Placement,
    Problem,
    is_key_in,
    lies_in,
    placement_answers,
)
from prejoin.design.solver.program.pricing import Answer, Price, Prices
from prejoin.design.solver.taste import Taste
from prejoin.workload.lookup import root
from prejoin.workload.model import Entity


class KeyOption(msgspec.Struct, frozen=True, eq=False):
    """A key that an item may have, with what it serves and costs."""

    placement: Placement
    """Its slot is the table or a fixed index; `ComponentOptions.new` for an option in any new index."""
    price: Price
    collections: frozenset[CollectionPlace]
    """The places of reads of several entities in which it lies."""
    finds: frozenset[tuple[str, str]]
    """The writes and entities whose items it finds."""
    knows: frozenset[tuple[str, str]] = frozenset()
    """The writes and entities that know all attributes of this key of the table."""

    @property
    def serves(self) -> frozenset[str | CollectionPlace]:
        return frozenset(self.price.answers) | self.collections


class ComponentOptions:
    """The options of all entities of a component. They do not depend on contiguity cuts."""

    def __init__(self, problem: Problem, component: Component) -> None:
        self._problem = problem
        self._workload = problem.workload
        self._fixed = problem.fixed
        self.component = component
        self.new = problem.fixed.indexes + 1
        """The number of the first new index. In a program that is not split it stands for all of them."""
        names = {entity.name for entity in component.entities}
        finds = [find for find in problem.finds if find.ask.entities[0] in names]
        self.asks: dict[tuple[str, str], ReadNeeds] = {}
        """The reads and the lookups of writes, by pattern and entity."""
        self.needs: dict[str, list[Need]] = {name: [] for name in names}
        for question in (*component.reads, *finds):
            for need in question.needs:
                self.asks[need.read, need.entity] = question
                if need.entity in names:
                    self.needs[need.entity].append(need)
        self._wanted_attributes: dict[str, frozenset[str] | None] = {}
        alike = Alike(problem)
        self.prices = {e.name: Prices(problem, e, component.reads, alike) for e in component.entities}
        self._taste_of = Taste(problem.workload)
        self._has_collections = any(len(question.needs) > 1 for question in component.reads)
        self.candidates = 0
        """The number of keys to choose from."""
        self.base_options: dict[str, list[KeyOption]] = {}
        """The keys that an entity's own item may have in the table."""
        self.index_options: dict[str, list[KeyOption]] = {}
        """The keys that it may have in an index."""
        self.copy_options: dict[str, list[KeyOption]] = {}
        """The keys that a copy may have."""
        for entity in component.entities:
            self._add_options(entity)

    def _add_options(self, entity: Entity) -> None:
        name, prices, needs = entity.name, self.prices[entity.name], self.needs[entity.name]
        constraints = self._problem.constraints
        fixed_base = self._fixed.candidates.get((name, OWN, BASE))
        if fixed_base:
            self.base_options[name] = [self.fixed_option(Placement(name, OWN, BASE, fixed_base))]
        else:
            bases = base_candidates(self._workload, entity, needs)
            self.base_options[name] = self._remove_dominated([*self._options_of(bases, OWN, BASE, prices.base)])
            self.candidates += len(bases)
        candidates = index_candidates(self._workload, entity, needs)
        self.candidates += len(candidates)
        allowed_candidates = [] if name in constraints.without_indexes else candidates
        self.index_options[name] = self._remove_dominated(
            [*self._options_of(allowed_candidates, OWN, self.new, prices.index)]
        )
        allowed_candidates = [] if name in constraints.without_copies else candidates
        item = len(self._fixed.copies(name)) + 1
        # New copies have one number in the program, which they get in a row afterwards.
        copies = self._options_of(allowed_candidates, item, BASE, prices.copy)
        self.copy_options[name] = self._remove_dominated([option for option in copies if option.serves])

    def _options_of(
        self, candidates: Iterable[Candidate], item: int, slot: int, price: Callable[[Candidate], Price]
    ) -> Iterator[KeyOption]:
        """The candidates in one kind of place. A hot partition may stay whole for a read of several entities, or in an
        index that holds so little of each item that it is not hot.
        """
        for candidate in candidates:
            option = self._option(Placement(candidate.entity, item, slot, candidate), price(candidate))
            yield option
            if not option.price.cut:
                continue
            needs = self.needs[candidate.entity]
            is_shared = any(need.is_shared and serves(candidate, need) for need in needs)
            may_be_narrow = slot == self.new and self.wanted_attributes(candidate.entity) is not None
            if is_shared or may_be_narrow:
                whole_candidate = replace(candidate, whole=True)
                option = self._option(Placement(candidate.entity, item, slot, whole_candidate), price(whole_candidate))
                if option.collections or (may_be_narrow and not option.price.cut and not option.price.hot):
                    yield option

    def _option(self, placement: Placement, price: Price) -> KeyOption:
        finds = {(write, placement.entity) for write in price.finds}
        for need in self.needs[placement.entity]:
            if self._is_find(need.read) and placement_answers(placement, need):
                finds.add((need.read, need.entity))
        knows: frozenset[tuple[str, str]] = frozenset()
        if placement.is_base:
            knows = self._writes_that_know(placement)
        # A read of several entities finds them in one partition, not in shards of it.
        collections = frozenset() if price.cut else self._collections_of(placement)
        return KeyOption(placement, price, collections, frozenset(finds), knows)

    def _collections_of(self, placement: Placement) -> frozenset[CollectionPlace]:
        """The places of reads of several entities in which a key lies."""
        in_table = replace(placement, slot=BASE)
        collections: set[CollectionPlace] = set()
        for need in self.needs[placement.entity]:
            if need.is_shared:
                question = self.asks[need.read, need.entity]
                places = self.collection_places[need.read]
                collections |= {place for place in places if lies_in(in_table, question, need, place)}
        return frozenset(replace(place, slot=placement.slot) for place in collections)

    def fixed_option(self, placement: Placement) -> KeyOption:
        """A key that exists: the planner says what it serves, and it costs nothing more."""
        location = (placement.entity, placement.item, placement.slot)
        answers: dict[str, Answer] = {}
        collections: set[CollectionPlace] = set()
        finds: set[tuple[str, str]] = set()
        for need in self.needs[placement.entity]:
            question = self.asks[need.read, need.entity]
            if (need.read, placement) in self._problem.refused_keys or not self._fixed.answers(location, question):
                continue
            if self._is_find(need.read):
                finds.add((need.read, need.entity))
            elif not need.is_shared:
                answers[need.read] = Answer(False, False, 0.0)
            else:
                places = self.collection_places[need.read]
                collections |= {replace(p, slot=placement.slot) for p in places if is_key_in(placement, question, p)}
        knows = self._writes_that_know(placement)
        return KeyOption(placement, Price(0.0, answers), frozenset(collections), frozenset(finds), knows)

    def _remove_dominated(self, options: Sequence[KeyOption]) -> list[KeyOption]:
        """The options without those that another one replaces in every selection, at no more cost.

        This keeps the program small.
        """

        def rank(option: KeyOption) -> tuple[int, str, Placement]:
            return self.taste(option.placement), str(option.placement.candidate), option.placement

        def services(option: KeyOption) -> int:
            return len(option.serves) + len(option.finds) + len(option.knows)

        remaining: list[KeyOption] = []
        # Those that serve most come first, because they dominate most.
        # The sort is stable: among equals the preferred key comes first, and dominates the others.
        for option in sorted(sorted(options, key=rank), key=services, reverse=True):
            if not any(self._dominates(other, option) for other in remaining):
                remaining = [other for other in remaining if not self._dominates(option, other)]
                remaining.append(option)
        return sorted(remaining, key=lambda option: option.placement)

    def _dominates(self, option: KeyOption, other: KeyOption) -> bool:
        """Whether an option is at least as good as another in every respect. The key that ranks first wins a tie."""
        # Sets compare by inclusion: an option that serves one read less is not as good, whatever it costs.
        if not (option.serves >= other.serves and option.finds >= other.finds and option.knows >= other.knows):
            return False
        if not self._is_exchangeable(option, other):
            return False
        return _is_as_cheap(option.price, other.price) and self.taste(option.placement) <= self.taste(other.placement)

    def _is_exchangeable(self, option: KeyOption, other: KeyOption) -> bool:
        """Whether an option takes nothing from the other keys of a selection that another one gives them."""
        candidate, other_candidate = option.placement.candidate, other.placement.candidate
        if self._has_collections and frozenset(candidate.pk) != frozenset(other_candidate.pk):
            return False  # another partition may have other neighbours
        wanted_names = self.wanted_attributes(option.placement.entity)
        if wanted_names is not None:
            # A shorter key in the table, or attributes of the key, make an index cheaper that holds less than items.
            held_names = wanted_names.intersection(other_candidate.attributes)
            if option.price.length > other.price.length or not held_names.issubset(candidate.attributes):
                return False
        if self.holds_id(other.placement) > self.holds_id(option.placement):
            return False  # writes that know the key may have to read the id first, for the keys of indexes
        has_parents = bool(self._problem.constraints.under)
        return not has_parents or self.roots(option.placement) == self.roots(other.placement)

    @cached_property
    def collection_places(self) -> dict[str, list[CollectionPlace]]:
        """The places where each read of several entities may find them, as if all were in the table."""
        return {q.read.id: list(_collection_places(q)) for q in self.component.reads if len(q.needs) > 1}

    def holds_id(self, placement: Placement) -> bool:
        return {a.name for a in self.entity(placement.entity).id}.issubset(placement.candidate.attributes)

    def _is_find(self, pattern: str) -> bool:
        """Whether a need is that of a write, which looks for its items."""
        return not any(question.read.id == pattern for question in self.component.reads)

    def _writes_that_know(self, placement: Placement) -> frozenset[tuple[str, str]]:
        """The writes that know all attributes of an item's key."""
        steps = [step for step in item_changes(self._workload) if step.entity.name == placement.entity]
        blind = {step.write.id for step in steps if not step.known.issuperset(placement.candidate.attributes)}
        return frozenset((step.write.id, placement.entity) for step in steps if step.write.id not in blind)

    def wanted_attributes(self, name: str) -> frozenset[str] | None:
        """The attributes that reads of an entity name as all they want; None if each of them wants whole items."""
        if name not in self._wanted_attributes:
            wanted_names: set[str] = set()
            has_narrow_reads = False
            for ask in [question.ask for question in self.component.reads]:
                if name in ask.entities and ask.needs is not None:
                    has_narrow_reads = True
                    wanted_names |= {ask.attribute(name, wanted_name) for wanted_name in ask.needs}
            self._wanted_attributes[name] = frozenset(wanted_names) if has_narrow_reads else None
        return self._wanted_attributes[name]

    def taste(self, placement: Placement) -> int:
        return self._taste_of(placement) + min(placement.slot, self.new)

    def roots(self, placement: Placement) -> frozenset[tuple[str, str]]:
        """The entities whose ids make up the partition."""
        entity = self.entity(placement.entity)
        attributes = filter(None, map(entity.attribute, placement.candidate.pk))
        return frozenset(root(self._workload, entity, attribute) for attribute in attributes)

    def entity(self, name: str) -> Entity:
        entity = self._workload.entity(name)
        assert entity is not None
        return entity

    @cached_property
    def all_options(self) -> list[KeyOption]:
        options: list[KeyOption] = []
        for options_by_entity in (self.base_options, self.index_options, self.copy_options):
            options += chain.from_iterable(options_by_entity.values())
        return options

    def needs_of(self, place: CollectionPlace) -> tuple[Need, ...]:
        """The needs of a read of several entities."""
        return next(question.needs for question in self.component.reads if question.read.id == place.read)


def _is_as_cheap(price: Price, other: Price) -> bool:
    """Whether no part of a price is higher than that of another."""
    return (
        price.dollars <= other.dollars
        and price.guards <= other.guards
        and price.read_first <= other.read_first
        and price.refreshes_first <= other.refreshes_first
        and price.without_id <= other.without_id
        and price.atomic <= other.atomic
        and price.hot <= other.hot
        and price.hot_if_guarded <= other.hot_if_guarded
        and price.queries_each <= other.queries_each
        and all(price.answers[read].is_as_good(answer) for read, answer in other.answers.items())
    )


def in_slot(option: KeyOption, slot: int) -> KeyOption:
    """An option of a new index in a certain one."""
    collections = frozenset(replace(place, slot=slot) for place in option.collections)
    return replace(option, placement=replace(option.placement, slot=slot), collections=collections)


def _collection_places(question: ReadNeeds) -> Iterator[CollectionPlace]:
    """Places where several entities can be neighbours: some given attributes are the partition, the rest comes first
    in the sort key.

    A read of `Order` and `Item` by `userId` and `orderId` gets three: the partition of both, that of `orderId` with
    `userId` first in the sort key, and the other way round.
    """
    name_sets: set[frozenset[str]] = set()
    for need in question.needs:
        name_sets.add(frozenset(question.ask.name(need.entity, name) for name in need.equal_names))
    if len(name_sets) > 1:
        return
    names = sorted(name_sets.pop())
    least_size = 1 if names else 0
    for size in range(len(names), least_size - 1, -1):
        for pk in combinations(names, size):
            for order in orders_of([name for name in names if name not in pk]):
                yield CollectionPlace(question.read.id, BASE, pk, order)
