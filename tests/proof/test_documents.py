"""Designs and proves every document: all patterns in scope, with difficult key values."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.proof.league import NOW
from tests.solutions import solve

from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_file
from prejoin.workload.grammar.statements import read_pin
from prejoin.workload.model import Decision

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
    assert [a.pattern for a in proof.patterns] == [p.id for p in workload.patterns]
    assert [(a.pattern, a.units) for a in proof.patterns if not a.out_of_scope and a.units != a.predicted] == []


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("name", "decision"),
    [
        ("groups", "at most 1 GSIs"),
        ("teams", "at most 1 structures"),
        ("organisation", "no copies"),
        ("shop", "no copies"),
        ("blog", "at most 0 GSIs"),
        ("blog", "minimise money"),
    ],
)
def test_the_design_that_a_decision_leads_to_is_proven(name: str, decision: str) -> None:
    """Copies in place of indexes, indexes in place of copies: patterns that are still served are correct."""
    workload = read_file(ROOT / "examples" / name / "access-patterns.md").workload
    workload = replace(workload, decisions=(*workload.decisions, Decision(read_pin(decision))))
    solution = solve(workload)
    lost = {operation.pattern for operation in solution.design.operations if not operation.served}
    assert lost == set(solution.chosen.unserved)
    with Embedded() as engine:
        proof = prove(workload, solution.design, engine, now=NOW)
    assert [(a.pattern, a.wrong, a.problem) for a in proof.patterns if not a.right and a.pattern not in lost] == []
    assert proof.findings == ()
