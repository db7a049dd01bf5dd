"""Writes of two items that refer to the same third one: a visit of an animal completes an appointment of that animal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

from tests.exam.documents import TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import Case, Exam, Plan

ENTITIES = (
    EntityText("Animal", ("`animalId` (string, natural)", "`name` (string, mutable)")),
    EntityText(
        "Appt",
        (
            "`apptId` (string, natural)",
            "`animalId` (string, immutable, → Animal)",
            "`status` (BOOKED | DONE, mutable)",
        ),
        "~5 per Animal",
    ),
    EntityText(
        "Visit",
        ("`visitId` (string, natural)", "`animalId` (string, immutable, → Animal)", "`state` (OPEN | SHUT, mutable)"),
        "~5 per Animal",
    ),
)
READS = (
    Read("Animal", "animalId"),
    Read("Appt", "apptId"),
    Read("Visit", "visitId"),
    Read("Visit", "animalId", "Collection"),
)

OTHER_ACTIONS = ("create Visit", "put Visit", "update Visit (state = SHUT)", "delete Visit")
APPOINTMENT_ACTIONS = ("update Appt (status = DONE)", "delete Appt", "")
"""What happens to the appointment; empty if it is only checked."""


def _row(visit: str, appointment: str, inputs: str, is_visit_first: bool) -> Row:
    actions = [visit, appointment] if is_visit_first else [appointment, visit]
    entities = ["Visit", "Appt"] if is_visit_first else ["Appt", "Visit"]
    return Row(
        "",
        ", ".join(entities),
        inputs,
        "; ".join(action for action in actions if action),
        "Appt.status = BOOKED",
    )


def _rows() -> list[Row]:
    rows: list[Row] = []
    for visit, appointment, is_visit_first in product(OTHER_ACTIONS, APPOINTMENT_ACTIONS, (True, False)):
        is_new = visit.startswith(("create", "put"))
        forms = ("apptId, Visit", "apptId, animalId, Visit") if is_new else ("apptId, visitId, animalId",)
        rows += [_row(visit, appointment, inputs, is_visit_first) for inputs in forms]
    return [
        Row(f"sibling {number}", row.entities, row.inputs, row.items, row.conditions) for number, row in enumerate(rows)
    ]


def _items(of_visit: str, of_appointment: str) -> tuple[Item, Item]:
    visit = {"visitId": "v1", "animalId": of_visit, "state": "OPEN"}
    appointment = {"apptId": "a1", "animalId": of_appointment, "status": "BOOKED"}
    return visit, appointment


def _case(tenancy: Tenancy, row: Row, label: str, of_visit: str, of_appointment: str, given: str) -> Case:
    """A call, accepted if the visit, the appointment and the input are of one animal."""
    visit, appointment = _items(of_visit, of_appointment)
    is_new = "create Visit" in row.items or "put Visit" in row.items
    bystanders = [
        ("Animal", {"animalId": "dog", "name": "Rex"}),
        ("Animal", {"animalId": "cat", "name": "Tom"}),
        ("Appt", {"apptId": "a9", "animalId": "dog", "status": "BOOKED"}),
        ("Visit", {"visitId": "v9", "animalId": "dog", "state": "OPEN"}),
    ]
    before = [("Appt", appointment), *([] if is_new else [("Visit", visit)])]
    after: list[tuple[str, Item]] = []
    if "delete Appt" not in row.items:
        status = "DONE" if "update Appt" in row.items else "BOOKED"
        after.append(("Appt", {**appointment, "status": status}))
    if "delete Visit" not in row.items:
        after.append(("Visit", {**visit, "state": "SHUT"} if "update Visit" in row.items else visit))
    arguments: dict[str, Any] = {"apptId": "a1"}
    if is_new:
        arguments["Visit"] = for_tenants(tenancy, [("Visit", visit)], ())[0][1]
    else:
        arguments |= {"visitId": "v1", "animalId": given}
    accepted = of_visit == of_appointment and (is_new or given == of_visit)
    other = [("Appt", appointment), ("Visit", visit)]
    expected = for_tenants(tenancy, [*after, *bystanders], other) if accepted else None
    return Case(row, label, for_tenants(tenancy, [*before, *bystanders], other), arguments, expected)


CALLS = (
    ("all of one", "dog", "dog", "dog"),
    ("appointment of another", "dog", "cat", "dog"),
    ("visit of another", "cat", "dog", "dog"),
    ("another animal given", "dog", "dog", "cat"),
)


def exam(tenancy: Tenancy) -> Exam:
    rows = _rows()
    cases = [
        _case(tenancy, row, *call)
        for row in rows
        for call in CALLS
        if call[3] == "dog" or ("animalId" in row.inputs and "Visit" not in row.inputs)
    ]
    return Exam("siblings", DocumentText(tenancy, ENTITIES, READS, rows), cases)


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    return [Plan("siblings", tenancy, partial(exam, tenancy)) for tenancy in tenancies]
