"""The designs worth choosing between: `frontier(workload)`, the Pareto front of complexity against money.

Every design on it serves as much as the best one, and none of them is both simpler and cheaper than another. Each comes
from decisions, so that it can be taken by adding them to the document or to the command.

If some reads may use a filter, a design can be simpler and cheaper than all of these. Such designs are listed as well,
and take nothing off the front: a filter reads more than it returns, so it is for the reader to accept.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from msgspec.structs import replace

from prejoin.design.cost.objective import Objective, objective
from prejoin.design.explain.relaxations import accepted_filters
from prejoin.design.model import Design
from prejoin.design.solver.program.integer_program import InfeasibleError, OutOfTimeError, TimeLimit
from prejoin.design.solver.solve import Solution, solve
from prejoin.workload.model import Accept, AtMost, Decision, Minimise, Model, Pin, Workload

LARGE_SAVING = Decimal("0.1")
"""The fraction of the bill that one more structure has to save to be proposed."""
_CHEAPEST = Minimise("money")


class FrontierPoint(Model, frozen=True):
    """One design: the decisions that give it, its complexity and its price."""

    decisions: tuple[Pin, ...]
    """Empty for the design that the solver chooses."""
    complexity: Decimal
    dollars: Decimal
    """Dollars a month."""
    indexes: int
    copies: int
    reading_writes: int
    """Writes that have to read first."""
    design: Design

    @property
    def relaxed(self) -> bool:
        """Whether reads use a filter that they would not use without the decisions."""
        return any(isinstance(pin, Accept) for pin in self.decisions)

    @property
    def structures(self) -> int:
        return self.indexes + self.copies


def frontier(
    workload: Workload, solution: Solution, kept: Design | None = None, seconds: float | None = None
) -> tuple[FrontierPoint, ...]:
    """The designs that no other one beats in both complexity and money, and those with accepted filters that beat
    them; the simplest first.

    `solution` is the design that is chosen without further decisions, and always one of them. `seconds` limits the time
    of each search.
    """
    ours = _Tries(workload, solution, kept, seconds)
    front = _front([ours.chosen, *ours.others()])
    relaxed = [point for point in _front([*front, *ours.relaxed(solution.design)]) if point.relaxed]
    if ours.chosen not in front:  # beaten: the solver was stopped early, or other goals were decided
        front.append(ours.chosen)
    return tuple(sorted([*front, *relaxed], key=lambda one: (one.complexity, one.dollars, one.relaxed)))


def _front(points: list[FrontierPoint]) -> list[FrontierPoint]:
    """The points that no other one beats."""
    best: list[FrontierPoint] = []
    for point in sorted(points, key=lambda one: (one.complexity, one.dollars, len(one.decisions), str(one.decisions))):
        if not best or point.dollars < best[-1].dollars:
            best.append(point)
    return best


def proposal(
    workload: Workload, solution: Solution, kept: Design | None = None, seconds: float | None = None
) -> FrontierPoint | None:
    """A design that costs over 10 % less with one more structure; None if there is none."""
    ours = _Tries(workload, solution, kept, seconds)
    chosen = ours.chosen
    other = ours.tried(_CHEAPEST, AtMost("structures", chosen.structures + 1))
    if other is None or other.dollars >= chosen.dollars * (1 - LARGE_SAVING):
        return None
    return other


class _Tries:
    """Solves a workload with further decisions."""

    def __init__(self, workload: Workload, solution: Solution, kept: Design | None, seconds: float | None) -> None:
        self.workload = workload
        self.kept = kept
        self.seconds = seconds
        self._best = objective(workload, solution.design)
        self.chosen = self._point((), solution.design, self._best)

    def others(self) -> Iterator[FrontierPoint]:
        """The cheapest designs, with any number of structures and with fewer and fewer."""
        cheapest = self.tried(_CHEAPEST)
        if cheapest is None:
            return
        yield cheapest
        if cheapest.copies and (plain := self.tried(_CHEAPEST, AtMost("copies", 0))):
            yield plain
        for most in range(cheapest.structures - 1, -1, -1):
            limited = self.tried(_CHEAPEST, AtMost("structures", most))
            if limited is None:
                break
            yield limited

    def relaxed(self, design: Design) -> Iterator[FrontierPoint]:
        """Simpler designs in which some reads use a filter."""
        for pins in accepted_filters(self.workload, design, self.kept):
            if (found := self.tried(*pins)) is not None:
                yield found

    def tried(self, *pins: Pin) -> FrontierPoint | None:
        """The design with these decisions; None if there is none that serves as much."""
        decided = replace(self.workload, decisions=(*self.workload.decisions, *map(Decision, pins)))
        try:
            design = solve(decided, self.kept, limit=None if self.seconds is None else TimeLimit(self.seconds)).design
        except (InfeasibleError, OutOfTimeError):
            return None
        found = objective(self.workload, design)
        return self._point(pins, design, found) if found.lost <= self._best.lost else None

    def _point(self, pins: tuple[Pin, ...], design: Design, found: Objective) -> FrontierPoint:
        return FrontierPoint(
            pins,
            found.complexity,
            found.dollars,
            len(design.indexes),
            len(design.copies),
            found.reading_writes,
            design,
        )
