"""What the search for a design established, in words: no more than was compared is claimed."""

from __future__ import annotations

from prejoin.design.cost.objective import BETWEEN_EQUALS, IN_WORDS
from prejoin.design.solver.decisions import decided
from prejoin.design.solver.solve import Solution
from prejoin.workload.model import Workload


def established(workload: Workload, solution: Solution) -> str:
    """What is known about a solved design, as a part of a sentence; empty where there is nothing to be fewer.

    The solver compares combinations of candidate keys, which are made from what reads give. Keys beyond these exist, so
    nothing is said about all designs.
    """
    chosen = solution.chosen
    keys = f"the {chosen.candidates:,} candidate keys"
    if decided(workload).money:
        found = "the cheapest" if solution.ended else "the cheapest found before the search reached its limit"
        return f"{found} of the combinations of {keys}, by what they cost to keep"
    if not solution.design.indexes and not solution.design.copies:
        return ""
    if not solution.ended:
        return f"the best found before the search reached its limit; {keys} need at least {chosen.least}"
    return f"no combination of {keys} serves as much with fewer indexes and copies"


def compared(workload: Workload, solution: Solution) -> tuple[str, ...]:
    """The same as whole sentences, with what decides between equals."""
    known = established(workload, solution)
    first = (f"{known[0].upper()}{known[1:]}.",) if known else ()
    if decided(workload).money:
        return first
    equals = f"Between equals the solver goes by estimates of {BETWEEN_EQUALS}."
    return (*first, f"Designs are compared by {IN_WORDS}. {equals}")
