"""The integer program of one component: its variables, its constraints and its cost functions.

All variables are 0 or 1. After NoSE (Mior et al., ICDE 2016), one variable says whether a candidate is used. Here it is
a `Placement`: candidate c is the key of item i of entity e in slot s. Item 0 is the entity's own item, any other a
copy; slot 0 is the table. Further variables say that an index is used, that a read of several entities is served in one
place (`CollectionPlace`), how a read is answered if that makes a difference (`Answer`), that a read or write is not
served, that a write has to find or read its item first, and that a write becomes a transaction. The constraints:

Keys: an entity's own item has exactly one key in the table, and no more keys in new indexes than there are new indexes.
A copy is in the table only: an item is not stored twice to gain index keys. It serves a read that the own item's key in
the table does not serve.

Reads: of the placements that serve a read, at least one is chosen, or the read is counted as not served. A read of
several entities needs one place where each of them has a key.

Writes: a write that does not know the item's key needs a placement that finds the item, or is not served.

Symmetry: new indexes are alike, so a placement says only that a key is in a new index; `numbered` then distributes the
keys over the indexes, with those that are read together in one. Where that is impossible, or where a cut speaks of
an index, the program is `split`: it also says which keys are in one index, but has no preference among the indexes.

Contiguity cuts: types that one Query reads together must be neighbours in sort order. Stating that for all orders in
advance would take too many constraints, so the program ignores it at first. When `solve` finds that the chosen keys
cannot be ordered so, it forbids this set of keys (`Problem.forbidden`) or of places (`Problem.rivals`) in every index,
and solves again.

The functions `lost`, `complexity`, `reading`, `queries_each`, `money` and `taste` are the costs, in the order of the
objective.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import combinations, pairwise, permutations, product
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.assumptions import peak
from prejoin.design.cost.heat import Load, read_share
from prejoin.design.cost.objective import WEIGHTS, pattern_weight
from prejoin.design.layout.key_words import Alike
from prejoin.design.mapping.addressing import known
from prejoin.design.solver.candidates import MOST_PERMUTED, Candidate, base_candidates, index_candidates, serves
from prejoin.design.solver.integer_program import IntegerProgram
from prejoin.design.solver.needs import Need, ReadNeeds, item_changes
from prejoin.design.solver.numbering import Group, distributed, joined
from prejoin.design.solver.placement import (
    BASE,
    OWN,
    CollectionPlace,
    Component,
    Forbidden,
    Placement,
    Problem,
    Selection,
    key_as_asked,
    lies_in,
    placement_answers,
)
from prejoin.design.solver.pricing import Answer, Price, Prices, collection_units
from prejoin.design.solver.taste import Taste
from prejoin.workload.lookup import root
from prejoin.workload.model import Action, Entity, Write

_FINEST = 1e-4
"""The smallest difference between two prices that counts, in dollars a month."""
_MOST_UNITS = 1e6
"""The largest price in the program: HiGHS tells larger numbers apart less well."""
Located = TypeVar("Located", Placement, CollectionPlace)
_HALVES = {what: int(2 * weight) for what, weight in WEIGHTS.items()}


class Option(msgspec.Struct, frozen=True, eq=False):
    """A key that an item may have, with what it serves and costs."""

    place: Placement
    """Its slot is the table or a fixed index; `Formulation.new` for an option in any new index."""
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


class ComponentProgram(msgspec.Struct):
    """The program of one component with a given number of indexes, and its variables by meaning."""

    program: IntegerProgram
    places: dict[Placement, int]
    together: dict[CollectionPlace, int]
    answers: dict[tuple[str, Answer], int]
    """How a read is answered, where that makes a difference."""
    found: dict[tuple[str, str], int]
    """Writes that find an entity's items first."""
    first: dict[tuple[str, str], int]
    """Writes that read an entity's item first."""
    twice: dict[str, int]
    """Writes that take two requests."""
    atomic: dict[tuple[str, str], int]
    """Writes that are transactions only because of the chosen keys."""
    unserved: dict[str, int]
    used: list[int]
    """One for each new index that is used."""
    copies: list[int]
    heated: list[int]
    """Keys in an index that are hot because of a guard of the key in the table."""
    split: bool


