"""Large contents in designs: attributes that are larger than an item, kept in parts beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.design.claims import false_claims
from tests.design.texts import sort_text
from tests.solutions import solve

from prejoin import Embedded, read_large, store_large
from prejoin.cases.case_variation import Variation
from prejoin.cases.write_cases import build_case
from prejoin.design import codes
from prejoin.design.checks import check_design
from prejoin.design.cost.assumptions import assumptions, size_of
from prejoin.design.cost.background import BackgroundKind
from prejoin.design.cost.bill import bill
from prejoin.design.cost.contents import contents
from prejoin.design.document.read_document import read_document
from prejoin.design.document.write_document import write_document
from prejoin.design.explain.explanation import explain_design
from prejoin.design.model import Call
from prejoin.keys.content import PART_SIZE
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.prove import prove
from prejoin.proof.prove_contents import prove_contents
from prejoin.proof.sample_table import SampleTable
from prejoin.protocol.prices import MONTH_SECONDS, WRITE_MILLION
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.render.infrastructure.options import Infrastructure, Role
from prejoin.render.infrastructure.policies import policies_of
from prejoin.render.python.entities import Style
from prejoin.render.python.package import Options, render_package
from prejoin.types import Kind
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import Workload, Write

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

TEXT = """# Archive

## Entities

### Document

- **Attributes**:
  - `documentId` (ulid, generated)
  - `ownerId` (uuid, immutable)
  - `title` (string, mutable)
  - `body` (binary, mutable, 2 MB)
- **Cardinality**: ~1,000 total

### Comment

- **Attributes**:
  - `documentId` (ulid, id, → Document)
  - `commentId` (ulid, generated)
  - `text` (string)
- **Cardinality**: ~5 per Document

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Document | documentId | Single | - | No | 80/s | No |
| AP-002 | Document | ownerId | Collection | - | Yes (50) | 25/s | No |
| AP-003 | Document, Comment | documentId | Collection | - | Yes (20) | 10/s | Collection |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Document | Document | create Document | No | - | 1/s |
| AP-021 | Document | documentId, body | update Document (body) | No | - | 0.5/s |
| AP-022 | Comment | Comment | create Comment | No | - | 3/s |

### Deletes

