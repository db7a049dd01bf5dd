"""Version histories in documents: checked, designed, priced, shown, generated, proven and allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from msgspec.structs import replace
from tests.design.claims import false_claims
from tests.design.texts import changes_of, conditions_of
from tests.render.infrastructure.iam import ARN, allowed, iam_requests
from tests.solutions import solve

from prejoin import Call, Client, Embedded, compare_versions, history, restore_version, version_of
from prejoin.constructs.construct import Usage
from prejoin.constructs.registry import lines_of
from prejoin.design.checks import check_design
from prejoin.design.codes import STALE
from prejoin.design.cost.bill import bill
from prejoin.design.document.read_document import read_document
from prejoin.design.document.samples import sample_values
from prejoin.design.document.write_document import write_document
from prejoin.design.explain.explanation import explain_design
from prejoin.design.mapping.validate import misfits
from prejoin.design.model import Design, Units
from prejoin.patterns.history import HistoryPattern
from prejoin.pipeline.build.generated_tests import run_tests
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove
from prejoin.render.documents.key_map import key_map
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.render.infrastructure.options import Infrastructure, Role
from prejoin.render.infrastructure.policies import policies_of, policy_document
from prejoin.render.python.package import render_package, render_python
from prejoin.table.schema.schema import Schema
from prejoin.table.write.model import ItemAction, Write
from prejoin.workload import codes
from prejoin.workload.files import read_text
from prejoin.workload.model import Entity, History, Verb, Workload

DOCUMENT = """# Wiki

## Entities

### Space

- **Attributes**:
  - `spaceId` (string, id)
  - `articles` (integer, mutable, default=0)
- **Cardinality**: ~50 total

### Article

- **Attributes**:
  - `spaceId` (string, id, → Space)
  - `articleId` (ulid, generated)
  - `slug` (string, unique, mutable)
  - `title` (string, mutable)
  - `editor` (string, optional, mutable)
  - `status` (DRAFT | PUBLISHED, mutable)
  - `editedAt` (datetime, mutable)
  - `version` (integer, mutable)
- **Cardinality**: at most 30 per Space
- **Size**: 900 B
- **History**: 2 versions, 90 days

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Space, Article | spaceId | Collection | - | Yes | 10/s | Collection |
| AP-002 | Article | spaceId, articleId | Single | - | No | 10/s | No |
| AP-003 | Article | spaceId, status | Collection | editedAt DESC | Yes | 10/s | No |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Space | Space | create Space | No | - | 1/s |
| AP-011 | Article, Space | spaceId, Article | create Article; update Space (articles += 1) | Yes | - | 1/s |
| AP-012 | Article | spaceId, articleId, title, editor | update Article (title, editor) | No | - | 5/s |
| AP-013 | Article | spaceId, articleId, title, version | update Article | No | version = version | 5/s |
| AP-014 | Article | spaceId, articleId, slug | update Article (slug) | No | status = DRAFT | 1/s |
| AP-015 | Article | spaceId, articleId[], editedAt | update Article[] (status = PUBLISHED, editedAt) | Yes | - | 1/s |

### Deletes

| ID | Entity | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Article, Space | spaceId, articleId | delete Article; update Space (articles -= 1) | Yes | - | 1/s |
| AP-021 | Article | spaceId | delete Article[] | No | - | Cold |
"""
KEPT = "- **History**: 2 versions, 90 days"
SETTINGS = """### Settings

- **Attributes**:
  - `theme` (string, mutable)
  - `version` (integer, mutable)
- **Cardinality**: singleton
- **History**: 3 versions

## Access Patterns"""
TENANT = [
    ("`slug` (string, unique, mutable)", "`slug` (string, mutable)"),
    ("## Entities", "## Context\n\n- **Tenant**: teamId\n\n## Entities"),
    ("  - `spaceId` (string, id)\n", "  - `teamId` (string, id)\n  - `spaceId` (string, id)\n"),
    ("  - `spaceId` (string, id, → Space)", "  - `teamId` (string, id)\n  - `spaceId` (string, id, → Space.spaceId)"),
]


def read(text: str = DOCUMENT, *changes: tuple[str, str]) -> Workload:
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    found = read_text(text, "md")
    assert [one.message for one in found.diagnostics if one.severity == "error"] == []
    return found.workload


@pytest.fixture(scope="module")
def wiki() -> tuple[Workload, Design]:
    workload = read()
    return workload, solve(workload).design


