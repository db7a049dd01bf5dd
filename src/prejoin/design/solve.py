"""The designer: from a workload to the table that serves it, `solve(workload)`. The same input, the same design."""

from __future__ import annotations

from prejoin.design.choose import choose
from prejoin.design.lay_out import lay_out
from prejoin.design.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.needs import questions
from prejoin.workload.model import Workload


def solve(workload: Workload) -> Design:
    """The design that serves all that keys can serve, with the fewest structures, and of those the cheapest."""
    asked, _ = questions(workload)
    return map_patterns(lay_out(workload, asked, choose(workload, asked)), workload)
