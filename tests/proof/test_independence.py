"""Patterns are proven one by one: a pattern that fails makes no other one fail."""

from __future__ import annotations

import pytest
from tests.proof.league import NOW, league_design, league_workload
from tests.solutions import solve

import prejoin.proof.prove as prover
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.prove import prove
from prejoin.proof.result import PatternProof, Proof
from prejoin.proof.sample_table import SampleTable
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload, Write

COUNTED = """
# Videos

## Entities

### Video

- **Attributes**: `videoId` (string, natural), `title` (string, unique, mutable), `views` (integer, mutable)

### Setting

The only one.

- **Attributes**: `limit` (integer, mutable)
- **Cardinality**: singleton

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Video | Video | videoId | Single |
| AP-002 | Setting | Setting | - | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Video | Upload | Video | create Video | - |
| AP-021 | Video | View | videoId | update Video (views += 1) | - |
| AP-022 | Video | Rename | videoId, title | update Video (title) | - |
| AP-023 | Setting | Set | limit | update Setting (limit) | - |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted |
| --- | --- | --- | --- | --- |
| AP-030 | Video | Remove | videoId | delete Video |

## Decisions

- Video.views in 4 shards
"""


def videos() -> tuple[Workload, Design]:
    workload = read_text(COUNTED, "md").workload
    return workload, solve(workload).design


def run(workload: Workload, design: Design) -> Proof:
    with Embedded() as engine:
        return prove(workload, design, engine, now=NOW)


@pytest.mark.parametrize("document", ["league", "videos"])
def test_what_a_wrong_write_leaves_is_repaired(monkeypatch: pytest.MonkeyPatch, document: str) -> None:
    """The first write deletes and changes items, and generates some that it does not write."""
    workload, design = (league_workload(), league_design()) if document == "league" else videos()
    first = workload.writes[0]
    real = getattr(prover, "prove_write")  # noqa: B009 - a name that it imports

    def damage(sample: SampleTable, write: Write, expected: ExpectedTable) -> PatternProof:
        if write is not first:
            proof: PatternProof = real(sample, write, expected)
            return proof
        names = [key.name for key in (*design.slots[0].pk, *design.slots[0].sk)]
        for number, item in enumerate(sample.unobserved.call("Scan", {})["Items"]):
            if number % 3 == 0:
                sample.unobserved.call("DeleteItem", {"Key": {name: item[name] for name in names}})
            elif number % 3 == 1:
                sample.unobserved.call("PutItem", {"Item": {**item, "strange": {"S": "yes"}}})
        sample.unobserved.call("PutItem", {"Item": {**item, names[0]: {"S": "NOBODY#1"}}})
        for entity in workload.entities:
            sample.generator.add(entity)
        return PatternProof(write.id, wrong="it did damage")

    monkeypatch.setattr(prover, "prove_write", damage)
    proof = run(workload, design)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == [(first.id, "it did damage", "")]
    assert proof.findings == ()


@pytest.mark.parametrize("function", ["prove_read", "prove_write"])
def test_a_bug_in_the_proof_of_a_pattern_leaves_only_that_one_unproven(
    monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    workload, design = videos()
    pattern = workload.reads[0] if function == "prove_read" else workload.writes[0]
    real = getattr(prover, function)

    def fail(sample: SampleTable, other: object, expected: ExpectedTable) -> PatternProof:
        if other is pattern:
            raise TypeError("no such thing")
        proof: PatternProof = real(sample, other, expected)
        return proof

    monkeypatch.setattr(prover, function, fail)
    proof = run(workload, design)
    assert proof.not_run == {pattern.id: "the proof has a bug: TypeError: no such thing"}
    assert len(proof.failed) == 1


def test_a_wrong_result_is_no_pattern_that_could_not_be_run() -> None:
    patterns = (
        PatternProof("AP-1", wrong="it is wrong", problem="it stopped"),
        PatternProof("AP-2", problem="no room"),
    )
    assert Proof(patterns).not_run == {"AP-2": "no room"}
    assert not Proof((), blocked="there is no table").right
