"""`solve` for tests that need a design: each document is solved and proven once in a process.

A solution is a function of the document and the kept design; `tests/design/test_solve.py` tests that. Tests of the
solver and of the proof import them from `prejoin`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import prejoin.design.explain.alternatives
import prejoin.design.explain.patterns
import prejoin.design.explain.relaxations
import prejoin.design.explain.simplifications
import prejoin.design.frontier
import prejoin.design.tables.comparison
import prejoin.pipeline.build.build_design
import prejoin.pipeline.demonstration
import prejoin.pipeline.design.design_table
import prejoin.pipeline.query.query
from prejoin.design.model import Design
from prejoin.design.solver import solve as solver
from prejoin.design.solver.integer_program import TimeLimit
from prejoin.design.solver.solve import Solution
from prejoin.proof import prove as prover
from prejoin.proof.result import Proof
from prejoin.transport import Transport
from prejoin.workload.model import Workload

USERS = (
    prejoin.design.explain.alternatives,
    prejoin.design.explain.patterns,
    prejoin.design.explain.relaxations,
    prejoin.design.explain.simplifications,
    prejoin.design.frontier,
    prejoin.design.tables.comparison,
    prejoin.pipeline.build.build_design,
    prejoin.pipeline.demonstration,
    prejoin.pipeline.design.design_table,
    prejoin.pipeline.query.query,
)
"""The modules that call the solver; `tests/design/test_solve.py` compares."""


def solve(
    workload: Workload,
    kept: Design | None = None,
    told: Callable[[str], None] | None = None,
    limit: TimeLimit | None = None,
) -> Solution:
    """As `prejoin.design.solver.solve.solve`. A search with a time limit is not repeatable, and runs each time."""
    if limit is not None:
        return solver.solve(workload, kept, told, limit)
    key = repr((workload, kept))
    if key not in _SOLVED:
        progress: list[str] = []
        if len(_SOLVED) == 200:
            _SOLVED.clear()
        _SOLVED[key] = solver.solve(workload, kept, progress.append), progress
    solution, progress = _SOLVED[key]
    for text in progress if told else ():
        told(text)
    return solution


_SOLVED: dict[str, tuple[Solution, list[str]]] = {}


def _prove(workload: Workload, design: Design, transport: Transport, progress: Callable[[str], None]) -> Proof:
    """As `prejoin.proof.prove.prove`, whose result is the same for the same document and design."""
    key = repr((workload, design))
    if key not in _PROVEN:
        told: list[str] = []
        _PROVEN[key] = prover.prove(workload, design, transport, progress=told.append), told
    proof, told = _PROVEN[key]
    for text in told:
        progress(text)
    return proof


_PROVEN: dict[str, tuple[Proof, list[str]]] = {}


@pytest.fixture(autouse=True)
def solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes commands solve and prove a document once. A conftest that imports it does so for its folder."""
    for module in USERS:
        monkeypatch.setattr(module, "solve", solve)
    monkeypatch.setattr(prejoin.pipeline.design.design_table, "run_proof", _prove)
