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

Symmetry: new indexes are alike, so a placement says only that a key is in a new index. `number_indexes` then
distributes the keys over the indexes, with those that are read together in one. Where that is impossible, or where a
cut speaks of an index, the program is `split`: it also says which keys are in one index, but has no preference among
the indexes.

Contiguity cuts: types that one Query reads together must be neighbours in sort order. Stating that for all orders in
advance would take too many constraints, so the program ignores it at first. When `solve` finds that the chosen keys
cannot be ordered so, it forbids this set of keys (`Problem.key_cuts`) or of places (`Problem.place_cuts`) in every
index, and solves again.

For example, an `Order` with the keys b1 and b2 for the table and i1 for an index, a read that b1 and i1 serve, the
variable x for the index, and l for the loss of the read:

    b1 + b2 = 1        one key in the table
    i1 <= x            a key in an index needs an index
    b1 + i1 + l >= 1   the read is served, or lost

Minimise l, then the complexity 2 x, then the prices of the keys. The result is b1, which serves the read without an
index.

The functions `lost`, `complexity`, `reading`, `queries_each`, `money` and `taste` are the costs, in the order of the
objective.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise, product
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
from prejoin.design.solver.program.numbering import Group, distribute, merge_groups
from prejoin.design.solver.program.options import ComponentOptions, KeyOption, in_slot
from prejoin.design.solver.program.pricing import Answer, Price, collection_units
from prejoin.workload.lookup import root
from prejoin.workload.model import Entity

_FINEST = 1e-4
"""The smallest difference between two prices that counts, in dollars a month."""
_MOST_UNITS = 1e6
"""The largest price in the program: HiGHS tells larger numbers apart less well."""
Location = TypeVar("Location", Placement, CollectionPlace)
_Name = TypeVar("_Name", str, tuple[str, str], tuple[int, str])
_HALVES = {structure: int(2 * weight) for structure, weight in WEIGHTS.items()}
"""The complexity of each structure in halves, because the program has whole numbers only."""


class ComponentProgram(msgspec.Struct):
    """The program of one component with a given number of indexes, and its variables by meaning."""

    program: IntegerProgram
    is_split: bool
    placements: dict[Placement, int] = {}
    collections: dict[CollectionPlace, int] = {}
    answers: dict[tuple[str, Answer], int] = {}
    """How a read is answered, where that makes a difference."""
    finds: dict[tuple[str, str], int] = {}
    """Writes that find an entity's items first."""
    stale: dict[tuple[str, str], int] = {}
    """Writes that find a list of items in an index, which may lack the newest ones."""
    first: dict[tuple[str, str], int] = {}
    """Writes that read an entity's item first."""
    refreshes_first: dict[tuple[int, str], int] = {}
    """Refreshes that read an entity's items first, by the number of the construct."""
    twice: dict[str, int] = {}
    """Writes that take two requests."""
    atomic: dict[tuple[str, str], int] = {}
    """Writes that are transactions only because of the chosen keys."""
    losses: dict[str, int] = {}
    """Patterns that are not served."""
    indexes: list[int] = []
    """One for each new index that is used."""
    copies: list[int] = []
    hot_by_guard: list[int] = []
    """Keys in an index that are hot because of a guard of the key in the table."""


Variables = Mapping[KeyOption, int]
"""The variable of each option that a program has."""


