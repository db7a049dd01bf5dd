"""Better keys by the real bill, in small steps: `improved(problem, chosen, steps, …)`, a local search.

The prices in the integer program are estimates in two respects. An index whose reads all name the attributes they want
may hold less than whole items, and that depends on all keys in it (`narrower`). And natural keys can spare a write that
reads first (`natural`). So the selection is changed step by step, and each step is measured as the finished design. A
step replaces one key by another that serves the same reads; or an entity's keys in the table and in an index by two
others, so that the table serves what the index did; or two indexes exchange the keys that depend on each other (two
keys of one entity cannot be in one index, and keys that are read together must be): a Kempe chain, as in graph
colouring; or a key that is hot because of what its index holds for other reads gets an index of its own. Steps are
tried in a fixed order until none gives a better design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from msgspec.structs import replace

from prejoin.design.cost.heat import hot_loads
from prejoin.design.cost.objective import Objective, objective
from prejoin.design.layout.projection import attributes_read
from prejoin.design.model import Design
from prejoin.design.solver.placement import (
    CollectionPlace,
    Placement,
    Problem,
    Selection,
    lies_in,
    placement_answers,
)
from prejoin.design.solver.repair import without_unread
from prejoin.design.solver.search import SearchCache, components
from prejoin.design.solver.taste import Taste
from prejoin.design.solver.violations import violations
from prejoin.workload.model import Result

MOST_STEPS = 200
"""The most steps that are tried."""

Finished = Callable[[Selection], Design]
"""Makes the design of a selection."""
Steps = Callable[[Problem, Selection, Finished, SearchCache], Iterator[Selection]]


def improved(
    problem: Problem,
    chosen: Selection,
    steps: Steps,
    cache: SearchCache,
    finished: Finished,
) -> tuple[Selection, Design]:
    """The best selection that the steps lead to, and its design."""
    design = finished(chosen)
    taste = Taste(problem.workload)
    best: tuple[object, ...] = ()
    tried = 0
    better = True
    while better:
        better = False
        for other in steps(problem, chosen, finished, cache):
            if tried == MOST_STEPS or (problem.limit and problem.limit.left <= 0):
                return chosen, design
            tried += 1
            best = best or _measure(problem, chosen, design, taste)  # often there is no step to compare with
            made = finished(other)
            found = _measure(problem, other, made, taste)
            if found < best and not any(violations(made, problem.workload)):
                best, chosen, design, better = found, other, made, True
                break
    return chosen, design


def _measure(problem: Problem, chosen: Selection, design: Design, taste: Taste) -> tuple[object, ...]:
    found: Objective = objective(problem.workload, design)
    equals = sum(taste(place) for place in chosen.placed)
    if problem.constraints.money:
        return found.lost, found.hot, found.dollars, found.complexity, equals
    return found.lost, found.complexity, found.reading_writes, found.queries_each, found.dollars, equals


def has_narrow_reads(problem: Problem) -> bool:
    """Whether some read does not want whole items."""
    return any(q.read.needs or q.read.result is Result.COUNT for q in problem.reads)


def narrower(problem: Problem, chosen: Selection, finished: Finished, cache: SearchCache) -> Iterator[Selection]:
    """Steps that may allow an index to hold less than whole items."""
    if not has_narrow_reads(problem):
        return
    yield from _exchanges(problem, chosen, finished(chosen))
    yield from _separations(problem, chosen, finished(chosen))
    if (rest := without_unread(problem, chosen, finished(chosen))) != chosen:
        yield rest
    for component in components(problem):
        for place, other in cache.alternatives(problem, component).narrowing(chosen):
            replaced = _replaced(problem, chosen, {place}, {other})
            yield replaced
            # The planner prefers the first of equal indexes: there the key relieves others of their reads.
            first = problem.fixed.indexes + 1
            if place.slot > first:
                moved = {p for p in replaced.placed if p.slot in (first, place.slot)}
                yield _exchanged(problem, replaced, moved, first, place.slot)
    for component in components(problem):
        for places, others in cache.alternatives(problem, component).turning(chosen.placed):
            turned = _replaced(problem, chosen, places, others)
            yield turned
            yield from _exchanges(problem, turned, finished(turned))


def natural(problem: Problem, chosen: Selection, _: Finished, cache: SearchCache) -> Iterator[Selection]:
    """Steps to cheaper keys that are as good if they are natural."""
    for component in components(problem):
        for place, other in cache.alternatives(problem, component).sparing(chosen):
            yield _replaced(problem, chosen, {place}, {other})


def _replaced(problem: Problem, chosen: Selection, places: set[Placement], others: set[Placement]) -> Selection:
    """The selection with other keys in place of some. What was read together there is read where they are."""

    def moved(way: CollectionPlace) -> CollectionPlace:
        if not any(_lies(problem, place, way) for place in places):
            return way
        now = [there for one in sorted(others) if _lies(problem, one, there := replace(way, slot=one.slot))]
        return way if way in now or not now else now[0]

    return replace(
        chosen,
        placed=tuple(sorted({*chosen.placed} - places | others)),
        together=tuple(sorted(map(moved, chosen.together))),
    )


def _exchanges(problem: Problem, chosen: Selection, design: Design) -> Iterator[Selection]:
    """The selection with other keys in two of its new indexes, where that could make one of them narrower."""
    new = range(problem.fixed.indexes + 1, chosen.indexes + 1)
    groups = _groups(problem, chosen)
    narrow = {p for group in groups for p in group if _is_narrow(problem, design, p)}
    for one, other in combinations(new, 2):
        here = [group for group in groups if next(iter(group)).slot in (one, other)]
        for chain in _chains(here):
            places = {place for group in chain for place in group}
            after: dict[int, set[Placement]] = {one: set(), other: set()}
            for place in (place for group in here for place in group):
                after[one + other - place.slot if place in places else place.slot].add(place)
            if any(found and found <= narrow for found in after.values()) or _relieves(problem, places):
                yield _exchanged(problem, chosen, places, one, other)


def _separations(problem: Problem, chosen: Selection, design: Design) -> Iterator[Selection]:
    """The selection with an index more, which may hold less because fewer reads use it.

    It is for a hot partition, or for one that a document asks to be cheap: either its key leaves the index that it
    shares with others, or it stays there for the reads that name attributes, and what else is there moves.
    """
    limits = problem.constraints
    new = chosen.indexes + 1
    if new > min(limits.indexes, limits.structures - chosen.copies):
        return
    hot = {(load.entity, load.slot) for load in hot_loads(problem.workload, design)}
    groups = _groups(problem, chosen)
    for group in groups:
        slot = next(iter(group)).slot
        there = {place for other in groups for place in other if place.slot == slot}
        name = design.slots[slot].name
        if not limits.money and not any((place.entity, name) in hot for place in group):
            continue
        if there > group:
            yield replace(_exchanged(problem, chosen, set(group), slot, new), indexes=new)
        if len(group) == 1:
            rest = _exchanged(problem, chosen, there - group, slot, new)
            twins = {replace(place, slot=new) for place in group}
            yield replace(rest, placed=tuple(sorted({*rest.placed, *twins})), indexes=new)


def _relieves(problem: Problem, places: set[Placement]) -> bool:
    """Whether two keys answer a read of whole items. Clients take the first index, so the other may hold less."""
    return any(
        sum(placement_answers(place, need) for place in places) > 1
        for question in problem.reads
        if question.ask.needs is None
        for need in question.needs
    )


def _groups(problem: Problem, chosen: Selection) -> list[frozenset[Placement]]:
    """The keys in new indexes; keys that a read of several entities finds together are one group."""
    groups = [frozenset({p}) for p in chosen.placed if p.slot > problem.fixed.indexes and not p.candidate.fixed]
    for way in chosen.together:
        found = {place for place in chosen.placed if _lies(problem, place, way)}
        joined = [group for group in groups if group & found]
        if joined:
            groups = [group for group in groups if not group & found] + [frozenset().union(*joined)]
    return sorted(groups, key=sorted)


def _lies(problem: Problem, place: Placement, way: CollectionPlace) -> bool:
    question = next((q for q in problem.reads if q.read.id == way.read), None)
    return question is not None and any(lies_in(place, question, n, way) for n in question.needs)


def _chains(groups: list[frozenset[Placement]]) -> Iterator[list[frozenset[Placement]]]:
    """The groups that have to change places together, because they have keys of the same entity."""
    left = list(groups)
    while left:
        chain = [left.pop(0)]
        names = {place.entity for place in chain[0]}
        while linked := [group for group in left if names & {place.entity for place in group}]:
            chain += linked
            left = [group for group in left if group not in linked]
            names |= {place.entity for group in linked for place in group}
        yield chain


def _is_narrow(problem: Problem, design: Design, place: Placement) -> bool:
    """Whether all reads of an entity in this index name the attributes they want."""
    slot = design.slots[place.slot]
    own = [
        operation
        for operation in design.operations
        if any(r.slot == slot.name and place.entity in r.entities for r in operation.requests)
    ]
    alone = replace(design, operations=tuple(own))
    return attributes_read(slot, alone, problem.workload) is not None


def _exchanged(problem: Problem, chosen: Selection, places: set[Placement], one: int, other: int) -> Selection:
    """The selection with some keys of two slots in the other slot."""
    turned = {one: other, other: one}
    ways = {way for way in chosen.together if any(_lies(problem, place, way) for place in places)}
    return replace(
        chosen,
        placed=tuple(sorted(replace(p, slot=turned[p.slot]) if p in places else p for p in chosen.placed)),
        together=tuple(sorted(replace(w, slot=turned[w.slot]) if w in ways else w for w in chosen.together)),
    )
