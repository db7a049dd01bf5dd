"""Sharded counters: what the design says of their shards is what the client sends, and each mistake is found."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from prejoin import Embedded
from prejoin.constructs.sharded_counter import ShardedCounter
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from tests.proof.documented_requests import differences, recorded_calls
from tests.solutions import solve

DOCUMENT = """# Pages

## Entities

### Page

- **Attributes**:
  - `pageId` (ulid, id)
  - `slug` (string, unique, mutable)
  - `views` (integer, mutable, default 0)
- **Cardinality**: ~1K total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Page | A page | pageId | Single | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Page | Write a page | Page | create Page | 1/s |
| AP-011 | Page | View a page | pageId | update Page (views += 1) | 1/s |
| AP-012 | Page | Move a page | pageId, slug | update Page (slug, views += 1) | 1/s |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Page | Remove a page | pageId | delete Page | 1/s |

## Decisions

- Page.views in 4 shards
"""


def problems(title: str) -> list[str]:
    """The patterns that are not proven, and the requests that are not the documented ones."""
    # Documents are read and solved once: a title makes this one another document.
    reading = read_text(DOCUMENT.replace("# Pages", f"# Pages {title}"), "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    design = solve(reading.workload).design
    assert design.counters
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(reading.workload, design, engine)
    wrong = [f"{one.pattern}: {one.wrong or one.problem}" for one in proof.patterns if not one.right]
    return [*wrong, *map(str, proof.findings), *differences(recorded, reading.workload, design)]


def test_sharded_counters_are_proven_and_documented() -> None:
    assert problems("") == []


EXPAND = ShardedCounter.expand


MUTANTS: dict[str, tuple[str, Any]] = {
    "shards are not deleted": ("expand", lambda *arguments: (one for one in EXPAND(*arguments) if one.changes)),
    "the item is written, too": ("diverted_names", lambda *_: frozenset()),
    "no change": ("expand", lambda *arguments: (replace(one, changes=()) for one in EXPAND(*arguments))),
    "another key": ("expand", lambda *arguments: (replace(one, pk=f"X{one.pk}") for one in EXPAND(*arguments))),
    "a delete leaves shards": ("times", lambda self, effect: 1),
    "no sum": ("complete", lambda *_: iter(())),
    "another type": ("tag", lambda self, design: "count"),
    "no pattern in the schema": ("schema_calls", lambda *_: iter(())),
}


@pytest.mark.everyday(2)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShardedCounter, *MUTANTS[mutant])
    assert problems(mutant) != []