class Formulation:
    """The program of a component and its costs, with the options and contiguity cuts of a problem."""

    def __init__(self, problem: Problem, options: ComponentOptions) -> None:
        self._problem = problem
        self._workload = problem.workload
        self._fixed = problem.fixed
        self._options = options
        self._new = options.new
        self._units: dict[str, float] = {}
        """The read units of a call, by the read of several entities."""
        self._lists = {(step.write.id, step.entity.name) for step in item_changes(self._workload) if step.is_list}
        """Writes and entities of which they find a list."""
        self.candidates = options.candidates
        """The number of keys to choose from."""
        self.most_indexes = max(map(len, options.needs.values()), default=0) + problem.fixed.indexes
        """More indexes would be of no use."""

    def _is_hot(self, place: CollectionPlace) -> bool:
        """Whether a read of several entities takes more units than the partition has."""
        question = self._question(place.read)
        if place.read not in self._units:
            self._units[place.read] = collection_units(self._workload, question)
        need = question.needs[0]
        names = [name for name in need.equal_names if question.ask.name(need.entity, name) in place.names]
        share = read_share(self._workload, self._options.entity(need.entity), names, question.read)
        calls = peak(question.read.rate)
        return Load(need.entity, "", "", calls, calls * self._units[place.read], share, place.read).hot

    def _question(self, read: str) -> ReadNeeds:
        return next(question for question in self._options.component.reads if question.read.id == read)

    # --- Costs --------------------------------------------------------------------------------------------------------

    def lost(self, model: ComponentProgram) -> dict[int, int]:
        """The weight of patterns that are not served: their rates."""
        patterns = {pattern.id: pattern for pattern in self._workload.patterns}
        return {variable: pattern_weight(patterns[name]) for name, variable in model.losses.items()}

    def complexity(self, model: ComponentProgram, indexes: bool = True) -> dict[int, int]:
        """The complexity in halves: of copies, guards, fan-out reads and hot partitions, and of new indexes."""
        costs = Counter(dict.fromkeys(model.copies, _HALVES["copy"]))
        if indexes:
            costs.update(dict.fromkeys(model.indexes, _HALVES["index"]))
        for variable, price in self._priced_keys(model):
            costs[variable] += price.guards
        for (_, answer), variable in model.answers.items():
            if answer.fans_out:
                costs[variable] += _HALVES["fan-out read"]
        costs.update(dict.fromkeys(self.hot(model), _HALVES["hot partition"]))
        return {variable: halves for variable, halves in costs.items() if halves}

    def hot(self, model: ComponentProgram) -> dict[int, int]:
        """The hot partitions: of keys with too many writes, and of reads with too many units."""
        variables = [variable for variable, price in self._priced_keys(model) if price.hot]
        variables += [variable for (_, answer), variable in model.answers.items() if answer.hot]
        variables += [variable for place, variable in model.collections.items() if self._is_hot(place)]
        variables += model.hot_by_guard
        return dict.fromkeys(variables, 1)

    def nothing(self, model: ComponentProgram) -> dict[int, int]:
        """The values of a selection that serves nothing, as far as they do not follow from each other."""
        values = dict.fromkeys((*model.placements.values(), *model.collections.values(), *model.answers.values()), 0)
        values |= dict.fromkeys(model.losses.values(), 1)
        for placement, variable in model.placements.items():
            if placement.candidate.fixed:
                values[variable] = 1
        # Each entity needs a key in the table: any will do.
        for options in self._options.base_options.values():
            values[model.placements[options[0].placement]] = 1
        return values

    def _priced_keys(self, model: ComponentProgram) -> Iterator[tuple[int, Price]]:
        """The keys as variables, with their prices. A key in any index costs the same."""
        prices = {option.placement: option.price for option in self._options.all_options}
        for placement, variable in model.placements.items():
            slot = self._new if placement.slot != BASE else BASE
            price = prices.get(replace(placement, slot=slot))
            if price is not None:
                yield variable, price

    def reading(self, model: ComponentProgram) -> dict[int, int]:
        """The number of writes that have to read first, and of items that they find by another key.

        A list counts as found only if it is in an index: one in the table is read consistently.
        """
        finds = [variable for key, variable in model.finds.items() if key not in self._lists]
        return dict.fromkeys((*model.twice.values(), *finds, *model.stale.values()), 1)

    def queries_each(self, model: ComponentProgram) -> dict[int, int]:
        """The number of joins that send a Query for each item of an entity."""
        costs: dict[int, int] = {}
        for options in self._options.base_options.values():
            for option in options:
                if option.price.queries_each:
                    costs[model.placements[option.placement]] = option.price.queries_each
        return costs

    def dollars(self, model: ComponentProgram) -> dict[int, float]:
        """The part of the monthly bill that depends on the selection."""
        writes = {write.id: write for write in self._workload.changing}
        prices = self._options.prices
        costs = {variable: price.dollars for variable, price in self._priced_keys(model)}
        costs |= {variable: answer.dollars for (_, answer), variable in model.answers.items()}
        costs |= {variable: prices[name].find(writes[id_]) for (id_, name), variable in model.finds.items()}
        for key, variable in model.stale.items():
            # A list in the table is read consistently, which takes twice the units.
            eventual = costs[model.finds[key]]
            costs[model.finds[key]] = 2 * eventual
            costs[variable] = -eventual
        costs |= {variable: prices[name].read_first(writes[id_]) for (id_, name), variable in model.first.items()}
        for (number, name), variable in model.refreshes_first.items():
            costs[variable] = prices[name].refresh_first(number)
        for (id_, name), variable in model.atomic.items():
            costs[variable] = prices[name].transaction(writes[id_])
        return costs

    def money(self, model: ComponentProgram) -> tuple[dict[int, int], int]:
        """The same as whole numbers, for the program; and how many of them are half a cent."""
        dollars = self.dollars(model)
        # The finest unit in which the largest price is at most `_MOST_UNITS`.
        unit = max([_FINEST, *(abs(amount) / _MOST_UNITS for amount in dollars.values())])
        units = {variable: round(amount / unit) for variable, amount in dollars.items()}
        return {variable: number for variable, number in units.items() if number}, int(0.005 / unit)

    def taste(self, model: ComponentProgram) -> dict[int, int]:
        """The preference among keys of the same cost."""
        return {variable: self._options.taste(placement) for placement, variable in model.placements.items()}

    @cached_property
    def fixed_copies(self) -> int:
        """The number of copies in the approved design."""
        return sum(len(self._fixed.copies(entity.name)) for entity in self._options.component.entities)

    @cached_property
    def constant(self) -> int:
        """The complexity in halves of what every selection has: copies of an approved design, and forced guards."""
        guards = sum(prices.forced_guards for prices in self._options.prices.values())
        return self.fixed_copies * _HALVES["copy"] + guards * _HALVES["guard"]

    # --- The program --------------------------------------------------------------------------------------------------

    def model(self, indexes: int, is_split: bool = False) -> ComponentProgram:
        """The program with at most this many indexes."""
        program = IntegerProgram(self._problem.limit)
        model = ComponentProgram(program, is_split or self._has_cuts_in_indexes())
        model.indexes = [program.choice() for _ in range(self._new, indexes + 1)]
        # Indexes are used in their order: otherwise each selection would exist once for each permutation of them.
        for index, following in pairwise(model.indexes):
            program.at_least(0, {index: 1, following: -1})
        for question in self._options.component.reads:
            model.losses[question.read.id] = program.choice()
        variables: dict[KeyOption, int] = {}
        for entity in self._options.component.entities:
            self._add_keys(model, variables, entity)
        self._keep_under_parents(program, model.placements)
        for question in self._options.component.reads:
            if len(question.needs) == 1:
                self._serve(model, variables, question)
            else:
                self._serve_collection(model, variables, question, indexes)
        for key_cut in self._problem.key_cuts:
            self._cut_keys(model, key_cut)
        for place_cut in self._problem.place_cuts:
            self._cut_places(model, variables, place_cut)
        self._find_items(model, variables)
        self._read_first(model, variables)
        self._refresh_first(model, variables)
        self._transact(model, variables)
        self._heat(model, variables)
        return model

    def _has_cuts_in_indexes(self) -> bool:
        """Whether a cut speaks of an index, so that the program has to say which keys are in it."""
        slots = {placement.slot for placement in chain(*self._problem.key_cuts)}
        slots |= {place.slot for place in chain(*self._problem.place_cuts)}
        return bool(slots - {BASE})

    def _add_keys(self, model: ComponentProgram, variables: dict[KeyOption, int], entity: Entity) -> None:
        """The keys of an entity: exactly one in the table, and at most one in each index."""
        program, name = model.program, entity.name
        bases = _add_options(model, variables, self._options.base_options[name])
        # One key in the table: an item that is stored twice is a copy, which has its own options.
        program.at_least(1, bases)
        program.at_most(1, bases)
        for (owner, item, slot), candidate in self._fixed.candidates.items():
            if owner == name and (item, slot) != (OWN, BASE):
                fixed_option = self._options.fixed_option(Placement(name, item, slot, candidate))
                program.at_least(1, _add_options(model, variables, [fixed_option]))
        self._add_index_keys(model, variables, name)
        for option in self._options.copy_options[name]:
            # A copy serves a read that the own item in the table does not serve.
            bases_without = [base for base in self._options.base_options[name] if not option.serves <= base.serves]
            (variable,) = _add_options(model, variables, [option])
            model.copies.append(variable)
            program.at_least(0, {**dict.fromkeys([variables[base] for base in bases_without], 1), variable: -1})

    def _add_index_keys(self, model: ComponentProgram, variables: dict[KeyOption, int], name: str) -> None:
        """The keys of an entity in open indexes, and in new ones, which are alike unless the program is split."""
        index_options = self._options.index_options[name]
        for slot in range(1, self._new):
            if (name, OWN, slot) not in self._fixed.candidates and self._fixed.is_open(slot):
                keys = _add_options(model, variables, [in_slot(option, slot) for option in index_options])
                # An item has one entry in an index.
                model.program.at_most(1, keys)
        if model.is_split:
            for slot, index in enumerate(model.indexes, self._new):
                keys = _add_options(model, variables, [in_slot(option, slot) for option in index_options])
                model.program.at_most(0, {**keys, index: -1})
        elif model.indexes:
            keys = _add_options(model, variables, index_options)
            model.program.at_most(0, {**keys, **dict.fromkeys(model.indexes, -1)})

    def _keep_under_parents(self, program: IntegerProgram, placements: Mapping[Placement, int]) -> None:
        """An entity under a parent has the parent's id as its partition, or shares the parent's partition."""
        for pin in self._problem.constraints.under:
            children, parents = _bases_of(pin.entity, placements), _bases_of(pin.parent, placements)
            if not children or not parents:
                continue
            parent = self._options.entity(pin.parent)
            ids = frozenset(root(self._workload, parent, attribute) for attribute in parent.id)
            for child, variable in children.items():
                roots = self._options.roots(child)
                if roots != ids:
                    sharing = [parent_key for parent_key in parents if self._options.roots(parent_key) == roots]
                    program.at_least(0, {**{parents[parent_key]: 1 for parent_key in sharing}, variable: -1})

    def _serve(self, model: ComponentProgram, variables: Variables, question: ReadNeeds) -> None:
        """A read of one entity. How it is answered is a variable only where answers differ."""
        read = question.read.id
        keys_by_answer: dict[Answer, dict[int, int]] = {}
        for option, variable in variables.items():
            answer = option.price.answers.get(read)
            if answer:
                keys_by_answer.setdefault(answer, {})[variable] = 1
        outcomes = {model.losses[read]: 1}
        if len(keys_by_answer) < 2 and not any(answer.fans_out or answer.hot for answer in keys_by_answer):
            for keys in keys_by_answer.values():
                outcomes = keys | outcomes
            model.program.at_least(1, outcomes)
            return
        # The cheapest answer of the chosen keys is taken, because the goals minimise its price.
        for answer in sorted(keys_by_answer):
            variable = model.program.choice()
            model.answers[read, answer] = variable
            outcomes[variable] = 1
            model.program.at_least(0, {**keys_by_answer[answer], variable: -1})
        model.program.at_least(1, outcomes)

    def _serve_collection(
        self, model: ComponentProgram, variables: Variables, question: ReadNeeds, indexes: int
    ) -> None:
        """A read of several entities: one place where each of them has a key."""
        last = indexes if model.is_split else min(indexes, self._new)
        if question.ask.consistent:
            last = BASE  # an index is never read consistently
        outcomes = {model.losses[question.read.id]: 1}
        for slot in range(last + 1):
            for place_in_table in self._options.collection_places[question.read.id]:
                place = replace(place_in_table, slot=slot)
                keys: dict[str, dict[int, int]] = {need.entity: {} for need in question.needs}
                for option, variable in variables.items():
                    if place in option.collections:
                        keys[option.placement.entity][variable] = 1
                # A place counts only if each entity has a key there: otherwise the Query misses types.
                if all(keys.values()):
                    place_variable = model.program.choice()
                    model.collections[place] = place_variable
                    outcomes[place_variable] = 1
                    for own_keys in keys.values():
                        model.program.at_least(0, {**own_keys, place_variable: -1})
        model.program.at_least(1, outcomes)

    def _slots_like(self, slot: int, model: ComponentProgram) -> Sequence[int]:
        """The slots that a cut applies to: indexes are alike, so a cut in one of them applies to all."""
        return range(1, self._new + len(model.indexes)) if slot != BASE else [BASE]

    def _cut_keys(self, model: ComponentProgram, cut: Forbidden) -> None:
        """A contiguity cut: these keys cannot all be in one slot, in any index."""
        (cut_slot,) = {placement.slot for placement in cut}
        for slot in self._slots_like(cut_slot, model):
            placements = [self._as_in_program(replace(placement, slot=slot)) for placement in cut]
            if all(placement in model.placements for placement in placements):
                keys = {model.placements[placement]: 1 for placement in placements}
                model.program.at_most(len(placements) - 1, keys)

    def _as_in_program(self, placement: Placement) -> Placement:
        """A placement of a selection as the program has it: new copies have no numbers."""
        new = len(self._fixed.copies(placement.entity)) + 1
        return replace(placement, item=min(placement.item, new))

    def _cut_places(self, model: ComponentProgram, variables: Variables, cut: frozenset[CollectionPlace]) -> None:
        """A contiguity cut: not all of these places in one slot, unless a copy there makes room for another."""
        slots = [BASE]
        if model.is_split:
            slots += range(1, self._new + len(model.indexes))
        for slot in slots:
            places = [replace(place, slot=slot) for place in cut]
            if any(place not in model.collections for place in places):
                continue
            terms = {model.collections[place]: 1 for place in places}
            for option, variable in variables.items():
                if option.placement.item != OWN and not option.collections.isdisjoint(places):
                    terms[variable] = -1
            model.program.at_most(len(places) - 1, terms)

    def _find_items(self, model: ComponentProgram, variables: Variables) -> None:
        """A write that does not know the key of its item has to find it first, by a key that serves that."""
        for step in item_changes(self._workload):
            name = step.entity.name
            if name not in self._options.base_options or step.write.id in self._problem.constraints.aside:
                continue
            key = (step.write.id, name)
            if (step.is_list and key not in self._options.asks) or key in model.finds:
                continue  # it means all items: that is a Scan, and no key helps
            own = {option: variable for option, variable in variables.items() if option.placement.entity == name}
            bases = [option for option in own if option.placement.is_base]
            blind = [own[base] for base in bases if key not in base.knows]
            if blind:
                self._find_item(model, own, key, blind)

    def _find_item(self, model: ComponentProgram, own: Variables, key: tuple[str, str], blind: Collection[int]) -> None:
        """With a key in the table that the write does not know (`blind`), it finds the item, or is not served."""
        write, _ = key
        program = model.program
        finding = {option: variable for option, variable in own.items() if key in option.finds}
        if write not in model.losses:
            model.losses[write] = program.choice()
        # `find` follows from two sides: it is chosen if a key is blind, and only if one is, and a key finds the item.
        find = program.choice()
        model.finds[key] = find
        for variable in blind:
            program.at_least(0, {model.losses[write]: 1, find: 1, variable: -1})
        program.at_least(0, {**dict.fromkeys(finding.values(), 1), find: -1})
        program.at_least(0, {**dict.fromkeys(blind, 1), find: -1})
        if key in self._lists:
            in_table = [variable for option, variable in finding.items() if option.placement.slot == BASE]
            self._prefer_table(model, key, in_table)

    def _prefer_table(self, model: ComponentProgram, key: tuple[str, str], in_table: Collection[int]) -> None:
        """A list is stale if it is found, and no key in the table finds it. The planner takes the table, if it can."""
        program, find = model.program, model.finds[key]
        stale = program.choice()
        model.stale[key] = stale
        program.at_least(0, {**dict.fromkeys(in_table, 1), stale: 1, find: -1})
        for variable in in_table:
            program.at_most(1, {variable: 1, stale: 1})
        program.at_least(0, {find: 1, stale: -1})

    def _read_first(self, model: ComponentProgram, variables: Variables) -> None:
        """Writes that have to find or read an item first, because they do not know all of its keys."""
        program = model.program
        causes: dict[tuple[str, str], list[int]] = {}
        """The keys because of which a write reads first."""
        for option, variable in variables.items():
            for write in option.price.read_first:
                causes.setdefault((write, option.placement.entity), []).append(variable)
        without_id = self._bases_without_id(variables)
        causes_without_id: dict[tuple[str, str], list[int]] = {}
        """The same for keys because of which it does so if the key in the table does not hold the id."""
        for option, variable in variables.items():
            if without_id[option.placement.entity]:
                for write in option.price.without_id:
                    causes_without_id.setdefault((write, option.placement.entity), []).append(variable)
        for key in sorted({*causes, *causes_without_id}):
            first = program.choice()
            model.first[key] = first
            # What was found is known.
            find = {model.finds[key]: 1} if key in model.finds else {}
            for variable in causes.get(key, ()):
                program.at_least(0, {first: 1, **find, variable: -1})
            # Both causes together: base + key - 1 <= first.
            for variable, base in product(causes_without_id.get(key, ()), without_id[key[1]]):
                program.at_least(-1, {first: 1, **find, variable: -1, base: -1})
        self._count_requests(model)

    def _bases_without_id(self, variables: Variables) -> dict[str, list[int]]:
        """The keys in the table that do not hold the id, by entity: a unique value is the key."""
        without_id: dict[str, list[int]] = {}
        for name, options in self._options.base_options.items():
            lacking = [option for option in options if not self._options.holds_id(option.placement)]
            without_id[name] = [variables[option] for option in lacking]
        return without_id

    def _count_requests(self, model: ComponentProgram) -> None:
        """A write that reads or finds several items first still takes two requests, and counts once."""
        always_first = [prices.always_first for prices in self._options.prices.values()]
        excluded_writes = frozenset[str]().union(*always_first)
        for (write, _), variable in (*model.first.items(), *model.finds.items()):
            if write not in excluded_writes:
                _imply(model.program, model.twice, write, variable)

    def _refresh_first(self, model: ComponentProgram, variables: Variables) -> None:
        """Refreshes that have to read each item first, because of a copy, a guard or an index key that moves."""
        for option, variable in variables.items():
            for number in sorted(option.price.refreshes_first):
                _imply(model.program, model.refreshes_first, (number, option.placement.entity), variable)

    def _transact(self, model: ComponentProgram, variables: Variables) -> None:
        """Writes that become transactions."""
        for option, variable in variables.items():
            for key in sorted(option.price.atomic):
                _imply(model.program, model.atomic, key, variable)

    def _heat(self, model: ComponentProgram, variables: Variables) -> None:
        """Keys in an index that are hot only if the key in the table has a guard."""
        for option, variable in variables.items():
            if option.price.hot_if_guarded and not option.price.hot:
                heat = model.program.choice()
                model.hot_by_guard.append(heat)
                for base in self._options.base_options[option.placement.entity]:
                    if base.price.atomic:
                        model.program.at_least(-1, {heat: 1, variable: -1, variables[base]: -1})

    # --- The indexes --------------------------------------------------------------------------------------------------

    def number_indexes(
        self, model: ComponentProgram
    ) -> tuple[tuple[Placement, ...], tuple[CollectionPlace, ...]] | None:
        """The chosen placements and places with the numbers of their indexes and copies; None if there are too few.

        Keys that a read of several entities finds together get the same index, two keys of one entity different ones.
        """
        placements = _chosen_of(model, model.placements)
        places = _chosen_of(model, model.collections)
        numbers = self._index_numbers(placements, places, model)
        if numbers is not None:
            placements = sorted({replace(p, slot=numbers.get(self.in_any_index(p), p.slot)) for p in placements})
            places = sorted({replace(p, slot=numbers.get(self.in_any_index(p), p.slot)) for p in places})
        elif not model.is_split:
            return None
        return tuple(sorted(self._with_copy_numbers(placements))), tuple(places)

    def _with_copy_numbers(self, placements: Sequence[Placement]) -> list[Placement]:
        """The placements with consecutive numbers for the new copies of an entity, which have one in the program."""
        last_numbers: dict[str, int] = {}
        result: list[Placement] = []
        for placement in placements:
            if placement.item > len(self._fixed.copies(placement.entity)):
                number = last_numbers.get(placement.entity, placement.item - 1) + 1
                last_numbers[placement.entity] = number
                placement = replace(placement, item=number)
            result.append(placement)
        return result

    def _index_numbers(
        self, placements: Sequence[Placement], places: Sequence[CollectionPlace], model: ComponentProgram
    ) -> dict[Placement | CollectionPlace, int] | None:
        """The index of each key and place in a new index, by its name without a number; None if there are too few."""
        new_keys = [placement for placement in placements if placement.slot >= self._new]
        groups: list[Group] = [frozenset({self.in_any_index(placement)}) for placement in new_keys]
        for place in places:
            if place.slot >= self._new:
                in_same_slot = [self.in_any_index(key) for key in new_keys if key.slot == place.slot]
                groups = merge_groups(groups, self._group_of(place, in_same_slot))
        numbers = distribute(groups, len(model.indexes), tuple(self._excluded_groups()))
        if numbers is None:
            return None
        slots: dict[Placement | CollectionPlace, int] = {}
        for group, number in numbers.items():
            slots |= dict.fromkeys(group, self._new + number)
        return slots

    def _excluded_groups(self) -> Iterator[Group]:
        """The keys and places that cuts forbid in one index, without its number."""
        for cut in self._problem.key_cuts:
            if all(placement.slot != BASE for placement in cut):
                yield frozenset([replace(placement, slot=self._new) for placement in cut])
        for place_cut in self._problem.place_cuts:
            yield frozenset([replace(place, slot=self._new) for place in place_cut])

    def _group_of(self, place: CollectionPlace, placements: Sequence[Placement]) -> Group:
        """A place in a new index, with the key of each entity that its read finds there."""
        unnumbered_place = self.in_any_index(place)
        collections = {option.placement: option.collections for option in self._new_options}
        in_place = [placement for placement in placements if unnumbered_place in collections[placement]]
        keys: set[Placement | CollectionPlace] = {unnumbered_place}
        for need in self._options.needs_of(place):
            keys.add(next(placement for placement in in_place if placement.entity == need.entity))
        return frozenset(keys)

    @cached_property
    def _new_options(self) -> list[KeyOption]:
        """The options of new indexes."""
        return list(chain.from_iterable(self._options.index_options.values()))

    def in_any_index(self, location: Location) -> Location:
        """A key or a place in any new index."""
        return replace(location, slot=self._new) if location.slot >= self._new else location


def _chosen_of(model: ComponentProgram, variables: Mapping[Location, int]) -> list[Location]:
    """The keys or places of a solved program whose variables are 1."""
    return sorted(location for location, variable in variables.items() if variable in model.program.chosen)


def _add_options(
    model: ComponentProgram, variables: dict[KeyOption, int], options: Iterable[KeyOption]
) -> dict[int, int]:
    """A variable for each of some options, as the terms of a sum."""
    terms: dict[int, int] = {}
    for option in options:
        variable = model.program.choice()
        variables[option] = model.placements[option.placement] = variable
        terms[variable] = 1
    return terms


def _imply(program: IntegerProgram, consequences: dict[_Name, int], name: _Name, cause: int) -> None:
    """Add the constraint that a choice brings a consequence, which has one variable for all of its causes."""
    if name not in consequences:
        consequences[name] = program.choice()
    program.at_least(0, {consequences[name]: 1, cause: -1})


def _bases_of(name: str, placements: Mapping[Placement, int]) -> dict[Placement, int]:
    """The keys that an entity may have in the table, with their variables."""
    own = {placement: variable for placement, variable in placements.items() if placement.entity == name}
    return {placement: variable for placement, variable in own.items() if placement.is_base}
