"""The generated tests of writes: a refusal for each condition, which fails if the code does not check it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from tests.render.designed import designed
from tests.render.python.driving import designed as designed_here
from tests.solutions import solve

from prejoin.engine import Embedded
from prejoin.pipeline.build.generated_tests import run_tests
from prejoin.proof.prove import prove
from prejoin.render.python.package import Options, render_python, repository_tests
from prejoin.workload import conditions
from prejoin.workload.files import read_text
from prejoin.workload.model import Write

SEATS = """
# Seats

## Entities

### Event

- **Attributes**: `eventId` (string, natural), `state` (OPEN | CLOSED, mutable)

### Seat

- **Attributes**:
  - `eventId` (string, id, → Event)
  - `seatNo` (string, id)
  - `status` (FREE | HELD, mutable)
  - `heldBy` (string, optional, mutable)
  - `heldUntil` (datetime, optional, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Seat | A seat | eventId, seatNo | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Seat | Hold seat | eventId, seatNo, heldBy, heldUntil | update Seat (status = HELD, heldBy, heldUntil) | Yes | CONDITIONS |
"""
CONDITIONS = "Event.state = OPEN; status = FREE or heldUntil < now"


def rendered() -> dict[PurePosixPath, str]:
    workload = read_text(SEATS.replace("CONDITIONS", CONDITIONS), "md").workload
    return dict(render_python(workload, solve(workload).design, Options("seats")))


def test_each_condition_has_a_test_with_a_readable_name() -> None:
    text = rendered()[PurePosixPath("tests/test_repository.py")]
    assert re.findall(r"def (test_hold_seat\w*)", text) == [
        "test_hold_seat",
        "test_hold_seat_if_seat_held_until_is_below_now",
        "test_hold_seat_refuses_a_missing_seat",
        "test_hold_seat_refuses_unless_status_is_free_or_held_until_is_below_now",
        "test_hold_seat_refuses_a_seat_without_held_until",
        "test_hold_seat_refuses_a_missing_event",
        "test_hold_seat_refuses_unless_event_state_is_open",
    ]
    _, _, refusal = text.partition("def test_hold_seat_refuses_unless_event_state_is_open")
    assert 'event = replace(seed.event(), state="CLOSED")' in refusal
    assert "with refused(repository.db):" in refusal


@pytest.mark.parametrize(
    ("condition", "failing"),
    [
        ('o.state == "OPEN"', "unless_event_state_is_open"),
        ('o.status == "FREE"', "unless_status_is_free_or_held_until_is_below_now"),
    ],
)
def test_a_refusal_fails_if_its_condition_is_not_checked(condition: str, failing: str) -> None:
    files = rendered()
    path = PurePosixPath("seats/repository.py")
    assert condition in files[path]
    files[path] = files[path].replace(condition, "o.event_id != '-'")
    failed = run_tests(files, "seats").failed
    assert failed is not None
    assert f"tests/test_repository.py::test_hold_seat_refuses_{failing}" in failed


def test_each_part_of_an_or_does_the_write_alone() -> None:
    """A mutant that checks only one part refuses what the other part allows."""
    files = rendered()
    path = PurePosixPath("seats/repository.py")
    parts = ['(o.status == "FREE")', '(cast("dt.datetime", o.held_until) < now)']
    both = " | ".join(parts)
    assert both in files[path]
    for part, failing in zip(parts, ("test_hold_seat_if_seat_held_until_is_below_now", "test_hold_seat"), strict=True):
        mutant = {**files, path: files[path].replace(both, part)}
        failed = run_tests(mutant, "seats").failed
        assert failed is not None
        assert f"tests/test_repository.py::{failing}" in failed


def test_an_item_beside_that_of_the_call_stays_as_it_is() -> None:
    """A mutant that closes every task of the table, and not only those of the project."""
    workload, design = designed_here("market")
    files = dict(render_python(workload, design, Options("market")))
    path = PurePosixPath("market/repository.py")
    text = files[path]
    before, close_tasks, after = text.partition("def close_tasks")
    everything = "[task for page in self.db.everything() for task in page if isinstance(task, Task)]"
    files[path] = before + close_tasks + after.replace("self.db.query(Task, project_id=project_id)", everything)
    failed = run_tests(files, "market").failed
    assert failed is not None
    assert {"test_close_tasks", "test_delete_project", "test_delete_done_tasks"} == {
        name.partition("::")[2] for name in failed
    }


@pytest.mark.parametrize("name", ["shop", "groups", "social"])
def test_each_condition_on_an_attribute_of_a_write_is_broken(name: str) -> None:
    workload, design = designed(name)
    tests = repository_tests(workload, design, Options())
    for pattern, one in tests.items():
        write = one.method.pattern
        if isinstance(write, Write):
            refusals = [test for test in one.names if "_refuses_" in test]
            assert len(refusals) >= len(conditions.tests_of(write)), pattern


INVOICES = """
# Invoices

## Entities

### Invoice

- **Attributes**:
  - `invoiceId` (string, natural)
  - `due` (decimal, mutable, min 0)
  - `paid` (decimal, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Invoice | An invoice | invoiceId | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Invoice | Pay | invoiceId, amount | update Invoice (paid += amount, due -= amount) | due >= amount |
"""


def test_a_condition_that_says_the_same_as_a_bound_and_an_amount_are_refused() -> None:
    workload = read_text(INVOICES, "md").workload
    design = solve(workload).design
    files = dict(render_python(workload, design, Options("invoices")))
    tests = repository_tests(workload, design, Options())["AP-020"]
    assert tests.names == [
        "test_pay",
        "test_pay_refuses_a_missing_invoice",
        "test_pay_refuses_unless_invoice_due_is_at_least_amount",
        "test_pay_refuses_amount_of_0",
        "test_pay_refuses_amount_of_minus_1",
    ]
    assert not run_tests(files, "invoices").failed
    path = PurePosixPath("invoices/repository.py")
    for old, new, failing in (
        ("if amount <= 0:", "if amount < 0:", {"amount_of_0"}),
        ("if amount <= 0:", "if amount > 1:", {"amount_of_0", "amount_of_minus_1"}),
    ):
        assert old in files[path]
        failed = run_tests({**files, path: files[path].replace(old, new)}, "invoices").failed
        assert failed is not None
        assert {name.partition("_refuses_")[2] for name in failed} == failing
    with Embedded() as engine:
        (proven,) = [one for one in prove(workload, design, engine).patterns if one.pattern == "AP-020"]
    assert "Invoice.due not as the condition says" in proven.refused


REGISTERED = """
# Clinics

## Context

- **Tenant**: clinicId → Clinic, except Login

## Entities

### Clinic

- **Attributes**: `clinicId` (string, natural), `name` (string)

### Staff

- **Attributes**: `staffId` (string, natural), `email` (string)

### Login

- **Attributes**: `email` (string, natural), `clinicId` (string, → Clinic), `staffId` (string, → Staff)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Login | A log-in | email | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Clinic, Staff, Login | Register | Clinic, Staff, Login | create Clinic; create Staff; create Login | Yes |
"""


def test_each_attribute_that_has_to_agree_is_broken() -> None:
    """Also the tenant, in a write that is not for one tenant: its objects could be of two."""
    workload = read_text(REGISTERED, "md").workload
    files = dict(render_python(workload, solve(workload).design, Options("clinics")))
    path = PurePosixPath("clinics/repository.py")
    checks = re.findall(r"        if (\S+ != \S+):\n            raise ValueError", files[path])
    assert len(checks) == 4
    for check in checks:
        record, _, attribute = check.partition(" ")[0].partition(".")
        failed = run_tests({**files, path: files[path].replace(f"if {check}:", "if False:")}, "clinics").failed
        name = f"test_register_refuses_a_{record}_with_another_{attribute}"
        assert failed is not None
        assert f"tests/test_repository.py::{name}" in failed