@pytest.mark.slow
def test_replaced_version_is_put_in_the_transaction_of_the_write(wiki: tuple[Workload, Design]) -> None:
    operation = wiki[1].operation("AP-012")
    assert operation is not None
    assert [request.call for request in operation.requests] == ["GetItem", "TransactWriteItems"]
    own, put, deleted = operation.requests[1].actions
    assert changes_of(own) == ["SET title = {title}", "SET editor = {editor}", "SET version = version + 1"]
    partition = "SPACE#{spaceId}#ARTICLE#{articleId}#HISTORY"
    assert [(one.action, str(one.item), one.pk, one.sk) for one in (put, deleted)] == [
        ("Put", "Article@history", partition, "{version}"),
        ("Delete", "Article@history", partition, "{version}"),
    ]
    assert conditions_of(put) == ["attribute_not_exists(pk)"]


def test_price_has_versions_and_their_storage(wiki: tuple[Workload, Design]) -> None:
    workload, design = wiki
    operation = design.operation("AP-012")
    assert operation is not None
    # The item, the version and the deleted one, twice each in a transaction, and the index entry.
    assert operation.units == Units(read=1.0, write=7.0)
    many = design.operation("AP-021")
    assert many is not None
    assert many.units == Units(read=37.0, write=30 * 9.0)  # a consistent Query, and 30 items that are read one by one
    stored = {one.item: one for one in bill(workload, design).storage}
    assert stored["Article@history"].entries == 2 * 1_500  # fewer than are written within 90 days
    rarely = read(DOCUMENT.replace(KEPT, "- **History**: 10 seconds"))
    stored = {one.item: one for one in bill(rarely, solve(rarely).design).storage}
    assert stored["Article@history"].entries == 450
    assert not false_claims(workload, solve(workload))
    assert [one for one in check_design(design, workload) if one.severity == "error"] == []


def _without_limit(entity: Entity) -> Entity:
    return replace(entity, history=History(seconds=7_776_000)) if entity.history else entity


def test_design_is_shown_explained_and_read_back(wiki: tuple[Workload, Design]) -> None:
    workload, design = wiki
    text = write_document(design, workload)
    row = "| Article | 2 versions, 90 days | `SPACE#{spaceId}#ARTICLE#{articleId}#HISTORY` | `{version}` |"
    assert row in " ".join(text.split())
    reading = read_document(text, workload)
    assert not reading.diagnostics
    assert reading.design == design
    longer = replace(workload, entities=tuple(_without_limit(one) for one in workload.entities))
    assert [one.code for one in read_document(text, longer).diagnostics] == [STALE.id] * 6
    said = next(one.text for one in explain_design(workload, design).entities if one.entity == "Article")
    assert any("2 versions, 90 days" in one and "#HISTORY" in one for one in said)
    assert "## Version histories" in key_map(workload, design)
    assert "`restore_version`" in query_interfaces(workload, design, {})


def test_generated_schema_declares_the_history(wiki: tuple[Workload, Design]) -> None:
    modules = render_package(*wiki).modules
    assert "keep=2," in modules["schema"]
    assert "keep_for=timedelta(days=90)" in modules["schema"]
    assert 'ttl="expiresAt"' in modules["schema"]
    assert "article.version" not in modules["repository"]  # the client counts it


def test_generated_tests_pass(wiki: tuple[Workload, Design]) -> None:
    ran = run_tests(render_python(*wiki), "wiki")
    assert not ran.failed
    assert len(ran.passed) == 24


VARIANTS: dict[str, list[tuple[str, str]]] = {
    "number and time": [],
    "number": [(KEPT, "- **History**: 1 versions")],
    "copies": [("## Access Patterns", "## Decisions\n\n- at most 0 GSIs\n\n## Access Patterns")],
    "tenant": TENANT,
    "time": [(KEPT, "- **History**: 36 hours")],
    "all": [(KEPT, "- **History**: all versions")],
    "ttl": [
        ("  - `title` (string, mutable)", "  - `title` (string, mutable)\n  - `endsAt` (integer, optional, ttl)"),
        ("| AP-021 | Article | spaceId | delete Article[] | No | - | Cold |\n", ""),
    ],
    "added to a table in use": [("`version` (integer, mutable)", "`version` (integer, mutable, default=0)")],
    "only one item": [
        ("## Access Patterns", SETTINGS),
        ("\n\n### Deletes", "\n| AP-016 | Settings | theme | update Settings (theme) | No | - | 1/s |\n\n### Deletes"),
    ],
}


