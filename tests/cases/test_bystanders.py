"""Bystanders: a list leaves the items that differ from its own in one attribute only."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.solutions import solve

from prejoin.cases.bystanders import add_bystanders
from prejoin.cases.case import WriteCase
from prejoin.diagnostics import Severity
from prejoin.engine import Embedded
from prejoin.proof import prove_writes
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

DOCUMENT = """# Music

{tenant}## Entities

### User

- **Attributes**:
  - `userId` (string, id)
  - `name` (string)

### Song

- **Attributes**:
  - `songId` (string, id)
  - `userId` (string, → User)
  - `genre` (string, immutable)
  - `playedAt` (datetime, mutable)
- **Cardinality**: at most 100 per User

### Rating

- **Attributes**:
  - `ratingId` (string, id)
  - `playedAt` (datetime, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| -- | ------ | ----------- | ---------------- | ------ |
| R1 | User | User | userId | Single |
| R2 | Song | Songs | userId | Collection |
| R3 | Rating | Rating | ratingId | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction |
| -- | ------ | ----------- | ---------------- | ------------- | ----------- |
| W1 | {entities} | Change | {inputs} | {items} | No |
"""
TENANT = "## Context\n\n- **Tenant**: companyId\n\n"
LISTS = {
    "delete Song[]": ("Song", "userId, genre", "delete Song[]"),
    "update Song[]": ("Song", "userId, genre, playedAt", "update Song[] (playedAt)"),
    "a parent": ("User, Song", "userId, genre", "delete User; delete Song[]"),
    "a value of another entity": (
        "User, Song, Rating",
        "userId, ratingId, playedAt",
        "delete User; delete Song[]; update Rating (playedAt)",
    ),
}


@pytest.mark.parametrize("tenant", ["", TENANT], ids=["no tenant", "tenant"])
@pytest.mark.parametrize("name", LISTS)
def test_a_bystander_differs_in_each_attribute_of_the_list_alone(
    name: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entities, inputs, items = LISTS[name]
    text = DOCUMENT.format(tenant=tenant, entities=entities, inputs=inputs, items=items)
    reading = read_text(text, "md")
    assert [d for d in reading.diagnostics if d.severity is Severity.ERROR] == []
    differences: set[frozenset[str]] = set()

    def add(case: WriteCase) -> None:
        add_bystanders(case)
        songs = [slot.before for slot in case.model.slots if slot.entity.name == "Song" and slot.before]
        strangers = [item for entity, item in case.missing if entity.name == "Song"]
        for song in songs[:1]:
            differences.update(
                frozenset(part for part in ("companyId", "userId", "genre") if song.get(part) != stranger.get(part))
                for stranger in strangers
            )

    monkeypatch.setattr(prove_writes, "add_bystanders", add)
    with Embedded() as engine:
        proof = prove(reading.workload, solve(reading.workload).design, engine, now=NOW)
    assert [(a.pattern, a.wrong, a.problem) for a in proof.failed] == []
    assert {frozenset({"userId"}), frozenset({"genre"})} <= differences or "genre" not in inputs
    if tenant:
        assert frozenset({"companyId"}) in differences
