"""Policies: a role may send the requests of its access patterns, and no requests of others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Item, KeyAttribute, Slot
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.result import PatternProof
from prejoin.render.infrastructure.errors import InfrastructureError
from prejoin.render.infrastructure.options import Encryption, Infrastructure, Role
from prejoin.render.infrastructure.policies import (
    BUCKET,
    MOST_CHARACTERS,
    Policy,
    policies_of,
    policy_document,
)
from prejoin.render.infrastructure.stack import stack_of
from prejoin.workload.files import read_text
from prejoin.workload.model import Verb, Workload

from .documents import DOCUMENTS, SHOP, designed, named
from .iam import ARN, IamRequest, allowed, iam_requests

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@cache
def ran(path: Path) -> tuple[PatternProof, ...]:
    workload, design = designed(path)
    return answers(workload, design)


def answers(workload: Workload, design: Design) -> tuple[PatternProof, ...]:
    with Embedded() as engine:
        return tuple(a for a in prove(workload, design, engine, now=NOW).patterns if a.calls)


def requests_of(answer: PatternProof, design: Design) -> Iterator[IamRequest]:
    """The authorization requests while a pattern runs."""
    pk = {"" if slot.name == TABLE else slot.name: slot.pk[0].name for slot in design.slots}
    for call in answer.calls:
        yield from iam_requests(call.operation, call.request, pk)


def written(policy: Policy, design: Design) -> dict[str, Any]:
    arn = ARN.format(table=design.table)
    arns = {slot.name: arn if slot.name == TABLE else f"{arn}/index/{slot.name}" for slot in design.slots}
    folders = {place for one in policy.statements for place in one.places if place.endswith("/")}
    arns |= {BUCKET: "arn:aws:s3:::bucket"} | {one: f"arn:aws:s3:::bucket/{design.table}/{one}*" for one in folders}
    return policy_document(policy, arns)


def role(workload: Workload, design: Design, *patterns: str) -> dict[str, Any]:
    (policy,) = policies_of(workload, design, Infrastructure(roles=(Role("One", patterns),)))
    return written(policy, design)


@pytest.mark.everyday(4)
@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_a_role_of_one_pattern_may_send_all_that_the_pattern_sends(path: Path) -> None:
    workload, design = designed(path)
    for answer in ran(path):
        policy = role(workload, design, answer.pattern)
        for request in requests_of(answer, design):
            assert allowed(policy, request), (answer.pattern, request, policy)


@pytest.mark.everyday(4)
@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_the_role_of_the_whole_application_may_send_all_that_is_sent(path: Path) -> None:
    workload, design = designed(path)
    policies = [written(policy, design) for policy in policies_of(workload, design, Infrastructure())]
    for answer in ran(path):
        for request in requests_of(answer, design):
            assert any(allowed(policy, request) for policy in policies), (answer.pattern, request)


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_no_role_may_scan_or_change_the_table_or_do_what_none_of_its_patterns_does(path: Path) -> None:
    workload, design = designed(path)
    for answer in ran(path):
        policy = role(workload, design, answer.pattern)
        arn = ARN.format(table=design.table)
        own = {request.action for request in requests_of(answer, design)}
        said = {action for statement in policy["Statement"] for action in statement["Action"]}
        assert own <= said
        for action in ("Scan", "DeleteTable", "UpdateTable", "PartiQLSelect", "DescribeTable"):
            assert not allowed(policy, IamRequest(f"dynamodb:{action}", arn, {"dynamodb:LeadingKeys": ["USER#1"]}))
        for other in ran(path):
            if workload.pattern(other.pattern) in workload.reads:
                continue
            verbs = {a for a in (request.action for request in requests_of(other, design)) if a not in said}
            assert not any(
                allowed(policy, request) for request in requests_of(other, design) if request.action in verbs
            )


def test_role_for_products_reads_no_users() -> None:
    workload, design = designed(SHOP)
    policy = role(workload, design, "AP-010")
    found = {a.pattern: [allowed(policy, request) for request in requests_of(a, design)] for a in ran(SHOP)}
    assert {pattern for pattern, each in found.items() if all(each)} == {"AP-010"}
    (statement,) = policy["Statement"]
    assert statement["Action"] == ["dynamodb:GetItem"]
    assert statement["Condition"]["ForAllValues:StringLike"] == {"dynamodb:LeadingKeys": ["PRODUCT#*"]}


def test_request_without_a_partition_is_refused() -> None:
    workload, design = designed(SHOP)
    policy = role(workload, design, "AP-010")
    assert not allowed(policy, IamRequest("dynamodb:GetItem", ARN.format(table=design.table), {}))


def test_an_index_is_allowed_by_its_own_name_and_the_table_is_not() -> None:
    workload, design = designed(SHOP)
    (statement,) = role(workload, design, "AP-009")["Statement"]
    operation = design.operation("AP-009")
    assert operation is not None
    assert statement["Resource"] == [f"{ARN.format(table='shop')}/index/{operation.requests[0].slot}"]
    assert statement["Condition"]["ForAllValues:StringLike"] == {"dynamodb:LeadingKeys": ["ALL#ORDER#*"]}


def test_a_transaction_is_the_permissions_of_its_parts_each_for_its_own_partitions() -> None:
    workload, design = designed(SHOP)
    policy = role(workload, design, "AP-022")
    limits = {
        action: statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        for statement in policy["Statement"]
        for action in statement["Action"]
    }
    assert limits == {"dynamodb:PutItem": ["ORDER#*"], "dynamodb:UpdateItem": ["PRODUCT#*", "USER#*"]}


NOTES = """
# Notes

