"""Unique values: what the design says of their guards is what the client sends, and each mistake in that is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from prejoin import Embedded
from prejoin.constructs.construct import Vacancy
from prejoin.constructs.unique import UniqueValues
from prejoin.design.model import Did, ItemAction
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from tests.proof.documented_requests import differences, recorded_calls
from tests.solutions import solve

DOCUMENT = """# Members

## Entities

### Member

- **Attributes**:
  - `memberId` (ulid, id)
  - `email` (string, unique, mutable)
  - `phone` (string, optional, unique, mutable)
  - `name` (string, mutable)
  - `endsAt` (datetime, optional, ttl, mutable)
- **Cardinality**: ~10K total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Member | A member | memberId | Single | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Member | Join | Member | create Member | 1/s |
| AP-011 | Member | Replace | Member | put Member | 1/s |
| AP-012 | Member | Move | memberId, email | update Member (email) | 1/s |
| AP-013 | Member | Call | memberId, phone | update Member (phone) | 1/s |
| AP-014 | Member | Stay | memberId, endsAt | update Member (endsAt) | 1/s |
| AP-015 | Member | Rename | memberId, name | update Member (name) | 1/s |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Member | Leave | memberId | delete Member | 1/s |
"""


def problems(title: str) -> list[str]:
    """The patterns that are not proven, and the requests that are not the documented ones."""
    # Documents are read and solved once: a title makes this one another document.
    reading = read_text(DOCUMENT.replace("# Members", f"# Members {title}"), "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    design = solve(reading.workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(reading.workload, design, engine)
    wrong = [f"{one.pattern}: {one.wrong or one.problem}" for one in proof.patterns if not one.right]
    return [*wrong, *map(str, proof.findings), *differences(recorded, reading.workload, design)]


def test_unique_values_are_proven_and_documented() -> None:
    assert problems("") == []


Expand = Callable[..., Iterator[ItemAction]]
EXPAND: Expand = UniqueValues.expand


def without(effect: Did) -> Expand:
    """The actions on guards without those of one kind."""
    return lambda *arguments: (one for one in EXPAND(*arguments) if one.action is not effect)


def for_updates_of(names: set[str], actions: int) -> Expand:
    """Only some of the actions, if some attributes are changed."""
    return lambda self, action, changes, design: islice(
        EXPAND(self, action, changes, design), actions if changes.keys() & names else None
    )


MUTANTS: dict[str, tuple[str, Any]] = {
    "no guards": ("expand", lambda *_: iter(())),
    "guards are not put": ("expand", without(Did.PUT)),
    "guards are not deleted": ("expand", without(Did.DELETE)),
    "guards are not exchanged": ("expand", for_updates_of({"email"}, 1)),
    "guards are not renewed": ("expand", for_updates_of({"endsAt"}, 0)),
    "old values are not read": ("located_by", lambda *_: frozenset()),
    "expired guards are not replaced": (
        "vacancy", lambda self, action, design: Vacancy(UNIQUE_VACANCY(self, action, design).owner)),
    "another type": ("tag", lambda self, design: "only"),
    "no pattern in the schema": ("schema_calls", lambda *_: iter(())),
    "no guard is expected": ("companions", lambda *_: iter(())),
}  # fmt: skip
UNIQUE_VACANCY = UniqueValues.vacancy


@pytest.mark.everyday(2)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UniqueValues, *MUTANTS[mutant])
    assert problems(mutant) != []
