"""Expiry: the document's TTL attribute is that of the table, and expired items are in no result."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.proof.documented_requests import differences, recorded_calls
from tests.solutions import solve

from prejoin import Client
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove
from prejoin.proof.sample_table import SampleTable
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

NOW = datetime(2026, 11, 15, 12, 30, 15, 250_000, tzinfo=UTC)
DOCUMENT = """
# Sessions

## Entities

### Session

- **Attributes**:
  - `token` (string, id, natural)
  - `userId` (string, immutable)
  - `device` (string, unique, immutable)
  - `seenAt` (datetime, mutable)
  - `endsAt` (KIND, ttl, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Session | one | token | Single | |
| AP-002 | Session | of a user | userId | Collection | endsAt DESC |
| AP-003 | Session | how many | userId | Count | |
| AP-004 | Session | that are not over | userId, filter endsAt > now | Collection | |

### Writes

| ID | Entity | Description | Input Parameters | Items Written |
| --- | --- | --- | --- | --- |
| AP-020 | Session | sign in | token, userId, device | create Session (endsAt = now + 30 days) |
| AP-021 | Session | go on | token | update Session (seenAt = now, endsAt = now + 30 days) |
"""


def sessions(kind: str) -> Workload:
    return read_text(DOCUMENT.replace("KIND", kind), "md").workload


@pytest.mark.parametrize("kind", ["datetime", "integer", "number", "decimal"])
def test_a_table_whose_items_end_is_proven(kind: str) -> None:
    workload = sessions(kind)
    design = solve(workload).design
    with Embedded() as engine:
        proof = prove(workload, design, engine)
        assert [(a.pattern, a.wrong, a.problem) for a in proof.failed] == []
        assert proof.findings == ()
        assert engine.expire() == 0


@pytest.mark.everyday(1)
@pytest.mark.parametrize("kind", ["datetime", "integer", "number", "decimal"])
def test_the_documented_requests_store_each_time_in_the_form_of_its_attribute(kind: str) -> None:
    """One write sets a datetime, a date and the end of its item, which is a number, to the same time."""
    text = DOCUMENT.replace("KIND", kind).replace("seenAt = now,", "seenAt = now + 30 days, seenOn = now + 30 days,")
    text = text.replace("  - `seenAt`", "  - `seenOn` (date, optional, mutable)\n  - `seenAt`")
    assert text.count("seenOn") == 2
    workload = read_text(text, "md").workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine)
    assert recorded
    assert differences(recorded, workload, design) == []


@pytest.mark.parametrize("kind", ["datetime", "integer", "number", "decimal"])
def test_expired_items_are_hidden(kind: str) -> None:
    workload = sessions(kind)
    with Embedded() as engine:
        sample = SampleTable.create(workload, solve(workload).design, engine, NOW)
        item = sample.items["Session"][0]
        late = load_package(workload, sample.design, clock=lambda: NOW + timedelta(days=100 * 365))
        after = Client(late.schema, sample.design.table, engine)
        assert sample.client.get(sample.package.classes["Session"], token=item["token"]) is not None
        assert after.get(late.classes["Session"], token=item["token"]) is None


def test_a_created_table_has_no_drift() -> None:
    workload = sessions("datetime")
    design = solve(workload).design
    with Embedded() as engine:
        client = Client(load_package(workload, design).schema, design.table, engine)
        client.create_table()
        assert client.call("DescribeTimeToLive", {})["TimeToLiveDescription"]["AttributeName"] == "endsAt"
        assert client.drift() == []


def test_an_attribute_that_only_the_design_says_items_end_by_is_declared() -> None:
    workload = read_text(DOCUMENT.replace("KIND, ttl", "integer"), "md").workload
    design = replace(solve(workload).design, ttl_attribute="endsAt")
    assert load_package(workload, design).schema.ttl == "endsAt"
    texts = read_text(DOCUMENT.replace("KIND, ttl", "string"), "md").workload
    assert load_package(texts, replace(solve(texts).design, ttl_attribute="endsAt")).schema.ttl == ""


FOUND = """# Sessions

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
- **Cardinality**: ~1K total

### Session

- **Attributes**:
  - `sessionId` (uuid, generated)
  - `userId` (uuid, immutable, → User)
{notes}  - `expiresAt` (datetime, ttl, mutable)
- **Cardinality**: ~5 per User

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Session | sessionId | Single | - | No | 10/s | Eventual |
| AP-002 | Session | userId | Collection | - | No | 10/s | Eventual |

### Deletes

| ID | Entity | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-120 | Session, User | userId | delete Session[]; delete User | Yes | - | 1/s |
"""


@pytest.mark.slow
def test_units_of_finding_what_is_deleted_then() -> None:
    """The items that the Query read are gone when its units are predicted."""
    notes = "".join(f"  - `note{number}` (string, mutable)\n" for number in range(60))  # more than 4 KB together
    workload = read_text(FOUND.replace("{notes}", notes), "md").workload
    design = solve(workload).design
    for seed in range(1, 4):
        assert [(one.pattern, one.wrong) for one in prove(workload, design, Embedded(), seed=seed).failed] == []
