"""Better keys by the real bill, in small steps: `improve(problem, selection, steps, …)`, a local search.

The prices in the integer program are estimates in two respects. An index whose reads all name the attributes they want
may hold less than whole items, and that depends on all keys in it (`narrower`). And natural keys can spare a write that
reads first (`natural`). So the selection is changed step by step, and each step is measured as the finished design. A
step replaces one key by another that serves the same reads; or an entity's keys in the table and in an index by two
others, so that the table serves what the index did; or two indexes exchange the keys that depend on each other (two
keys of one entity cannot be in one index, and keys that are read together must be): a Kempe chain, as in graph
colouring; or a key that is hot because of what its index holds for other reads gets an index of its own. Steps are
tried in a fixed order until none gives a better design.

For example, two indexes hold these keys, and of the reads only that of `Task` wants whole items:

    index 1    Order by status     Task by assignee
    index 2    Order by customer   Note by author

Index 1 holds whole items because of `Task`, so a step moves `Task` to index 2, and index 1 may hold less. `Order by
status` could move only in exchange for `Order by customer`, because an item has one key in an index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, combinations

from msgspec.structs import replace

from prejoin.design.cost.heat import hot_loads
from prejoin.design.cost.objective import Objective, objective
from prejoin.design.layout.projection import attributes_read
from prejoin.design.model import Design, Operation
from prejoin.design.solver.placement import (
    CollectionPlace,
    Placement,
    Problem,
    Selection,
    lies_in,
    placement_answers,
)
from prejoin.design.solver.repair import remove_unread_keys
from prejoin.design.solver.search import SearchCache, components
from prejoin.design.solver.taste import Taste
from prejoin.design.solver.violations import violations
from prejoin.workload.model import Result

MOST_STEPS = 200
"""The most steps that are tried."""

MakeDesign = Callable[[Selection], Design]
"""Makes the design of a selection."""
Steps = Callable[[Problem, Selection, MakeDesign, SearchCache], Iterator[Selection]]


def improve(
    problem: Problem,
    selection: Selection,
    steps: Steps,
    cache: SearchCache,
    make_design: MakeDesign,
) -> tuple[Selection, Design]:
    """The best selection that the steps lead to, and its design."""
    design = make_design(selection)
    taste = Taste(problem.workload)
    best: tuple[object, ...] = ()
    tries = 0
    is_better = True
    while is_better:
        is_better = False
        for other in steps(problem, selection, make_design, cache):
            if tries == MOST_STEPS or (problem.limit and problem.limit.left <= 0):
                return selection, design
            tries += 1
            best = best or _measure(problem, selection, design, taste)  # often there is no step to compare with
            other_design = make_design(other)
            measure = _measure(problem, other, other_design, taste)
            if measure < best and not any(violations(other_design, problem.workload)):
                # The steps begin again, from the better selection.
                best, selection, design, is_better = measure, other, other_design, True
                break
    return selection, design


def _measure(problem: Problem, selection: Selection, design: Design, taste: Taste) -> tuple[object, ...]:
    """The quality of a design, the smaller the better: the objective, and the taste between equals."""
    costs: Objective = objective(problem.workload, design)
    tastes = sum(taste(placement) for placement in selection.placed)
    if problem.constraints.money:
        return costs.lost, costs.hot, costs.dollars, costs.complexity, tastes
    return costs.lost, costs.complexity, costs.reading_writes, costs.queries_each, costs.dollars, tastes


def has_narrow_reads(problem: Problem) -> bool:
    """Whether some read does not want whole items."""
    return any(question.read.needs or question.read.result is Result.COUNT for question in problem.reads)


def narrower(
    problem: Problem, selection: Selection, make_design: MakeDesign, cache: SearchCache
) -> Iterator[Selection]:
    """Steps that may allow an index to hold less than whole items."""
    if not has_narrow_reads(problem):
        return
    yield from _exchanges(problem, selection, make_design(selection))
    yield from _separations(problem, selection, make_design(selection))
    pruned_selection = remove_unread_keys(problem, selection, make_design(selection))
    if pruned_selection != selection:
        yield pruned_selection
    for component in components(problem):
        for placement, other in cache.alternatives(problem, component).narrowing(selection):
            changed_selection = _replace_keys(problem, selection, {placement}, {other})
            yield changed_selection
            # The planner prefers the first of equal indexes: there the key relieves others of their reads.
            first = problem.fixed.indexes + 1
            if placement.slot > first:
                exchanged_keys = {p for p in changed_selection.placed if p.slot in (first, placement.slot)}
                yield _exchange_slots(problem, changed_selection, exchanged_keys, first, placement.slot)
    for component in components(problem):
        for placements, new_placements in cache.alternatives(problem, component).turning(selection.placed):
            changed_selection = _replace_keys(problem, selection, placements, new_placements)
            yield changed_selection
            yield from _exchanges(problem, changed_selection, make_design(changed_selection))


def natural(problem: Problem, selection: Selection, _: MakeDesign, cache: SearchCache) -> Iterator[Selection]:
    """Steps to cheaper keys that are as good if they are natural."""
    for component in components(problem):
        for placement, other in cache.alternatives(problem, component).sparing(selection):
            yield _replace_keys(problem, selection, {placement}, {other})


def _replace_keys(
    problem: Problem, selection: Selection, placements: set[Placement], new_placements: set[Placement]
) -> Selection:
    """The selection with other keys in place of some. What was read together there is read where they are."""

    def follow_keys(place: CollectionPlace) -> CollectionPlace:
        """The first place with one of the other keys, unless the read still finds its items in the old one."""
        if not any(_lies_in(problem, placement, place) for placement in placements):
            return place
        # A new key of the same entity may lie in the same place, in another slot, or nowhere: then the read stays.
        new_places: list[CollectionPlace] = []
        for other in sorted(new_placements):
            new_place = replace(place, slot=other.slot)
            if _lies_in(problem, other, new_place):
                new_places.append(new_place)
        return place if place in new_places or not new_places else new_places[0]

    return replace(
        selection,
        placed=tuple(sorted({*selection.placed} - placements | new_placements)),
        collections=tuple(sorted(map(follow_keys, selection.collections))),
    )


def _exchanges(problem: Problem, selection: Selection, design: Design) -> Iterator[Selection]:
    """The selection with other keys in two of its new indexes, where that could make one of them narrower."""
    new_slots = range(problem.fixed.indexes + 1, selection.indexes + 1)
    groups = _groups(problem, selection)
    narrow = {placement for placement in _members(groups) if _is_narrow(problem, design, placement)}
    for slots in combinations(new_slots, 2):
        in_slots = [group for group in groups if _slot_of(group) in slots]
        for linked_groups in _chains(in_slots):
            moving = _members(linked_groups)
            contents = _contents_after(_members(in_slots), moving, slots)
            becomes_narrow = any(placements <= narrow for placements in contents if placements)
            if becomes_narrow or _relieves(problem, moving):
                yield _exchange_slots(problem, selection, moving, *slots)


def _contents_after(
    placements: Iterable[Placement], moving: Collection[Placement], slots: tuple[int, int]
) -> list[set[Placement]]:
    """The keys in two slots after some of them have moved to the other one."""
    contents: dict[int, set[Placement]] = {slot: set() for slot in slots}
    for placement in placements:
        slot = sum(slots) - placement.slot if placement in moving else placement.slot
        contents[slot].add(placement)
    return list(contents.values())


def _separations(problem: Problem, selection: Selection, design: Design) -> Iterator[Selection]:
    """The selection with an index more, which may hold less because fewer reads use it.

    It is for a hot partition, or for one that a document asks to be cheap: either its key leaves the index that it
    shares with others, or it stays there for the reads that name attributes, and what else is there moves.
    """
    limits = problem.constraints
    new = selection.indexes + 1
    if new > min(limits.indexes, limits.structures - selection.copies):
        return
    hot = {(load.entity, load.slot) for load in hot_loads(problem.workload, design)}
    groups = _groups(problem, selection)
    for group in groups:
        slot = _slot_of(group)
        # Only a partition that is too hot, or a bill that has to fall, is worth an index.
        neighbours = _members(other for other in groups if _slot_of(other) == slot)
        name = design.slots[slot].name
        if not limits.money and not any((placement.entity, name) in hot for placement in group):
            continue
        if neighbours > group:
            yield replace(_exchange_slots(problem, selection, set(group), slot, new), indexes=new)
        if len(group) == 1:
            split = _exchange_slots(problem, selection, neighbours - group, slot, new)
            twins = {replace(placement, slot=new) for placement in group}
            yield replace(split, placed=tuple(sorted({*split.placed, *twins})), indexes=new)


def _relieves(problem: Problem, placements: set[Placement]) -> bool:
    """Whether two keys answer a read of whole items. Clients take the first index, so the other may hold less."""
    reads_of_whole_items = [question for question in problem.reads if question.ask.needs is None]
    for question in reads_of_whole_items:
        for need in question.needs:
            if sum(placement_answers(placement, need) for placement in placements) > 1:
                return True
    return False


def _groups(problem: Problem, selection: Selection) -> list[frozenset[Placement]]:
    """The keys in new indexes; keys that a read of several entities finds together are one group."""
    # Keys of an approved design stay where they are: their items are written already.
    in_new_indexes = [placement for placement in selection.placed if placement.slot > problem.fixed.indexes]
    groups = [frozenset({placement}) for placement in in_new_indexes if not placement.candidate.fixed]
    for place in selection.collections:
        members = {placement for placement in selection.placed if _lies_in(problem, placement, place)}
        linked_groups = [group for group in groups if group & members]
        if linked_groups:
            groups = [group for group in groups if not group & members] + [frozenset().union(*linked_groups)]
    return sorted(groups, key=sorted)


def _slot_of(group: frozenset[Placement]) -> int:
    """The slot of a group, which is that of each of its keys."""
    return next(iter(group)).slot


def _members(groups: Iterable[frozenset[Placement]]) -> set[Placement]:
    return set(chain.from_iterable(groups))


def _lies_in(problem: Problem, placement: Placement, place: CollectionPlace) -> bool:
    question = next((question for question in problem.reads if question.read.id == place.read), None)
    return question is not None and any(lies_in(placement, question, need, place) for need in question.needs)


def _chains(groups: list[frozenset[Placement]]) -> Iterator[list[frozenset[Placement]]]:
    """The groups that have to change places together, because they have keys of the same entity.

    Of the groups {Order, Item}, {User} and {Order}, the first and the last are one chain, and {User} is another.
    """
    remaining = list(groups)
    while remaining:
        linked = [remaining.pop(0)]
        names = {placement.entity for placement in linked[0]}
        while linked_groups := [group for group in remaining if names & {placement.entity for placement in group}]:
            linked += linked_groups
            remaining = [group for group in remaining if group not in linked_groups]
            names |= {placement.entity for placement in _members(linked_groups)}
        yield linked


def _is_narrow(problem: Problem, design: Design, placement: Placement) -> bool:
    """Whether all reads of an entity in this index name the attributes they want."""
    slot = design.slots[placement.slot]

    def reads_entity(operation: Operation) -> bool:
        return any(r.slot == slot.name and placement.entity in r.entities for r in operation.requests)

    own_design = replace(design, operations=tuple(filter(reads_entity, design.operations)))
    return attributes_read(slot, own_design, problem.workload) is not None


def _exchange_slots(
    problem: Problem, selection: Selection, placements: set[Placement], slot: int, other: int
) -> Selection:
    """The selection with some keys of two slots in the other slot."""
    new_slots = {slot: other, other: slot}
    moved_keys: list[Placement] = []
    for placement in selection.placed:
        moves = placement in placements
        moved_keys.append(replace(placement, slot=new_slots[placement.slot]) if moves else placement)
    moved_places: list[CollectionPlace] = []
    for place in selection.collections:
        moves = any(_lies_in(problem, placement, place) for placement in placements)
        moved_places.append(replace(place, slot=new_slots[place.slot]) if moves else place)
    return replace(selection, placed=tuple(sorted(moved_keys)), collections=tuple(sorted(moved_places)))
