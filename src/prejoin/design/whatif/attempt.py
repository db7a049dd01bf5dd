"""`WhatIf(workload, solution).attempt(change)`: the design of a changed document, compared with the design as it is."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.assumptions import per_second
from prejoin.design.cost.bill import bill, pattern_cost
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Operation
from prejoin.design.phrases import count, money, natural_order
from prejoin.design.solver.program.integer_program import InfeasibleError, OutOfTimeError, TimeLimit
from prejoin.design.solver.solve import Solution, solve
from prejoin.design.whatif.alternative import Alternative
from prejoin.design.whatif.change import Change, apply_change
from prejoin.design.whatif.document_lines import changed_lines
from prejoin.protocol.prices import MONTH_SECONDS, dollars
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import Read, Workload, Write


class Failure(StrEnum):
    """Why a changed document has no design."""

    CONTRADICTION = "contradiction"
    """Its decisions contradict each other, or the design that is kept."""
    TIME = "time"
    """None was found in the time."""


class Outcome(msgspec.Struct, frozen=True):
    """A change, and its design in differences from the design as it is: less than 0 is fewer, or cheaper."""

    change: Change
    workload: Workload
    """The changed document."""
    design: Design | None
    """None if it has no design."""
    failure: Failure | None = None
    price: float = 0.0
    """Dollars a month."""
    dollars: float = 0.0
    """The difference of the price."""
    structures: int = 0
    copies: int = 0
    lost_patterns: tuple[str, ...] = ()
    """Patterns that are no longer served."""
    gained_patterns: tuple[str, ...] = ()
    """Patterns that are served now."""
    reading_writes: tuple[str, ...] = ()
    """Writes that read more before they write."""


class WhatIf:
    """The designs of changed documents. Each is solved once."""

    def __init__(
        self, workload: Workload, solution: Solution, kept: Design | None = None, seconds: float | None = None
    ) -> None:
        """`kept` stays as it is in each design, and `seconds` limits the time for each."""
        self.workload = workload
        self.solution = solution
        self.design = solution.design
        self.kept = kept
        self.price = price_of(workload, solution.design)
        self._seconds = seconds
        self._solved: list[tuple[Workload, Solution | Failure]] = [(workload, solution)]

    def attempt(self, change: Change) -> Outcome:
        """The outcome of a change."""
        changed_workload = apply_change(self.workload, change)
        solution = self._solve(changed_workload)
        if isinstance(solution, Failure):
            return Outcome(change, changed_workload, None, solution)
        return self._compare(change, changed_workload, solution.design)

    def lines_of(self, change: Change) -> tuple[str, ...]:
        """The text by which an author makes a change: sentences of decisions, or lines of the document."""
        if change.pins:
            return tuple(map(write_pin, change.pins))
        return tuple(changed_lines(self.workload, apply_change(self.workload, change)))

    def alternative(self, outcome: Outcome, text: str, *, changes_document: bool = False) -> Alternative:
        """An outcome that serves as much, as an explanation lists it, with the text by which it is taken."""
        lines = self.lines_of(outcome.change)
        return Alternative(text, outcome.structures, outcome.dollars, take=lines, changes_document=changes_document)

    def attempt_best(self, changes: Iterable[Change], limit: int) -> list[Outcome]:
        """The outcomes of the changes that may save most, by an estimate."""
        return list(map(self.attempt, self.best_changes(changes, limit)))

    def best_changes(self, changes: Iterable[Change], limit: int) -> list[Change]:
        candidates = list(changes)
        if len(candidates) > limit:
            candidates.sort(key=self.estimate_gain, reverse=True)
        return candidates[:limit]

    def estimate_gain(self, change: Change) -> float:
        """Dollars a month that a change may save: an estimate, without a solution of its own.

        Changed reads are mapped to the design as it is, which then drops what no pattern needs. A read of a new entity
        counts as free, and a write that writes another item as a transaction, which takes two units for each.
        """
        reads = tuple(pattern for pattern in change.patterns if isinstance(pattern, Read))
        # Writes keep their requests: only reads are mapped to the design as it is.
        only_reads = Change(entities=change.entities, patterns=reads, removed_names=change.spared_reads)
        workload = apply_change(self.workload, only_reads)
        design = map_patterns(self.design, workload)
        gain = price_of(workload, design) - price_of(workload, self._without_unused(workload, design))
        for pattern in change.patterns:
            before = self.workload.pattern(pattern.id)
            if isinstance(pattern, Read) and before:
                dollars_saved = pattern_cost(before, self.design).dollars - pattern_cost(pattern, design).dollars
                gain += float(dollars_saved)
            elif isinstance(pattern, Write) and isinstance(before, Write):
                units = 2 * (len(pattern.actions) - len(before.actions))
                gain -= float(dollars(writes=units * per_second(pattern.rate) * MONTH_SECONDS))
        return gain

    def _without_unused(self, workload: Workload, design: Design) -> Design:
        """A design without the indexes and copies that no pattern needs."""
        for name in removable_structures(design, self.kept):
            smaller = map_patterns(without_structure(design, name), workload)
            if smaller.unserved <= design.unserved:
                design = smaller
        return design

    def _solve(self, workload: Workload) -> Solution | Failure:
        for solved_change, solution in self._solved:
            if solved_change == workload:
                return solution
        # The limit is for each attempt, and not for all of them together.
        limit = None if self._seconds is None else TimeLimit(self._seconds)
        result: Solution | Failure
        try:
            result = solve(workload, self.kept, limit=limit)
        except InfeasibleError:
            result = Failure.CONTRADICTION
        except OutOfTimeError:
            result = Failure.TIME
        self._solved.append((workload, result))
        return result

    def _compare(self, change: Change, changed_workload: Workload, design: Design) -> Outcome:
        price = price_of(changed_workload, design)
        before, after = self.design.unserved, design.unserved
        reading_writes: list[str] = []
        for operation in design.operations:
            reads_now = _reads_before(self.design.operation(operation.pattern))
            if _reads_before(operation) > reads_now:
                reading_writes.append(operation.pattern)
        return Outcome(
            change,
            changed_workload,
            design,
            price=price,
            dollars=price - self.price,
            structures=design.structures - self.design.structures,
            copies=len(design.copies) - len(self.design.copies),
            lost_patterns=tuple(natural_order(after - before)),
            gained_patterns=tuple(natural_order(before - after - {*change.removed_names})),
            reading_writes=tuple(natural_order(reading_writes)),
        )


def compared_price(dollars: float) -> str:
    """
    >>> compared_price(3.2), compared_price(-3.2)
    ('$3.20 a month more', '$3.20 a month less')
    """
    return f"{money(abs(dollars))} a month {'more' if dollars >= 0 else 'less'}"


def price_of(workload: Workload, design: Design) -> float:
    """Dollars a month for a mapped design."""
    return float(bill(workload, design).total)


def shape_of(design: Design) -> str:
    """The number of its structures in words."""
    return f"{count(len(design.indexes), 'GSI')} and {count(len(design.copies), 'copy', 'copies')}"


def removable_structures(design: Design, approved_design: Design | None) -> list[str]:
    """The names of the indexes and copies that are not in use."""
    used_names = _structure_names(approved_design) if approved_design else []
    return [name for name in _structure_names(design) if name not in used_names]


def _structure_names(design: Design) -> list[str]:
    return [slot.name for slot in design.indexes] + [item.name for item in design.copies]


def without_structure(design: Design, name: str) -> Design:
    """A design without one of its indexes or copies, not mapped again."""
    slots = tuple(slot for slot in design.slots if slot.name != name)
    items = []
    for item in design.items:
        if not item.copy or item.name != name:
            facets = tuple(facet for facet in item.facets if facet.slot != name)
            items.append(replace(item, facets=facets))
    return replace(design, slots=slots, items=tuple(items))


def _reads_before(operation: Operation | None) -> int:
    """The reads of a write, before it writes."""
    requests = operation.requests if operation else ()
    # A read, or an operation that is not served.
    if not any(request.actions for request in requests):
        return 0
    return sum(not request.actions for request in requests)
