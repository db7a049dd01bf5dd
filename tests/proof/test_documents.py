"""Every document designed and proven: all patterns that are in scope, with data that is hard on keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.proof.league import NOW

from prejoin.design.solve import solve
from prejoin.engine import Embedded
from prejoin.proof.run import prove
from prejoin.workload.files import read_file

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_the_design_of_a_document_is_proven(path: Path) -> None:
    workload = read_file(path).workload
    design = solve(workload).design
    with Embedded() as engine:
        proof = prove(workload, design, engine, now=NOW)
    assert [(a.pattern, a.wrong, a.problem) for a in proof.failed] == []
    assert proof.findings == ()
    assert proof.right
    assert [a.pattern for a in proof.answers] == [p.id for p in workload.patterns]
    assert [(a.pattern, a.units) for a in proof.answers if not a.outside and a.units != a.predicted] == []
