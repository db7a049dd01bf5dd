"""Whether references of two items of a write have to agree: compared, asked by PJ220, or said by the document."""

from __future__ import annotations

import pytest

from prejoin.diagnostics import Diagnostic
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import Comparison, Write

DOCUMENT = """# Practice

## Entities

### Animal

- **Attributes**:
  - `animalId` (string, generated)

### Appt

- **Attributes**:
  - `apptId` (string, generated)
  - `animalId` (string, immutable, → Animal)
  - `vetId` (string, optional, mutable, → Vet)
  - `status` (BOOKED | DONE, mutable)

### Vet

- **Attributes**:
  - `vetId` (string, generated)

### Visit

- **Attributes**:
  - `visitId` (string, generated)
  - `animalId` (string, immutable, → Animal)
  - `state` (OPEN | SHUT, mutable)

### Reminder

- **Attributes**:
  - `reminderId` (string, generated)
  - `apptId` (string, immutable, → Appt)
  - `animalId` (string, immutable, → Animal)
  - `vetId` (string, immutable, → Vet)

## Access Patterns

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | ROW | 1/s |
"""


def read(row: str) -> tuple[Write, list[Diagnostic]]:
    """A write, and what `check` asks about it."""
    reading = read_text(DOCUMENT.replace("ROW", row), "md")
    return reading.workload.writes[0], [d for d in reading.diagnostics if d.code == "PJ220"]


def compared(write: Write) -> set[str]:
    return {
        f"{c.entity}.{c.attribute}"
        for c in write.checks
        if isinstance(c, Comparison) and c.values[0].param == c.attribute
    }


COMPARED = [
    "Visit, Appt | apptId, animalId, Visit | create Visit; update Appt (status = DONE) | Yes | -",
    "Appt, Visit | apptId, animalId, Visit | create Visit; update Appt (status = DONE) | Yes | -",
    "Visit, Appt | apptId, Visit | create Visit; update Appt (status = DONE) | Yes | -",
    "Visit, Appt | apptId, visitId, animalId | create Visit; delete Appt | Yes | -",
    "Visit, Appt | apptId, Visit | create Visit | Yes | Appt.status = BOOKED",
    "Visit, Appt | apptId, visitId, animalId | delete Visit; update Appt (status = DONE) | Yes | -",
    "Visit, Appt | apptId, animalId, Visit[] | create Visit[]; update Appt (status = DONE) | Yes | -",
]


@pytest.mark.parametrize("row", COMPARED)
def test_an_input_is_compared_with_each_item_that_has_the_reference(row: str) -> None:
    write, questions = read(row)
    assert "Appt.animalId" in compared(write)
    assert questions == []


@pytest.mark.parametrize("row", COMPARED)
def test_the_comparison_is_written_once(row: str) -> None:
    workload = read_text(DOCUMENT.replace("ROW", row), "md").workload
    again = read_text(write_text(workload, "md"), "md").workload
    assert again.writes == workload.writes


ASKED = [
    # The inputs do not name the animal.
    (
        "Visit, Appt | visitId, apptId | delete Visit; update Appt (status = DONE) | Yes | -",
        "Visit.animalId = animalId",
    ),
    ("Appt, Visit | visitId, apptId | create Visit; update Appt (status = DONE) | Yes | -", "Appt.animalId = animalId"),
    ("Visit, Appt | apptId, Visit[] | create Visit[]; delete Appt | Yes | -", "`animalId` to the inputs"),
    # One of them refers to the other: it may be about the same animal, as a reminder, or not, as a comment's user.
    ("Reminder, Appt | Reminder | create Reminder; update Appt (status = DONE) | Yes | -", "Appt.animalId = animalId"),
    ("Reminder, Appt | Reminder | create Reminder; update Appt (status = DONE) | Yes | -", "`Appt.animalId exists`"),
    # `exists` would say more than nothing about an attribute that may be absent.
    ("Reminder, Appt | Reminder | create Reminder; delete Appt | Yes | Appt.animalId exists", "another name"),
]


@pytest.mark.parametrize(("row", "fix"), ASKED)
def test_check_asks_where_nothing_says_whether_references_agree(row: str, fix: str) -> None:
    write, questions = read(row)
    assert compared(write) == set()
    assert any(fix in question.fix for question in questions), questions


NOT_ASKED = [
    "Visit, Appt | apptId, Visit | create Visit; update Appt (status = DONE) | Yes | Appt.animalId exists",
    "Visit, Appt | apptId, visitId | delete Visit; update Appt (status = DONE) | Yes | Visit.animalId exists",
    # Both were there before, and one belongs to the other.
    "Reminder, Appt | reminderId, apptId | delete Reminder; update Appt (status = DONE) | Yes | -",
    # The reference changes.
    "Appt, Visit | apptId, visitId, vetId | update Appt (vetId); update Visit (state = SHUT) | Yes | "
    "Visit.animalId exists; Appt.animalId exists",
    # Each item of a given list has to belong to the animal.
    "Visit, Appt | apptId[], Visit | create Visit; update Appt[] (status = DONE) | Yes | -",
    # One item only.
    "Visit | Visit | create Visit | No | -",
    "Visit | Visit | create Visit | Yes | Appt not exists",
]


@pytest.mark.parametrize("row", NOT_ASKED)
def test_check_does_not_ask_where_the_document_says_it(row: str) -> None:
    write, questions = read(row)
    assert compared(write) == set()
    assert questions == []
