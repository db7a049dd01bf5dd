"""Which keys share an index: `arranged(problem, chosen, design, finished)` tries other arrangements by the real bill.

The number of an index means nothing to the integer program, but an index whose reads all name the attributes they want
may hold less than whole items. So keys with such reads are worth keeping apart from the others. Two indexes exchange
the keys that depend on each other (two keys of one entity cannot be in one index, and keys that are read together must
be): a Kempe chain, as in graph colouring. Exchanges are tried in a fixed order until none gives a better design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from msgspec.structs import replace

from prejoin.design.cost.objective import Objective, objective
from prejoin.design.layout.projection import attributes_read
from prejoin.design.model import Design
from prejoin.design.solver.placement import BASE, CollectionPlace, Placement, Problem, Selection, lies_in
from prejoin.workload.model import Result

MOST_EXCHANGES = 200
"""The most arrangements that are compared."""


def arranged(
    problem: Problem, chosen: Selection, design: Design, finished: Callable[[Selection], Design]
) -> tuple[Selection, Design]:
    """The best arrangement of the selected keys in the indexes, and its design. `finished` makes the design."""
    best = _measure(problem, design)
    tried = 0
    improved = _may_be_narrow(problem)
    while improved:
        improved = False
        for other in _exchanges(problem, chosen, design):
            if tried == MOST_EXCHANGES or (problem.limit and problem.limit.left <= 0):
                return chosen, design
            tried += 1
            made = finished(other)
            found = _measure(problem, made)
            if found < best:
                best, chosen, design, improved = found, other, made, True
                break
    return chosen, design


def _measure(problem: Problem, design: Design) -> tuple[object, ...]:
    found: Objective = objective(problem.workload, design)
    if problem.constraints.money:
        return found.lost, found.dollars, found.complexity
    return found.lost, found.complexity, found.reading_writes, found.dollars


def _may_be_narrow(problem: Problem) -> bool:
    """Whether some read names the attributes that it wants."""
    return any(q.read.needs or q.read.result is Result.COUNT for q in problem.reads)


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
            if any(found and found <= narrow for found in after.values()):
                yield _exchanged(problem, chosen, places, one, other)


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
    return question is not None and way.slot != BASE and any(lies_in(place, question, n, way) for n in question.needs)


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
    turned = {one: other, other: one}
    ways = {way for way in chosen.together if any(_lies(problem, place, way) for place in places)}
    return replace(
        chosen,
        placed=tuple(sorted(replace(p, slot=turned[p.slot]) if p in places else p for p in chosen.placed)),
        together=tuple(sorted(replace(w, slot=turned[w.slot]) if w in ways else w for w in chosen.together)),
    )
