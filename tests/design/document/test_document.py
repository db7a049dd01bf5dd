"""The table-design document: what a person may write, what is said when it is not exact, and what is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.design.texts import sort_text
from tests.shop import shop_design, shop_workload

from prejoin.design.document.annotations import DesignReading, Validation
from prejoin.design.document.read_document import parse_document, read_document
from prejoin.design.document.tables import ALL_FACETS, TABLES
from prejoin.design.document.write_document import rewrite_document, write_document
from prejoin.design.files import design_beside, read_design, read_design_file, write_design
from prejoin.design.model import (
    Billing,
    Call,
    Choice,
    Guard,
    KeyAttribute,
    Projection,
    ProjectionKind,
    When,
)
from prejoin.keys import Template
from prejoin.workload.files import read_text
from prejoin.workload.model import Status, Workload

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "table-design.md"
NOTES = """\
# Notes

## Entities

### Author

- **Attributes**:
  - `authorId` (uuid, generated)
  - `email` (string, unique)
  - `noteCount` (integer, mutable)

### Note

- **Attributes**:
  - `noteId` (ulid, generated)
  - `authorId` (uuid, immutable, → Author)
  - `writtenAt` (datetime, immutable)
  - `title` (string, mutable)
  - `state` (OPEN | PINNED, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Author, Note | An author with notes | authorId | Collection | - | No | 1/s | Eventual | Collection |
| AP-002 | Note | An author's notes by time | authorId | Collection | writtenAt DESC | Yes (20) | 1/s | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Author | Join | authorId, email | create Author | Yes | email unique | 1/s |
"""
EXAMPLE = re.findall(r"```markdown\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
SMALLEST = """\
# Notes: table design

## Configuration

| Setting | Value |
| --- | --- |
| Table name | notes |

## Keys

| Entity | PK | SK |
| --- | --- | --- |
| Author | AUTHOR#{authorId} | AUTHOR |
| Note | AUTHOR#{authorId} | NOTE#{writtenAt}#{noteId} |
"""


@pytest.fixture
def workload() -> Workload:
    return read_text(NOTES, "md").workload


def codes(reading: DesignReading) -> list[str]:
    return [d.code for d in reading.diagnostics]


# --- By hand --------------------------------------------------------------------------------------------------------


def test_the_example_of_the_reference_page_is_read(workload: Workload) -> None:
    reading = read_document(EXAMPLE, workload)
    assert reading.diagnostics == ()
    design = reading.design
    assert (design.table, reading.kept.status, reading.kept.source) == ("notes", Status.DRAFT, "access-patterns.md")
    (index,) = design.indexes
    assert index.projection == Projection(ProjectionKind.INCLUDE, ("title",))
    assert index.purpose == "pinned notes by title"
    note = design.item("Note")
    assert note is not None
    assert [(f.slot, f.pk, f.sk) for f in note.facets] == [
        ("table", ("AUTHOR#{authorId}",), ("NOTE#{writtenAt}#{noteId}",)),
        ("gsi1", ("PINNED",), ("{title}#{noteId}",)),
    ]
    assert note.facets[1].when == (When("state", ("PINNED",)),)
    assert (note.tag, design.guards) == ("Note", (Guard("Author", ("email",)),))
    (choice,) = design.decisions
    assert choice == Choice(
        "Note",
        "A note lies under its author, so that both are read by one query.",
        ("a partition of its own, which would take a second request.",),
    )


def test_a_name_and_keys_are_enough_and_need_no_backticks(workload: Workload) -> None:
    reading = read_document(SMALLEST, workload)
    assert reading.diagnostics == ()
    assert [i.entity for i in reading.design.items] == ["Author", "Note"]
    assert reading.design.slots[0].sk == (KeyAttribute("sk"),)


def test_the_operations_are_planned_from_the_keys(workload: Workload) -> None:
    design = read_document(SMALLEST, workload).design
    (request,) = design.operations[1].requests
    assert (request.call, sort_text(request), request.reverse) == (Call.QUERY, "begins_with NOTE#", True)


def test_each_part_has_its_place(workload: Workload) -> None:
    places = read_document(EXAMPLE, workload).places
    lines = EXAMPLE.split("\n")
    for path, text in {
        ("table",): "`notes`",
        ("slots", 1): "`gsi1`",
        ("slots", 1, "projection"): "INCLUDE (`title`)",
        ("items", 1): "Note",
        ("items", 1, "facets", 1, "sk"): "`{title}#{noteId}`",
        ("guards", 0): "Author",
    }.items():
        span = places.find(path)
        assert span is not None
        assert lines[span.line - 1][span.column - 1 :].startswith(text), path


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("| Table name    | `notes`  |\n", "", "PJ622", "does not name its table"),
        ("## Keys", "## Kes", "PJ621", "`Kes` is not read"),
        ("Partition Key         | Sort Key |", "Partition Kee         | Sort Key |", "PJ623", "no column `Partition Key`"),
        ("| table          | `AUTHOR", "| table          | x | `AUTHOR", "PJ624", "5 cells"),
        ("| Sort key      ", "| Sort kee      ", "PJ625", "`Sort kee` is not read"),
        ("INCLUDE (`title`)", "INCLUD (`title`)", "PJ626", "is not a projection"),
        ("`state` is `PINNED`", "`state` was `PINNED`", "PJ626", "does not say which items"),
        ("`pk` (S)", "`pk` (Z)", "PJ626", "is not an attribute of a key"),
        ("`AUTHOR#{authorId}`   |", "`AUTHOR#<authorId>`   |", "PJ627", "is a text, not the value of `authorId`"),
        ("### Note\n", "### Author\n", "PJ500", "the entity `Note` has no item"),
        ("| Partition key | `pk` (S) |", "| Partition key | `pk` (S) |\n| Table name | `other` |", "PJ628", "is there twice"),
        ("Status: DRAFT", "Status: DONE", "PJ630", "`DONE` is not a status"),
        ("### Note\n", "### Note2\n", "PJ500", "there is no entity `Note2`"),
        ("{writtenAt}#", "{writenAt}#", "PJ500", "no attribute writenAt"),
        ("| `gsi1`         |", "| `gsi2`         |", "PJ500", "there is no slot `gsi2`"),
        ("`state` is", "`stat` is", "PJ500", "`Note` has no attribute `stat`"),
        ("| Author | `email`    |", "| Author | `mail`    |", "PJ500", "`Author` has no attribute `mail`"),
        ("| `AUTHOR` |", "| - |", "PJ500", "another number of keys"),
        ("| Table name    | `notes`  |", "| Table name    | `n t`  |", "PJ500", "cannot be the name of a table"),
        ("| Sort key      | `sk` (S) |", "| Sort key      | `sk` (S) |\n| Separator | `##` |", "PJ500", "cannot separate"),
    ],
)  # fmt: skip
def test_inexact_cell_is_reported_with_its_place(workload: Workload, old: str, new: str, code: str, said: str) -> None:
    assert old in EXAMPLE
    text = EXAMPLE.replace(old, new, 1)
    found = [d for d in read_document(text, workload).diagnostics if d.code == code and said in d.message]
    assert found, read_document(text, workload).diagnostics
    assert found[0].fix
    whole = {"does not name its table", "the entity `Note` has no item"}
    if said not in whole:
        assert found[0].text in text.split("\n")[found[0].line - 1].replace("\\|", "|")


def test_other_placeholder_syntax_is_reported(workload: Workload) -> None:
    text = EXAMPLE.replace("`AUTHOR#{authorId}`   |", "`AUTHOR#<authorId>`   |")
    (problem,) = read_document(text, workload).diagnostics
    assert problem.fix == "write `AUTHOR#{authorId}`"


def test_a_table_of_patterns_that_is_not_what_the_keys_say_is_a_warning(workload: Workload) -> None:
    text = write_document(read_document(EXAMPLE, workload).design, workload)
    changed = text.replace("`begins_with NOTE#`", "`begins_with NOTES#`").replace("| AP-010 |", "| AP-099 |")
    reading = read_document(changed, workload)
    assert codes(reading) == ["PJ629"] * 3
    said = " ".join(d.message for d in reading.diagnostics)
    assert "AP-002 has Sort Key `begins_with NOTES#` here; by the keys it is `begins_with NOTE#`" in said
    assert "AP-010 is not among the writes" in said
    assert "there is no access pattern `AP-099`" in said
    assert reading.design.operations == read_document(EXAMPLE, workload).design.operations


# --- Written --------------------------------------------------------------------------------------------------------


def test_document_has_everything_for_review() -> None:
    design = shop_design()
    text = write_document(design, shop_workload())
    for slot in design.indexes:
        assert f"| `{slot.name}` |" in text
    for pattern in shop_workload().patterns:
        assert f"| {pattern.id} | {pattern.description} " in text
    assert "- **Order**: An order lives in a partition of its own" in text
    assert "  - Instead: under its user\n" in text
    assert "`UNIQUE#User#email#ann@example.com`" in text
    assert "17 of 17 access patterns served" in text


def test_a_sample_item_has_the_keys_that_its_attributes_make() -> None:
    design, workload = shop_design(), shop_workload()
    order = workload.entity("Order")
    assert order is not None
    section = write_document(design, workload).split("### Order\n")[1]
    sample = json.loads(re.findall(r"```json\n(.*?)```", section, re.DOTALL)[0])
    types = {a.name: a.type for a in order.attributes}
    read = Template.of("ORDER#{placedAt}#{orderId}", types).parse(sample["gsi1sk"])
    assert read["orderId"] == sample["orderId"]
    assert Template.of("USER#{userId}", types).build(sample) == sample["gsi1pk"]
    assert sample["entityType"] == "Order"
    assert list(sample)[:2] == ["pk", "sk"]


def test_a_collection_shows_what_lies_together_in_the_order_of_the_keys() -> None:
    text = write_document(shop_design(), shop_workload())
    table = text.split("## Item Collections")[1].split("### gsi1")[0]
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in table.split("\n") if "#" in line]
    rows = [row for row in rows if len(row) == 3]
    assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
    user = next(row[0] for row in rows if row[2] == "User")
    assert [row[2] for row in rows if row[0] == user] == ["Address", "Address", "User"]


def test_a_pattern_that_no_key_serves_is_there_with_what_would_serve_it(workload: Workload) -> None:
    by_title = replace(workload.reads[1], sort=(replace(workload.reads[1].sort[0], attribute="title"),))
    asked = replace(workload, reads=(workload.reads[0], by_title))
    design = read_document(SMALLEST, asked).design
    text = write_document(design, asked)
    row = next(line for line in text.split("\n") if line.startswith("| AP-002"))
    assert "not served" in row
    assert "title" in row.split("|")[-2]
    assert "2 of 3 access patterns served" in text


def test_document_lists_the_checks(workload: Workload) -> None:
    design = read_document(EXAMPLE, workload).design
    checked = [Validation("proof", "3 of 3 right", "on the embedded engine"), Validation("checks", "nothing found")]
    text = write_document(design, workload, validation=checked)
    assert read_document(text, workload).kept.validation == tuple(checked)
    assert "Nothing has been checked" not in text


# --- Written again --------------------------------------------------------------------------------------------------

OWN = [
    ("> Status: DRAFT", "> Status: APPROVED\n> Reviewed by: Ann"),
    ("## Secondary Indexes", "| Region | eu-central-1 |\n\nAll in one region.\n\n## Costs\n\nNot many.\n\n### Later\n\nMore.\n\n## Secondary Indexes"),
    ("### Note\n", "### Note\n\nNotes are short.\n\n- **Owner**: the editors\n"),
    ("| Purpose               |\n| ------", "| Purpose               | Since |\n| ------"),
    ("| --------------------- |\n| `gsi1`", "| --------------------- | --- |\n| `gsi1`"),
    ("| pinned notes by title |", "| pinned notes by title | May |"),
]  # fmt: skip


def _own() -> str:
    text = EXAMPLE
    for old, new in OWN:
        assert old in text
        text = text.replace(old, new, 1)
    return text.replace("| Sort key      | `sk` (S) |\n\n| Region", "| Sort key      | `sk` (S) |\n| Region")


def test_authors_text_survives(workload: Workload) -> None:
    before = read_document(_own(), workload)
    assert before.diagnostics == ()
    again = rewrite_document(_own(), before.design, workload)
    for part in (
        "> Status: APPROVED", "> Reviewed by: Ann", "| Region ", "eu-central-1", "All in one region.", "## Costs\n\nNot many.",
        "### Later\n\nMore.", "Notes are short.", "- **Owner**: the editors", "Since", "| May ",
    ):  # fmt: skip
        assert part in again
    assert read_document(again, workload).kept == before.kept
    assert rewrite_document(again, before.design, workload) == again


def test_an_approved_design_with_other_keys_is_a_draft_again_and_unchecked(workload: Workload) -> None:
    before = read_document(_own(), workload).design
    text = write_document(before, workload, read_document(_own(), workload).kept, [Validation("proof", "right")])
    assert "> Status: APPROVED" in rewrite_document(text, before, workload)
    assert "| proof " in rewrite_document(text, before, workload)
    other = rewrite_document(text, replace(before, billing=Billing.PROVISIONED), workload)
    assert "> Status: DRAFT" in other
    assert "| proof " not in other
    assert "Notes are short." in other


def test_text_about_a_removed_entity_is_kept(workload: Workload) -> None:
    before = read_document(_own(), workload).design
    fewer = replace(before, items=before.items[:1])
    again = rewrite_document(_own(), fewer, workload)
    assert "Notes are short." in again
    assert again.count("Notes are short.") == rewrite_document(again, fewer, workload).count("Notes are short.") == 1


# --- Files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["md", "yaml", "json"])
def test_a_design_is_the_same_in_each_form(form: str, tmp_path: Path) -> None:
    design, workload = shop_design(), shop_workload()
    text = write_design(design, form, workload)  # type: ignore[arg-type]
    assert read_design(text, workload, form) == (design, ())  # type: ignore[arg-type]
    path = tmp_path / f"table-design.{form}"
    path.write_text(text, encoding="utf-8")
    assert read_design_file(path, workload).design == design
    assert design_beside(tmp_path / "access-patterns.md") == path


def test_a_new_design_is_written_as_markdown_beside_its_document(tmp_path: Path) -> None:
    assert design_beside(tmp_path / "access-patterns.md") == tmp_path / "table-design.md"


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [("x.txt", b"", "PJ620"), ("x.md", b"\xff", "PJ620"), ("x.md", b"\0", "PJ620"), ("x.json", b"{", "PJ500"), ("none.md", None, "PJ501")],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_a_message(name: str, content: bytes | None, code: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert codes(read_design_file(tmp_path / name, shop_workload())) == [code]


def test_what_does_not_fit_in_yaml_has_a_place() -> None:
    text = write_design(shop_design(), "yaml").replace("entity: Address", "entity: Adress")
    _, problems = read_design(text, shop_workload(), "yaml")
    problem = next(d for d in problems if "`Adress`" in d.message)
    assert problem.line > 1
    assert problem.fix == "did you mean `Address`?"


def test_the_document_begins_with_a_page_for_its_reviewer() -> None:
    workload = shop_workload()
    text = write_document(shop_design(), workload)
    page = text.split("## ")[1]
    assert page.startswith("For Reviewers\n")
    for label in ("Structures", "Served", "Price", "Risks", "Assumed"):
        assert f"- **{label}**:" in page
    costs = [line for line in page.splitlines() if line.startswith("| AP-")]
    assert len(costs) == 5
    dollars = [float(line.split("|")[-2].strip().strip("$").replace(",", "")) for line in costs]
    assert dollars == sorted(dollars, reverse=True)


def test_reviewers_text_stays_and_generated_text_is_rewritten() -> None:
    workload, design = shop_workload(), shop_design()
    text = write_document(design, workload)
    noted = text.replace("- **Structures**: one table", "- **Structures**: 99 tables").replace(
        "- **Served**", "- **Owner**: the shop team\n- **Served**"
    )
    assert noted != text
    again = rewrite_document(noted, design, workload)
    assert "99 tables" not in again
    assert again.count("- **Owner**: the shop team") == 1
    assert again.count("- **Structures**") == 1
    assert rewrite_document(again, design, workload) == again


@pytest.mark.parametrize("title", [*TABLES, "Keys"])
def test_a_row_without_a_cell_for_a_required_column_is_read(title: str) -> None:
    kind = TABLES.get(title, ALL_FACETS)
    columns = [column.name for column in reversed(kind.columns)]
    table = f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|\n| x |\n"
    reading = parse_document(f"# Shop\n\n## {title}\n\n{table}")
    assert "PJ623" not in [diagnostic.code for diagnostic in reading.diagnostics]
    assert not reading.kept.prose, "the table is not read"
