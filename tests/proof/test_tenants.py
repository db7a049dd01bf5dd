"""Proofs of tables with tenants: several tenants with the same ids, and no result with items of another."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin.cases.data import DataGenerator
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload

DOCUMENT = Path(__file__).parents[1] / "render" / "python" / "documents" / "tenants.md"
NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)


def projects() -> tuple[Workload, Design]:
    workload = read_file(DOCUMENT).workload
    return workload, solve(workload).design


def test_several_tenants_have_items_with_the_same_ids() -> None:
    workload, _ = projects()
    made = DataGenerator(workload, NOW, edge_values=True).make_all()
    for entity, name in (("Member", "memberId"), ("Project", "projectId"), ("Task", "taskId")):
        whose: dict[object, set[object]] = {}
        for item in made[entity]:
            whose.setdefault(item[name], set()).add(item["workspaceId"])
        assert max(map(len, whose.values())) > 1
    projects_made = {(p["workspaceId"], p["projectId"]) for p in made["Project"]}
    assert {(t["workspaceId"], t["projectId"]) for t in made["Task"]} <= projects_made


def test_the_design_is_proven_with_them() -> None:
    workload, design = projects()
    proof = prove(workload, design, Embedded(), now=NOW)
    assert proof.findings == ()
    assert [a for a in proof.patterns if a.wrong or a.problem] == []


def test_a_key_without_the_tenant_is_refused() -> None:
    """A hand-written design, from which no table is created."""
    workload, design = projects()
    task = design.item("Task")
    assert task is not None
    base = replace(task.facets[0], pk=("PROJECT#{projectId}",), sk=("TASK#{taskId}#{workspaceId}",))
    wrong = replace(task, facets=(base, *task.facets[1:]))
    changed = replace(design, items=tuple(wrong if item is task else item for item in design.items))
    proof = prove(workload, map_patterns(changed, workload), Embedded(), now=NOW)
    assert "does not begin with the tenant" in proof.blocked


RUNNERS = """# Builds

> Tenant: orgId

## Entities

### Job

- **Attributes**:
  - `jobName` (string, natural)
  - `runnerId` (uuid, optional, mutable, → Runner)
- **Cardinality**: ~6 per orgId

### Runner

- **Attributes**:
  - `runnerId` (uuid, generated)
  - `state` (IDLE | BUSY | OFFLINE, mutable)
- **Cardinality**: ~20 per orgId

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Job | jobName | Single | - | No | 1/s | Eventual |
| AP-002 | Runner | runnerId | Single | - | No | 1/s | Eventual |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-100 | Job, Runner | jobName, runnerId | update Job (runnerId); update Runner (state = BUSY) | Yes | Runner.state = IDLE | 1/s |
"""


def test_new_reference_is_to_an_item_of_the_same_tenant() -> None:
    workload = read_text(RUNNERS, "md").workload
    design = solve(workload).design
    for seed in range(1, 5):
        failed = prove(workload, design, Embedded(), seed=seed).failed
        assert [(one.pattern, one.wrong, one.problem) for one in failed] == []


ITEMS = """# Shops

> Tenant: shopId → Shop

## Entities

### Shop

- **Attributes**:
  - `shopId` (string, natural)

### Item

- **Attributes**:
  - `itemId` (uuid, generated)
  - `slug` (string, unique, mutable)
- **Cardinality**: ~100 per Shop

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Item | itemId | Single | - | No | 1/s | Eventual |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-100 | Item | Item | put Item | Yes | slug unique | 1/s |
"""


def test_values_that_are_unique_within_a_tenant() -> None:
    """Tenants share some of them, and no tenant has one twice, not even the empty text."""
    workload = read_text(ITEMS, "md").workload
    for seed in range(1, 6):
        items = DataGenerator(workload, NOW, seed, edge_values=True).make_all()["Item"]
        slugs = [(item["shopId"], item["slug"]) for item in items]
        assert len({slug for _, slug in slugs}) < len(set(slugs)) == len(slugs)


@pytest.mark.slow
def test_item_with_the_id_of_another_tenants_item_is_no_violation_of_a_unique_value() -> None:
    workload = read_text(ITEMS, "md").workload
    design = solve(workload).design
    for seed in (3, 8):  # of the data of these, two tenants have the same id at that place
        assert [(one.pattern, one.wrong) for one in prove(workload, design, Embedded(), seed=seed).failed] == []


DEALS = """# Deals

> Tenant: workspaceId → Workspace

## Entities

### Workspace

- **Attributes**:
  - `workspaceId` (string, natural)

### Company

- **Attributes**:
  - `companyId` (ulid, generated)
- **Cardinality**: ~5 per Workspace

### Deal

- **Attributes**:
  - `dealId` (ulid, generated)
  - `companyId` (ulid, immutable, → Company)
  - `stage` (LEAD | WON | LOST, mutable)
- **Cardinality**: ~3 per Company

### StageTotal

- **Attributes**:
  - `stage` (LEAD | WON | LOST, natural)
  - `deals` (integer, mutable, default=0)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | StageTotal | - | Collection | - | No | 1/s | Eventual |
| AP-002 | Deal | dealId | Single | - | No | 1/s | Eventual |
| AP-003 | Company | companyId | Single | - | No | 1/s | Eventual |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-100 | Deal, StageTotal | Deal | create Deal; upsert StageTotal (deals += 1) | Yes | Company exists | 1/s |
"""


@pytest.mark.slow
def test_item_of_a_condition_is_of_the_same_tenant() -> None:
    workload = read_text(DEALS, "md").workload
    design = solve(workload).design
    for seed in range(1, 6):
        assert [(one.pattern, one.wrong) for one in prove(workload, design, Embedded(), seed=seed).failed] == []
