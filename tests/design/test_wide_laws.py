"""Laws of the designer over random workloads with everything that a document can say: see `wide_workloads`.

Each is designed and proven: every pattern runs on the embedded engine, finds what brute force finds, and uses the units
that were predicted. What is said about the design holds. And as for the smaller workloads of `test_laws`, no decision
and no exchange of indexes gives a better design.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.design.claims import false_claims
from tests.design.test_laws import HUNDREDS, assert_grown, assert_not_better, deciding, decisions, keys, swaps
from tests.design.wide_workloads import wide_workloads
from tests.place import examples
from tests.proof.league import NOW

from prejoin.design.cost.objective import objective
from prejoin.design.explain import explain
from prejoin.design.solver.solve import solve
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import Workload

pytestmark = pytest.mark.slow
MORE = settings(HUNDREDS, max_examples=examples(600))
FEWER = settings(HUNDREDS, max_examples=examples(50))
"""For laws that solve a workload a dozen times."""


@given(wide_workloads())
@MORE
def test_every_design_is_proven_and_what_is_said_about_it_holds(workload: Workload) -> None:
    solution = solve(workload)
    assert false_claims(workload, solution, explain(workload, solution)) == []
    unserved = {operation.pattern for operation in solution.design.operations if not operation.served}
    with Embedded() as engine:
        proof = prove(workload, solution.design, engine, now=NOW)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed if one.pattern not in unserved] == []
    assert proof.findings == ()
    served = [one for one in proof.patterns if one.pattern not in unserved]
    assert [(one.pattern, one.units, one.predicted) for one in served if one.units != one.predicted] == []


@given(wide_workloads())
@FEWER
def test_no_decision_gives_a_better_design(workload: Workload) -> None:
    ours = solve(workload).design
    for pin in decisions(workload, ours):
        if other := deciding(workload, pin):
            assert_not_better(workload, ours, other, write_pin(pin))


@given(wide_workloads())
@HUNDREDS
def test_no_swap_of_indexes_gives_a_better_design(workload: Workload) -> None:
    ours = solve(workload).design
    for what, other in swaps(workload, ours):
        assert_not_better(workload, ours, other, what)


@given(wide_workloads(), st.randoms(use_true_random=False))
@HUNDREDS
def test_the_order_of_the_workload_changes_no_key(workload: Workload, random: Random) -> None:
    parts = [list(part) for part in (workload.entities, workload.reads, workload.writes, workload.deletes)]
    for part in parts:
        random.shuffle(part)
    entities, reads, writes, deletes = map(tuple, parts)
    turned = replace(workload, entities=entities, reads=reads, writes=writes, deletes=deletes)
    ours, theirs = solve(workload).design, solve(turned).design
    assert sorted(keys(ours).split("\n")) == sorted(keys(theirs).split("\n"))
    assert objective(workload, ours) == objective(workload, theirs)


@given(wide_workloads(), st.integers(1, 5))
@HUNDREDS
def test_growth_moves_nothing(workload: Workload, first: int) -> None:
    before = solve(replace(workload, reads=workload.reads[:first])).design
    assert_grown(before, solve(workload, before).design)
