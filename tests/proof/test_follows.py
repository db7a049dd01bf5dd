"""Attributes that follow others: designed, proven, priced by their requests, and allowed to roles that change the source."""

from __future__ import annotations

import datetime as dt
from uuid import UUID

import pytest
from tests.render.infrastructure.iam import ARN, allowed, iam_requests
from tests.solutions import solve

import prejoin.proof.prove_refreshes
from prejoin import Call, Client, refresh
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.model import TABLE, Design
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.render.infrastructure.errors import InfrastructureError
from prejoin.render.infrastructure.options import Infrastructure, Role, Stream
from prejoin.render.infrastructure.policies import STREAM, consumer_policy, policies_of, policy_document
from prejoin.render.infrastructure.stack import stack_of
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

NOW = dt.datetime(2026, 11, 15, 12, 30, 15, tzinfo=dt.UTC)
DOCUMENT = """
# Forum

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
  - `name` (string, mutable)
  - `photo` (string, optional, mutable)
- **Cardinality**: 1000 total
- **Size**: 200 B

### Comment

- **Attributes**:
  - `postId` (string, id)
  - `commentId` (ulid, generated)
  - `authorId` (uuid, immutable, → User)
  - `editorId` (uuid, optional, mutable, → User)
  - `text` (string, immutable)
  - `author` (string, mutable, follows User.name via authorId)
  - `photo` (string, optional, mutable, follows User.photo via authorId)
  - `editor` (string, optional, mutable, follows User.name via editorId within 10 seconds)
- **Cardinality**: 120 per User, 120K total
- **Size**: 400 B

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | User | one | userId | Single | - | No | 10/s |
| AP-002 | Comment | of a post | postId | Collection | commentId DESC | Yes (20) | 50/s |
| AP-003 | Comment | of an author | authorId | Collection | - | Yes (20) | 1/s |
| AP-004 | Comment | of an editor | editorId | Collection | - | Yes (20) | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | User | sign up | userId, name | create User | No | - | Cold |
| AP-021 | User | rename | userId, name, photo | update User (name, photo) | No | - | 0.1/s |
| AP-022 | Comment | comment | postId, commentId, authorId, author, photo | create Comment | Yes | User.name = author; User.photo = photo | 5/s |
| AP-023 | Comment | edit | postId, commentId, editorId, editor | update Comment (editorId, editor) | No | - | 1/s |
"""