| ID | Entity | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-030 | Document | documentId | delete Document | No | - | 1/s |
"""
BODY = "`body` (binary, mutable, 2 MB)"


def workload(text: str = TEXT) -> Workload:
    found = read_text(text, "md")
    assert not [one.message for one in found.diagnostics if one.severity == "error"]
    return found.workload


def errors(text: str) -> list[str]:
    return [one.message for one in read_text(text, "md").diagnostics if one.severity == "error"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("binary, 2 MB", Kind.CONTENT),
        ("string, 401 KB", Kind.CONTENT),
        ("content", Kind.CONTENT),
        ("binary, 400 KB", Kind.BINARY),
        ("list, 2 MB", Kind.LIST),
    ],
)
def test_texts_and_binaries_larger_than_an_item_are_contents(said: str, kind: Kind) -> None:
    document = workload(TEXT.replace(BODY, f"`body` ({said}, mutable)")).entity("Document")
    body = document and document.attribute("body")
    assert body
    assert body.type.kind is kind
    assert body.optional is (kind is Kind.CONTENT)


def test_contents_are_the_same_in_every_format() -> None:
    archive = workload()
    assert write_text(archive, "md").count("`body` (content, optional, mutable, 2 MB)") == 1
    for form in ("md", "yaml", "json"):
        assert read_text(write_text(archive, form), form).workload == archive


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (BODY, "`body` (list of content)", "a list cannot hold contents"),
        (BODY, f"{BODY}\n  - `until` (datetime, ttl)", "which would leave the parts of `body`"),
        ("| ownerId |", "| ownerId, filter body contains |", "`body` is content, which cannot be compared"),
        ("| ownerId |", "| body |", "`body` is content, which cannot be compared"),
        ("update Document (body)", "update Document (body += 1)", "`body` is content, which cannot count"),
        ("`title` (string, mutable)", "`title` (string, mutable, unique, 2 MB)", "which cannot be unique"),
    ],
)
def test_contents_are_refused_where_a_value_is_needed(old: str, new: str, message: str) -> None:
    assert old in TEXT
    assert any(message in one for one in errors(TEXT.replace(old, new)))


def test_checks_are_satisfied_and_the_store_is_a_hint() -> None:
    archive = workload()
    found = check_design(solve(archive).design, archive)
    assert {codes.ITEM_SIZE.id, codes.LARGE_ATTRIBUTE.id}.isdisjoint(one.code for one in found)
    (hint,) = [one for one in found if one.code == codes.LARGE_OBJECTS.id]
    assert "Document.body is kept in parts" in hint.message
    assert "S3" in hint.message


def test_contents_that_cost_little_need_no_hint() -> None:
    archive = workload(TEXT.replace("1/s", "1/day").replace("0.5/s", "1/day").replace("~1,000", "~10"))
    assert codes.LARGE_OBJECTS.id not in [one.code for one in check_design(solve(archive).design, archive)]


@pytest.mark.parametrize(("size", "found"), [("2.1 MB", 104_857), ("2 MB", 368), ("500 B", 500)])
def test_size_of_an_item_is_without_its_contents(size: str, found: int) -> None:
    cardinality = "- **Cardinality**: ~1,000 total"
    archive = workload(TEXT.replace(cardinality, f"{cardinality}\n- **Size**: {size}"))
    document, plain = archive.entity("Document"), workload().entity("Document")
    assert document
    assert plain
    assert (size_of(document), size_of(plain)) == (found, 368)


def test_bill_includes_the_writes_and_the_storage_of_parts() -> None:
    archive = workload()
    solution = solve(archive)
    (body,) = contents(archive, solution.design)
    found = bill(archive, solution.design)
    assert body.rate == 1.5
    assert float(body.written) == pytest.approx(
        body.rate * MONTH_SECONDS * body.write_units * float(WRITE_MILLION) / 1e6
    )
    lines = {one.kind: one for one in found.background}
    assert lines[BackgroundKind.WRITE_CONTENTS].dollars == round(body.written, 6)
    assert lines[BackgroundKind.DELETE_CONTENTS].dollars == round(body.deleted, 6)
    assert found.requests == sum(one.dollars for one in (*found.patterns, *found.background))
    (stored,) = [one for one in found.storage if one.item == "Document.body"]
    assert stored.entries == 1000 * 9
    assert stored.entries * stored.size == pytest.approx(1000 * 2 * 1024 * 1024, rel=0.01)
    assert false_claims(archive, solution) == []


VERSIONED = TEXT.replace(BODY, f"{BODY}\n  - `version` (integer, mutable)")
TITLED = "update Document (body) | No | - | 0.5/s |"


@pytest.mark.parametrize(
    ("history", "title_rate", "contents_of_versions", "left"),
    [
        ("3 versions", 0, 3 * 1000, 1.5),  # each version has had a content of its own: 0.5/s are replaced, 1/s deleted
        ("1 hour", 0, 1.5 * 3600, 1.5),
        ("3 versions", 4.5, 3 * 1000 * 1.5 / 6, 1.5),  # most versions have the content of the next one
        ("all versions", 0, 1.5 * 365 * 86_400, 0),
    ],
)
def test_contents_of_versions_are_stored(
    history: str, title_rate: float, contents_of_versions: float, left: float
) -> None:
    text = VERSIONED.replace("~1,000 total", f"~1,000 total\n- **History**: {history}")
    if title_rate:
        row = f"| AP-023 | Document | documentId, title | update Document (title) | No | - | {title_rate}/s |"
        text = text.replace(TITLED, f"{TITLED}\n{row}")
    archive = workload(text)
    design = solve(archive).design
    (body,) = contents(archive, design)
    assert body.count == pytest.approx(1000 + contents_of_versions)
    assert body.left == left
    (stored,) = [one for one in bill(archive, design).storage if one.item == "Document.body"]
    assert stored.entries == pytest.approx(body.count * 9)


def test_predicted_units_are_those_of_the_engine() -> None:
    archive = workload()
    sample = SampleTable.create(archive, solve(archive).design, Embedded(), NOW)
    (body,) = contents(archive, sample.design)
    item = sample.items["Document"][0]
    cls, key = sample.package.classes["Document"], {"document_id": item["documentId"]}
    with sample.watched() as written:
        value = store_large(sample.client, cls, "body", sample.generator.large_content(PART_SIZE) * 8, **key)
    parts = [call.response["ConsumedCapacity"] for call in written]
    record: Any = sample.package.record("Document", {**item, "body": value})
    with sample.watched() as read:
        read_large(sample.client, record, "body")
    assert value.parts == body.part_count
    scale = value.size / body.size
    assert sum(one["CapacityUnits"] for one in parts) == pytest.approx(body.write_units * scale, 0.02)
    assert sum(call.response["ConsumedCapacity"]["CapacityUnits"] for call in read) == pytest.approx(
        body.read_units * scale, 0.02
    )


def test_size_that_nobody_gave_is_an_assumption() -> None:
    archive = workload(TEXT.replace(BODY, "`body` (content, mutable)"))
    assert "Document.body: the size of a content is assumed to be 1,048,576 B" in "\n".join(
        map(str, assumptions(archive))
    )


def test_query_of_the_collection_leaves_out_the_parts() -> None:
    design = solve(workload()).design
    operation = design.operation("AP-003")
    assert operation
    assert operation.requests[0].call is Call.QUERY
    assert sort_text(operation.requests[0]).startswith("between ")


def test_explanation_prices_both_places() -> None:
    archive = workload()
    design = solve(archive).design
    said = " ".join(text for about in explain_design(archive, design).entities for text in about.text)
    assert "`body` is kept beside the item, in 9 parts in its item collection" in said
    assert "2,057 write units" in said
    assert "in S3 both would be" in said


def test_design_document_is_read_back() -> None:
    archive = workload()
    design = solve(archive).design
    text = write_document(design, archive)
    assert '"place": "item"' in text
    assert read_document(text, archive).design == design


READ_FROM = {
    "parts": """Query, for the parts of Document.body, a page at a time
  KeyConditionExpression  #pk = :pk AND #sk BETWEEN :first AND :last
                          :first = "~LARGE#Document#body#{upload}#{first part}"
                          :last = "~LARGE#Document#body#{upload}#{last part}"
                          :pk = "DOCUMENT#{documentId}"
