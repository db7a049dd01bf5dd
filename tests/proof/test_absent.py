"""Comparisons with missing attributes: in DynamoDB `<>` is true, everything else is false."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.solutions import solve

from prejoin.cases.brute_force import BruteForce
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.sample_table import SampleTable
from prejoin.workload.files import read_text
from prejoin.workload.model import Read, Workload

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
DOCUMENT = """
# Jobs

## Entities

### Job

- **Attributes**:
  - `jobId` (string, natural)
  - `team` (string, immutable)
  - `state` (OPEN | DONE, optional, mutable)
  - `rank` (integer, optional, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Job | not done | team, filter state <> DONE | Collection |
| AP-002 | Job | how many are of another rank | team, filter rank <> | Count |
| AP-003 | Job | done | team, filter state = DONE | Collection |
| AP-004 | Job | below | team, filter rank < | Collection |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Job | make | jobId, team | create Job | No | - |
| AP-021 | Job | rank | jobId, rank | update Job (rank) | No | state <> DONE |
| AP-022 | Job | remove | jobId | delete Job | No | Job exists; state <> DONE |
"""


@pytest.fixture
def workload() -> Workload:
    return read_text(DOCUMENT, "md").workload


def test_every_comparison_with_what_may_be_absent_is_proven(workload: Workload) -> None:
    with Embedded() as engine:
        proof = prove(workload, solve(workload).design, engine, now=NOW)
    assert [(a.pattern, a.wrong, a.problem) for a in proof.failed] == []
    assert proof.right


@pytest.mark.parametrize(("pattern", "found"), [("AP-001", True), ("AP-003", False)])
def test_missing_attribute_differs_from_every_value(workload: Workload, pattern: str, found: bool) -> None:
    read = workload.pattern(pattern)
    assert isinstance(read, Read)
    with Embedded() as engine:
        sample = SampleTable.create(workload, solve(workload).design, engine, NOW, 4, edge_values=True)
        job = {"jobId": "a", "team": "t"}
        assert bool(BruteForce(read, workload, NOW).answer({"Job": [job]}, {"team": "t"})) is found
        assert any("state" not in item for item in sample.items["Job"])
