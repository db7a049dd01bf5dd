"""`solve` for tests that need a design: each document is solved once by all processes of a run, and proven once in each.

A solution is a function of the document and the kept design; `tests/design/test_solve.py` tests that. Tests that change
the solver, or compare two of its runs, import it from `prejoin`, and so do tests of the proof.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

import prejoin.design.explain.patterns
import prejoin.design.whatif.attempt
import prejoin.design.whatif.comparison
import prejoin.migrate.evolve.move_design
import prejoin.pipeline.build.build_design
import prejoin.pipeline.demonstration
import prejoin.pipeline.design.design_table
import prejoin.pipeline.query.query
from prejoin.design.model import Design
from prejoin.design.solver import solve as solver
from prejoin.design.solver.program.integer_program import TimeLimit
from prejoin.design.solver.solve import Solution
from prejoin.pipeline.design.design_table import TIME_LIMIT
from prejoin.proof import prove as prover
from prejoin.proof.result import Proof
from prejoin.transport import Transport
from prejoin.workload.model import Workload
from tests.conftest import SHARED

USERS = (
    prejoin.design.explain.patterns,
    prejoin.design.whatif.attempt,
    prejoin.design.whatif.comparison,
    prejoin.migrate.evolve.move_design,
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
    """As `prejoin.design.solver.solve.solve`. A search that a time limit may cut short runs each time.

    The default limit of the command is half a minute, and the documents of tests are solved in much less.
    """
    if limit is not None and limit.seconds != TIME_LIMIT:
        found: Solution = pickle.loads(pickle.dumps(solver.solve(workload, kept, told, limit)))  # as the others are
        return found
    key = repr((workload, kept))
    if key not in _SOLVED:
        _SOLVED[key] = _shared(key, lambda progress: solver.solve(workload, kept, progress))
    solution, progress = _SOLVED[key]
    for text in progress if told else ():
        told(text)
    return solution


Solved = tuple[Solution, list[str]]
"""A solution, and what was told of the progress."""
_SOLVED: dict[str, Solved] = {}


def _shared(key: str, work: Callable[[Callable[[str], None]], Solution]) -> Solved:
    """What another process of this run has found, or what the work gives. A script is no run of tests: it shares nothing."""
    if SHARED not in os.environ:
        progress: list[str] = []
        return work(progress.append), progress
    folder = Path(os.environ[SHARED])
    path = folder / f"{sha256(key.encode()).hexdigest()}.solution"
    if not path.exists():
        progress = []
        solved = work(progress.append), progress
        new = folder / f"{os.getpid()}.new"
        new.write_bytes(pickle.dumps(solved))
        new.replace(path)
    # Also in the process that found it: JSON omits defaults by identity, and a pickled one is another object.
    found: Solved = pickle.loads(path.read_bytes())
    return found


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
