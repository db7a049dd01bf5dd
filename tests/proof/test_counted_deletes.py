"""Deletes that a transaction counts in another item: a second call finds no item, and must not count it again."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from tests.solutions import solve

from prejoin import Client, PrejoinError
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text

TEMPLATE = """
# Clubs

## Entities

### Club

- **Attributes**:
  - `clubId` (string, natural)
  - `open` (integer, mutable)
  - `log` (list of string, mutable)
- **Cardinality**: ~1000

### Task

- **Attributes**:
{task}
  - `state` (NEW | END, optional, mutable)
- **Cardinality**: ~20 per Club

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| R1 | Club | A club | clubId | Single | 1/s |
| R2 | Task | The tasks | clubId | Collection | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| W1 | Task, Club | Remove | clubId, taskId{more} | delete Task; update Club ({change}) | Yes | {condition} | 1/s |
"""
TASKS = {
    "the club is part of the id": "  - `clubId` (string, id, → Club)\n  - `taskId` (string, id, natural)",
    "the club is an attribute": "  - `taskId` (string, natural)\n  - `clubId` (string, immutable, → Club)",
}
CHANGES = {"open -= 1": "", "open += 1": "", "append log = taskId": ""}
CONDITIONS = ["-", "Club.open > 0", "Task.state <> NEW", "Task.state not exists"]


@pytest.mark.parametrize(
    ("task", "change", "condition"), list(product(TASKS, CHANGES, CONDITIONS)), ids=lambda value: str(value)
)
def test_nothing_is_counted_twice(task: str, change: str, condition: str) -> None:
    text = TEMPLATE.format(task=TASKS[task], change=change, condition=condition, more=CHANGES[change])
    workload = read_text(text, "md").workload
    design = solve(workload).design
    proof = prove(workload, design, Embedded(), now=datetime(2026, 11, 15, tzinfo=UTC))
    (answer,) = [answer for answer in proof.patterns if answer.pattern == "W1"]
    assert answer.right, answer.wrong or answer.problem
    assert "a Task that is not there" in answer.refused

    package = load_package(workload, design)
    db = Client(package.schema, "clubs", Embedded())
    db.create_table()
    club: dict[str, Any] = {"clubId": "c", "open": 5, "log": []}
    db.insert(package.record("Club", club))
    db.insert(package.record("Task", {"clubId": "c", "taskId": "t"}))
    repository = package.repository(db)
    repository.remove("c", "t")
    once = db.get(package.classes["Club"], club_id="c")
    with pytest.raises(PrejoinError):
        repository.remove("c", "t")
    assert db.get(package.classes["Club"], club_id="c") == once
