"""What docstrings say about the use of a method is what the method does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.render.python.driving import Driver, driven
from tests.solutions import solve

from prejoin import NotFound, NotServed, OtherTenant
from prejoin.workload.files import read_text

DOCUMENT = """# Clinics

## Context

- **Tenant**: clinicId, except Drug

## Entities

### Clinic

- **Attributes**:
  - `clinicId` (string, natural)
  - `name` (string, mutable)
- **Cardinality**: ~200 total

### Staff

- **Attributes**:
  - `clinicId` (string, natural)
  - `staffId` (ulid, generated)
  - `name` (string, mutable)
  - `clinicName` (string, mutable, follows Clinic.name)
- **Cardinality**: ~5 per Clinic

### Drug

- **Attributes**:
  - `drugId` (ulid, generated)
  - `name` (string, mutable)
- **Cardinality**: ~5K total

## Access Patterns

### Reads

| ID | Entity | Name | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Clinic | clinic | Clinic | clinicId | Single | - | No | 1/s | Eventual | No |
| AP-002 | Staff | staff | Staff | clinicId | Collection | - | Yes (20) | 1/s | Eventual | No |
| AP-003 | Drug | drug | Drug | drugId | Single | - | No | 1/s | Eventual | No |

### Writes

| ID | Entity | Name | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Clinic | open_clinic | new clinic | Clinic | create Clinic | No | - | 1/h |
| AP-021 | Staff | hire | hire | Staff | create Staff | No | - | 1/h |
| AP-022 | Drug | new_drug | drug | Drug | create Drug | No | - | 1/h |
| AP-023 | Clinic, Staff | found | found | Clinic, Staff | create Clinic; create Staff | Yes | - | 1/h |
| AP-024 | Drug, Staff | staff_drug | both | Drug, Staff | create Drug; create Staff | Yes | - | 1/h |
| AP-025 | Clinic | rename_clinic | both | clinicId, name | update Clinic (name) | Yes | exists | 1/h |
"""
ON_REPOSITORY = "call it on the repository itself, not on `of_tenant(…)`"
ON_BOTH = "On `of_tenant(…)`, it accepts only that tenant."


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    workload = read_text(DOCUMENT, "md").workload
    with driven(workload, solve(workload).design) as found:
        yield found


@pytest.mark.parametrize("name", ["clinic", "rename_clinic", "open_clinic", "found"])
def test_methods_about_tenants_work_on_that_of_one(driver: Driver, name: str) -> None:
    """Their items have the tenant in their key, so that a tenant's client accepts them: only that tenant."""
    text = " ".join((getattr(driver.repository, name).__doc__ or "").split())
    assert ON_BOTH in text
    assert ON_REPOSITORY not in text
    own, other = (driver.record("Clinic", clinicId=f"new-{name}-{number}") for number in range(2))
    arguments = {
        "clinic": [(clinic.clinic_id,) for clinic in (own, other)],
        "rename_clinic": [(clinic.clinic_id, "New") for clinic in (own, other)],
        "open_clinic": [(own,), (other,)],
        "found": [(clinic, driver.record("Staff", clinicId=clinic.clinic_id)) for clinic in (own, other)],
    }[name]
    if name in ("clinic", "rename_clinic"):
        driver.repository.open_clinic(own)
        driver.repository.open_clinic(other)
    method = getattr(driver.repository.of_tenant(own.clinic_id), name)
    method(*arguments[0])
    with pytest.raises(OtherTenant):
        method(*arguments[1])
    getattr(driver.repository, name)(*arguments[1])


@pytest.mark.parametrize("name", ["new_drug", "staff_drug", "drug"])
def test_methods_about_items_of_no_tenant(driver: Driver, name: str) -> None:
    """The docstring sends the caller to the repository itself exactly if that of a tenant refuses."""
    clinic = driver.record("Clinic", clinicId=f"of-{name}")
    staff = driver.record("Staff", clinicId=clinic.clinic_id)
    drug = driver.record("Drug")
    arguments = {"new_drug": [drug], "staff_drug": [drug, staff], "drug": [drug.drug_id]}[name]
    refuses = ON_REPOSITORY in " ".join((getattr(driver.repository, name).__doc__ or "").split())
    method = getattr(driver.repository.of_tenant(clinic.clinic_id), name)
    if refuses:
        with pytest.raises((OtherTenant, NotServed, NotFound, TypeError)):
            method(*arguments)
        method = getattr(driver.repository, name)
    method(*arguments)


def test_a_write_of_what_another_item_follows_names_the_refresh(driver: Driver) -> None:
    text = " ".join((driver.repository.rename_clinic.__doc__ or "").split())
    assert "`Staff.clinic_name` follows `Clinic.name`: call `refresh(repository.db, Clinic" in text
    assert "refresh(" not in (driver.repository.new_drug.__doc__ or "")
