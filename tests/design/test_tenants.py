"""Designs of documents that have tenants: every partition key begins with the tenant, and prices stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.design.tenancy import with_line
from tests.design.workloads import workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.bill import bill
from prejoin.design.model import Design, Guard
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload
from prejoin.workload.program.resolved_read import resolve_read

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "tests" / "render" / "python" / "documents" / "tenants.md"
EXAMPLES = [ROOT / "examples" / name / "access-patterns.md" for name in ("blog", "groups", "shop", "teams")]


def partitions(design: Design, workload: Workload) -> list[str]:
    """The partition keys of everything that belongs to tenants."""
    return [f.pk[0] for item in design.items if item.entity in workload.owned for f in item.facets]


def begins(key: str, attribute: str) -> bool:
    """Whether a partition key begins with the tenant: a text does with its word, a natural key with the attribute."""
    start = f"TENANT#{{{attribute}}}"
    return key in (start, f"{{{attribute}}}") or key.startswith(f"{start}#")


def test_every_partition_begins_with_the_tenant_and_then_the_parent() -> None:
    workload = read_file(DOCUMENT).workload
    design = solve(workload).design
    found = partitions(design, workload)
    assert all(begins(key, "workspaceId") for key in found)
    assert "TENANT#{workspaceId}#PROJECT#{projectId}" in found
    assert design.guards == (Guard("Member", ("workspaceId", "email")),)
    assert all(operation.served for operation in design.operations)
    plan = design.item("Plan")
    assert plan is not None
    assert plan.facets[0].pk == ("ALL#PLAN",), "a small catalogue belongs to no tenant"
    assert not [d for d in check_design(design, workload) if d.severity == "error"]


@pytest.mark.slow
@pytest.mark.everyday(1)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_with_a_tenant_the_design_and_its_price_are_those_without(path: Path) -> None:
    workload = read_file(path).workload
    tenants = with_line(workload)
    plain, tenanted = solve(workload), solve(tenants)
    assert all(begins(key, "workspaceId") for key in partitions(tenanted.design, tenants))
    assert tenanted.chosen.unserved == plain.chosen.unserved
    structures = [(len(one.design.indexes), len(one.design.copies)) for one in (plain, tenanted)]
    assert structures[0] == structures[1]
    designed = ((workload, plain.design), (tenants, tenanted.design))
    before, after = (float(sum(p.dollars for p in bill(*one).patterns)) for one in designed)
    assert after == pytest.approx(before, rel=0.01)


@given(workloads())
@settings(max_examples=examples(15))
def test_no_workload_has_a_key_that_leaves_the_tenant(workload: Workload) -> None:
    tenants = with_line(workload)
    assert all(begins(key, "workspaceId") for key in partitions(solve(tenants).design, tenants))


DEALS = """
# Deals

## Context

- **Tenant**: companyId → Company

## Entities

### Company

- **Attributes**:
  - `companyId` (ulid, generated)

### Agent

- **Attributes**:
  - `agentId` (ulid, generated)

### Deal

- **Attributes**:
  - `dealId` (ulid, generated)
  - `partnerId` (ulid, immutable, → Company)
  - `sellerId` (ulid, immutable, → Agent)
  - `helperId` (ulid, immutable, → Agent)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Deal, Agent | Deal with its seller | dealId | Single | - | No | 5/s | Eventual | Join via sellerId |
| AP-002 | Deal, Agent | Deal with its helper | dealId | Single | - | No | 5/s | Eventual | Join via helperId |
"""


@pytest.mark.parametrize(("id_", "role"), [("AP-001", "sellerId"), ("AP-002", "helperId")])
def test_a_join_stays_within_the_tenant_where_another_attribute_holds_a_tenants_id(id_: str, role: str) -> None:
    workload = read_text(DEALS, "md").workload
    (read,) = [one for one in workload.reads if one.id == id_]
    links = {link.other.name: link.own.name for link in resolve_read(workload, read).joins[0].links}
    assert links == {"companyId": "companyId", "agentId": role}
    operation = solve(workload).design.operation(id_)
    assert operation is not None
    assert operation.served
    assert operation.requests[1].pk.startswith("TENANT#{companyId}")
