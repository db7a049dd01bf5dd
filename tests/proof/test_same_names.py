"""New items of one write whose attributes have the same name: they have values of their own."""

from __future__ import annotations

from itertools import product

import pytest
from tests.proof.league import NOW
from tests.solutions import solve

from prejoin.diagnostics import Severity
from prejoin.engine import Embedded
from prejoin.pipeline.build.generated_tests import run_tests
from prejoin.proof.prove import prove
from prejoin.render.python import render_python
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

DOCUMENT = """\
# Orders
{context}
## Entities

### Order

- **Attributes**:
  - `orderId` (string, generated)
  - `status` (NEW | DONE, mutable)
  - `total` (integer, mutable, min 1, max 5)
  - `label` (string, mutable)

### Line

- **Attributes**:
  - `orderId` (string, id, → Order)
  - `code` (string, id)
  - `status` (DONE | PACKED, mutable)
  - `total` (integer, mutable, min 6, max 9)
  - `label` (string, mutable)
- **Cardinality**: ~3 per Order

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result |
| --- | --- | --- | --- |
| AP-001 | Order | orderId | Single |
| AP-002 | Line | orderId | Collection |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- |
{rows}
"""
STEPS = {
    "Order, Line": [
        "create Order; create Line",
        "create Line; create Order",
        "put Order; put Line",
        "create Order; put Line",
        "create Order (status = NEW); create Line",
        "create Order; create Line (status = PACKED)",
    ],
    "Order, Line[]": ["create Order; create Line[]", "create Line[]; create Order", "create Order; put Line[]"],
    "Line, Order": ["create Line; create Order"],
    "Order, code, status": [
        "create Order; update Line (status)",
        "put Order; upsert Line (status, total = 6, label = a)",
    ],
}
CONDITIONS = ("-", "Order.status = NEW", "Order.status = NEW; Line.status = PACKED", "Line.label <> empty")


def workload_of(tenant: str) -> Workload:
    rows = [(inputs, items) for inputs, steps in STEPS.items() for items in steps]
    cases = product(rows, ("Yes", "No"), CONDITIONS)
    lines = [
        f"| AP-{number} | Order, Line | {inputs} | {items} | {transaction} | {conditions} |"
        for number, ((inputs, items), transaction, conditions) in enumerate(cases, 100)
    ]
    context = f"\n## Context\n\n- **Tenant**: {tenant}\n" if tenant else ""
    reading = read_text(DOCUMENT.format(context=context, rows="\n".join(lines)), "md")
    assert [one for one in reading.diagnostics if one.severity is Severity.ERROR] == []
    return reading.workload


@pytest.mark.parametrize("tenant", ["", pytest.param("shopId", marks=pytest.mark.slow)])
def test_attributes_of_the_same_name_have_values_of_their_own(tenant: str) -> None:
    workload = workload_of(tenant)
    design = solve(workload).design
    with Embedded() as engine:
        proof = prove(workload, design, engine, now=NOW)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
    ran = run_tests(render_python(workload, design), "orders")
    assert ran.failed == {}
    assert len(ran.passed) >= len(workload.patterns)
