"""An integer program, solved by HiGHS the same way on every machine: one thread, no gap, no clock."""

from __future__ import annotations

import math
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


class Program:
    """Yes-or-no variables, what must hold between them, and goals, each met before the next is looked at.

    >>> program = Program()
    >>> bread, cake = program.choice(), program.choice()
    >>> program.at_least(1, {bread: 1, cake: 1})
    >>> program.minimise({bread: 1, cake: 5})
    1
    >>> program.chosen == {bread}
    True
    """

    def __init__(self) -> None:
        # Imported here and not above: whoever only reads, checks or serves needs no solver installed.
        import highspy

        self._highspy = highspy
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in _OPTIONS.items():
            self._highs.setOptionValue(name, value)
        self._count = 0
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
        for at in range(self._count):
            self._highs.changeColCost(at, float(costs.get(at, 0)))
        self._highs.run()
        status, info = self._highs.getModelStatus(), self._highs.getInfo()
        self.exact &= status in (self._highspy.HighsModelStatus.kOptimal, self._highspy.HighsModelStatus.kInfeasible)
        if info.primal_solution_status != self._highspy.kSolutionStatusFeasible:
            raise InfeasibleError("" if self.exact else "no choice was found in as many steps as are allowed")
        values = self._highs.getSolution().col_value
        self.chosen = frozenset(at for at in range(self._count) if values[at] > 0.5)
        best = sum(cost for at, cost in costs.items() if at in self.chosen)
        least = info.mip_dual_bound
        self.bound = best if status == self._highspy.HighsModelStatus.kOptimal else max(0, math.ceil(least - 1e-6))
        if costs:
            # Costs are whole numbers: half of one is room for what the solver takes for equal.
            self._row(-math.inf, best + 0.5, costs)
        return best
