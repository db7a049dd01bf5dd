"""The designs worth choosing between: `frontier(what_if)`, the Pareto front of complexity against money.

Every design on it serves as much as the best one, and none of them is both simpler and cheaper than another. Each comes
from decisions, so that it can be taken by adding them to the document or to the command.

If some reads may use a filter, a design can be simpler and cheaper than all of these. Such designs are listed as well,
and take nothing off the front: a filter reads more than it returns, so it is for the reader to accept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from prejoin.design.cost.objective import Objective, objective
from prejoin.design.model import Design
from prejoin.design.whatif.attempt import WhatIf
from prejoin.design.whatif.change import Change
from prejoin.design.whatif.filters import filter_changes
from prejoin.workload.model import Accept, AtMost, Minimise, Model, Pin

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


def frontier(what_if: WhatIf) -> tuple[FrontierPoint, ...]:
    """The designs that no other one beats in both complexity and money, and those with accepted filters that beat
    them; the simplest first. The design as it is is always one of them.
    """
    chosen_point = _current_point(what_if)
    front = _remove_beaten([chosen_point, *_cheapest_points(what_if)])
    attempts = [_attempt(what_if, *change.pins) for change in filter_changes(what_if)]
    filtered_points = [point for point in attempts if point]
    relaxed_points = [point for point in _remove_beaten([*front, *filtered_points]) if point.relaxed]
    if chosen_point not in front:  # beaten: the solver was stopped early, or other goals were decided
        front.append(chosen_point)
    return tuple(sorted([*front, *relaxed_points], key=lambda point: (point.complexity, point.dollars, point.relaxed)))


def propose(what_if: WhatIf) -> FrontierPoint | None:
    """A design that costs over 10 % less with one more structure; None if there is none."""
    chosen_point = _current_point(what_if)
    cheaper = _attempt(what_if, _CHEAPEST, AtMost("structures", chosen_point.structures + 1))
    if cheaper is None or cheaper.dollars >= chosen_point.dollars * (1 - LARGE_SAVING):
        return None
    return cheaper


def _cheapest_points(what_if: WhatIf) -> Iterator[FrontierPoint]:
    """The cheapest designs, with any number of structures and with fewer and fewer."""
    cheapest = _attempt(what_if, _CHEAPEST)
    if cheapest is None:
        return
    yield cheapest
    if cheapest.copies and (without_copies := _attempt(what_if, _CHEAPEST, AtMost("copies", 0))):
        yield without_copies
    # One structure fewer each time, until something cannot be served.
    for limit in range(cheapest.structures - 1, -1, -1):
        limited_point = _attempt(what_if, _CHEAPEST, AtMost("structures", limit))
        if limited_point is None:
            break
        yield limited_point


def _remove_beaten(points: Sequence[FrontierPoint]) -> list[FrontierPoint]:
    """The points that no other one beats: from simple to complex, each has to be cheaper than those before it."""
    best: list[FrontierPoint] = []
    for point in sorted(points, key=_simplest_first):
        if not best or point.dollars < best[-1].dollars:
            best.append(point)
    return best


def _simplest_first(point: FrontierPoint) -> tuple[Decimal, Decimal, int, str]:
    return point.complexity, point.dollars, len(point.decisions), str(point.decisions)


def _current_point(what_if: WhatIf) -> FrontierPoint:
    return _point((), what_if.design, objective(what_if.workload, what_if.design))


def _attempt(what_if: WhatIf, *pins: Pin) -> FrontierPoint | None:
    """The design with some decisions; None if there is none that serves as much."""
    design = what_if.attempt(Change(pins=pins)).design
    if design is None:
        return None
    # Decisions may allow what the document does not, so the design is judged without them.
    costs = objective(what_if.workload, design)
    return _point(pins, design, costs) if costs.lost <= objective(what_if.workload, what_if.design).lost else None


def _point(pins: tuple[Pin, ...], design: Design, costs: Objective) -> FrontierPoint:
    return FrontierPoint(
        pins,
        costs.complexity,
        costs.dollars,
        len(design.indexes),
        len(design.copies),
        costs.reading_writes,
        design,
    )
