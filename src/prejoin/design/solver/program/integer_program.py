"""An integer program of 0/1 variables with lexicographic goals, solved by HiGHS.

The result is the same on every machine: one thread, a fixed seed, no gap, and a limit on nodes instead of the clock.
Goals are lexicographic: each call of `minimise` finds the least cost and then adds the constraint that this cost is not
exceeded, so later goals decide only between equals. All costs are integers, so half a unit of slack is safe against
rounding. If the node limit ends a search, `exact` is false and `bound` is the lower bound that HiGHS proved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "presolve": "off",  # HiGHS 1.15 with presolve called a program infeasible that its own last solution satisfies
    "mip_heuristic_run_feasibility_jump": False,  # costs 8 ms for the smallest program and found nothing new
    "random_seed": 0,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0,
    "mip_max_nodes": 5_000,
}


_FEW_SELECTIONS = 3
"""Better and better selections that a program finds after the time limit."""


class InfeasibleError(Exception):
    """No selection satisfies all constraints."""


class OutOfTimeError(Exception):
    """The time limit was reached before any selection was found."""


class TimeLimit:
    """A wall-clock limit, shared by all programs of a design.

    The search ends before it and leaves a reserve, in which its last programs are solved. If these need longer, each
    gets a little more time. The result then depends on the machine, so a design that was cut short is not reproducible.
    """

    _RESERVE = 0.3
    """The reserve as a part of the whole time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds * (1 - self._RESERVE)
        self.struck = False
        """Whether some search was cut short."""

    @property
    def left(self) -> float:
        """The seconds until the search ends."""
        return self._end - time.monotonic()

    @property
    def reserve(self) -> float:
        """The seconds until the whole time is over."""
        return self.left + self.seconds * self._RESERVE


class IntegerProgram:
    """Variables that are 0 or 1, constraints between them, and goals that are minimised one after the other.

    >>> program = IntegerProgram()
    >>> bread, cake = program.choice(), program.choice()
    >>> program.at_least(1, {bread: 1, cake: 1})
    >>> program.minimise({bread: 1, cake: 5})
    1
    >>> program.chosen == {bread}
    True
    """

    def __init__(self, limit: TimeLimit | None = None) -> None:
        # Imported here, because reading, checking and serving a design do not need the solver installed.
        import highspy

        self._highspy = highspy
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in _OPTIONS.items():
            self._highs.setOptionValue(name, value)
        self._limit = limit
        self._count = 0
        self._integers = 0
        self._found = False
        self._start: dict[int, int] = {}
        self.chosen: frozenset[int] = frozenset()
        self.exact = True
        """Whether every goal was minimised to the end, not only up to the node limit."""
        self.bound = 0
        """The lower bound of the last goal."""

    def choice(self) -> int:
        self._highs.addVar(0.0, 1.0)
        self._count += 1
        return self._count - 1

    def _declare_integers(self) -> None:
        """Make all new variables integers, in one call: HiGHS takes time in proportion to the columns for each call."""
        new = list(range(self._integers, self._count))
        if new:
            kinds = [self._highspy.HighsVarType.kInteger.value] * len(new)
            self._highs.changeColsIntegrality(len(new), new, kinds)  # type: ignore[arg-type]
            self._integers = self._count

    def at_least(self, bound: int, terms: Mapping[int, int]) -> None:
        self._row(bound, math.inf, terms)

    def at_most(self, bound: int, terms: Mapping[int, int]) -> None:
        self._row(-math.inf, bound, terms)

    def _row(self, low: float, high: float, terms: Mapping[int, int]) -> None:
        self._highs.addRow(low, high, len(terms), list(terms), [float(weight) for weight in terms.values()])

    def suggest(self, values: Mapping[int, int]) -> None:
        """Give the next search values of some variables to start from, if it has no time to look for its own."""
        if self._limit is not None and self._limit.left <= 0:
            self._start = dict(values)

    def minimise(self, costs: Mapping[int, int], slack: int = 0) -> int:
        """Minimise a cost and return it. From here on no selection may cost more, or more than `slack` more."""
        # One piece: the calls of HiGHS in their order, and what each status means.
        if self._limit is not None:
            self._set_time(self._limit)
        self._declare_integers()
        columns = list(range(self._count))
        self._highs.changeColsCost(self._count, columns, [float(costs.get(at, 0)) for at in columns])
        if self._start:
            self._highs.setSolution(len(self._start), list(self._start), [float(v) for v in self._start.values()])
            self._start = {}
        self._highs.run()
        status, info = self._highs.getModelStatus(), self._highs.getInfo()
        self.exact &= status in (self._highspy.HighsModelStatus.kOptimal, self._highspy.HighsModelStatus.kInfeasible)
        out_of_time = False
        if self._limit is not None:
            out_of_time = status == self._highspy.HighsModelStatus.kTimeLimit
            self._limit.struck |= out_of_time
        if info.primal_solution_status != self._highspy.kSolutionStatusFeasible:
            if out_of_time and self._found:
                # The selection for the earlier goals satisfies all constraints.
                self.bound = 0
                return sum(cost for at, cost in costs.items() if at in self.chosen)
            if out_of_time:
                raise OutOfTimeError
            raise InfeasibleError("" if self.exact else "no selection was found within the node limit")
        self._found = True
        values = self._highs.getSolution().col_value
        self.chosen = frozenset(at for at in range(self._count) if values[at] > 0.5)
        best = sum(cost for at, cost in costs.items() if at in self.chosen)
        dual_bound = info.mip_dual_bound
        self.bound = best if status == self._highspy.HighsModelStatus.kOptimal else max(0, math.ceil(dual_bound - 1e-6))
        if costs:
            # Costs are integers: half a unit is slack for the tolerance of the solver.
            self._row(-math.inf, best + slack + 0.5, costs)
        return best

    def _set_time(self, limit: TimeLimit) -> None:
        """Set the solver's limit to the remaining time, or to a little more."""
        seconds = limit.left
        if seconds <= 0:
            limit.struck = True
            # Most programs take milliseconds. One without any selection gets the time to find the first few.
            seconds = max(limit.reserve / 4, limit.seconds / (50 if self._found else 1))
            self._highs.setOptionValue("mip_max_improving_sols", _FEW_SELECTIONS)
        # The solver's clock continues from one run to the next.
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + seconds)
