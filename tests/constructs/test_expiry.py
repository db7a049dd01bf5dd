"""Expiry in documents: what has expired is in no result and found by no write, and each mistake in that is found."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from prejoin import Embedded
from prejoin.constructs.expiry import Expiry
from prejoin.constructs.registry import constructs_of, ending_in, held_attributes, vacant_test
from prejoin.design.explain.explanation import explain_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, KeyAttribute, Slot
from prejoin.proof.prove import Proof, prove
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload
from tests.proof.documented_requests import differences, recorded_calls
from tests.solutions import solve

DOCUMENT = """# Sessions

## Entities

### Person

- **Attributes**:
  - `personId` (ulid, id)
  - `name` (string, mutable)
- **Cardinality**: ~100 total

### Session

- **Attributes**:
  - `personId` (ulid, id, → Person)
  - `sessionId` (ulid, id)
  - `token` (string, unique, mutable)
  - `state` (OPEN | CLOSED, mutable)
  - `seenAt` (datetime, mutable)
  - `endsAt` (KIND, optional, ttl, mutable)
- **Relationships**:
  - Person 1:N Session via personId
- **Cardinality**: ~3 per Person

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Session | A session | personId, sessionId | Single | - | - |
| AP-002 | Session | The sessions of a person | personId | Collection | seenAt DESC | - |
| AP-003 | Session | The sessions in a state | state | Collection | seenAt DESC | - |
| AP-004 | Session | How many a person has | personId | Count | - | - |
| AP-005 | Person, Session | A person with the sessions | personId | Collection | - | Collection |
| AP-006 | Session | The session with a token | token | Single | - | - |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Person | Join | Person | create Person | No | - |
| AP-011 | Session | Sign in | Session | create Session | Yes | - |
| AP-012 | Session | Go on | personId, sessionId, endsAt | update Session (endsAt, seenAt = now) | Yes | - |
| AP-013 | Session | Close | personId, sessionId | update Session (state = CLOSED) | No | state = OPEN |
| AP-014 | Session | Take a token | personId, sessionId, token | update Session (token) | Yes | - |
| AP-015 | Session | End now | personId, sessionId | update Session (endsAt = now) | Yes | - |
| AP-016 | Person | Rename during a session | personId, sessionId, name | update Person (name) | Yes | Session exists |
| AP-017 | Session | Replace a session | Session | put Session | Yes | - |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Session | Sign out | personId, sessionId | delete Session | Yes | - |
| AP-021 | Session | Delete a closed one | personId, sessionId | delete Session | Yes | state = CLOSED |
"""
TENANT = ("## Entities", "## Context\n\n- **Tenant**: orgId\n\n## Entities")
COPIES = ("## Access Patterns", "## Decisions\n\n- at most 0 GSIs\n\n## Access Patterns")
HIDDEN_BY_DELETE = (
    (
        "  - `endsAt`",
        "  - `deletedAt` (datetime, optional, mutable)\n  - `endsAt`",
    ),
    ("- **Cardinality**: ~3", "- **Soft delete**: deletedAt, kept 30 days\n- **Cardinality**: ~3"),
)
VARIANTS: dict[str, tuple[tuple[str, str], ...]] = {
    "plain": (),
    "tenant": (TENANT,),
    "copies": (COPIES,),
    "narrow": (
        ("The sessions in a state", "token of the sessions in a state"),
        (
            "  - `seenAt` (datetime, mutable)\n",
            "  - `seenAt` (datetime, mutable)\n  - `page` (string, 3 KB, mutable)\n",
        ),
    ),
    "soft delete": HIDDEN_BY_DELETE,
}


def sessions(variant: str = "plain", kind: str = "datetime", title: str = "") -> tuple[Workload, Design]:
    # Documents are read and solved once: a title makes this one another document.
    text = DOCUMENT.replace("KIND", kind).replace("# Sessions", f"# Sessions {title}", 1)
    for old, new in VARIANTS[variant]:
        assert old in text
        text = text.replace(old, new, 1)
    reading = read_text(text, "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    workload = reading.workload
    if variant == "narrow":
        reads = tuple(replace(read, needs=("token",)) if read.id == "AP-003" else read for read in workload.reads)
        workload = replace(workload, reads=reads)
    return workload, solve(workload).design


def wrong(proof: Proof) -> list[str]:
    return [f"{one.pattern}: {one.wrong or one.problem}" for one in proof.patterns if not one.right] + [
        str(finding) for finding in proof.findings
    ]


def test_the_flag_is_a_construct_that_is_at_work_where_the_table_has_its_attribute() -> None:
    workload, design = sessions()
    session, person = workload.entity("Session"), workload.entity("Person")
    assert session is not None
    assert person is not None
    assert [type(bound) for bound in constructs_of(session)] == [Expiry]
    assert constructs_of(person) == ()
    assert held_attributes(session) == {"endsAt"}
    assert ending_in(session, design) == "endsAt"
    other = Design(design.table, ttl_attribute="another")
    assert ending_in(session, other) == ""
    assert vacant_test(session, other) is None


def test_every_projection_holds_the_attribute_and_no_operation_lists_the_test() -> None:
    workload, design = sessions("narrow")
    narrow = [slot for slot in design.indexes if slot.projection.attributes]
    assert narrow
    assert all("endsAt" in slot.projection.attributes for slot in narrow)
    filters = [one for o in design.operations for r in o.requests for group in r.filters for one in group]
    assert [one for one in filters if one.attribute == "endsAt"] == []
    texts = [text for one in explain_design(workload, design).patterns for text in one.text]
    assert [text for text in texts if text.startswith("Expired items of Session count as absent")]


@pytest.mark.everyday(2)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["datetime", "integer"])
def test_each_variant_is_proven_with_expired_items_beside_the_data(variant: str, kind: str) -> None:
    workload, design = sessions(variant, kind)
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(workload, design, engine)
    assert wrong(proof) == []
    assert differences(recorded, workload, design) == []
    refused = {one.pattern for one in proof.patterns if any("has expired" in text for text in one.refused)}
    finding = {"AP-012", "AP-013", "AP-014", "AP-015", "AP-016", "AP-021"}
    # A delete without a condition also deletes an expired item; a soft delete is an update, which does not find it.
    assert refused == finding | ({"AP-020"} if variant == "soft delete" else set())


MUTANTS: dict[str, Any] = {
    "no pattern in the schema": ("schema_calls", lambda self, design, twins: iter(())),
    "not held": ("held_names", property(lambda self: frozenset())),
    "not present in requests": ("present", lambda self, design: None),
    "nothing is vacant": ("vacant", lambda self, design: None),
}


@pytest.mark.everyday(2)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Expiry, *MUTANTS[mutant])
    workload, design = sessions("narrow", title=mutant)
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(workload, design, engine)
    assert [*wrong(proof), *proof.blocked, *differences(recorded, workload, design)] != []


def test_the_proof_alone_finds_that_the_client_shows_expired_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before there were expired items in a proof, only a finding about the table said so."""
    monkeypatch.setattr(Expiry, *MUTANTS["no pattern in the schema"])
    workload, design = sessions(title="shown")
    proof = prove(workload, design, Embedded())
    reads = {one.pattern for one in proof.patterns if not one.right and one.pattern < "AP-010"}
    assert reads >= {"AP-002", "AP-003", "AP-004"}


NATURAL = """# Codes

## Entities

### Code

- **Attributes**:
  - `code` (string, id, natural)
  - `used` (boolean, mutable)
  - `endsAt` (datetime, ttl)
- **Cardinality**: ~100 total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Code | A code | code | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written |
| --- | --- | --- | --- | --- |
| AP-010 | Code | Make | Code | create Code |
| AP-011 | Code | Use | code | update Code (used = true) |
"""


def test_items_whose_attribute_is_the_key_expire_too() -> None:
    workload = read_text(NATURAL, "md").workload
    design = solve(workload).design
    item = design.item("Code")
    assert item is not None
    design = map_patterns(
        replace(
            design,
            slots=(Slot(TABLE, (KeyAttribute("code"),)),),
            items=(replace(item, facets=(Facet(TABLE, ("{code}",), ()),)),),
        ),
        workload,
    )
    proof = prove(workload, design, Embedded())
    assert wrong(proof) == []
    assert [one.pattern for one in proof.patterns if any("has expired" in text for text in one.refused)] == ["AP-011"]
