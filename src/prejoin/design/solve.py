"""The designer: from a workload to the table that serves it, `solve(workload)`. The same input, the same design."""

from __future__ import annotations

import msgspec

from prejoin.design.choose import Chosen, Score, choose
from prejoin.design.lay_out import lay_out
from prejoin.design.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.needs import questions
from prejoin.workload.model import Workload


class Solution(msgspec.Struct, frozen=True):
    """A design, and how good it is."""

    design: Design
    chosen: Chosen
    """The keys before they had words."""

    @property
    def score(self) -> Score:
        return self.chosen.score

    @property
    def exact(self) -> bool:
        """Whether no other design scores better; else it is the best of those that were looked at."""
        return self.chosen.exact


def solve(workload: Workload) -> Solution:
    """The design that serves all that keys can serve, with the fewest structures, and of those the cheapest."""
    asked, _ = questions(workload)
    chosen = choose(workload, asked)
    return Solution(map_patterns(lay_out(workload, asked, chosen), workload), chosen)
