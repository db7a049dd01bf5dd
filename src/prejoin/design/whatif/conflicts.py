"""Explains why a workload has no solution, by a minimal set of statements that conflict.

A statement is an access pattern, its strong consistency, a decision, or a part of an approved design. Statements are
removed one after the other, larger groups first, and stay removed while the rest still conflicts. What remains is an
irreducible infeasible set: without any one of its statements there is a solution.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import chain
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.excess import excess
from prejoin.design.model import TABLE, Design, Facet, Item, Slot
from prejoin.design.solver.needs import read_needs
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.search import choose, problem_of
from prejoin.design.whatif.change import Change, apply_change
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import (
    AtMost,
    CounterShards,
    FixedKey,
    Naming,
    Pin,
    Read,
    Spread,
    Under,
    Without,
    Workload,
)
from prejoin.workload.program.resolved_read import resolve_read

_BINDING = (AtMost, CounterShards, FixedKey, Naming, Spread, Under, Without)
"""Decisions that can make a workload infeasible."""


class ConflictStatement(msgspec.Struct, frozen=True, order=True):
    """A statement of the document or of an approved design that may be part of a conflict."""

    kind: Literal["pattern", "consistent", "decision", "kept"]
    name: str
    """The id of the pattern, the text of the decision, or the part of the design: `the index gsi1`."""

    def __str__(self) -> str:
        match self.kind:
            case "consistent":
                return f"{self.name} is read with strong consistency"
            case "decision":
                return f"the decision: {self.name}"
            case "kept":
                return f"the design that is kept has {self.name}"
            case "pattern":
                return f"{self.name} is asked"
            case _:
                assert_never(self.kind)


def conflicts(workload: Workload, approved_design: Design | None = None) -> tuple[tuple[ConflictStatement, ...], ...]:
    """Every conflict: after each one its last pattern is removed, until the remaining patterns have a solution."""
    conflict_sets = []
    while statements := conflict(workload, approved_design):
        conflict_sets.append(statements)
        patterns = [statement.name for statement in statements if statement.kind == "pattern"]
        if not patterns:
            break  # these decisions contradict each other, whatever the patterns are
        workload = apply_change(workload, Change(removed_names=(patterns[-1],)))
    return tuple(conflict_sets)


def conflict(workload: Workload, approved_design: Design | None = None) -> tuple[ConflictStatement, ...]:
    """A minimal set of statements that conflict; empty if there is a solution."""
    groups = [*_parts(approved_design), [*_statements(workload)]]

    def conflicts_with(number: int, group: list[ConflictStatement]) -> bool:
        statements = set(group).union(*groups[:number], *groups[number + 1 :])
        return not _is_possible(workload, approved_design, statements)

    if not conflicts_with(0, groups[0]):
        return ()
    for number in range(len(groups)):
        # Halves first: most statements have nothing to do with the conflict, and each try is a search.
        size = max(1, len(groups[number]) // 2)
        while size:
            start = 0
            while start < len(groups[number]):
                smaller = groups[number][:start] + groups[number][start + size :]
                if conflicts_with(number, smaller):
                    groups[number] = smaller
                else:
                    start += size
            size //= 2
    return tuple(chain.from_iterable(groups))


def _is_possible(workload: Workload, approved_design: Design | None, statements: Set[ConflictStatement]) -> bool:
    """Whether some keys serve all patterns, if only some statements hold."""
    part = apply_change(workload, _take_back_others(workload, approved_design, statements))
    all_needs, refusals = read_needs(part)
    if refusals:
        return False
    try:
        return not choose(problem_of(part, all_needs, approved_design and _only(approved_design, statements))).unserved
    except InfeasibleError:
        return False


def _take_back_others(workload: Workload, approved_design: Design | None, statements: Set[ConflictStatement]) -> Change:
    """The change after which no other statements hold."""
    asked_ids = {statement.name for statement in statements if statement.kind == "pattern"}
    weak_ids = asked_ids - {statement.name for statement in statements if statement.kind == "consistent"}
    dropped_patterns = [pattern.id for pattern in workload.patterns if pattern.id not in asked_ids]
    weak_reads = [read for read in workload.reads if read.id in weak_ids]
    # Without the names of the design that is kept, others can be given.
    are_names_free = approved_design is not None and _names(approved_design) not in statements
    removed_pins: list[Pin] = []
    for pin in [decision.pin for decision in workload.decisions]:
        is_free = isinstance(pin, Naming) and are_names_free
        if isinstance(pin, _BINDING) and (is_free or _decision(pin) not in statements):
            removed_pins.append(pin)
    return Change(
        patterns=tuple([replace(read, consistency=None) for read in weak_reads]),
        removed_names=tuple(dropped_patterns),
        removed_pins=tuple(removed_pins),
    )


def _parts(approved_design: Design | None) -> Iterator[list[ConflictStatement]]:
    """The parts of an approved design: keys and copies, then indexes, then names. They are removed before the
    document's.
    """
    if approved_design:
        own_keys: list[ConflictStatement] = []
        for item in approved_design.items:
            own_keys += [_key(item, facet) for facet in item.facets] if not item.copy else []
        yield [*own_keys, *map(_copy, approved_design.copies)]
        yield [*map(_index, approved_design.indexes)]
        yield [_names(approved_design)]


def _key(item: Item, facet: Facet) -> ConflictStatement:
    place = "" if facet.slot == TABLE else f" in {facet.slot}"
    templates = " and ".join([f"`{text}`" for text in facet.templates])
    return ConflictStatement("kept", f"the key {templates} of {item.entity}{place}")


def _copy(item: Item) -> ConflictStatement:
    return ConflictStatement("kept", f"the copy {item.name}")


def _index(slot: Slot) -> ConflictStatement:
    return ConflictStatement("kept", f"the index {slot.name}")


def _names(approved_design: Design) -> ConflictStatement:
    keys = " and ".join([f"`{name}`" for name in approved_design.table_keys]) or "none"
    names = f"the type attribute `{approved_design.type_attribute}` and the separator `{approved_design.separator}`"
    return ConflictStatement("kept", f"the name `{approved_design.table}`, the key attributes {keys}, {names}")


def _only(approved_design: Design, statements: Set[ConflictStatement]) -> Design:
    """The stated part of an approved design. An index stays if a key or a copy in it does."""
    items = []
    for item in approved_design.items:
        facets = tuple(f for f in item.facets if (_copy(item) if item.copy else _key(item, f)) in statements)
        if facets:
            items.append(replace(item, facets=facets))
    used_slots = {TABLE}
    for item in items:
        used_slots.update(facet.slot for facet in item.facets)
    slots = tuple([slot for slot in approved_design.slots if slot.name in used_slots or _index(slot) in statements])
    return replace(approved_design, slots=slots, items=tuple(items))


def _statements(workload: Workload) -> Iterator[ConflictStatement]:
    """All statements of a workload. The most telling ones come last, because the first ones are removed first."""
    for pattern in workload.patterns:
        # What reads too much does so with any keys: it conflicts with no other statement.
        if not (isinstance(pattern, Read) and excess(resolve_read(workload, pattern))):
            yield ConflictStatement("pattern", pattern.id)
    for read in workload.reads:
        if read.is_consistent:
            yield ConflictStatement("consistent", read.id)
    for decision in workload.decisions:
        if isinstance(decision.pin, _BINDING):
            yield _decision(decision.pin)


def _decision(pin: Pin) -> ConflictStatement:
    return ConflictStatement("decision", write_pin(pin))
