"""Whose attribute an input is, if several items of a row have one of its name; and what hidden items are to conditions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.solutions import solve

from prejoin import Client
from prejoin.engine import Embedded
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.table.errors import ConditionFailed, TransactionCancelled
from prejoin.workload.files import read_text

NOW = datetime(2090, 5, 1, 12, tzinfo=UTC)
DOCUMENT = """\
# Workshop

## Entities

### Org

- **Attributes**:
  - `orgId` (string, natural)
  - `name` (string, mutable)
  - `paid` (integer, mutable)
  - `state` (NEW | OPEN | DONE, mutable)
- **Cardinality**: ~1000 total

### Job

- **Attributes**:
  - `jobId` (string, natural)
  - `paid` (integer, mutable)
  - `state` (NEW | OPEN | DONE, mutable)
  - `first` (integer, optional, mutable)
  - `last` (integer, optional, mutable)
- **Cardinality**: ~1000 total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Org | One organization | orgId | Single |
| AP-002 | Job | One job | jobId | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
"""
ENDING = {
    "expired": ("  - `name`", "  - `endsAt` (datetime, optional, mutable, ttl)\n  - `name`"),
    "deleted": ("  - `name`", "  - `deletedAt` (datetime, optional, mutable)\n  - `name`"),
}
ORG = {"orgId": "o", "name": "x", "paid": 5, "state": "NEW"}
JOB = {"jobId": "j", "paid": 1, "state": "NEW"}


def loaded(row: str, document: str = DOCUMENT) -> tuple[LoadedPackage, Client]:
    """The package of a document with one row, and a client of an empty table."""
    inputs, items, conditions = row.split(" | ")
    reading = read_text(f"{document}| AP-010 | Job | Row | {inputs} | {items} | Yes | {conditions} |\n", "md")
    assert [one.message for one in reading.diagnostics if one.severity == "error"] == []
    package = load_package(reading.workload, solve(reading.workload).design, clock=lambda: NOW)
    client = Client(package.schema, "workshop", Embedded())
    client.create_table()
    return package, client


def put(package: LoadedPackage, client: Client, **records: Mapping[str, Any]) -> None:
    for entity, values in records.items():
        client.put(package.record(entity, values))


@pytest.mark.parametrize(
    "condition", ["Org.paid >= paid", "Org.paid >= :paid or Org.name = y", "not (Org.paid < paid)"]
)
def test_an_input_that_a_condition_takes_is_not_compared_with_another_item(condition: str) -> None:
    package, client = loaded(f"jobId, orgId, paid | delete Job | {condition}")
    put(package, client, Org=ORG, Job=JOB)
    package.repository(client).row("j", "o", 4)
    assert client.get(package.classes["Job"], job_id="j") is None


def test_an_input_that_a_change_takes_is_not_compared_with_another_item() -> None:
    package, client = loaded("jobId, orgId, paid | delete Job; update Org (paid += paid) | -")
    put(package, client, Org=ORG, Job=JOB)
    package.repository(client).row("j", "o", 4)
    org = client.get(package.classes["Org"], org_id="o")
    assert org is not None
    assert org.paid == 9


@pytest.mark.parametrize("inputs", ["Job, orgId, state", "jobId, paid, orgId, state"])
def test_an_input_is_not_that_of_a_new_item_whose_value_the_document_says(inputs: str) -> None:
    package, client = loaded(f"{inputs} | create Job (state = OPEN); update Org (state) | -")
    put(package, client, Org=ORG)
    package.repository(client).row(package.record("Job", {**JOB, "state": "OPEN"}), "o", "DONE")
    org, job = client.get(package.classes["Org"], org_id="o"), client.get(package.classes["Job"], job_id="j")
    assert org is not None
    assert job is not None
    assert (org.state, job.state) == ("DONE", "OPEN")


@pytest.mark.parametrize("inputs", ["Job", "jobId, paid, state, first, last"])
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=", "<>"])
def test_optional_attributes_of_a_new_item_are_compared_as_dynamodb_does(operator: str, inputs: str) -> None:
    package, client = loaded(f"{inputs} | create Job | first {operator} last")
    holds = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "=": int.__eq__, "<>": int.__ne__}
    repository = package.repository(client)
    for number, (first, last) in enumerate([(1, 2), (2, 2), (3, 2), (None, 2), (2, None), (None, None)]):
        job = package.record("Job", {**JOB, "jobId": f"{number}", "first": first, "last": last})
        is_absent = first is None or last is None
        if operator == "<>" if is_absent else holds[operator](first, last):
            repository.row(job)
        else:
            with pytest.raises(ConditionFailed):
                repository.row(job)


@pytest.mark.parametrize("org", ["missing", "expired", "deleted"])
@pytest.mark.parametrize(
    ("condition", "is_true"),
    [
        ("Org.name <> x", True),
        ("not (Org.paid > 1)", True),
        ("Org not exists", True),
        ("Org.name = x", False),
        ("Org.name = x or Org.paid <> 5", True),
    ],
)
def test_a_hidden_item_is_a_missing_one_to_a_check(condition: str, is_true: bool, org: str) -> None:
    document = DOCUMENT.replace(*ENDING.get(org, ("", "")), 1)
    if org == "deleted":
        document = document.replace("~1000 total\n\n### Job", "~1000 total\n- **Soft delete**: deletedAt\n\n### Job")
    package, client = loaded(f"jobId, orgId | update Job (state = DONE) | {condition}", document)
    put(package, client, Job=JOB)
    if org != "missing":
        values = {"endsAt": NOW - timedelta(hours=1)} if org == "expired" else {}
        put(package, client, Org={**ORG, **values})
    if org == "deleted":
        client.delete(package.classes["Org"], org_id="o")
    if is_true:
        package.repository(client).row("j", "o")
    else:
        with pytest.raises(TransactionCancelled):
            package.repository(client).row("j", "o")


@pytest.mark.parametrize("condition", ["Org not exists or name = y", "name = y or (Org not exists)"])
def test_a_put_replaces_an_expired_item_as_if_it_were_missing(condition: str) -> None:
    document = DOCUMENT.replace(*ENDING["expired"], 1).replace("| AP-010 | Job", "| AP-010 | Org")
    package, client = loaded(f"Org | put Org | {condition.replace('name', 'Org.name')}", document)
    repository, new = package.repository(client), package.record("Org", {**ORG, "name": "z"})
    put(package, client, Org={**ORG, "endsAt": NOW + timedelta(hours=1)})
    with pytest.raises(ConditionFailed):
        repository.row(new)
    put(package, client, Org={**ORG, "endsAt": NOW - timedelta(hours=1)})
    repository.row(new)
    org = client.get(package.classes["Org"], org_id="o")
    assert org is not None
    assert org.name == "z"
