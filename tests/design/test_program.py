"""Integer programs: what is found is the best, and where the search is cut off no more is claimed than is known."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from prejoin.design.solver.program import integer_program
from prejoin.design.solver.program.integer_program import InfeasibleError, IntegerProgram


def covering(random: Random, choices: int, rows: int) -> tuple[list[list[int]], dict[int, int]]:
    """Sets of which one member each must be chosen, and what choices cost."""
    sets = [random.sample(range(choices), 3) for _ in range(rows)]
    return sets, {at: random.randint(3, 9) for at in range(choices)}


def posed(sets: list[list[int]], costs: dict[int, int]) -> IntegerProgram:
    found = IntegerProgram()
    for _ in costs:
        found.choice()
    for one in sets:
        found.at_least(1, dict.fromkeys(one, 1))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_least_cost_is_found(seed: int) -> None:
    sets, costs = covering(Random(seed), 10, 8)
    every = [set(chosen) for size in range(11) for chosen in combinations(range(10), size)]
    best = min(sum(costs[at] for at in chosen) for chosen in every if all(chosen & set(one) for one in sets))
    posed_ = posed(sets, costs)
    assert posed_.minimise(costs) == best == posed_.bound
    assert posed_.exact


def test_goals_are_met_one_after_the_other() -> None:
    sets, costs = covering(Random(1), 10, 8)
    found = posed(sets, costs)
    fewest = found.minimise(dict.fromkeys(costs, 1))
    found.minimise(costs)
    assert len(found.chosen) == fewest


@pytest.mark.slow
def test_a_search_that_is_cut_off_tells_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    sets, costs = covering(Random(0), 70, 140)
    best = posed(sets, costs).minimise(costs)
    monkeypatch.setitem(integer_program._OPTIONS, "mip_max_nodes", 1)
    cut = posed(sets, costs)
    found = cut.minimise(costs)
    assert cut.bound <= best <= found
    assert not cut.exact
    assert cut.bound < found


def test_infeasible_program_raises() -> None:
    found = IntegerProgram()
    one = found.choice()
    found.at_least(1, {one: 1})
    found.at_most(0, {one: 1})
    with pytest.raises(InfeasibleError):
        found.minimise({one: 1})
    assert found.exact