""",
    "a store": """GetObject from the store Document.body, for each 8 MB
  Key                     the table's name/RG9jdW1lbnQ/Ym9keQ/{key of the item}/{upload}/{part}
""",
}


@pytest.mark.parametrize("place", READ_FROM)
def test_requests_have_the_reads_of_contents_that_a_result_holds(place: str) -> None:
    archive = workload(f"{TEXT}\n## Decisions\n\n- Document.body in {place}\n")
    design = solve(archive).design
    document = write_document(design, archive)
    again = """GetItem, for each Document.body that was replaced meanwhile
  Key                     pk = DOCUMENT#{documentId}, sk = #DOCUMENT
                          ConsistentRead = true"""
    heading = "With `read_large` or `stream_large`, for a large content of a result:"
    assert document.count(f"{heading}\n\n```\n{READ_FROM[place]}{again}\n```") == 3, "for each read"
    kept = read_document(document, archive).kept
    assert write_document(design, archive, kept) == document
    assert "read_large" not in document.partition("### AP-022")[2]


@pytest.mark.parametrize("style", ["dataclass", "msgspec", "pydantic"])
def test_generated_code_is_proven(style: Style) -> None:
    archive = workload()
    design = solve(archive).design
    package = render_package(archive, design, Options(style=style))
    assert 'patterns=[Large("body")]' in package.modules["schema"]
    assert "body: LargeValue | None = None" in package.modules["entities"]
    proof = prove(archive, design, Embedded(), now=NOW, options=Options(style=style))
    assert proof.findings == ()
    assert all(one.problem == "" for one in proof.patterns)


def test_proof_finds_a_content_that_is_damaged() -> None:
    archive = workload()
    sample = SampleTable.create(archive, solve(archive).design, Embedded(), NOW)
    assert prove_contents(sample) == ""
    (content,) = sample.contents
    assert len(content.data) > 240 * 1024
    part = next(key for key in ExpectedTable(sample).items if key[1].startswith("~LARGE"))
    sample.unobserved.call("DeleteItem", {"Key": {"pk": {"S": part[0]}, "sk": {"S": part[1]}}})
    assert "the content of Document.body cannot be read" in prove_contents(sample)


def test_policies_allow_what_contents_need() -> None:
    archive = workload()
    design = solve(archive).design
    roles = (Role("reader", ("AP-001",)), Role("writer", ("AP-020",)), Role("commenter", ("AP-022",)))
    found = {
        policy.role: {action for one in policy.statements for action in one.actions}
        for policy in policies_of(archive, design, Infrastructure(roles=roles))
    }
    assert found == {
        "reader": {"GetItem", "Query"},
        "writer": {"PutItem"},
        "commenter": {"PutItem"},
    }


def test_query_interfaces_say_how_contents_are_used() -> None:
    archive = workload()
    assert "- `Document.body`: in 9 parts" in query_interfaces(archive, solve(archive).design, {})


PAGES = """# Pages

## Entities

### Book

- **Attributes**:
  - `bookId` (ulid, generated)
- **Cardinality**: ~100 total

### Page

- **Attributes**:
  - `bookId` (ulid, id, → Book)
  - `number` (integer, id, natural, max 999)
  - `scan` (content, optional, mutable, 2 MB)
  - `sketch` (content, optional, mutable, 2 MB)
- **Cardinality**: at most 20 per Book

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- |
| R1 | Page | bookId | Collection | 1/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- |
| W1 | Page | bookId, Page[] | delete Page[]; create Page[] | 0.1/s |
"""


def test_a_case_of_large_contents_has_one_for_each_attribute() -> None:
    archive = workload(PAGES)
    sample = SampleTable.create(archive, solve(archive).design, Embedded(), NOW)
    write, operation = archive.pattern("W1"), sample.design.operation("W1")
    assert isinstance(write, Write)
    assert operation
    for _ in range(20):
        case = build_case(sample, write, operation, Variation(has_large_contents=True))
        records = [slot.record for slot in case.model.slots if slot.record is not None]
        assert [record.keys() >= {"scan", "sketch"} for record in records] == [True, True]


def test_proof_finds_parts_that_are_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    archive = workload(PAGES)
    design = solve(archive).design
    assert prove(archive, design, Embedded(), now=NOW).right
    monkeypatch.setattr("prejoin.proof.prove_writes.enlarge_contents", lambda case: None)
    (failed,) = prove(archive, design, Embedded(), now=NOW).failed
    assert failed.wrong == "no call sent the part of Page.scan, which is in the requests of the design"
