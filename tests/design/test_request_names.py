"""Literal requests name attributes by placeholders, also those whose names are no words."""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.design.requests.lower import literal_requests
from prejoin.design.requests.text import requests_text
from prejoin.design.solver.solve import solve
from prejoin.workload.files import read_text

DOCUMENT = """# Names

## Entities

### Person

- **Attributes**:
  - `personId` (string, id)
  - `first name` (string)
  - `about` (string)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| -- | ------ | ----------- | ---------------- | ------ |
| R1 | Person | A person's name | personId | Single |
"""


def test_a_projection_names_placeholders() -> None:
    workload = read_text(DOCUMENT, "md").workload
    (read,) = workload.reads
    workload = replace(workload, reads=(replace(read, needs=("first name",)),))
    design = solve(workload).design
    operation = design.operation("R1")
    assert operation is not None
    text = requests_text(literal_requests(operation, workload, design))
    assert "#first_name" in text
    assert "#first_name = first name" in text
    assert "#first name" not in text
