"""Deletes of lists without a transaction pass over items that are not there, or belong to another parent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.solutions import solve

from prejoin import Client, ConditionFailed, Embedded
from prejoin.design.requests.lower import literal_requests
from prejoin.design.requests.text import requests_text
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.proof.prove import prove
from prejoin.render.python.package import repository_methods
from prejoin.workload.files import read_text

DOCUMENT = """\
# Clubs

## Entities

### Club

- **Attributes**:
  - `clubId` (string, natural)
  - `open` (integer, mutable)
- **Cardinality**: ~1000 total
- **Size**: 300 B

### Task

- **Attributes**:
  - `taskId` (string, natural)
  - `clubId` (string, immutable, → Club)
  - `state` (NEW | END, mutable)
- **Cardinality**: ~20 per Club
- **Size**: 300 B

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| R1 | Club | Club | clubId | Single | 1/s |
| R2 | Task | Tasks | clubId | Collection | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| W1 | Task | Drop | clubId, taskId[] | delete Task[] | No | - | 1/s |
"""
SOFT = (("(NEW | END, mutable)\n", "(NEW | END, mutable)\n  - `deletedAt` (datetime, optional, mutable)\n"),
        ("~20 per Club\n- **Size**: 300 B", "~20 per Club\n- **Size**: 300 B\n- **Soft delete**: deletedAt"))  # fmt: skip
KEYED = (("`taskId` (string, natural)", "`taskId` (string, id, natural)"), ("string, immutable, →", "string, id, →"))
CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "as it is": (),
    "a condition on the parent": (("| No | -", "| No | Club.open > 1"),),
    "a condition on the item": (("| No | -", "| No | Task.state = NEW"),),
    "a change of the parent": (("delete Task[]", "delete Task[]; update Club (open -= 1)"),),
    "a reference that changes": (("(string, immutable, → Club)", "(string, mutable, → Club)"),),
    "a unique value": (("  - `state`", "  - `code` (string, unique, mutable)\n  - `state`"),),
    "soft deletes": SOFT,
    "keyed by the club": KEYED,
    "keyed by the club, with a condition": (*KEYED, ("| No | -", "| No | Task.state = NEW")),
    "keyed by the club, soft deletes": (*KEYED, *SOFT),
}


def document(*changes: tuple[str, str]) -> str:
    text = DOCUMENT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


class Tasks:
    """The generated repository, with a few tasks of two clubs."""

    def __init__(self, package: LoadedPackage, engine: Embedded) -> None:
        self.package = package
        self.db = Client(package.schema, "clubs", engine)
        self.db.create_table()
        self.repository: Any = package.repository(self.db)
        for club in ("c1", "c2"):
            self.db.insert(package.record("Club", {"clubId": club, "open": 5}))
            for number in (1, 2, 3):
                self.insert(club, f"{club}t{number}")

    def insert(self, club: str, task: str, state: str = "NEW") -> None:
        values = {"clubId": club, "taskId": task, "state": state}
        if "code" in self.package.fields["Task"]:
            values["code"] = f"code of {task}"
        self.db.insert(self.package.record("Task", values))

    def ids(self, club: str) -> set[str]:
        return {task.task_id for task in self.repository.tasks(club)}


@contextmanager
def tasks(*changes: tuple[str, str]) -> Iterator[Tasks]:
    workload = read_text(document(*changes), "md").workload
    with Embedded() as engine:
        yield Tasks(load_package(workload, solve(workload).design), engine)


@pytest.mark.parametrize("changes", CHANGES.values(), ids=list(CHANGES))
def test_delete_passes_over_ids_that_the_club_does_not_have(changes: tuple[tuple[str, str], ...]) -> None:
    with tasks(*changes) as of:
        for _ in range(2):  # repeated, the first ids are not there any more
            of.repository.drop("c1", ["c1t1", "none", "c2t1", "c1t2"])
            assert of.ids("c1") == {"c1t3"}
            assert of.ids("c2") == {"c2t1", "c2t2", "c2t3"}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=list(CHANGES))
def test_it_is_proven(changes: tuple[tuple[str, str], ...]) -> None:
    workload = read_text(document(*changes), "md").workload
    with Embedded() as engine:
        proof = prove(workload, solve(workload).design, engine)
    assert not proof.failed
    (proven,) = [pattern for pattern in proof.patterns if pattern.pattern == "W1"]
    assert not any("not there" in text or "another clubId" in text for text in proven.refused if "Club" not in text)


def test_item_that_violates_a_condition_is_refused() -> None:
    with tasks(*CHANGES["a condition on the item"]) as of:
        of.insert("c1", "ended", "END")
        of.insert("c2", "other", "END")
        with pytest.raises(ConditionFailed):
            of.repository.drop("c1", ["other", "c1t1", "ended", "c1t2"])
        assert of.ids("c1") == {"ended", "c1t2", "c1t3"}


def test_objects_that_are_gone_are_passed_over() -> None:
    with tasks(("clubId, taskId[]", "clubId, Task[]")) as of:
        first, second, third = of.repository.tasks("c1")
        of.repository.drop("c1", [first])
        of.repository.drop("c1", [first, second])
        assert of.ids("c1") == {third.task_id}


def test_page_docstring_and_tests_say_it() -> None:
    workload = read_text(document(), "md").workload
    design = solve(workload).design
    operation = design.operation("W1")
    assert operation is not None
    assert "no error if there is no such item" in requests_text(literal_requests(operation, workload, design))
    (remark,) = repository_methods(workload, design)["W1"].remarks
    assert remark == "Passes over each Task that is not there, or has another `club_id`"
