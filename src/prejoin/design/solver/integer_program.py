"""An integer program, solved by HiGHS the same way on every machine: one thread, no gap, no clock."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "presolve": "off",  # that of HiGHS 1.15 was seen to call a program infeasible which its own last choice fulfils
    "mip_heuristic_run_feasibility_jump": False,  # 8 ms for the smallest program, and nothing found that was not found
    "random_seed": 0,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0,
    "mip_max_nodes": 5_000,
}


class InfeasibleError(Exception):
    """No choice meets all that is required."""


class OutOfTimeError(Exception):
    """The time limit struck before any choice was found."""


class TimeLimit:
    """A limit on the wall clock, shared by all programs of a design.

    When it strikes, each program keeps the best choice that it has. One that has none yet gets as long again to find
    its first. What was found depends on the machine, so a design that was cut short is not reproducible.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self.struck = False
        """Whether some search was cut short."""

    @property
    def left(self) -> float:
        return self._end - time.monotonic()


class IntegerProgram:
    """Yes-or-no variables, what must hold between them, and goals, each met before the next is looked at.

    >>> program = IntegerProgram()
    >>> bread, cake = program.choice(), program.choice()
    >>> program.at_least(1, {bread: 1, cake: 1})
    >>> program.minimise({bread: 1, cake: 5})
    1
    >>> program.chosen == {bread}
    True
    """

    def __init__(self, limit: TimeLimit | None = None) -> None:
        # Imported here and not above: whoever only reads, checks or serves needs no solver installed.
        import highspy

        self._highspy = highspy
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in _OPTIONS.items():
            self._highs.setOptionValue(name, value)
        self._limit = limit
        self._count = 0
        self._found = False
        self.chosen: frozenset[int] = frozenset()
        self.exact = True
        """Whether every goal was met to the end, and not only as far as the limit of nodes went."""
        self.bound = 0
        """What the last goal costs at least."""

    def choice(self) -> int:
        self._highs.addVar(0.0, 1.0)
        self._highs.changeColIntegrality(self._count, self._highspy.HighsVarType.kInteger)
        self._count += 1
        return self._count - 1

    def at_least(self, least: int, terms: Mapping[int, int]) -> None:
        self._row(least, math.inf, terms)

    def at_most(self, most: int, terms: Mapping[int, int]) -> None:
        self._row(-math.inf, most, terms)

    def _row(self, low: float, high: float, terms: Mapping[int, int]) -> None:
        self._highs.addRow(low, high, len(terms), list(terms), [float(weight) for weight in terms.values()])

    def minimise(self, costs: Mapping[int, int]) -> int:
        """The least cost; what is chosen from here on costs no more."""
        if self._limit is not None and not self._within(self._limit):
            # What was chosen for the goals before fulfils all that is required.
            self.exact, self.bound = False, 0
            return sum(cost for at, cost in costs.items() if at in self.chosen)
        for at in range(self._count):
            self._highs.changeColCost(at, float(costs.get(at, 0)))
        self._highs.run()
        status, info = self._highs.getModelStatus(), self._highs.getInfo()
        self.exact &= status in (self._highspy.HighsModelStatus.kOptimal, self._highspy.HighsModelStatus.kInfeasible)
        out_of_time = False
        if self._limit is not None:
            statuses = self._highspy.HighsModelStatus
            self._limit.struck |= status == statuses.kTimeLimit
            out_of_time = status == statuses.kTimeLimit or (self._limit.struck and status == statuses.kSolutionLimit)
        if info.primal_solution_status != self._highspy.kSolutionStatusFeasible:
            if out_of_time and self._found:
                self.bound = 0
                return sum(cost for at, cost in costs.items() if at in self.chosen)
            if out_of_time:
                raise OutOfTimeError
            raise InfeasibleError("" if self.exact else "no choice was found in as many steps as are allowed")
        self._found = True
        values = self._highs.getSolution().col_value
        self.chosen = frozenset(at for at in range(self._count) if values[at] > 0.5)
        best = sum(cost for at, cost in costs.items() if at in self.chosen)
        least = info.mip_dual_bound
        self.bound = best if status == self._highspy.HighsModelStatus.kOptimal else max(0, math.ceil(least - 1e-6))
        if costs:
            # Costs are whole numbers: half of one is room for what the solver takes for equal.
            self._row(-math.inf, best + 0.5, costs)
        return best

    def _within(self, limit: TimeLimit) -> bool:
        """Sets the solver's limits to what is left; false if there is no time, and a choice is there already."""
        left = limit.left
        if left <= 0:
            limit.struck = True
            if self._found:
                return False
            # Any choice will do now.
            self._highs.setOptionValue("mip_max_improving_sols", 1)
            left = max(left + limit.seconds, 0.0)
        # The solver's clock goes on from one run to the next.
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)
        return True
