"""Repairs a selection whose search was cut short: `repair(problem, selection, design, cache)`.

The search finds keys first and cuts off what cannot be ordered afterwards. If it has to stop in between, some reads of
several entities are refused by the planner, although they can be served: their types are not neighbours in a partition
that they share with others. Each of them gets keys in an index of its own, or in one with other entities in it, where
nothing lies between them. That is one index more than the best selection needs, at most; but nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from prejoin.design.cost.objective import pattern_weight
from prejoin.design.model import Design
from prejoin.design.solver.needs import ReadNeeds
from prejoin.design.solver.placement import Placement, Problem, Selection
from prejoin.design.solver.search import SearchCache, components


def repair(problem: Problem, selection: Selection, design: Design, cache: SearchCache) -> Selection:
    """The selection with further keys for reads of several entities that the design refuses, as limits allow."""
    limits = problem.constraints
    most_indexes = min(limits.indexes, limits.structures - selection.copies)
    first = selection.indexes + 1
    for question in _refused_collections(problem, design):
        component = next(component for component in components(problem) if question in component.reads)
        keys = cache.alternatives(problem, component).own_index(question.read.id)
        if keys is None:
            continue
        place, placements = keys
        slot = _free_slot(selection, placements, range(first, most_indexes + 1))
        if slot is not None:
            new_placements = [replace(placement, slot=slot) for placement in placements]
            selection = replace(
                selection,
                placed=tuple(sorted((*selection.placed, *new_placements))),
                collections=tuple(sorted((*selection.collections, replace(place, slot=slot)))),
                indexes=max(selection.indexes, slot),
            )
    return selection


def _refused_collections(problem: Problem, design: Design) -> list[ReadNeeds]:
    """The reads of several entities that a design refuses, the most frequent first.

    A consistent read is left out: an index cannot answer it.
    """
    refusals = [question for question in problem.reads if question.read.id in design.unserved]
    eventual_reads = [question for question in refusals if not question.ask.consistent]
    collections = [question for question in eventual_reads if len(question.needs) > 1]
    return sorted(collections, key=lambda question: (-pattern_weight(question.read), question.read.id))


def _free_slot(selection: Selection, placements: Sequence[Placement], slots: range) -> int | None:
    """The first index without a key of these entities: an item has one key in each."""
    occupied_keys = {(placement.slot, placement.entity) for placement in selection.placed}
    for slot in slots:
        if occupied_keys.isdisjoint((slot, placement.entity) for placement in placements):
            return slot
    return None


def remove_unread_keys(problem: Problem, selection: Selection, design: Design) -> Selection:
    """The selection without keys in new indexes that no operation reads, and with consecutive indexes."""
    read_keys = _read_keys(design)
    last_fixed = problem.fixed.indexes
    remaining: list[Placement] = []
    for placement in selection.placed:
        is_old = placement.slot <= last_fixed or placement.candidate.fixed
        if is_old or (placement.slot, placement.entity) in read_keys:
            remaining.append(placement)
    new_slots = sorted({placement.slot for placement in remaining if placement.slot > last_fixed})
    numbers = {slot: number for number, slot in enumerate(new_slots, last_fixed + 1)}
    placements = [replace(placement, slot=numbers.get(placement.slot, placement.slot)) for placement in remaining]
    remaining_slots = {*range(last_fixed + 1), *numbers}
    places = [place for place in selection.collections if place.slot in remaining_slots]
    collections = [replace(place, slot=numbers.get(place.slot, place.slot)) for place in places]
    return replace(
        selection,
        placed=tuple(sorted(placements)),
        collections=tuple(sorted(collections)),
        indexes=last_fixed + len(new_slots),
    )


def _read_keys(design: Design) -> set[tuple[int, str]]:
    """The slots that operations read, with the entities that they read there."""
    numbers = {slot.name: number for number, slot in enumerate(design.slots)}
    read_keys: set[tuple[int, str]] = set()
    for operation in design.operations:
        for request in operation.requests:
            if request.slot in numbers:
                read_keys |= {(numbers[request.slot], name) for name in request.entities}
    return read_keys
