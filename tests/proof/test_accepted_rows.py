"""Rows that are right are proven, whatever constructs their entity has: the cases of the proof fit together.

Jobs are stored under their organization. A row that has only the id of a job finds the key of the job in an index.
"""

from __future__ import annotations

import pytest
from tests.solutions import solve

from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text

DOCUMENT = """\
# Workshop

## Entities

### Org

- **Attributes**:
  - `orgId` (string, natural)
  - `name` (string, mutable)
- **Cardinality**: ~1000 total

### Job

- **Attributes**:
  - `jobId` (string, generated)
  - `orgId` (string, immutable, → Org)
  - `state` (NEW | OPEN | DONE, mutable)
  - `code` (string, mutable)
  - `paid` (integer, mutable, min 0, max 20)
  - `total` (integer, mutable)
  - `note` (string, optional, mutable)
- **Cardinality**: ~20 per Org

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Multi-Entity |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Org, Job | An organization with its jobs | orgId | Collection | Collection |
| AP-002 | Job | One job | jobId | Single | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
"""
ROWS = {
    "new value from an input": ("jobId, orgId, total", "create Job (paid = total)", "-"),
    "new values from inputs": ("jobId, orgId, total, code", "create Job (paid = total, note = code)", "total < 20"),
    "condition with a constant": ("jobId", "update Job (paid += 1)", 'code = "total" or paid in (2)'),
    "change to a constant": ("jobId", 'update Job (note = "x")', 'code in ("total", "b")'),
    "delete with a constant": ("jobId", "delete Job", 'code = "total"'),
    "list with bounds": ("jobId[], paid", "update Job[] (paid)", "-"),
    "given objects": ("Job[]", "delete Job[]", "Job.total > 0"),
    "list of a parent": ("orgId", "update Job[] (paid = 3)", "Job.total > 0 or Job.state = OPEN"),
}
"""The inputs, the items written and the conditions."""
CONSTRUCTS = {
    "plain": {},
    "unique": {"`code` (string,": "`code` (string, unique,"},
    "soft delete": {"per Org\n": "per Org\n- **Soft delete**: deletedAt\n"},
    "history": {"per Org\n": "per Org\n- **History**: all versions\n"},
}
"""What is replaced in the document."""
ATTRIBUTES = {
    "soft delete": "  - `deletedAt` (datetime, optional, mutable)\n",
    "history": "  - `version` (integer, mutable)\n",
}
COMBINED = [("plain",), ("unique",), ("soft delete",), ("history",), ("unique", "soft delete"), ("unique", "history")]


def document(constructs: tuple[str, ...]) -> str:
    text = DOCUMENT
    for name in constructs:
        for old, new in CONSTRUCTS[name].items():
            text = text.replace(old, new)
        text = text.replace("  - `jobId`", ATTRIBUTES.get(name, "") + "  - `jobId`")
    rows = [
        f"| AP-{number} | Job | {name} | {inputs} | {items} | Yes | {conditions} |"
        for number, (name, (inputs, items, conditions)) in enumerate(ROWS.items(), start=10)
    ]
    return text + "\n".join(rows) + "\n\n## Decisions\n\n- Job lives under Org\n"


@pytest.mark.everyday(3)
@pytest.mark.parametrize("constructs", COMBINED, ids=" and ".join)
def test_every_row_is_proven(constructs: tuple[str, ...]) -> None:
    reading = read_text(document(constructs), "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    design = solve(reading.workload).design
    proof = prove(reading.workload, design, Embedded())
    assert {one.description: one.wrong or one.problem for one in proof.failed} == {}
    assert proof.findings == ()
