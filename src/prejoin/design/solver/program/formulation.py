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
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.assumptions import peak
from prejoin.design.cost.heat import Load, read_share
from prejoin.design.cost.objective import WEIGHTS, pattern_weight
from prejoin.design.solver.needs import ReadNeeds, item_changes
from prejoin.design.solver.placement import (
    BASE,
    OWN,
    CollectionPlace,
    Forbidden,
    Placement,
    Problem,
)
from prejoin.design.solver.program.integer_program import IntegerProgram
from prejoin.design.solver.program.numbering import Group, distributed, joined
from prejoin.design.solver.program.options import ComponentOptions, Option, moved
from prejoin.design.solver.program.pricing import Answer, Price, collection_units
from prejoin.workload.lookup import root
from prejoin.workload.model import Entity

_FINEST = 1e-4
"""The smallest difference between two prices that counts, in dollars a month."""
_MOST_UNITS = 1e6
"""The largest price in the program: HiGHS tells larger numbers apart less well."""
Located = TypeVar("Located", Placement, CollectionPlace)
_HALVES = {what: int(2 * weight) for what, weight in WEIGHTS.items()}


class ComponentProgram(msgspec.Struct):
    """The program of one component with a given number of indexes, and its variables by meaning."""

    program: IntegerProgram
    places: dict[Placement, int]
    together: dict[CollectionPlace, int]
    answers: dict[tuple[str, Answer], int]
    """How a read is answered, where that makes a difference."""
    found: dict[tuple[str, str], int]
    """Writes that find an entity's items first."""
    stale: dict[tuple[str, str], int]
    """Writes that find a list of items in an index, which may lack the newest ones."""
    first: dict[tuple[str, str], int]
    """Writes that read an entity's item first."""
    refreshed_first: dict[tuple[int, str], int]
    """Refreshes that read an entity's items first, by the number of the follow link."""
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
    """The program of a component and its costs, with the options and contiguity cuts of a problem."""

    def __init__(self, problem: Problem, options: ComponentOptions) -> None:
        self._problem = problem
        self._workload = problem.workload
        self._fixed = problem.fixed
        self._options = options
        self._new = options.new
        self._units: dict[str, float] = {}
        self._lists = {(write.id, action.entity) for write, action in item_changes(self._workload) if action.many}
        """Writes and entities of which they find a list."""
        self.candidates = options.candidates
        """The number of keys to choose from."""
        self.most_indexes = max(map(len, options.needs.values()), default=0) + problem.fixed.indexes
        """More indexes would be of no use."""

    def _is_hot(self, way: CollectionPlace) -> bool:
        """Whether a read of several entities takes more units than the partition has."""
        question = next(q for q in self._options.component.reads if q.read.id == way.read)
        if way.read not in self._units:
            self._units[way.read] = collection_units(self._workload, question)
        need = question.needs[0]
        names = [a for a in need.given if question.ask.name(need.entity, a) in way.names]
        share = read_share(self._workload, self._options.entity(need.entity), names, question.read)
        calls = peak(question.read.rate)
        return Load(need.entity, "", "", calls, calls * self._units[way.read], share, way.read).hot

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
        return found | {model.places[bases[0].place]: 1 for bases in self._options.bases.values()}

    def _priced(self, model: ComponentProgram) -> Iterator[tuple[int, Price]]:
        """The chosen keys as variables, with their prices. A key in any index costs the same."""
        prices = {option.place: option.price for option in self._options.every}
        for place, at in model.places.items():
            if price := prices.get(replace(place, slot=self._new if place.slot != BASE else BASE)):
                yield at, price

    def reading(self, model: ComponentProgram) -> dict[int, int]:
        """The number of writes that have to read first, and of items that they find by another key.

        A list counts as found only if it is in an index: one in the table is read consistently.
        """
        found = [at for key, at in model.found.items() if key not in self._lists]
        return dict.fromkeys((*model.twice.values(), *found, *model.stale.values()), 1)

    def queries_each(self, model: ComponentProgram) -> dict[int, int]:
        """The number of joins that send a Query for each item of an entity."""
        bases = (option for options in self._options.bases.values() for option in options)
        return {model.places[one.place]: number for one in bases if (number := one.price.queries_each)}

    def dollars(self, model: ComponentProgram) -> dict[int, float]:
        """The part of the monthly bill that depends on the selection."""
        writes = {w.id: w for w in (*self._workload.writes, *self._workload.deletes)}
        found = {at: price.dollars for at, price in self._priced(model)}
        found |= {at: answer.dollars for (_, answer), at in model.answers.items()}
        found |= {at: self._options.prices[name].find(writes[id_]) for (id_, name), at in model.found.items()}
        for key, at in model.stale.items():
            # A list in the table is read consistently, which takes twice the units.
            eventual = found[model.found[key]]
            found[model.found[key]] = 2 * eventual
            found[at] = -eventual
        found |= {at: self._options.prices[name].read_first(writes[id_]) for (id_, name), at in model.first.items()}
        for (number, name), at in model.refreshed_first.items():
            found[at] = self._options.prices[name].refresh_first(number)
        for (id_, name), at in model.atomic.items():
            found[at] = self._options.prices[name].transaction(writes[id_])
        return found

    def money(self, model: ComponentProgram) -> tuple[dict[int, int], int]:
        """The same as whole numbers, for the program; and how many of them are half a cent."""
        every = self.dollars(model)
        unit = max([_FINEST, *(abs(money) / _MOST_UNITS for money in every.values())])
        return {at: round(money / unit) for at, money in every.items() if round(money / unit)}, int(0.005 / unit)

    def taste(self, model: ComponentProgram) -> dict[int, int]:
        """The preference among keys of the same cost."""
        return {at: self._options.taste(place) for place, at in model.places.items()}

    @cached_property
    def kept(self) -> int:
        """The number of copies in the approved design."""
        return sum(len(self._fixed.copies(e.name)) for e in self._options.component.entities)

    @cached_property
    def constant(self) -> int:
        """The complexity in halves of what every selection has: copies of an approved design, and forced guards."""
        guards = sum(prices.forced for prices in self._options.prices.values())
        return self.kept * _HALVES["copy"] + guards * _HALVES["guard"]

    # --- The program --------------------------------------------------------------------------------------------------

    def model(self, indexes: int, copies: bool = True, split: bool = False) -> ComponentProgram:
        """The program with at most this many indexes."""
        program = IntegerProgram(self._problem.limit)
        cuts = {p.slot for one in self._problem.forbidden for p in one} | {
            way.slot for one in self._problem.rivals for way in one
        }
        split = split or bool(cuts - {BASE})
        used = [program.choice() for _ in range(self._new, indexes + 1)]
        for one, other in pairwise(used):
            program.at_least(0, {one: 1, other: -1})
        unserved = {q.read.id: program.choice() for q in self._options.component.reads}
        model = ComponentProgram(program, {}, {}, {}, {}, {}, {}, {}, {}, {}, unserved, used, [], [], split)
        chosen: dict[Option, int] = {}
        for entity in self._options.component.entities:
            self._place(model, chosen, entity, copies)
        self._live_under(program, model.places)
        for question in self._options.component.reads:
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
        self._refresh_first(model, chosen)
        self._transact(model, chosen)
        self._heat(model, chosen)
        return model

    def _place(self, model: ComponentProgram, chosen: dict[Option, int], entity: Entity, copies: bool) -> None:
        """The keys of an entity: exactly one in the table, and at most one in each index."""
        program, name = model.program, entity.name

        def choice(option: Option) -> int:
            chosen[option] = model.places[option.place] = at = program.choice()
            return at

        bases = [choice(option) for option in self._options.bases[name]]
        program.at_least(1, dict.fromkeys(bases, 1))
        program.at_most(1, dict.fromkeys(bases, 1))
        for (owner, item, slot), candidate in self._fixed.candidates.items():
            if owner == name and (item, slot) != (OWN, BASE):
                at = choice(self._options.fixed_option(Placement(name, item, slot, candidate)))
                program.at_least(1, {at: 1})
        for slot in range(1, self._new):
            if (name, OWN, slot) not in self._fixed.candidates and self._fixed.is_open(slot):
                here = [choice(moved(option, slot)) for option in self._options.others[name]]
                program.at_most(1, dict.fromkeys(here, 1))
        if model.split:
            for slot, index in enumerate(model.used, self._new):
                here = [choice(moved(option, slot)) for option in self._options.others[name]]
                program.at_most(0, {**dict.fromkeys(here, 1), index: -1})
        elif model.used:
            here = [choice(option) for option in self._options.others[name]]
            program.at_most(0, {**dict.fromkeys(here, 1), **dict.fromkeys(model.used, -1)})
        for option in self._options.copies[name] if copies else ():
            # A copy serves a read that the own item in the table does not serve.
            needed = {chosen[base]: 1 for base in self._options.bases[name] if not option.serves <= base.serves}
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
            parent = self._options.entity(pin.parent)
            ids = frozenset(root(self._workload, parent, a) for a in parent.id)
            for place, at in bases[pin.entity].items():
                roots = self._options.roots(place)
                same = {k: 1 for p, k in bases[pin.parent].items() if self._options.roots(p) == roots}
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
        last = indexes if model.split else min(indexes, self._new)
        served = {model.unserved[question.read.id]: 1}
        for slot in range(1 if question.ask.consistent else last + 1):
            for way in (replace(way, slot=slot) for way in self._options.ways[question.read.id]):
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
        for other in range(1, self._new + len(model.used)) if slot != BASE else [BASE]:
            here = [self._copied(replace(one, slot=other)) for one in forbidden]
            if all(placed in model.places for placed in here):
                model.program.at_most(len(here) - 1, {model.places[placed]: 1 for placed in here})

    def _copied(self, placed: Placement) -> Placement:
        """A placement of a selection as the program has it: new copies have no numbers."""
        new = len(self._fixed.copies(placed.entity)) + 1
        return replace(placed, item=min(placed.item, new))

    def _rival(self, model: ComponentProgram, chosen: Mapping[Option, int], rivals: frozenset[CollectionPlace]) -> None:
        """A contiguity cut: not all of these places in one slot, unless a copy there makes room for another."""
        for other in (BASE, *(range(1, self._new + len(model.used)) if model.split else ())):
            here = [replace(way, slot=other) for way in rivals]
            if any(way not in model.together for way in here):
                continue
            copies = {at: -1 for o, at in chosen.items() if o.place.item != OWN and not o.ways.isdisjoint(here)}
            model.program.at_most(len(here) - 1, {**{model.together[way]: 1 for way in here}, **copies})

    def _find(self, model: ComponentProgram, chosen: Mapping[Option, int]) -> None:
        """A write that does not know the key of its item has to find it first, by a key that serves that."""
        names = {e.name for e in self._options.component.entities}
        for write, action in item_changes(self._workload):
            if action.entity not in names or write.id in self._problem.constraints.aside:
                continue
            key = (write.id, action.entity)
            if (action.many and key not in self._options.asks) or key in model.found:
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
            if key in self._lists:
                in_table = [at for option, at in own.items() if key in option.finds and option.place.slot == BASE]
                self._prefer_table(model, key, in_table)

    def _prefer_table(self, model: ComponentProgram, key: tuple[str, str], in_table: Collection[int]) -> None:
        """A list is stale if it is found, and no key in the table finds it. The planner takes the table, if it can."""
        model.stale[key] = stale = model.program.choice()
        model.program.at_least(0, {**dict.fromkeys(in_table, 1), stale: 1, model.found[key]: -1})
        for at in in_table:
            model.program.at_most(1, {at: 1, stale: 1})
        model.program.at_least(0, {model.found[key]: 1, stale: -1})

    def _read_first(self, model: ComponentProgram, chosen: Mapping[Option, int]) -> None:
        """Writes that have to find or read an item first, because they do not know all of its keys."""
        because: dict[tuple[str, str], list[int]] = {}
        missing: dict[tuple[str, str], list[int]] = {}
        for option, at in chosen.items():
            for write in option.price.read_first:
                because.setdefault((write, option.place.entity), []).append(at)
        without = {
            name: [chosen[base] for base in bases if not self._options.holds_id(base.place)]
            for name, bases in self._options.bases.items()
        }
        for option, at in chosen.items():
            for write in option.price.without_id if without[option.place.entity] else ():
                missing.setdefault((write, option.place.entity), []).append(at)
        always = {(write, name) for name, prices in self._options.prices.items() for write in prices.always_first}
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

    def _refresh_first(self, model: ComponentProgram, chosen: Mapping[Option, int]) -> None:
        """Refreshes that have to read each item first, because of a copy, a guard or an index key that moves."""
        for option, at in chosen.items():
            for number in sorted(option.price.refreshes_first):
                key = (number, option.place.entity)
                if key not in model.refreshed_first:
                    model.refreshed_first[key] = model.program.choice()
                model.program.at_least(0, {model.refreshed_first[key]: 1, at: -1})

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
                for base in self._options.bases[option.place.entity]:
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
        ways = {option.place: option.ways for own in self._options.others.values() for option in own}
        new = [place for place in placed if place.slot >= self._new]
        groups: list[Group] = [frozenset({self.unnumbered(place)}) for place in new]
        for way in (way for way in together if way.slot >= self._new):
            here = [self.unnumbered(place) for place in new if place.slot == way.slot]
            one = self.unnumbered(way)
            needs = self._options.needs_of(way)
            read = {next(p for p in here if p.entity == n.entity and one in ways[p]) for n in needs}
            groups = joined(groups, frozenset({one, *read}))
        cuts = [cut for cut in self._problem.forbidden if all(placed.slot != BASE for placed in cut)]
        excluded: list[Group] = [frozenset(replace(placed, slot=self._new) for placed in cut) for cut in cuts]
        excluded += [frozenset(replace(way, slot=self._new) for way in cut) for cut in self._problem.rivals]
        found = distributed(groups, len(model.used), excluded)
        return {one: self._new + at for group, at in found.items() for one in group} if found is not None else None

    def unnumbered(self, one: Located) -> Located:
        """A key or a place in any new index."""
        return replace(one, slot=self._new) if one.slot >= self._new else one
