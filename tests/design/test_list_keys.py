"""Keys of lists that a write changes or deletes: in the table, where they are read consistently, if nothing is lost by it."""

from __future__ import annotations

from itertools import product

import pytest
from tests.design.brute_force import best_design
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.objective import objective
from prejoin.design.model import TABLE
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

DOCUMENT = """\
# Boards

## Entities

### Project

- **Attributes**:
  - `projectId` (string, generated)
  - `name` (string)
- **Cardinality**: ~10K

### Task

- **Attributes**:
  - `taskId` (string, generated)
  - `projectId` (string, immutable, → Project)
  - `title` (string, mutable)
- **Cardinality**: ~20 per Project
- **Size**: {size}

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- |
| AP-001 | Project | projectId | Single | Warm |
| AP-002 | Task | taskId | Single | {rate} |
| AP-003 | Task | projectId | {result} | Warm |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-101 | Project | Project | create Project | No | - | Cold |
| AP-102 | Task | Task | create Task | Yes | Project exists | Warm |
{update}
### Deletes

| ID | Entity | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-201 | Project | projectId | delete Project; delete Task[] | Yes | - | Cold |
"""
BY_ID = "| AP-103 | Task | taskId, title | update Task (title) | No | - | Cold |\n"
BY_BOTH = "| AP-103 | Task | projectId, taskId, title | update Task (title) | No | - | Cold |\n"


def boards(size: str = "3 KB", rate: str = "Warm", result: str = "Collection (title)", update: str = "") -> Workload:
    return read_text(DOCUMENT.format(size=size, rate=rate, result=result, update=update), "md").workload


def slot_of_list(workload: Workload) -> str:
    operation = solve(workload).design.operation("AP-201")
    assert operation is not None
    (found,) = operation.finds
    assert found.consistent is (found.slot == TABLE)
    return found.slot


def stale_lists(workload: Workload) -> list[str]:
    return [d.code for d in check_design(solve(workload).design, workload) if d.code == "PJ569"]


def test_list_is_in_the_table_if_that_takes_no_more_structures_and_reads() -> None:
    assert slot_of_list(boards()) == TABLE
    assert slot_of_list(boards(update=BY_BOTH)) == TABLE
    assert stale_lists(boards()) == []


def test_list_is_in_an_index_if_another_write_would_have_to_find_its_item() -> None:
    workload = boards(update=BY_ID)
    assert slot_of_list(workload) != TABLE
    assert stale_lists(workload) == ["PJ569"]


def test_consistent_read_of_a_list_is_priced() -> None:
    """A list of 20 tasks of 3 KB: 15 units, where an eventually consistent Query takes half of them."""
    in_table, in_index = (solve(boards(update=update)).design.operation("AP-201") for update in (BY_BOTH, BY_ID))
    assert in_table is not None
    assert in_table.units is not None
    assert in_index is not None
    assert in_index.units is not None
    assert in_table.units.read == 2 * in_index.units.read == 15


VARIANTS = list(
    product(("200 B", "3 KB"), ("Cold", "500/s"), ("Collection", "Collection (title)"), ("", BY_ID, BY_BOTH))
)


@pytest.mark.parametrize(("size", "rate", "result", "update"), VARIANTS)
def test_no_keys_are_better(size: str, rate: str, result: str, update: str) -> None:
    workload = boards(size, rate, result, update)
    assert objective(workload, solve(workload).design) <= objective(workload, best_design(workload))
