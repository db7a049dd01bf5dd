"""Repairs a selection whose search was cut short: `repaired(problem, chosen, design, cache)`.

The search finds keys first and cuts off what cannot be ordered afterwards. If it has to stop in between, some reads of
several entities are refused by the planner, although they can be served: their types are not neighbours in a partition
that they share with others. Each of them gets keys in an index of its own, or in one with other entities in it, where
nothing lies between them. That is one index more than the best selection needs, at most; but nothing is lost.
"""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.design.cost.objective import pattern_weight
from prejoin.design.model import Design
from prejoin.design.solver.placement import Problem, Selection
from prejoin.design.solver.search import SearchCache, components


def repaired(problem: Problem, chosen: Selection, design: Design, cache: SearchCache) -> Selection:
    """The selection with further keys for reads of several entities that the design refuses, as limits allow."""
    limits = problem.constraints
    most = min(limits.indexes, limits.structures - chosen.copies)
    first = chosen.indexes + 1
    refused = {operation.pattern for operation in design.operations if not operation.served}
    by_weight = sorted(
        (q for q in problem.reads if q.read.id in refused and len(q.needs) > 1 and not q.ask.consistent),
        key=lambda q: (-pattern_weight(q.read), q.read.id),
    )
    for question in by_weight:
        component = next(c for c in components(problem) if question in c.reads)
        found = cache.alternatives(problem, component).own_index(question.read.id)
        if found is None:
            continue
        way, placed = found
        taken = {(place.slot, place.entity) for place in chosen.placed}
        free = (n for n in range(first, most + 1) if not any((n, place.entity) in taken for place in placed))
        slot = next(free, None)
        if slot is not None:
            chosen = replace(
                chosen,
                placed=tuple(sorted((*chosen.placed, *(replace(place, slot=slot) for place in placed)))),
                together=tuple(sorted((*chosen.together, replace(way, slot=slot)))),
                indexes=max(chosen.indexes, slot),
            )
    return chosen


def without_unread(problem: Problem, chosen: Selection, design: Design) -> Selection:
    """The selection without keys in new indexes that no operation reads, and with consecutive indexes."""
    read = {
        (slot, name)
        for operation in design.operations
        for request in operation.requests
        for slot, one in enumerate(design.slots)
        if one.name == request.slot
        for name in request.entities
    }
    old = problem.fixed.indexes
    placed = [p for p in chosen.placed if p.slot <= old or p.candidate.fixed or (p.slot, p.entity) in read]
    used = sorted({p.slot for p in placed if p.slot > old})
    numbers = {slot: number for number, slot in enumerate(used, old + 1)}
    return replace(
        chosen,
        placed=tuple(sorted(replace(p, slot=numbers.get(p.slot, p.slot)) for p in placed)),
        together=tuple(
            sorted(
                replace(w, slot=numbers.get(w.slot, w.slot))
                for w in chosen.together
                if w.slot <= old or w.slot in numbers
            )
        ),
        indexes=old + len(used),
    )