class Formulation:
    """All options of a component and their costs."""

    def __init__(self, problem: Problem, component: Component) -> None:
        self._problem = problem
        self._workload = problem.workload
        self._fixed = problem.fixed
        self._component = component
        self.new = problem.fixed.indexes + 1
        """The number of the first new index. In a program that is not split it stands for all of them."""
        names = {e.name for e in component.entities}
        asked = (*component.reads, *(find for find in problem.finds if find.ask.entities[0] in names))
        self._asks = {(n.read, n.entity): q for q in asked for n in q.needs}
        self._needs = {name: [n for q in asked for n in q.needs if n.entity == name] for name in names}
        self._units: dict[str, float] = {}
        self._wanted_of: dict[str, frozenset[str] | None] = {}
        alike = Alike(problem)
        self._prices = {e.name: Prices(problem, e, component.reads, alike) for e in component.entities}
        self._taste_of = Taste(problem.workload)
        self._shared = any(len(q.needs) > 1 for q in component.reads)
        self.candidates = 0
        """The number of keys to choose from."""
        self._bases: dict[str, list[Option]] = {}
        self._others: dict[str, list[Option]] = {}
        self._copies: dict[str, list[Option]] = {}
        for entity in component.entities:
            self._add_options(entity)
        self.most_indexes = max(map(len, self._needs.values()), default=0) + problem.fixed.indexes
        """More indexes would be of no use."""

    def cut(self, problem: Problem) -> Formulation:
        """The same options with the contiguity cuts of another problem."""
        found = copy(self)
        found._problem = problem
        return found

    # --- Options ------------------------------------------------------------------------------------------------------

    def _add_options(self, entity: Entity) -> None:
        name, prices, needs = entity.name, self._prices[entity.name], self._needs[entity.name]
        pins = self._problem.constraints
        fixed = self._fixed.candidates.get((name, OWN, BASE))
        if fixed:
            self._bases[name] = [self._fixed_option(Placement(name, OWN, BASE, fixed))]
        else:
            found = base_candidates(self._workload, entity, needs)
            self._bases[name] = self._undominated([*self._options_of(found, OWN, BASE, prices.base)])
            self.candidates += len(found)
        others = index_candidates(self._workload, entity, needs)
        self.candidates += len(others)
        free = [] if name in pins.without_indexes else others
        self._others[name] = self._undominated([*self._options_of(free, OWN, self.new, prices.index)])
        free = [] if name in pins.without_copies else others
        item = len(self._fixed.copies(name)) + 1
        copies = self._options_of(free, item, BASE, prices.copy)
        self._copies[name] = self._undominated([one for one in copies if one.serves])

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
            shared = any(need.shared and serves(one, need) for need in self._needs[one.entity])
            narrow = slot == self.new and self._named(one.entity) is not None
            if shared or narrow:
                whole = replace(one, whole=True)
                option = self._option(Placement(one.entity, item, slot, whole), price(whole))
                if option.ways or (narrow and not option.price.cut and not option.price.hot):
                    yield option

    def _option(self, place: Placement, price: Price) -> Option:
        needs = self._needs[place.entity]
        ways = frozenset(
            way
            for need in needs
            if need.shared and not price.cut
            for way in self._ways[need.read]
            if lies_in(replace(place, slot=BASE), self._asks[need.read, need.entity], need, way)
        )
        finds = frozenset((write, place.entity) for write in price.finds) | {
            (n.read, n.entity) for n in needs if self._is_find(n.read) and placement_answers(place, n)
        }
        knows = self._known(place) if (place.item, place.slot) == (OWN, BASE) else frozenset()
        return Option(place, price, frozenset(replace(way, slot=place.slot) for way in ways), finds, knows)

    def _fixed_option(self, place: Placement) -> Option:
        """A key that exists: the planner says what it serves, and it costs nothing more."""
        where = (place.entity, place.item, place.slot)
        answers: dict[str, Answer] = {}
        ways: set[CollectionPlace] = set()
        finds: set[tuple[str, str]] = set()
        for need in self._needs[place.entity]:
            question = self._asks[need.read, need.entity]
            if (need.read, place) in self._problem.refused or not self._fixed.answers(where, question):
                continue
            if self._is_find(need.read):
                finds.add((need.read, need.entity))
            elif not need.shared:
                answers[need.read] = Answer(False, False, 0.0)
            else:
                for way in self._ways[need.read]:
                    pk, rest = key_as_asked(place, question, len(way.rest))
                    if (frozenset(pk), rest) == (frozenset(way.names), way.rest):
                        ways.add(replace(way, slot=place.slot))
        return Option(place, Price(0.0, answers), frozenset(ways), frozenset(finds), self._known(place))

    def _undominated(self, options: Sequence[Option]) -> list[Option]:
        """The options without those that another one replaces in every selection, at no more cost."""
        ranked = sorted(options, key=lambda one: (self._taste(one.place), str(one.place.candidate), one.place))
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
        named = self._named(one.place.entity)
        if named is not None:
            # A shorter key in the table, or attributes of the key, make an index cheaper that holds less than items.
            held = named.intersection(other.place.candidate.attributes)
            if mine.length > theirs.length or not held.issubset(one.place.candidate.attributes):
                return False
        if self._holds_id(other.place) > self._holds_id(one.place):
            return False  # writes that know the key may have to read the id first, for the keys of indexes
        if self._problem.constraints.under and self._roots(one.place) != self._roots(other.place):
            return False
        better = (
            mine.dollars <= theirs.dollars
            and mine.guards <= theirs.guards
            and mine.read_first <= theirs.read_first
            and mine.without_id <= theirs.without_id
            and mine.atomic <= theirs.atomic
            and mine.hot <= theirs.hot
            and mine.hot_if_guarded <= theirs.hot_if_guarded
            and mine.queries_each <= theirs.queries_each
            and all(mine.answers[read].is_as_good(answer) for read, answer in theirs.answers.items())
        )
        return better and self._taste(one.place) <= self._taste(other.place)

    @cached_property
    def _ways(self) -> dict[str, list[CollectionPlace]]:
        return {q.read.id: list(_ways(q)) for q in self._component.reads if len(q.needs) > 1}

    def _is_hot(self, way: CollectionPlace) -> bool:
        """Whether a read of several entities takes more units than the partition has."""
        question = next(q for q in self._component.reads if q.read.id == way.read)
        if way.read not in self._units:
            self._units[way.read] = collection_units(self._workload, question)
        need = question.needs[0]
        names = [a for a in need.given if question.ask.name(need.entity, a) in way.names]
        share = read_share(self._workload, self._entity(need.entity), names, question.read)
        calls = peak(question.read.rate)
        return Load(need.entity, "", "", calls, calls * self._units[way.read], share, way.read).hot

    def _holds_id(self, place: Placement) -> bool:
        return {a.name for a in self._entity(place.entity).id}.issubset(place.candidate.attributes)

    def _is_find(self, pattern: str) -> bool:
        return not any(q.read.id == pattern for q in self._component.reads)

    def _known(self, place: Placement) -> frozenset[tuple[str, str]]:
        """The writes that know all attributes of an item's key."""
        changes = [(w, a) for w, a in item_changes(self._workload) if a.entity == place.entity]
        blind = {w.id for w, a in changes if not self._knows(w, a, place)}
        return frozenset((write.id, place.entity) for write, _ in changes if write.id not in blind)

    def _knows(self, write: Write, action: Action, place: Placement) -> bool:
        return known(self._workload, write, action).issuperset(place.candidate.attributes)

    # --- Alternatives -------------------------------------------------------------------------------------------------

    def narrowing(self, chosen: Selection) -> Iterator[tuple[Placement, Placement]]:
        """Each selected key of an entity with reads that name the attributes they want, and its alternatives.

        An index that holds only these attributes may cost less than the program knows. The keys of other entities come
        last: they may have been chosen for reads that are served elsewhere by now.
        """
        own = [place for place in chosen.placed if place.entity in self._prices]
        narrow = {place.entity for place in own if self._named(place.entity) is not None}
        for place in sorted(own if narrow else (), key=lambda one: one.entity not in narrow):
            for option in self._alternatives(place, chosen):
                yield place, replace(place, candidate=option.place.candidate)

    def sparing(self, chosen: Selection) -> Iterator[tuple[Placement, Placement]]:
        """Each selected key, and its cheaper alternatives that the program avoids, because a write has to read first.

        With natural keys the write may not have to.
        """
        for place in chosen.placed:
            for option in self._alternatives(place, chosen):
                mine, theirs = self._option_of(place).price, option.price
                saved = mine.dollars - theirs.dollars
                saved += sum(
                    mine.answers[read].dollars - a.dollars for read, a in theirs.answers.items() if read in mine.answers
                )
                if saved > 0 and theirs.read_first - mine.read_first:
                    yield place, replace(place, candidate=option.place.candidate)

    def turning(self, placed: Iterable[Placement]) -> Iterator[tuple[set[Placement], set[Placement]]]:
        """The key in the table and a key in a new index of an entity as in `narrowing`, and two keys in place of both.

        The new key in the table serves something that only the index served.
        """
        there = list(placed)
        for base in there:
            if (base.item, base.slot) != (OWN, BASE) or base.candidate.fixed or self._named(base.entity) is None:
                continue
            own = [p for p in there if p.entity == base.entity]
            for index in (p for p in own if p.slot >= self.new):
                rest = [_anywhere(self._serving(p)) for p in own if p not in (base, index)]
                for new_base, new_index in self._turned(self._option_of(base), self._option_of(index), rest):
                    yield {base, index}, {new_base.place, replace(index, candidate=new_index.place.candidate)}

    def _turned(self, base: Option, index: Option, rest: list[frozenset[object]]) -> Iterator[tuple[Option, Option]]:
        """Two other options that serve whatever the rest of the keys does not. No write knows less of the new key."""
        before, wanted = _anywhere(_served(base)), _anywhere(_served(index)) - _anywhere(_served(base))
        alone = (before | wanted).difference(*rest)
        for option in self._bases[base.place.entity]:
            served = _anywhere(_served(option))
            if served & wanted and option.knows >= base.knows:
                others = self._others[base.place.entity]
                yield from ((option, other) for other in others if alone <= served | _anywhere(_served(other)))

    def own_index(self, read: str) -> tuple[CollectionPlace, list[Placement]] | None:
        """The keys of a read of several entities in a new index that it shares with none of their other keys."""
        best: tuple[float, CollectionPlace, list[Placement]] | None = None
        for way in (replace(way, slot=self.new) for way in self._ways[read]):
            found: list[Option] = []
            for name in dict.fromkeys(need.entity for need in self._wanted(way)):
                options = [option for option in self._others[name] if way in option.ways]
                if options:
                    found.append(
                        min(options, key=lambda one: (one.price.hot, one.price.dollars, self._taste(one.place)))
                    )
            dollars = sum(option.price.dollars for option in found)
            if len(found) == len(list(self._wanted(way))) and (best is None or dollars < best[0]):
                best = (dollars, way, [option.place for option in found])
        return best[1:] if best else None

    def _alternatives(self, place: Placement, chosen: Selection) -> list[Option]:
        """The options that serve whatever no other selected key of the entity serves."""
        if place.entity not in self._others or place.candidate.fixed:
            return []
        others = [self._serving(p) for p in chosen.placed if p.entity == place.entity and p != place]
        serving = self._serving(place)
        unused = [one for one in serving if isinstance(one, CollectionPlace) and one not in chosen.together]
        alone = serving.difference(*others, unused)
        return [
            option
            for option in self._options(place)
            if option.place.candidate != place.candidate and alone <= _served(_moved(option, place.slot))
        ]

    def _named(self, name: str) -> frozenset[str] | None:
        """The attributes that reads of an entity name as all they want; None if each of them wants whole items."""
        if name not in self._wanted_of:
            asked = [q.ask for q in self._component.reads if name in q.ask.entities and q.ask.needs is not None]
            names = frozenset(ask.attribute(name, one) for ask in asked for one in ask.needs or ())
            self._wanted_of[name] = names if asked else None
        return self._wanted_of[name]

    def _options(self, place: Placement) -> list[Option]:
        kind = self._copies if place.item != OWN else self._bases if place.slot == BASE else self._others
        return kind[place.entity]

    def _serving(self, place: Placement) -> frozenset[object]:
        if place.candidate.fixed:
            return _served(self._fixed_option(place))
        return _served(_moved(self._option_of(place), place.slot))

    def _option_of(self, place: Placement) -> Option:
        return next(one for one in self._options(place) if one.place.candidate == place.candidate)

    # --- Costs --------------------------------------------------------------------------------------------------------

    def lost(self, model: ComponentProgram) -> dict[int, int]:
        """The weight of patterns that are not served: their rates."""
        patterns = {pattern.id: pattern for pattern in self._workload.patterns}
        return {at: pattern_weight(patterns[name]) for name, at in model.unserved.items()}

    def complexity(self, model: ComponentProgram, indexes: bool = True) -> dict[int, int]:
        """The complexity in halves: of copies, guards, fan-out reads and hot partitions, and of new indexes."""
        found = Counter(dict.fromkeys(model.copies, _HALVES["copy"]))
        found.update(dict.fromkeys(model.used if indexes else (), _HALVES["index"]))
        for at, price in self._priced(model):
            found[at] += price.guards
        found.update({at: _HALVES["fan-out read"] for (_, answer), at in model.answers.items() if answer.fans_out})
        found.update(dict.fromkeys(self.hot(model), _HALVES["hot partition"]))
        return {at: halves for at, halves in found.items() if halves}

    def hot(self, model: ComponentProgram) -> dict[int, int]:
        """The hot partitions: of keys with too many writes, and of reads with too many units."""
        found = [at for at, price in self._priced(model) if price.hot]
        found += [at for (_, answer), at in model.answers.items() if answer.hot]
        found += [at for way, at in model.together.items() if self._is_hot(way)]
        found += model.heated
        return dict.fromkeys(found, 1)

    def nothing(self, model: ComponentProgram) -> dict[int, int]:
        """The values of a selection that serves nothing, as far as they do not follow from each other."""
        found = dict.fromkeys((*model.places.values(), *model.together.values(), *model.answers.values()), 0)
        found |= dict.fromkeys(model.unserved.values(), 1)
        found |= {at: 1 for place, at in model.places.items() if place.candidate.fixed}
        return found | {model.places[bases[0].place]: 1 for bases in self._bases.values()}

    def _priced(self, model: ComponentProgram) -> Iterator[tuple[int, Price]]:
        """The chosen keys as variables, with their prices. A key in any index costs the same."""
        prices = {option.place: option.price for option in self._every}
        for place, at in model.places.items():
            if price := prices.get(replace(place, slot=self.new if place.slot != BASE else BASE)):
                yield at, price

    def reading(self, model: ComponentProgram) -> dict[int, int]:
        """The number of writes that have to read first, and of items that they find by another key."""
        return dict.fromkeys((*model.twice.values(), *model.found.values()), 1)

    def queries_each(self, model: ComponentProgram) -> dict[int, int]:
        """The number of joins that send a Query for each item of an entity."""
        bases = (option for options in self._bases.values() for option in options)
        return {model.places[one.place]: number for one in bases if (number := one.price.queries_each)}

    def dollars(self, model: ComponentProgram) -> dict[int, float]:
        """The part of the monthly bill that depends on the selection."""
        writes = {w.id: w for w in (*self._workload.writes, *self._workload.deletes)}
        found = {at: price.dollars for at, price in self._priced(model)}
        found |= {at: answer.dollars for (_, answer), at in model.answers.items()}
        found |= {at: self._prices[name].find(writes[id_]) for (id_, name), at in model.found.items()}
        found |= {at: self._prices[name].read_first(writes[id_]) for (id_, name), at in model.first.items()}
        for (id_, name), at in model.atomic.items():
            found[at] = self._prices[name].transaction(writes[id_])
        return found

    def money(self, model: ComponentProgram) -> tuple[dict[int, int], int]:
        """The same as whole numbers, for the program; and how many of them are half a cent."""
        every = self.dollars(model)
        unit = max([_FINEST, *(abs(money) / _MOST_UNITS for money in every.values())])
        return {at: round(money / unit) for at, money in every.items() if round(money / unit)}, int(0.005 / unit)

    def _taste(self, place: Placement) -> int:
        return self._taste_of(place) + min(place.slot, self.new)

    def taste(self, model: ComponentProgram) -> dict[int, int]:
        """The preference among keys of the same cost."""
        return {at: self._taste(place) for place, at in model.places.items()}

    @cached_property
    def kept(self) -> int:
        """The number of copies in the approved design."""
        return sum(len(self._fixed.copies(e.name)) for e in self._component.entities)

    @cached_property
    def constant(self) -> int:
        """The complexity in halves of what every selection has: copies of an approved design, and forced guards."""
        guards = sum(prices.forced for prices in self._prices.values())
        return self.kept * _HALVES["copy"] + guards * _HALVES["guard"]

    @cached_property
    def _every(self) -> list[Option]:
        found = (self._bases, self._others, self._copies)
        return [option for options in found for own in options.values() for option in own]

    # --- The program --------------------------------------------------------------------------------------------------

    def model(self, indexes: int, copies: bool = True, split: bool = False) -> ComponentProgram:
        """The program with at most this many indexes."""
        program = IntegerProgram(self._problem.limit)
        cuts = {p.slot for one in self._problem.forbidden for p in one} | {
            way.slot for one in self._problem.rivals for way in one
        }
        split = split or bool(cuts - {BASE})
        used = [program.choice() for _ in range(self.new, indexes + 1)]
        for one, other in pairwise(used):
            program.at_least(0, {one: 1, other: -1})
        unserved = {q.read.id: program.choice() for q in self._component.reads}
        model = ComponentProgram(program, {}, {}, {}, {}, {}, {}, {}, unserved, used, [], [], split)
        chosen: dict[Option, int] = {}
        for entity in self._component.entities:
            self._place(model, chosen, entity, copies)
        self._live_under(program, model.places)
        for question in self._component.reads:
            if len(question.needs) == 1:
                self._serve(model, chosen, question)
            else:
                self._serve_together(model, chosen, question, indexes)
        for forbidden in self._problem.forbidden:
            self._forbid(model, forbidden)
        for rivals in self._problem.rivals:
            self._rival(model, chosen, rivals)
        self._find(model, chosen)
        self._read_first(model, chosen)
        self._transact(model, chosen)
        self._heat(model, chosen)
        return model

    def _place(self, model: ComponentProgram, chosen: dict[Option, int], entity: Entity, copies: bool) -> None:
        """The keys of an entity: exactly one in the table, and at most one in each index."""
        program, name = model.program, entity.name

        def choice(option: Option) -> int:
            chosen[option] = model.places[option.place] = at = program.choice()
            return at

        bases = [choice(option) for option in self._bases[name]]
        program.at_least(1, dict.fromkeys(bases, 1))
        program.at_most(1, dict.fromkeys(bases, 1))
        for (owner, item, slot), candidate in self._fixed.candidates.items():
            if owner == name and (item, slot) != (OWN, BASE):
                at = choice(self._fixed_option(Placement(name, item, slot, candidate)))
                program.at_least(1, {at: 1})
        for slot in range(1, self.new):
            if (name, OWN, slot) not in self._fixed.candidates and self._fixed.is_open(slot):
                here = [choice(_moved(option, slot)) for option in self._others[name]]
                program.at_most(1, dict.fromkeys(here, 1))
        if model.split:
            for slot, index in enumerate(model.used, self.new):
                here = [choice(_moved(option, slot)) for option in self._others[name]]
                program.at_most(0, {**dict.fromkeys(here, 1), index: -1})
        elif model.used:
            here = [choice(option) for option in self._others[name]]
            program.at_most(0, {**dict.fromkeys(here, 1), **dict.fromkeys(model.used, -1)})
        for option in self._copies[name] if copies else ():
            # A copy serves a read that the own item in the table does not serve.
            needed = {chosen[base]: 1 for base in self._bases[name] if not option.serves <= base.serves}
            at = choice(option)
            model.copies.append(at)
            program.at_least(0, {**needed, at: -1})

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

    def _serve(self, model: ComponentProgram, chosen: Mapping[Option, int], question: ReadNeeds) -> None:
        """A read of one entity. How it is answered is a variable only where answers differ."""
        read = question.read.id
        answers: dict[Answer, dict[int, int]] = {}
        for option, at in chosen.items():
            if answer := option.price.answers.get(read):
                answers.setdefault(answer, {})[at] = 1
        lost = {model.unserved[read]: 1}
        if len(answers) < 2 and not any(answer.fans_out or answer.hot for answer in answers):
            model.program.at_least(1, {at: 1 for ways in answers.values() for at in ways} | lost)
            return
        for answer in sorted(answers):
            model.answers[read, answer] = at = model.program.choice()
            lost[at] = 1
            model.program.at_least(0, {**answers[answer], at: -1})
        model.program.at_least(1, lost)

    def _serve_together(
        self, model: ComponentProgram, chosen: Mapping[Option, int], question: ReadNeeds, indexes: int
    ) -> None:
        """A read of several entities: one place where each of them has a key."""
        last = indexes if model.split else min(indexes, self.new)
        served = {model.unserved[question.read.id]: 1}
        for slot in range(1 if question.ask.consistent else last + 1):
            for way in (replace(way, slot=slot) for way in self._ways[question.read.id]):
                here: dict[str, dict[int, int]] = {need.entity: {} for need in question.needs}
                for option, at in chosen.items():
                    if way in option.ways:
                        here[option.place.entity][at] = 1
                if all(here.values()):
                    model.together[way] = at = model.program.choice()
                    served[at] = 1
                    for mine in here.values():
                        model.program.at_least(0, {**mine, at: -1})
        model.program.at_least(1, served)

    def _forbid(self, model: ComponentProgram, forbidden: Forbidden) -> None:
        """A contiguity cut: these keys cannot all be in one slot, in any index."""
        (slot,) = {placed.slot for placed in forbidden}
        for other in range(1, self.new + len(model.used)) if slot != BASE else [BASE]:
            here = [self._copied(replace(one, slot=other)) for one in forbidden]
            if all(placed in model.places for placed in here):
                model.program.at_most(len(here) - 1, {model.places[placed]: 1 for placed in here})

    def _copied(self, placed: Placement) -> Placement:
        """A placement of a selection as the program has it: new copies have no numbers."""
        new = len(self._fixed.copies(placed.entity)) + 1
        return replace(placed, item=min(placed.item, new))

    def _rival(self, model: ComponentProgram, chosen: Mapping[Option, int], rivals: frozenset[CollectionPlace]) -> None:
        """A contiguity cut: not all of these places in one slot, unless a copy there makes room for another."""
        for other in (BASE, *(range(1, self.new + len(model.used)) if model.split else ())):
            here = [replace(way, slot=other) for way in rivals]
            if any(way not in model.together for way in here):
                continue
            copies = {at: -1 for o, at in chosen.items() if o.place.item != OWN and not o.ways.isdisjoint(here)}
            model.program.at_most(len(here) - 1, {**{model.together[way]: 1 for way in here}, **copies})

    def _find(self, model: ComponentProgram, chosen: Mapping[Option, int]) -> None:
        """A write that does not know the key of its item has to find it first, by a key that serves that."""
        names = {e.name for e in self._component.entities}
        for write, action in item_changes(self._workload):
            if action.entity not in names or write.id in self._problem.constraints.aside:
                continue
            key = (write.id, action.entity)
            if (action.many and key not in self._asks) or key in model.found:
                continue  # it means all items: that is a Scan, and no key helps
            own = {option: at for option, at in chosen.items() if option.place.entity == action.entity}
            blind = [
                at
                for option, at in own.items()
                if (option.place.item, option.place.slot) == (OWN, BASE) and key not in option.knows
            ]
            if not blind:
                continue
            ways = {at: 1 for option, at in own.items() if key in option.finds}
            if write.id not in model.unserved:
                model.unserved[write.id] = model.program.choice()
            model.found[key] = sought = model.program.choice()
            for at in blind:
                model.program.at_least(0, {model.unserved[write.id]: 1, sought: 1, at: -1})
            model.program.at_least(0, {**ways, sought: -1})
            model.program.at_least(0, {**dict.fromkeys(blind, 1), sought: -1})

    def _read_first(self, model: ComponentProgram, chosen: Mapping[Option, int]) -> None:
        """Writes that have to find or read an item first, because they do not know all of its keys."""
        because: dict[tuple[str, str], list[int]] = {}
        missing: dict[tuple[str, str], list[int]] = {}
        for option, at in chosen.items():
            for write in option.price.read_first:
                because.setdefault((write, option.place.entity), []).append(at)
        without = {
            name: [chosen[base] for base in bases if not self._holds_id(base.place)]
            for name, bases in self._bases.items()
        }
        for option, at in chosen.items():
            for write in option.price.without_id if without[option.place.entity] else ():
                missing.setdefault((write, option.place.entity), []).append(at)
        always = {(write, name) for name, prices in self._prices.items() for write in prices.always_first}
        for key in sorted({*because, *missing}):
            model.first[key] = first = model.program.choice()
            # What was found is known.
            found = {model.found[key]: 1} if key in model.found else {}
            for at in because.get(key, ()):
                model.program.at_least(0, {first: 1, **found, at: -1})
            for at, base in product(missing.get(key, ()), without[key[1]]):
                model.program.at_least(-1, {first: 1, **found, at: -1, base: -1})
        twice = {write for write, _ in always}
        for (write, _), at in (*model.first.items(), *model.found.items()):
            if write in twice:
                continue
            if write not in model.twice:
                model.twice[write] = model.program.choice()
            model.program.at_least(0, {model.twice[write]: 1, at: -1})

    def _transact(self, model: ComponentProgram, chosen: Mapping[Option, int]) -> None:
        """Writes that become transactions."""
        for option, at in chosen.items():
            for key in sorted(option.price.atomic):
                if key not in model.atomic:
                    model.atomic[key] = model.program.choice()
                model.program.at_least(0, {model.atomic[key]: 1, at: -1})

    def _heat(self, model: ComponentProgram, chosen: Mapping[Option, int]) -> None:
        """Keys in an index that are hot only if the key in the table has a guard."""
        for option, at in chosen.items():
            if option.price.hot_if_guarded and not option.price.hot:
                model.heated.append(heated := model.program.choice())
                for base in self._bases[option.place.entity]:
                    if base.price.atomic:
                        model.program.at_least(-1, {heated: 1, at: -1, chosen[base]: -1})

    # --- The indexes --------------------------------------------------------------------------------------------------

    def numbered(self, model: ComponentProgram) -> tuple[tuple[Placement, ...], tuple[CollectionPlace, ...]] | None:
        """The chosen placements and places with the numbers of their indexes and copies; None if there are too few.

        Keys that a read of several entities finds together get the same index, two keys of one entity different ones.
        """
        chosen = model.program.chosen
        placed = sorted(place for place, at in model.places.items() if at in chosen)
        together = sorted(way for way, at in model.together.items() if at in chosen)
        numbers = self._numbers(placed, together, model)
        if numbers is not None:
            placed = sorted({replace(one, slot=numbers.get(self.unnumbered(one), one.slot)) for one in placed})
            together = sorted({replace(one, slot=numbers.get(self.unnumbered(one), one.slot)) for one in together})
        elif not model.split:
            return None
        copies: dict[str, int] = {}
        found: list[Placement] = []
        for place in placed:
            if place.item > len(self._fixed.copies(place.entity)):
                copies[place.entity] = number = copies.get(place.entity, place.item - 1) + 1
                place = replace(place, item=number)
            found.append(place)
        return tuple(sorted(found)), tuple(together)

    def _numbers(
        self, placed: Sequence[Placement], together: Sequence[CollectionPlace], model: ComponentProgram
    ) -> dict[Placement | CollectionPlace, int] | None:
        """The index of each key and place in a new index, by its name without a number; None if there are too few."""
        ways = {option.place: option.ways for own in self._others.values() for option in own}
        new = [place for place in placed if place.slot >= self.new]
        groups: list[Group] = [frozenset({self.unnumbered(place)}) for place in new]
        for way in (way for way in together if way.slot >= self.new):
            here = [self.unnumbered(place) for place in new if place.slot == way.slot]
            one = self.unnumbered(way)
            read = {next(p for p in here if p.entity == n.entity and one in ways[p]) for n in self._wanted(way)}
            groups = joined(groups, frozenset({one, *read}))
        cuts = [cut for cut in self._problem.forbidden if all(placed.slot != BASE for placed in cut)]
        excluded: list[Group] = [frozenset(replace(placed, slot=self.new) for placed in cut) for cut in cuts]
        excluded += [frozenset(replace(way, slot=self.new) for way in cut) for cut in self._problem.rivals]
        found = distributed(groups, len(model.used), excluded)
        return {one: self.new + at for group, at in found.items() for one in group} if found is not None else None

    def unnumbered(self, one: Located) -> Located:
        """A key or a place in any new index."""
        return replace(one, slot=self.new) if one.slot >= self.new else one

    def _wanted(self, way: CollectionPlace) -> Iterable[Need]:
        return next(q.needs for q in self._component.reads if q.read.id == way.read)

    # --- Taste --------------------------------------------------------------------------------------------------------

    def _roots(self, place: Placement) -> frozenset[tuple[str, str]]:
        """The entities whose ids make up the partition."""
        entity = self._entity(place.entity)
        return frozenset(root(self._workload, entity, a) for n in place.candidate.pk if (a := entity.attribute(n)))

    def _entity(self, name: str) -> Entity:
        found = self._workload.entity(name)
        assert found is not None
        return found


def _served(option: Option) -> frozenset[object]:
    """The reads that a key serves, and the writes that find their items by it."""
    return frozenset((*option.serves, *option.finds))


def _anywhere(served: frozenset[object]) -> frozenset[object]:
    """The same with reads of several entities in any slot."""
    return frozenset(replace(one, slot=BASE) if isinstance(one, CollectionPlace) else one for one in served)


def _moved(option: Option, slot: int) -> Option:
    """An option of a new index in a certain one."""
    ways = frozenset(replace(way, slot=slot) for way in option.ways)
    return replace(option, place=replace(option.place, slot=slot), ways=ways)


def _ways(question: ReadNeeds) -> Iterator[CollectionPlace]:
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
