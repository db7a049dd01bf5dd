"""Designing a table from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from prejoin.errors import PrejoinError
from prejoin.pipeline.design.design_table import ContradictionError, design_table, prove_design, why, without
from prejoin.pipeline.document import parse_document, read_document
from prejoin.pipeline.errors import InputError, InvalidArgumentError
from prejoin.workload.model import Absence, Verb
from tests.pipeline.conftest import Recorder


def test_a_document_is_designed_and_proven(teams: Path) -> None:
    recorder = Recorder()
    found = design_table(read_document(teams), progress=recorder)
    assert found.fine
    assert found.proof is not None
    assert found.proof.right
    assert recorder.steps == ["design", "prove"]
    assert recorder.results == ["one table and 2 indexes", "11 of 11 patterns proven"]


def test_a_workload_is_designed_like_its_document(teams: Path) -> None:
    document = read_document(teams)
    from_workload = design_table(document.workload, prove=False, alternatives=0)
    assert from_workload.design == design_table(document, prove=False, alternatives=0).design
    assert from_workload.proof is None


@pytest.mark.slow
def test_workload_from_python_with_a_put_of_a_new_item_is_proven(teams: Path) -> None:
    workload = read_document(teams).workload
    puts = tuple(
        replace(write, actions=tuple(replace(one, verb=Verb.PUT) for one in write.actions))
        if any(isinstance(check, Absence) and not check.attribute for check in write.checks)
        else write
        for write in workload.writes
    )
    assert puts != workload.writes
    found = design_table(replace(workload, writes=puts), alternatives=0)
    assert found.workload == workload, "a put under `Team not exists` is a create"
    assert found.proof is not None
    assert found.proof.right


def test_decisions_are_sentences_and_bind_the_design(teams: Path) -> None:
    document = read_document(teams)
    found = design_table(document, decisions=["at most 1 GSIs"], prove=False, alternatives=0)
    assert len(found.design.indexes) == 1
    with pytest.raises(InvalidArgumentError, match="`make it nice` is not a decision"):
        design_table(document, decisions=["make it nice"])


def test_contradictory_decisions_are_named(teams: Path) -> None:
    decisions = ["Assignment lives under User", "Assignment has key `X#{teamId}` and `Y#{userId}`"]
    with pytest.raises(ContradictionError, match="cannot all hold") as caught:
        design_table(read_document(teams), decisions=decisions)
    assert {one.kind for conflict in caught.value.conflicts for one in conflict} == {"decision"}
    assert isinstance(caught.value, PrejoinError)


def test_a_document_with_errors_is_not_designed() -> None:
    with pytest.raises(InputError) as caught:
        design_table(parse_document(b"# Shop\n\n## Entities\n\n### User\n\n- **Attributes**:\n  - `id` (strng, id)\n"))
    assert caught.value.diagnostics
    assert "nothing was designed" in caught.value.note


def test_a_proof_runs_every_pattern(teams: Path) -> None:
    found = design_table(read_document(teams), prove=False, alternatives=0)
    proof = prove_design(found.workload, found.design)
    assert {answer.pattern for answer in proof.patterns} == {pattern.id for pattern in found.workload.patterns}


def test_questions_about_unknown_names_are_errors(teams: Path) -> None:
    found = design_table(read_document(teams), prove=False, alternatives=0)
    assert why(found, "Assignment")
    assert without(found, "AP-003").structures <= 0
    with pytest.raises(InvalidArgumentError, match="did you mean `Assignment`"):
        why(found, "Asignment")
    with pytest.raises(InvalidArgumentError, match="no access pattern `AP-999`"):
        without(found, "AP-999")
