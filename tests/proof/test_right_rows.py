"""Rows whose code is right are proven: what the proof expects of units, refusals and copies is what happens."""

from __future__ import annotations

import pytest
from tests.solutions import solve

from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text

CLUB = ("`clubId` (string, natural)", "`a` (integer, mutable)")
TASK = ("`clubId` (string, id, → Club)", "`taskId` (string, id, natural)", "`s` (NEW | END, mutable)")
FREE_TASK = ("`taskId` (string, natural)", "`clubId` (string, immutable, → Club)", "`s` (NEW | END, mutable)")
DOCUMENT = """\
# Clubs

## Entities

### Club

- **Attributes**:
{club}
- **Cardinality**: ~1000 total
- **Size**: 300 B{club_lines}

### Task

- **Attributes**:
{task}
- **Cardinality**: ~20 per Club
- **Size**: 300 B

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| R1 | Club | A club | clubId | Single | 1/s |
| R2 | Task | The tasks | clubId | Collection | 1/s |
{reads}
### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- |
| W1 | Task, Club | {row} |

## Decisions

{decisions}
"""


def unproven(
    row: str,
    club: tuple[str, ...] = CLUB,
    task: tuple[str, ...] = TASK,
    reads: str = "",
    decisions: str = "- no buckets",
    club_lines: str = "",
) -> list[tuple[str, str]]:
    """What the proof says of a document with one row, and two clubs' worth of attributes."""
    text = DOCUMENT.format(
        club="\n".join(f"  - {line}" for line in club),
        task="\n".join(f"  - {line}" for line in task),
        row=row,
        reads=reads,
        decisions=decisions,
        club_lines=club_lines,
    )
    reading = read_text(text, "md")
    assert [one.message for one in reading.diagnostics if one.severity == "error"] == []
    proof = prove(reading.workload, solve(reading.workload).design, Embedded())
    return [
        *((one.pattern, one.wrong or one.problem) for one in proof.failed),
        *(("", text) for text in proof.findings),
    ]


@pytest.mark.parametrize(
    "row",
    [
        "clubId, taskId, amt | update Task (s = END); update Club (a -= amt) | No | -",
        "clubId, taskId, amt | update Task (s = END); update Club (a -= amt) | No | Club.a > 2",
        "clubId, Task[], amt | create Task[]; update Club (a -= amt) | No | -",
        "Task, amt | create Task; update Club (a -= amt) | No | -",
    ],
)
def test_amount_is_refused_before_the_first_step(row: str) -> None:
    assert unproven(row) == []


@pytest.mark.parametrize(
    "row",
    [
        "clubId, taskId | delete Task; update Club (a += 1) | No | -",
        "clubId, taskId[] | delete Task[] | No | -",
        "clubId, taskId[] | delete Task[]; update Club (a += 1) | No | Club.a < 9",
        "clubId, taskId | delete Task | No | -",
    ],
)
def test_item_without_a_unique_value_is_written_alone(row: str) -> None:
    assert unproven(row, task=(*TASK, "`u` (string, optional, unique, mutable)")) == []


def test_item_that_is_in_no_copy_is_written_alone() -> None:
    club = (*CLUB, "`st` (NEW | END, mutable)", "`log` (list of string, optional, mutable)")
    reads = "| R3 | Club | New ones | st = NEW | Collection (a) | 5/s |\n"
    row = "Task, tg | create Task; update Club (append log = tg) | No | -"
    assert unproven(row, club, FREE_TASK, reads, "- no GSIs") == []


@pytest.mark.parametrize(
    "row",
    [
        "clubId | update Club (a += 1) | Yes | -",
        "taskId | update Task (c += 1) | Yes | -",
        "taskId | update Task (c += 1, s = END) | Yes | Task.s = NEW",
        "taskId | delete Task | Yes | -",
    ],
)
@pytest.mark.parametrize("task", [(), ("`c2` (integer, mutable)",)], ids=["", "two numbers"])
def test_copy_has_the_number_of_its_item_without_the_shards(row: str, task: tuple[str, ...]) -> None:
    task = (*FREE_TASK, "`c` (integer, mutable)", *task)
    decisions = "- Task.c in 4 shards\n- no GSIs" + ("\n- Task.c2 in 4 shards" if len(task) > 4 else "")
    assert unproven(row, task=task, decisions=decisions) == []


@pytest.mark.parametrize("verb", ["update", "upsert"])
def test_item_that_follows_a_deleted_source_keeps_the_last_value(verb: str) -> None:
    club = (*CLUB, "`label` (string, mutable)", "`deletedAt` (datetime, optional, mutable)")
    task = (*TASK[:2], "`label` (string, mutable, follows Club.label)")
    row = f"clubId, taskId, label | {verb} Task (label) | Yes | Club.label = label"
    assert unproven(row, club, task, club_lines="\n- **Soft delete**: deletedAt") == []
