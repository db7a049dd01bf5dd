"""The documents of the repository with their designs, solved once for all tests of renderers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.solutions import solve

from prejoin.design.files import read_design_file
from prejoin.design.model import Design
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("tests/corpus/*/access-patterns.md"), *ROOT.glob("examples/*/access-patterns.md")])
NAMES = [path.parent.name for path in DOCUMENTS]


WITH_COPY = "shop_with_copy"
"""Another design of the shop, from a file: two indexes, and a copy that serves a read."""


@cache
def designed(name: str) -> tuple[Workload, Design]:
    if name == WITH_COPY:
        workload, _ = designed("shop")
        return workload, read_design_file(Path(__file__).with_name(f"{WITH_COPY}.md"), workload).design
    workload = read_file(DOCUMENTS[NAMES.index(name)]).workload
    return workload, solve(workload).design


KEPT = """# Wiki

## Entities

### Page

- **Attributes**:
  - `pageId` (uuid, generated)
  - `views` (integer, mutable, default=0)
  - `version` (integer, mutable)
- **History**: 2 versions

### Video

- **Attributes**:
  - `videoId` (uuid, generated)
  - `views` (integer, mutable, default=0)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Page | pageId | Single | - | No | 1/s | Eventual |
| AP-002 | Video | videoId | Single | - | No | 1/s | Eventual |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-100 | Video | videoId | update Video (views += 1) | No | - | 1/s |

## Decisions

- Video.views in 4 shards
"""
