"""A search that is cut short loses no pattern that can be served, and says how far from the best it may be."""

from __future__ import annotations

from typing import Any

import pytest
from tests.design.claims import false_claims
from tests.design.tenancy import with_line
from tests.design.test_local_search import NARROW, workload

from designs.interlocking import interlocking
from prejoin.design.cost.objective import complexity
from prejoin.design.explain import explain
from prejoin.design.solver import solve as solver
from prejoin.design.solver.program.integer_program import TimeLimit
from prejoin.design.solver.solve import solve


class Struck(TimeLimit):
    """A limit that is over before the search begins, whatever the machine. Programs have time to end."""

    @property
    def left(self) -> float:
        return -1.0


def test_search_that_is_cut_short_prefers_indexes_to_copies() -> None:
    limit = Struck(1000)
    found = solve(workload(NARROW), limit=limit)
    assert limit.struck
    assert not found.ended
    assert not found.chosen.unserved
    assert not found.design.copies


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("seed", "entities", "patterns"), [(1, 6, 24), (2, 10, 32), *((n, 13, 60) for n in range(4))])
def test_nothing_is_lost_in_a_short_time(seed: int, entities: int, patterns: int) -> None:
    large = interlocking(seed, entities, patterns)
    found = solve(large, limit=Struck(1000))
    assert not found.ended
    assert not found.chosen.unserved
    assert all(operation.served for operation in found.design.operations)
    assert found.chosen.least <= complexity(large, found.design)
    assert false_claims(large, found, explain(large, found)) == []


def test_bound_of_a_search_that_is_cut_short_holds() -> None:
    large = interlocking(1, 6, 24)
    proven = solve(large)
    assert proven.ended
    assert proven.chosen.least == complexity(large, proven.design)
    assert solve(large, limit=Struck(1000)).chosen.least <= proven.chosen.least


@pytest.mark.slow
def test_reads_that_exclude_each_other_are_cut_once_for_all_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three types of which each two are read together cannot be in one part of a partition, whatever their keys are.

    A cut that names keys would be needed for each combination of the other keys there: this document took 12 searches.
    """
    searches = []
    choose = solver.choose

    def counted(*given: Any) -> Any:
        searches.append(given)
        return choose(*given)

    monkeypatch.setattr(solver, "choose", counted)
    found = solve(with_line(interlocking(16)))
    assert found.ended
    assert all(not problem.key_cuts for problem, *_ in searches)
    assert len(searches) <= 6