## Entities

### Note

- **Attributes**:
  - `noteId` (string, id, generated)
  - `owner` (string, immutable)
  - `title` (string, mutable)
  - `text` (string, mutable)
  - `expiresAt` (integer, ttl, optional)

### Owner

- **Attributes**:
  - `owner` (string, id)
  - `open` (boolean, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Note | titles | owner | Collection (title) |
| AP-002 | Note | one | noteId | Single |
| AP-003 | Note | how many | owner | Count |
| AP-004 | Note | some | noteId[] | Collection |
| AP-005 | Note | whether it exists | noteId | Count |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Note | make, where it is open | owner | create Note | Owner.open = true |
| AP-021 | Owner | come | owner | create Owner | |
"""


def notes() -> tuple[Workload, Design]:
    workload = read_text(NOTES, "md").workload
    pk, sk = (KeyAttribute("pk"),), (KeyAttribute("sk"),)
    slots = (
        Slot(TABLE, pk, sk),
        Slot("gsi1", (KeyAttribute("gsi1pk"),), (KeyAttribute("gsi1sk"),)),
    )
    items = (
        Item(
            "Note",
            "Note",
            (Facet(TABLE, ("NOTE#{noteId}",), ("NOTE",)), Facet("gsi1", ("OWNER#{owner}",), ("NOTE#{noteId}",))),
        ),
        Item("Owner", "Owner", (Facet(TABLE, ("OWNER#{owner}",), ("OWNER",)),)),
    )
    return workload, map_patterns(Design("notes", slots, items, ttl_attribute="expiresAt"), workload)


def test_role_with_a_projection_cannot_read_whole_items() -> None:
    workload, design = notes()
    (statement,) = role(workload, design, "AP-001")["Statement"]
    assert statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"] == [
        "entityType", "expiresAt", "gsi1pk", "gsi1sk", "pk", "sk", "title",
    ]  # fmt: skip
    policy = role(workload, design, "AP-001")
    found = {
        a.pattern: all(allowed(policy, request) for request in requests_of(a, design))
        for a in answers(workload, design)
    }
    assert found["AP-001"]
    assert not found["AP-002"]
    everything = IamRequest(
        "dynamodb:Query",
        f"{ARN.format(table='notes')}/index/gsi1",
        {"dynamodb:LeadingKeys": ["OWNER#1"], "dynamodb:Select": ["ALL_PROJECTED_ATTRIBUTES"]},
    )
    assert not allowed(policy, everything)


PAID = """# Shop

## Entities

### Order

- **Attributes**:
  - `userId` (string, id)
  - `orderId` (string, generated)
  - `placedAt` (datetime, immutable)
  - `total` (number)

### Payment

- **Attributes**:
  - `userId` (string, id)
  - `paymentId` (string, generated)
  - `paidAt` (datetime, immutable)
  - `amount` (number)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Paginated | Multi-Entity |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Order, Payment | userId, filter Order.placedAt / Payment.paidAt >= | Collection (orderId, paymentId) | No | Collection |

### Writes

| ID | Entity | Input Parameters | Items Written |
| --- | --- | --- | --- |
| AP-020 | Order | Order | create Order |
| AP-021 | Payment | Payment | create Payment |
"""


def test_role_of_several_entities_may_read_them_whole_and_test_each_by_its_own_attribute() -> None:
    workload = read_text(PAID, "md").workload
    design = solve(workload).design
    answer = next(one for one in answers(workload, design) if one.pattern == "AP-001")
    assert answer.right, answer
    assert all(allowed(role(workload, design, "AP-001"), request) for request in requests_of(answer, design))


def test_role_that_counts_reads_no_item() -> None:
    workload, design = notes()
    policy = role(workload, design, "AP-003")
    found = {
        a.pattern: all(allowed(policy, request) for request in requests_of(a, design))
        for a in answers(workload, design)
    }
    assert found["AP-003"]
    assert not found["AP-001"]


def test_every_pattern_of_the_notes_may_be_run_by_its_role() -> None:
    workload, design = notes()
    for answer in answers(workload, design):
        assert answer.right, answer
        assert all(allowed(role(workload, design, answer.pattern), one) for one in requests_of(answer, design)), (
            answer.pattern
        )


def test_a_condition_on_another_item_has_a_permission_of_its_own() -> None:
    workload, design = notes()
    limits = {s["Action"][0]: s["Condition"] for s in role(workload, design, "AP-020")["Statement"]}
    assert limits["dynamodb:ConditionCheckItem"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] == ["OWNER#*"]


def test_keys_that_are_attributes_as_they_stand_are_not_limited_by_a_word() -> None:
    workload, design = notes()
    slots = (Slot(TABLE, (KeyAttribute("noteId"),)),)
    plain = replace(design, slots=slots, items=(Item("Note", "Note", (Facet(TABLE, ("{noteId}",)),)),))
    mapped = map_patterns(plain, workload)
    (statement,) = role(workload, mapped, "AP-002")["Statement"]
    assert "Condition" not in statement


def test_iam_wildcards_in_keys_are_escaped() -> None:
    workload, design = notes()
    items = (Item("Note", "Note", (Facet(TABLE, ("N*?#{noteId}",), ("NOTE",)),)),)
    mapped = map_patterns(replace(design, slots=design.slots[:1], items=items, guards=()), workload)
    policy = role(workload, mapped, "AP-002")
    arn = ARN.format(table="notes")
    said = [
        allowed(policy, IamRequest("dynamodb:GetItem", arn, {"dynamodb:LeadingKeys": [key]}))
        for key in ("N*?#1", "NXY#1")
    ]
    assert said == [True, False]


VERSIONED = """# Papers

## Entities

### Book

- **Attributes**:
  - `bookId` (ulid, generated)
- **Cardinality**: ~1000 total

### Page

- **Attributes**:
  - `bookId` (ulid, id, → Book)
  - `pageId` (string, id, natural)
  - `text` (string, mutable)
  - `version` (integer, mutable)
- **Cardinality**: ~20 per Book
- **History**: 3 versions

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- |
| R1 | Page | bookId | Collection | 1/s |
| R2 | Book | bookId | Single | 1/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- |
| W1 | Page | bookId, pageId, text | update Page (text) | 1/s |
| W2 | Page | Page | create Page | 1/s |
"""
VERSIONS = "BOOK#*#PAGE#*#HISTORY"


def table_actions(policy: dict[str, Any], key: str) -> set[str]:
    """What a policy allows with a partition of the table."""
    arn = ARN.format(table="papers")
    actions = ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")
    requests = {a: IamRequest(f"dynamodb:{a}", arn, {"dynamodb:LeadingKeys": [key]}) for a in actions}
    return {action for action, request in requests.items() if allowed(policy, request)}


def test_a_prefix_does_not_reach_the_versions_below_it() -> None:
    workload = read_text(VERSIONED, "md").workload
    design = solve(workload).design
    reader, creator, writer = (role(workload, design, pattern) for pattern in ("R1", "W2", "W1"))
    (statement,) = reader["Statement"]
    assert statement["Condition"]["ForAllValues:StringNotLike"] == {"dynamodb:LeadingKeys": [VERSIONS]}
    assert table_actions(reader, "BOOK#b") == {"Query"}
    assert table_actions(reader, "BOOK#b#PAGE#p#HISTORY") == set()
    assert table_actions(creator, "BOOK#b#PAGE#p#HISTORY") == set()
    # The update puts versions and deletes the oldest; it may find the last of a deleted page, and read no item of them.
    assert table_actions(writer, "BOOK#b#PAGE#p#HISTORY") == {"PutItem", "DeleteItem", "Query"}
    assert table_actions(writer, "BOOK#b") == {"GetItem", "UpdateItem"}


def test_a_prefix_reaches_the_versions_below_it_if_values_may_have_the_separator() -> None:
    workload = read_text(VERSIONED.replace("(ulid, generated)", "(string, natural)"), "md").workload
    design = replace(solve(workload).design, raw_keys=True)
    (statement,) = role(workload, design, "R1")["Statement"]
    assert "ForAllValues:StringNotLike" not in statement["Condition"]


def test_a_statement_without_room_for_other_partitions_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = read_text(VERSIONED, "md").workload
    design = solve(workload).design
    without_them = len(json.dumps(role(workload, design, "R2"), separators=(",", ":")))
    for most in range(without_them, 6144):
        monkeypatch.setattr("prejoin.render.infrastructure.policies.MOST_CHARACTERS", most)
        with suppress(InfrastructureError):
            (statement,) = role(workload, design, "R1")["Statement"]
            break
    assert statement["Condition"]["ForAllValues:StringLike"] == {"dynamodb:LeadingKeys": ["BOOK#*"]}
    assert "ForAllValues:StringNotLike" not in statement["Condition"]


def test_whole_read_permission_covers_partial_ones() -> None:
    workload, design = notes()
    both = role(workload, design, "AP-001", "AP-003")
    assert len(both["Statement"]) == 2
    whole = tuple(replace(read, result=None) if read.id == "AP-003" else read for read in workload.reads)
    changed = replace(workload, reads=whole)
    mapped = map_patterns(design, changed)
    (statement,) = role(changed, mapped, "AP-001", "AP-003")["Statement"]
    assert "ForAllValues:StringEquals" not in statement["Condition"]


def test_a_key_of_the_customer_may_be_used_by_roles_and_for_writing_by_those_who_write() -> None:
    workload, design = designed(SHOP)
    roles = (Role("Shelf", ("AP-010",)), Role("Desk", ("AP-025",)))
    options = Infrastructure(encryption=Encryption.CUSTOMER, roles=roles)
    shelf, desk = policies_of(workload, design, options)
    assert shelf.key_actions == ("kms:Decrypt", "kms:DescribeKey")
    assert "kms:Encrypt" in desk.key_actions
    assert policy_document(desk, dict.fromkeys((TABLE,), "arn"), "key")["Statement"][-1]["Resource"] == ["key"]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ((Role("Desk", ("AP-10",)),), "the role Desk names AP-10, which is no access pattern: did you mean AP-010?"),
        ((Role("Käse", ("AP-010",)),), "the role 'Käse': a name begins with a letter"),
        ((Role("the desk", ("AP-010",)), Role("TheDesk", ("AP-010",))), "would both be TheDesk"),
    ],
)
def test_invalid_roles_are_refused_with_a_message(roles: tuple[Role, ...], message: str) -> None:
    workload, design = designed(SHOP)
    with pytest.raises(InfrastructureError) as problem:
        policies_of(workload, design, Infrastructure(roles=roles))
    assert message in str(problem.value)


def test_a_role_that_sends_nothing_is_refused() -> None:
    workload, design = notes()
    expiring = replace(
        workload,
        deletes=(
            replace(
                workload.writes[0],
                id="AP-030",
                checks=(),
                actions=(replace(workload.writes[0].actions[0], verb=Verb.EXPIRE),),
            ),
        ),
    )
    mapped = map_patterns(design, expiring)
    with pytest.raises(InfrastructureError, match="sends no request"):
        role(expiring, mapped, "AP-030")


def test_long_policy_is_split() -> None:
    workload, design = designed(SHOP)
    indexes = tuple(
        Slot(f"index-{n:03d}-{'x' * 200}", (KeyAttribute(f"pk{n}"),), (KeyAttribute(f"sk{n}"),)) for n in range(20)
    )
    requests = design.operations[1].requests
    operations = tuple(
        replace(
            design.operations[1],
            pattern=f"AP-{n}",
            requests=(replace(requests[0], slot=one.name, pk=f"P{n}#{{email}}"),),
        )
        for n, one in enumerate(indexes)
    )
    wide = replace(design, slots=(design.slots[0], *indexes), operations=operations)
    found = policies_of(workload, wide, Infrastructure())
    assert [policy.name for policy in found] == ["Application", "Application2", "Application3"]
    assert sum(len(policy.statements) for policy in found) == 20
    for policy in found:
        assert len(str(written(policy, wide)).replace(" ", "")) <= MOST_CHARACTERS


def test_design_without_operations_derives_them_from_its_keys() -> None:
    workload, design = designed(SHOP)
    bare = replace(design, operations=())
    assert stack_of(workload, bare, Infrastructure()).policies == policies_of(workload, design, Infrastructure())


def test_the_same_roles_give_the_same_policies() -> None:
    workload, design = designed(SHOP)
    assert policies_of(workload, design, Infrastructure()) == policies_of(workload, design, Infrastructure())


def attacked(request: IamRequest, **keys: str) -> IamRequest:
    """The same request with another value of a condition key."""
    return replace(request, context={**request.context, **{f"dynamodb:{key}": [value] for key, value in keys.items()}})


WRITES = {f"dynamodb:{action}" for action in ("PutItem", "UpdateItem", "DeleteItem")}


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_a_role_reads_nothing_by_the_answers_of_its_writes(path: Path) -> None:
    workload, design = designed(path)
    tried = 0
    for answer in ran(path):
        policy = role(workload, design, answer.pattern)
        for request in requests_of(answer, design):
            if request.action in WRITES:
                tried += 1
                assert allowed(policy, attacked(request, ReturnValues="NONE"))
                for values in ("ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"):
                    assert not allowed(policy, attacked(request, ReturnValues=values)), (answer.pattern, values)
    assert tried or not (workload.writes or workload.deletes)


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_a_role_reaches_no_other_table_index_or_partition(path: Path) -> None:
    workload, design = designed(path)
    tried = 0
    for answer in ran(path):
        policy = role(workload, design, answer.pattern)
        for request in requests_of(answer, design):
            tried += 1
            for resource in (f"{request.resource}2", f"{request.resource}/index/other", ARN.format(table="other")):
                assert not allowed(policy, replace(request, resource=resource))
            leading = request.context.get("dynamodb:LeadingKeys", [])
            limited = any("dynamodb:LeadingKeys" in str(one.get("Condition")) for one in policy["Statement"])
            if limited and all("#" in key for key in leading):
                assert not allowed(policy, attacked(request, LeadingKeys="somebody-else")), (answer.pattern, request)
    assert tried


@pytest.mark.slow
def test_a_projecting_role_reads_no_other_attribute() -> None:
    tried = 0
    for path in DOCUMENTS:
        workload, design = designed(path)
        for answer in ran(path):
            policy = role(workload, design, answer.pattern)
            for request in requests_of(answer, design):
                limits = [one for one in policy["Statement"] if request.action in one["Action"] and "Condition" in one]
                if limits and all("ForAllValues:StringEquals" in one["Condition"] for one in limits):
                    tried += 1
                    names = [*request.context.get("dynamodb:Attributes", []), "secret"]
                    context = {**request.context, "dynamodb:Attributes": names}
                    assert not allowed(policy, replace(request, context=context))
                    assert not allowed(policy, attacked(request, Select="ALL_ATTRIBUTES"))
                    assert not allowed(policy, attacked(request, Select="ALL_PROJECTED_ATTRIBUTES"))
    assert tried


DESK = """# Desk

## Entities

### Ticket

- **Attributes**:
  - `ticketId` (string, natural)
  - `status` (OPEN | DONE, mutable)
  - `body` (content, mutable, 60 KB)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Ticket | a ticket | ticketId | Single |
| AP-002 | Ticket | its status | ticketId | Single (status) |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Ticket | open | Ticket | create Ticket | |
| AP-011 | Ticket | close | ticketId | update Ticket (status = DONE) | status = OPEN |
| AP-012 | Ticket | answer | ticketId, body | update Ticket (body) | |

## Decisions

- Ticket.body in {place}
"""
IN_STORE = {
    "AP-001": {"dynamodb:GetItem", "s3:GetObject", "s3:ListBucket"},
    "AP-002": {"dynamodb:GetItem"},
    "AP-010": {"dynamodb:PutItem", "s3:PutObject"},
    "AP-011": {"dynamodb:UpdateItem"},
    "AP-012": {"dynamodb:UpdateItem", "s3:PutObject"},
}
IN_PARTS = {
    "AP-001": {"dynamodb:GetItem", "dynamodb:Query"},
    "AP-002": {"dynamodb:GetItem"},
    "AP-010": {"dynamodb:PutItem"},
    "AP-011": {"dynamodb:UpdateItem"},
    "AP-012": {"dynamodb:UpdateItem", "dynamodb:PutItem"},
}


@pytest.mark.parametrize(("place", "expected"), [("a store", IN_STORE), ("parts", IN_PARTS)])
def test_only_roles_that_read_or_write_a_content_may_use_it(place: str, expected: dict[str, set[str]]) -> None:
    workload = read_text(DESK.format(place=place), "md").workload
    design = solve(workload).design
    for pattern, actions in expected.items():
        statements = role(workload, design, pattern)["Statement"]
        assert {action for one in statements for action in one["Action"]} == actions, pattern


def test_the_whole_application_may_replace_and_delete_contents() -> None:
    """It may also query the table, where a content can be in parts from before it had a store."""
    workload = read_text(DESK.format(place="a store"), "md").workload
    design = solve(workload).design
    (policy,) = policies_of(workload, design, Infrastructure())
    actions = {action for one in written(policy, design)["Statement"] for action in one["Action"]}
    assert actions == {
        "dynamodb:BatchWriteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem",
        "s3:DeleteObject", "s3:GetObject", "s3:ListBucket", "s3:PutObject",
    }  # fmt: skip