def forum(text: str = DOCUMENT) -> tuple[Workload, Design]:
    reading = read_text(text, "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    return reading.workload, solve(reading.workload).design


TENANTS = [
    ("## Entities", "## Context\n\n- **Tenant**: teamId\n\n## Entities"),
    ("  - `userId` (uuid, generated)", "  - `teamId` (string, id)\n  - `userId` (uuid, generated)"),
    ("  - `postId` (string, id)", "  - `teamId` (string, id)\n  - `postId` (string, id)"),
    ("→ User)", "→ User.userId)"),
]
UNIQUE = [
    ("`text` (string, immutable)", "`text` (string, immutable)\n  - `slug` (string, optional, unique, immutable)")
]


@pytest.mark.parametrize("edits", [[], TENANTS, UNIQUE], ids=["plain", "tenants", "with a guard"])
def test_every_source_is_refreshed_in_the_proof(edits: list[tuple[str, str]]) -> None:
    text = DOCUMENT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    workload, design = forum(text)
    assert len(refreshes(workload, design)) == 2
    with Embedded() as engine:
        found = prove(workload, design, engine, now=NOW)
    assert [(a.pattern, a.wrong, a.problem) for a in found.failed] == []
    assert found.findings == ()


def test_incomplete_refresh_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    workload, design = forum()
    monkeypatch.setattr(prejoin.proof.prove_refreshes, "refresh", lambda db, cls, **key: 0)
    with Embedded() as engine:
        found = prove(workload, design, engine, now=NOW)
    assert any("updated 0 items" in text for text in found.findings)
    assert any(text.startswith("outdated: Comment") for text in found.findings)  # the audit finds them as well


USER = UUID(int=7)


def sent(workload: Workload, design: Design) -> list[Call]:
    """The requests of a refresh of 120 comments that have the documented sizes."""
    package = load_package(workload, design)
    calls: list[Call] = []
    db = Client(package.schema, design.table, Embedded(), observe=calls.append)
    db.create_table()
    db.insert(package.record("User", {"userId": USER, "name": "n"}))
    for at in range(120):
        values = {"postId": "1", "commentId": f"{at:026}", "authorId": USER, "text": "x" * 80, "author": "o"}
        db.insert(package.record("Comment", values | ({"editorId": UUID(int=at)} if at % 2 else {})))
    calls.clear()
    assert refresh(db, package.classes["User"], user_id=USER) == 120
    return calls


ONE = DOCUMENT.replace(", follows User.name via editorId within 10 seconds", "")


@pytest.mark.slow
def test_price_of_a_refresh_equals_its_requests() -> None:
    workload, design = forum(ONE)
    (one,) = refreshes(workload, design)
    calls = sent(workload, design)
    assert [call.operation for call in calls] == [
        "GetItem",
        "Query",
        "TransactWriteItems",
        "TransactWriteItems",
        "GetItem",
    ]
    assert len(calls) == one.requests
    assert sum(call.units for call in calls if call.operation == "TransactWriteItems") == one.units.write
    assert sum(call.units for call in calls if call.operation != "TransactWriteItems") == one.units.read
    assert one.rate == 0.1


@pytest.mark.slow
def test_role_that_changes_a_source_may_refresh_followers() -> None:
    workload, design = forum(ONE)
    calls = sent(workload, design)
    pk = {"" if slot.name == TABLE else slot.name: slot.pk[0].name for slot in design.slots}
    requests = [one for call in calls for one in iam_requests(call.operation, call.request, pk)]

    def permits(workload: Workload, *patterns: str) -> set[bool]:
        options = Infrastructure(roles=(Role("One", patterns),))
        policies = policies_of(workload, design, options) if patterns else (consumer_policy(workload, design, options),)
        arn = ARN.format(table=design.table)
        arns = {slot.name: arn if slot.name == TABLE else f"{arn}/index/{slot.name}" for slot in design.slots}
        documents = [policy_document(policy, {**arns, STREAM: f"{arn}/stream/1"}) for policy in policies]
        return {any(allowed(document, one) for document in documents) for one in requests}

    assert permits(workload, "AP-021") == {True}
    assert False in permits(workload, "AP-020", "AP-003")
    assert permits(workload) == {False}
    # Only the consumer of the stream does it.
    streamed, _ = forum(ONE.replace("via authorId)", "via authorId within 1 minute)"))
    assert permits(streamed) == {True}
    assert False in permits(streamed, "AP-021")


def test_the_stream_that_keeps_attributes_current_is_switched_on() -> None:
    workload, design = forum()
    assert stack_of(workload, design, Infrastructure()).options.stream is Stream.NEW_AND_OLD_IMAGES
    with pytest.raises(InfrastructureError, match=r"Comment.editor follows User by the stream, which needs both"):
        stack_of(workload, design, Infrastructure(stream=Stream.NEW_IMAGE))
    assert stack_of(*forum(ONE), Infrastructure()).options.stream is None


def test_the_page_says_how_old_an_attribute_may_be() -> None:
    page = query_interfaces(*forum(), {})
    said = page.partition("## Attributes that follow others\n\n")[2]
    assert said == (
        "- `Comment.author` follows `User.name` and `Comment.photo` follows `User.photo`. It is as old as the last "
        "`refresh` of the User: call it after AP-021. A refresh takes 8 read + 424 write units in 5 requests for 120 "
        "items; 6 times a minute, that is $68.95 a month.\n"
        "- `Comment.editor` follows `User.name`. It may be 10 seconds old: the table's stream updates it, by "
        "`keep_fresh`. A refresh takes 8 read + 424 write units in 5 requests for 120 items; 6 times a minute, that is "
        "$68.95 a month.\n"
    )
