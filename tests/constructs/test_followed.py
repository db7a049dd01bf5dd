"""Followed attributes: refreshes cost what they are priced at and are permitted, and each mistake in the construct is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from prejoin import Call, Client, Embedded, refresh
from prejoin.constructs.construct import SchemaCall
from prejoin.constructs.followed import FollowedAttributes
from prejoin.constructs.refreshed import refreshed_in
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.model import TABLE, Design
from prejoin.patterns.follows import refresh_item
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.proof.prove import prove
from prejoin.render.infrastructure.options import Infrastructure, Role
from prejoin.render.infrastructure.policies import STREAM, Policy, consumer_policy, policies_of, policy_document
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload
from tests.render.infrastructure.iam import ARN, allowed, iam_requests
from tests.solutions import solve

DOCUMENT = """# Forum

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
  - `text` (string, immutable)
  - `author` (string, mutable, follows User.name via authorId)
  - `photo` (string, optional, mutable, follows User.photo via authorId)
- **Cardinality**: 120 per User, 120K total
- **Size**: 400 B

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | User | one | userId | Single | - | No | 10/s |
| AP-002 | Comment | of a post | postId | Collection | commentId DESC | Yes (20) | 50/s |
| AP-003 | Comment | of an author | authorId | Collection | - | Yes (20) | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | User | sign up | userId, name | create User | No | - | Cold |
| AP-021 | User | rename | userId, name, photo | update User (name, photo) | No | - | 0.1/s |
| AP-022 | Comment | comment | Comment | create Comment | Yes | User.name = author; User.photo = photo | 5/s |
"""
TEXT = "  - `text` (string, immutable)\n"
LIKES = (
    "| AP-024 | Comment | like | postId, commentId | update Comment (likes += 1) | No | - | 2000/s |\n"
    "\n## Decisions\n\n- Comment.likes in 4 shards\n"
)
EDITOR = "  - `editorId` (uuid, optional, immutable, → User)\n"
EDITOR += "  - `editor` (string, optional, mutable, follows User.name via editorId within 10 seconds)\n"
BY_EDITOR = "| AP-004 | Comment | of an editor | editorId | Collection | - | Yes (20) | 1/s |\n\n### Writes"
VARIANTS: dict[str, list[tuple[str, str]]] = {
    "plain": [],
    "bounds": [(TEXT, f"{TEXT}  - `stars` (integer, optional, mutable, min 1, max 5)\n")],
    "a guard": [(TEXT, f"{TEXT}  - `slug` (string, optional, unique, immutable)\n")],
    "an end": [(TEXT, f"{TEXT}  - `endsAt` (datetime, optional, immutable, ttl)\n")],
    "a content": [(TEXT, f"{TEXT}  - `scan` (content, optional, immutable)\n")],
    "a counter": [(TEXT, f"{TEXT}  - `likes` (integer, mutable, default=0)\n"), ("| 5/s |\n", f"| 5/s |\n{LIKES}")],
}
"""What else a comment has."""
FAREWELL = """
### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-030 | Comment | leave | postId, commentId, userId | delete Comment; update User by userId (name = "-") | Yes | - | 3/s |
"""
TENANTS = [
    ("## Entities", "## Context\n\n- **Tenant**: teamId\n\n## Entities"),
    ("  - `userId` (uuid, generated)", "  - `teamId` (string, id)\n  - `userId` (uuid, generated)"),
    ("  - `postId` (string, id)", "  - `teamId` (string, id)\n  - `postId` (string, id)"),
    ("→ User)", "→ User.userId)"),
]
USER = UUID(int=7)
COMMENTS = 120


def designed(*edits: tuple[str, str], title: str = "Forum") -> tuple[Workload, Design]:
    text = DOCUMENT.replace("# Forum", f"# {title}", 1)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    reading = read_text(text, "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    return reading.workload, solve(reading.workload).design


def comment(package: LoadedPackage, number: int) -> Any:
    """A comment that has almost the documented size, and an old name of its author."""
    values: dict[str, Any] = {"postId": "1", "commentId": f"{number:026}", "authorId": USER}
    values |= {"text": "x" * 110, "author": "o"}
    values |= {"likes": 0} if "likes" in package.fields["Comment"] else {}
    values |= {"editorId": USER, "editor": "o"} if "editor" in package.fields["Comment"] else {}
    return package.record("Comment", values)


def forum(package: LoadedPackage, design: Design, calls: list[Call]) -> Client:
    """A table with a user."""
    db = Client(package.schema, design.table, Embedded(), observe=calls.append)
    db.create_table()
    db.insert(package.record("User", {"userId": USER, "name": "n"}))
    return db


def refresh_calls(package: LoadedPackage, design: Design) -> list[Call]:
    """The requests of a refresh of comments."""
    calls: list[Call] = []
    db = forum(package, design, calls)
    for number in range(COMMENTS):
        db.insert(comment(package, number))
    calls.clear()
    assert refresh(db, package.classes["User"], user_id=USER) >= COMMENTS
    return calls


def refused(calls: list[Call], design: Design, *policies: Policy) -> list[Any]:
    """The requests that policies do not allow."""
    arn = ARN.format(table=design.table)
    arns = {slot.name: arn if slot.name == TABLE else f"{arn}/index/{slot.name}" for slot in design.slots}
    documents = [policy_document(policy, {**arns, STREAM: f"{arn}/stream/1"}) for policy in policies]
    pk = {"" if slot.name == TABLE else slot.name: slot.pk[0].name for slot in design.slots}
    requests = [one for call in calls for one in iam_requests(call.operation, call.request, pk)]
    return [one for one in requests if not any(allowed(document, one) for document in documents)]


@pytest.mark.everyday(2)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_refresh_is_priced_and_permitted_as_it_is_sent(variant: str) -> None:
    workload, design = designed(*VARIANTS[variant])
    assert bool(design.counters) == (variant == "a counter")
    (one,) = refreshes(workload, design)
    calls = refresh_calls(load_package(workload, design), design)
    assert len(calls) == one.requests
    assert sum(call.units for call in calls if call.operation == "TransactWriteItems") == one.units.write
    # The size of an entity is of all its attributes, and these comments lack some: less than a page of a Query.
    read = sum(call.units for call in calls if call.operation != "TransactWriteItems")
    assert read == pytest.approx(one.units.read, abs=3)
    roles = Infrastructure(roles=(Role("Renamer", ("AP-021",)),))
    assert refused(calls, design, *policies_of(workload, design, roles)) == []


def test_a_row_of_the_deletes_can_change_a_source() -> None:
    workload, design = designed(("| 5/s |\n", f"| 5/s |\n{FAREWELL}"))
    (one,) = refreshes(workload, design)
    assert [write.id for write in one.writes] == ["AP-021", "AP-030"]
    assert one.rate == pytest.approx(0.1 + 3)
    calls = refresh_calls(load_package(workload, design), design)
    roles = Infrastructure(roles=(Role("Cleaner", ("AP-030",)),))
    assert refused(calls, design, *policies_of(workload, design, roles)) == []


@pytest.mark.parametrize(("unique", "is_refused"), [("authorId + author", True), ("author + text", False)])
def test_items_of_one_source_cannot_be_unique_by_what_they_repeat(unique: str, is_refused: bool) -> None:
    cardinality = "- **Cardinality**: 120 per"
    reading = read_text(DOCUMENT.replace(cardinality, f"- **Unique**: {unique}\n{cardinality}"), "md")
    errors = [one for one in reading.diagnostics if one.severity == "error"]
    assert [one.code for one in errors] == ["PJ224"] * is_refused


@pytest.mark.parametrize("edits", [[], TENANTS], ids=["plain", "tenants"])
def test_a_followed_attribute_is_not_unique(edits: list[tuple[str, str]]) -> None:
    text = DOCUMENT.replace("follows User.name", "unique, follows User.name")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    errors = [one for one in read_text(text, "md").diagnostics if one.severity == "error"]
    assert [one.code for one in errors] == ["PJ224"]


def test_a_refresh_brings_all_attributes_of_a_source_up_to_date_and_is_permitted_to() -> None:
    """A refresh is of a source: of what the application refreshes, and of what the stream does."""
    workload, design = designed((TEXT, TEXT + EDITOR), ("\n### Writes", BY_EDITOR))
    assert {bound.within for bound in refreshed_in(workload)} == {None, 10}
    calls = refresh_calls(load_package(workload, design), design)
    options = Infrastructure(roles=(Role("Renamer", ("AP-021",)),))
    assert refused(calls, design, *policies_of(workload, design, options)) == []
    assert refused(calls, design, consumer_policy(workload, design, options)) == []


@pytest.mark.everyday(2)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_function_of_the_stream_may_correct_an_item_that_was_written(variant: str) -> None:
    workload, design = designed(*VARIANTS[variant], ("via authorId)", "via authorId within 1 minute)"))
    package = load_package(workload, design)
    calls: list[Call] = []
    db = forum(package, design, calls)
    written = comment(package, 1)
    db.insert(written)
    calls.clear()
    assert refresh_item(db, written)
    assert refused(calls, design, consumer_policy(workload, design, Infrastructure())) == []


# --- Mistakes -------------------------------------------------------------------------------------------------------


def problems(title: str) -> list[str]:
    """What the proof finds."""
    # Documents are read and solved once: a title makes this one another document.
    workload, design = designed(title=f"Forum {title}")
    with Embedded() as engine:
        proof = prove(workload, design, engine)
    wrong = [f"{one.pattern}: {one.wrong or one.problem}" for one in proof.patterns if not one.right]
    return [*wrong, *map(str, proof.findings)]


def test_followed_attributes_are_proven() -> None:
    assert problems("") == []


SCHEMA_CALLS, REFRESHED = FollowedAttributes.schema_calls, FollowedAttributes.refreshed_values


def with_pairs(self: FollowedAttributes, *arguments: Any) -> Iterator[SchemaCall]:
    """The pattern without the last of its attributes."""
    return (replace(one, pairs=one.pairs[:-1]) for one in SCHEMA_CALLS(self, *arguments))


def of_all_sources(self: FollowedAttributes, source: dict[str, Any], values: dict[str, Any]) -> Any:
    """Each item, as if it were of the source."""
    return REFRESHED(self, {**source, **{part: values.get(own) for part, own in self.by.items()}}, values)


MUTANTS: dict[str, tuple[str, Any]] = {
    "no pattern in the schema": ("schema_calls", lambda *_: iter(())),
    "an attribute is not refreshed": ("schema_calls", with_pairs),
    "no refresh is expected": ("refreshed_values", lambda *_: None),
    "items of other sources are expected to change": ("refreshed_values", of_all_sources),
    "absent values are expected to stay": (
        "refreshed_values", lambda self, source, values: (after := REFRESHED(self, source, values)) and {**values, **after}),
}  # fmt: skip


@pytest.mark.everyday(2)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FollowedAttributes, *MUTANTS[mutant])
    assert problems(mutant) != []