@pytest.mark.everyday(4)
@pytest.mark.parametrize("name", VARIANTS)
def test_design_with_history_is_proven(name: str) -> None:
    workload = read(DOCUMENT, *VARIANTS[name])
    design = solve(workload).design
    assert bool(design.copies) is (name == "copies")
    proof = prove(workload, design, Embedded())
    assert [(one.pattern, one.wrong or one.problem) for one in proof.patterns if one.wrong or one.problem] == []
    refused = {one.pattern: one.refused for one in proof.patterns}
    assert "Article.version not as the condition says" in refused["AP-013"]


EXPAND = HistoryPattern.expand
LOST: dict[str, Callable[[HistoryPattern, Schema, Write], Iterator[ItemAction]]] = {
    "versions": lambda pattern, schema, write: iter(()),
    "the deletes of the oldest": lambda pattern, schema, write: islice(EXPAND(pattern, schema, write), 1),
}


@pytest.mark.parametrize("lost", LOST)
def test_proof_finds_what_is_lost(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = read(DOCUMENT, *VARIANTS["number"])  # of one version, so that a second write of an item deletes one
    monkeypatch.setattr(HistoryPattern, "expand", LOST[lost])
    wrong = {one.pattern for one in prove(workload, solve(workload).design, Embedded()).patterns if one.wrong}
    assert wrong
    assert not {"AP-002", "AP-010"} & wrong


def test_only_the_whole_application_may_read_and_restore_single_versions(wiki: tuple[Workload, Design]) -> None:
    """No access pattern does that. Who writes an item needs the number of its last version only."""
    workload, design = wiki
    policies = (
        policies_of(workload, design, Infrastructure()),
        policies_of(workload, design, Infrastructure(roles=(Role("Editor", ("AP-012",)),))),
    )
    table = ARN.format(table=design.table)
    arn = {"table": table, **{slot.name: f"{table}/index/{slot.name}" for slot in design.indexes}}
    document, of_editor = (policy_document(policy, arn) for (policy,) in policies)
    package = load_package(workload, design)
    calls: list[Call] = []
    db = Client(package.schema, design.table, Embedded(), observe=calls.append)
    db.create_table()
    cls, entity = package.classes["Article"], workload.entity("Article")
    assert entity is not None
    db.insert(first := package.record("Article", dict(sample_values(workload, entity, design))))
    key = {"space_id": first.space_id, "article_id": first.article_id}
    calls.clear()
    for title in ("second", "third"):
        package.repository(db).ap_012(title=title, editor=None, **key)
    written = len(calls)
    assert [one.title for one in history(db, cls, **key)] == ["second", first.title]
    one, two = (version_of(db, cls, number, **key) for number in (1, 3))
    assert compare_versions(db, one, two)["title"] == (first.title, "third")
    assert restore_version(db, cls, 1, **key).title == first.title
    asked = [one for call in calls for one in iam_requests(call.operation, call.request, {"": "pk"})]
    assert len(asked) > 10
    assert [one for one in asked if not allowed(document, one)] == []
    needed = [one for call in calls[:written] for one in iam_requests(call.operation, call.request, {"": "pk"})]
    assert [one for one in needed if not allowed(of_editor, one)] == []
    assert [one for one in asked if not allowed(of_editor, one)] != []


@pytest.mark.parametrize("text", ["twenty versions", "20", "versions", "20 versions or 9 days", "all", "3 lives"])
def test_unclear_history_is_reported(text: str) -> None:
    found = read_text(DOCUMENT.replace(KEPT, f"- **History**: {text}"), "md").diagnostics
    assert codes.QUANTITY.id in [one.code for one in found]


def test_design_that_cannot_hold_versions_is_reported(wiki: tuple[Workload, Design]) -> None:
    workload, design = wiki
    text = write_document(design, workload).replace("| `expiresAt`", "| -          ")
    assert any("TTL attribute" in one.message for one in read_document(text, workload).diagnostics)
    assert not misfits(design, workload)


@pytest.mark.parametrize(
    ("kept", "expired"), [(History(seconds=3600), 7.0), (History(versions=3, seconds=3600), 0.0), (History(), 0.0)]
)
def test_versions_expire_as_often_as_they_are_put_if_nothing_else_deletes_them(kept: History, expired: float) -> None:
    """With a number of versions a write deletes the oldest one. Each is a record of the stream."""
    article = read_text(DOCUMENT, "md").workload.entity("Article")
    assert article
    (line,) = lines_of(replace(article, history=kept))
    usage = Usage(100.0, 86_400, lambda *verbs: 7.0 if Verb.UPDATE in verbs else 0.0, lambda name: 0.0)
    assert line.expiry_rate(usage) == expired
