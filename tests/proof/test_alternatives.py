"""Filters with `or`, such as `status = OPEN or priority = HIGH`: priced, generated and proven."""

from __future__ import annotations

import pytest
from tests.design.texts import filters_of
from tests.solutions import solve

from prejoin.design.cost.assumptions import kept_by_all
from prejoin.design.whatif.attempt import WhatIf
from prejoin.design.whatif.relaxations import relax
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.result import Proof
from prejoin.render.python.package import render_package
from prejoin.render.python.reads import inputs
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload
from prejoin.workload.program.resolved_read import resolve_read

TICKETS = """
# Tickets

## Entities

### Team

- **Attributes**:
  - `teamId` (uuid, generated)
  - `name` (string, mutable)
- **Cardinality**: {teams} total
- **Size**: 300 B

### Ticket

- **Attributes**:
  - `ticketId` (ulid, generated)
  - `teamId` (uuid, immutable, → Team)
  - `status` (OPEN | DONE, mutable)
  - `priority` (HIGH | LOW, mutable)
  - `assignee` (string, optional, mutable)
  - `dueOn` (date, mutable)
- **Relationships**:
  - Team 1:N Ticket via teamId
- **Cardinality**: ~{tickets} per Team
- **Size**: 400 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | {entity} | teamId, {inputs} | {result} | {sort} | No | 5/s | {combine} |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Ticket | teamId, ticketId, status, priority, assignee, dueOn | create Ticket | No | - | 1/s |
| AP-021 | Team | teamId, name | create Team | No | - | Cold |
"""


def tickets(
    inputs: str,
    result: str = "Collection",
    sort: str = "dueOn ASC",
    entity: str = "Ticket",
    combine: str = "No",
    teams: int = 1000,
    count: int = 100,
) -> Workload:
    text = TICKETS.format(
        inputs=inputs, result=result, sort=sort, entity=entity, combine=combine, teams=teams, tickets=count
    )
    reading = read_text(text, "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    assert read_text(write_document(reading.workload), "md").workload.reads == reading.workload.reads
    return reading.workload


def proven(workload: Workload) -> Proof:
    with Embedded() as engine:
        return prove(workload, solve(workload).design, engine)


@pytest.mark.parametrize(
    "workload",
    [
        tickets("status = OPEN or priority = HIGH"),
        tickets("filter status or assignee = ann or dueOn <= now + 7 days"),
        tickets("filter assignee or assignee not exists"),
        tickets("filter status = OPEN or priority = HIGH, filter assignee?, dueOn <"),
        tickets("filter status = OPEN or priority = HIGH", "Count", sort="-"),
        tickets("filter status = OPEN or priority = HIGH, filter priority = HIGH"),
        tickets("filter Ticket.status or Ticket.dueOn <", sort="-", entity="Team, Ticket", combine="Collection"),
    ],
    ids=["constants", "three", "absent", "beside others", "count", "one twice", "several entities"],
)
def test_one_of_several_conditions_is_enough(workload: Workload) -> None:
    proof = proven(workload)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
    assert proof.patterns[0].items > 0


def test_generated_method_and_design_say_or() -> None:
    workload = tickets("status = OPEN or priority = HIGH")
    design = solve(workload).design
    operation = design.operation("AP-001")
    assert operation is not None
    assert filters_of(operation.requests[0]) == ['(status = "OPEN" or priority = "HIGH")']
    code = render_package(workload, design).modules["repository"]
    assert 'filter=lambda o: (o.status == "OPEN") | (o.priority == "HIGH")' in code


def test_code_that_requires_all_alternatives_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "alternatives", lambda conditions: [(condition,) for condition in conditions])
    (wrong, *_) = proven(tickets("status = OPEN or priority = HIGH")).failed
    assert wrong.pattern == "AP-001"


@pytest.mark.parametrize(
    "inputs",
    [
        "filter Ticket.status?",
        "filter Ticket.status?, filter Ticket.priority?, filter Ticket.assignee = ann",
        "filter Ticket.status?, filter Ticket.dueOn? between, filter Team.name?",
        "filter Ticket.status = OPEN or Ticket.priority = HIGH, filter Team.name? begins_with",
    ],
)
def test_filters_of_several_entities_may_be_optional(inputs: str) -> None:
    proof = proven(tickets(inputs, sort="-", entity="Team, Ticket", combine="Collection"))
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []


def test_alternatives_keep_more_than_each_of_them() -> None:
    workload = tickets("status = OPEN or priority = HIGH")
    (read,) = workload.reads
    resolved = resolve_read(workload, read)
    assert kept_by_all(resolved, resolved.clauses[1:]) == pytest.approx(0.75)
    assert kept_by_all(resolved, resolved.clauses[1:2]) == pytest.approx(0.5)


def test_read_for_each_alternative_is_proposed_if_a_filter_reads_too_much() -> None:
    workload = tickets("assignee (keeps 0.01%) or ticketId", teams=10, count=1_000_000, sort="-")
    solution = solve(workload)
    operation = solution.design.operation("AP-001")
    assert operation is not None
    assert not operation.served
    found = relax(WhatIf(workload, solution), workload.reads[0])
    assert "2 reads in place of `or`, merged by the application" in found[0].text
    assert found[0].take == ("AP-001-1: teamId, assignee (keeps 0.01%)", "AP-001-2: teamId, ticketId")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("filter status? or priority", "`status` is optional"),
        ("filter status or ticketId[]", "`ticketId` is a list"),
        ("filter Team.name or Ticket.status", "attributes of different entities"),
    ],
)
def test_unclear_alternatives_are_errors(inputs: str, message: str) -> None:
    text = TICKETS.format(
        inputs=inputs, result="Collection", sort="-", entity="Team, Ticket", combine="Collection", teams=10, tickets=10
    )
    errors = [d.message for d in read_text(text, "md").diagnostics if d.severity == "error"]
    assert any(message in error for error in errors), errors
