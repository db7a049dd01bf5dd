"""Every line of a document is read or refused: a slip of the keyboard never loses a pattern, an attribute or a decision."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from prejoin.diagnostics import Diagnostic, Severity
from prejoin.workload.files import read_text
from prejoin.workload.model import Context, Entity, Status, Workload

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/access-patterns.md"))
SMALL = ROOT / "tests" / "small.md"
LABELLED = """
- **Cardinality**: ~2K total
- **Unique**: name
- **Relationships**:
  - Team 1:N Team via parentId

### Office

A place.

- **Attributes**:
  - `officeId` (string, natural)
  - `address` (map, optional)
"""
CONTEXT = "## Context\n\n- **Teams**: 1\n- **Tenant**: officeId → Office\n\n## Entities"
Mutant = tuple[str, str]
"""The name of a mutation, and the text of the mutated document."""


def small() -> str:
    """A document of few lines with a line of each kind."""
    text = SMALL.read_text()
    parent = "  - `parentId` (string, optional, → Team, mutable)\n"
    text = text.replace("(string, mutable)\n", f"(string, mutable)\n{parent.rstrip()}\n{LABELLED.strip()}\n", 1)
    text = text.replace("## Entities", f"> Status: REVIEWED\n\n{CONTEXT}", 1)
    row = "| AP-021 | Office | Open an office | Office | create Office | No | - | Cold |\n"
    return text.replace("\n## Decisions", f"{row}\n## Decisions\n\n- no copies\n- at most 2 GSIs - they cost", 1)


def mutants(text: str) -> Iterator[Mutant]:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        before, after = lines[:number], lines[number + 1 :]
        for name, instead in mutations(line):
            yield f"{name}, line {number + 1}: {line}", "\n".join([*before, *instead, *after])


def mutations(line: str) -> Iterator[tuple[str, list[str]]]:
    if line.startswith("|"):
        yield from of_row(line)
    elif heading := re.match(r"(#{2,6}) (.*)", line):
        yield from of_heading(heading[1], heading[2])
    elif re.match(r"\s*- ", line):
        yield from of_item(line)
    elif line.startswith("> "):
        yield from of_quote(line)
    if line.strip():
        yield "comment before", [f"<!-- a comment --> {line}"]
        yield "comment after", [f"{line} <!-- a comment -->"]
        yield "spaces after", [f"{line}  "]
        yield "a space before", [f" {line}"]
        yield "a tab after", [f"{line}\t"]


def of_row(line: str) -> Iterator[tuple[str, list[str]]]:
    yield "blank line below", [line, ""]
    yield "text below", [line, "Some words."]
    for above in ("<!-- a comment -->", "```", "#### Admin", "### Admin", "## Admin", "---", "***", "Words", "- words"):
        yield f"`{above}` above", [above, line]
        yield f"`{above}` and a blank line above", [above, "", line]
    for start in ("    ", "\t", "- ", "> ", "1. ", "     - "):
        yield f"{start!r} before", [start + line]
    pipes = [match.start() for match in re.finditer(r"(?<!\\)\|", line)]
    for number, at in enumerate(pipes):
        yield f"pipe {number} missing", [line[:at] + line[at + 1 :]]
    for name, others in OTHER_TITLES.items():
        for other in others if re.search(rf"\| {name} \|", line) else ():
            yield f"column `{other}`", [line.replace(f"| {name} |", f"| {other} |")]
    yield "first cell missing", ["|" + line[1:].partition("|")[2]]
    yield "last cell missing", [line.rstrip().rstrip("|").rpartition("|")[0] + "|"]
    yield "a cell more", [line + " x |"]
    if re.fullmatch(r"[|\-: ]+", line):
        yield "rule missing", []
        yield "rule blank", [""]
        yield "rule short", ["| --- | --- |"]


OTHER_TITLES = {
    "Conditions": (
        "Constraints",
        "Requires",
        "Guard",
        "Rules",
        "If",
        "When",
        "Only if",
        "Where",
        "Preconditions",
        "Foo",
    ),
    "Input Parameters": ("Where", "Given", "By", "Key", "Arguments", "Foo"),
    "Items Written": ("Writes", "Steps", "Actions", "Foo"),
    "Items Deleted": ("Deletes", "Steps", "Foo"),
    "Result": ("Returns", "Output", "Foo"),
    "Sort": ("Order", "Ordering", "Order by", "Sorted by"),
    "Frequency": ("Rate", "Load", "QPS", "Foo"),
    "Consistency": ("Reads", "Isolation", "Foo"),
    "Transaction": ("Atomic", "TX", "All or nothing"),
    "Paginated": ("Paged", "Pages", "Page size"),
}
"""Names that people give known columns: each is read, or refused."""


def of_quote(line: str) -> Iterator[tuple[str, list[str]]]:
    content = line.removeprefix("> ")
    for start in (">", ">  ", "> > ", ">> ", "> - ", "- ", "* ", "– ", "> – ", "", "    ", "> **"):
        yield f"{start!r} before", [start + content]
    yield "in a heading", [f"## {content}"]
    yield "comment above", ["<!-- a comment -->", line]
    yield "comment within", [f"> <!-- a comment --> {content}"]
    yield "text above", ["Some words.", line]
    yield "text above in the quotation", ["> Some words.", line]
    yield "blank line above", ["", line]


def of_heading(level: str, title: str) -> Iterator[tuple[str, list[str]]]:
    for other in range(1, 7):
        if other != len(level):
            yield f"level {other}", [f"{'#' * other} {title}"]
    yield "no marks", [title]
    yield "bold", [f"**{title}**"]
    yield "no space", [level + title]
    yield "missing", []
    yield "quoted", [f"> {level} {title}"]
    yield "in a list", [f"- {level} {title}"]


def of_item(line: str) -> Iterator[tuple[str, list[str]]]:
    content = line.lstrip()
    for width in (0, 1, 2, 3, 4, 6, 8):
        yield f"indented by {width}", [" " * width + content]
    yield "after a tab", [f"\t{content}"]
    yield "no bullet", [line.replace("- ", "", 1)]
    yield "no bullet after a blank line", ["", line.replace("- ", "", 1)]
    yield "no space after the bullet", [line.replace("- ", "-", 1)]
    for bullet in "*+–—−•·‣◦":
        yield f"bullet {bullet}", [line.replace("- ", f"{bullet} ", 1)]
        yield f"bullet {bullet} after a blank line", ["", line.replace("- ", f"{bullet} ", 1)]
    yield "numbered", [line.replace("- ", "1. ", 1)]
    yield "quoted", [f"> {line}"]
    yield "blank line below", [line, ""]
    yield "`---` below", [line, "---"]
    yield "fence above", ["```", line]
    if "**" in line:
        for mark in ("", "*", "_", "__"):
            yield f"label with {mark!r}", [line.replace("**", mark)]
        yield "label without a colon", [line.replace("**:", "**")]


def meaning(workload: Workload) -> tuple[object, ...]:
    """Everything that a design is made of, without the words for people. A delete is a write, wherever it stands."""
    writes = sorted((*workload.writes, *workload.deletes), key=lambda write: write.id)
    pins = [decision.pin for decision in workload.decisions if decision.pin]
    context = replace(workload.context or Context(), verbatim={})
    reads = [replace(read, description="", verbatim={}) for read in workload.reads]
    writes = [replace(write, description="", verbatim={}) for write in writes]
    entities = [*map(plain, workload.entities)]
    return entities, reads, writes, pins, context, workload.collections, workload.status


def plain(entity: Entity) -> Entity:
    attributes = tuple(replace(attribute, text="") for attribute in entity.attributes)
    return replace(entity, attributes=attributes, description="", notes="", owner="", lifecycle="", verbatim={})


def rules(workload: Workload) -> list[object]:
    """What makes a table wrong or unsafe if it is lost: the tenant, decisions and conditions."""
    pins = sorted(str(decision.pin) for decision in workload.decisions if decision.pin)
    checks = sorted(str((w.id, w.checks)) for w in (*workload.writes, *workload.deletes))
    return [workload.tenant, pins, checks]


def is_complaint(diagnostic: Diagnostic) -> bool:
    """Whether a diagnostic says that a line is not read as it stands: an error, or a warning about its form."""
    warned = diagnostic.severity is Severity.WARNING and diagnostic.code.startswith("PJ1")
    return warned or diagnostic.severity is Severity.ERROR


def lost(text: str, step: int = 1) -> list[str]:
    """The mutations of a document that change its meaning without a complaint, or lose a pattern or rule without an error.

    Every mutation is tried, or one of `step`.
    """
    original = read_text(text, "md")
    assert not any(map(is_complaint, original.diagnostics))
    whole, number = meaning(original.workload), len(original.workload.patterns)
    strict = rules(original.workload)
    names = []
    for name, mutant in islice(mutants(text), 0, None, step):
        reading = read_text(mutant, "md")
        refused = any(d.severity is Severity.ERROR for d in reading.diagnostics)
        fewer = len(reading.workload.patterns) < number
        changed = meaning(reading.workload) != whole and not any(map(is_complaint, reading.diagnostics))
        lawless = rules(reading.workload) != strict
        if changed or ((fewer or lawless) and not refused):
            names.append(name)
    return names


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.slow)])
def test_no_line_of_a_small_document_is_lost(step: int) -> None:
    assert lost(small(), step) == []


@pytest.mark.parametrize("end", ["\r\n", "\r", "  \n", "\t\n"])
def test_the_ends_of_lines_change_nothing(end: str) -> None:
    text = small()
    assert meaning(read_text(text.replace("\n", end), "md").workload) == meaning(read_text(text, "md").workload)


UNREAD = [
    ("- at most 2 GSIs", "– at most 2 GSIs", "this decision is not read"),
    ("- at most 2 GSIs", "• at most 2 GSIs", "this decision is not read"),
    ("- **Cardinality**", "— **Cardinality**", "this label is a part of the text above it"),
    ("- **Teams**: 1", "– **Teams**: 1", "the setting `Teams` is not read"),
    ("- **Tenant**: officeId → Office", "Tenant: officeId → Office", "the setting `Tenant` is not read"),
    ("- **Tenant**: officeId → Office", "\nTenant: officeId", "the setting `Tenant` is not read"),
    ("> Status: REVIEWED", "Some words.\n\nTenant: officeId", "the setting `Tenant` is not read"),
]


@pytest.mark.parametrize(("old", "new", "message"), UNREAD)
def test_a_line_that_looks_like_a_list_item_is_an_error_at_its_place(old: str, new: str, message: str) -> None:
    text = small()
    assert old in text
    text = text.replace(old, new, 1)
    written = new.split("\n")[-1]
    line = next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith(written))
    found = [(d.line, d.message) for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]
    assert (line, message) in found


@pytest.mark.parametrize(
    "line",
    ["> > Status: REVIEWED", ">> Status: REVIEWED", "<!-- x -->\n> Status: REVIEWED", "> <!-- x --> Status: REVIEWED"],
)
def test_a_status_is_read_in_quotations_and_after_comments(line: str) -> None:
    reading = read_text(small().replace("> Status: REVIEWED", line), "md")
    above = read_text("> Status: APPROVED\n\n" + small().replace("> Status: REVIEWED", ""), "md")
    assert above.workload.status is Status.APPROVED
    assert reading.workload.status is Status.REVIEWED
    assert [d for d in reading.diagnostics if is_complaint(d)] == []


@pytest.mark.parametrize("line", ["## Preface\n\n> Status: REVIEWED", "## Status: REVIEWED"])
def test_a_status_below_another_heading_is_reported(line: str) -> None:
    reading = read_text(small().replace("> Status: REVIEWED", line), "md")
    assert reading.workload.status is None
    assert [(d.code, d.message) for d in reading.diagnostics if is_complaint(d)] == [
        ("PJ102", "the status is not read")
    ]


# A table of writes or reads with a column of another name; the column to use.
OTHER_COLUMNS = [
    *(
        ("| Conditions |", f"| {name} |", "name the column `Conditions`")
        for name in OTHER_TITLES["Conditions"]
        if name != "Preconditions"
    ),
    ("| Input Parameters | Result |", "| Where | Result |", "name the column `Input Parameters`"),
    ("| Frequency | Consistency |", "| Load | Consistency |", "name the column `Frequency`"),
    ("| Consistency |", "| Isolation |", "name the column `Consistency`"),
    ("| Transaction |", "| TX |", "name the column `Transaction`"),
    ("| Paginated |", "| Page size |", "name the column `Paginated`"),
]


@pytest.mark.parametrize(("old", "new", "fix"), OTHER_COLUMNS)
def test_a_column_that_a_known_one_could_hold_is_an_error(old: str, new: str, fix: str) -> None:
    text = small()
    assert old in text
    title = new.split("|")[1].strip()
    errors = [d for d in read_text(text.replace(old, new, 1), "md").diagnostics if d.code == "PJ107"]
    assert [(d.severity, d.text, d.fix) for d in errors] == [(Severity.ERROR, title, fix)]


def with_column(text: str, before: str, title: str) -> str:
    """The document with another column, empty, before one of a table."""
    lines = text.split("\n")
    head = next(at for at, line in enumerate(lines) if f"| {before} |" in line)
    at = [cell.strip() for cell in lines[head].split("|")].index(before)
    while head < len(lines) and lines[head].startswith("|"):
        cells = lines[head].split("|")
        content = "---" if "---" in cells[at] else "-"
        cells.insert(at, f" {title if before in lines[head] else content} ")
        lines[head] = "|".join(cells)
        head += 1
    return "\n".join(lines)


def test_conditions_in_a_second_column_are_an_error() -> None:
    text = with_column(small(), "Conditions", "Rules")
    assert [d for d in read_text(text, "md").diagnostics if is_complaint(d)] == []
    text = text.replace("| No | - | Team not exists |", "| No | name <> x | Team not exists |")
    errors = [d for d in read_text(text, "md").diagnostics if d.code == "PJ107"]
    assert [(d.text, d.fix) for d in errors] == [("Rules", "write it in the column `Conditions`")]


def test_a_filter_of_a_read_in_a_column_of_its_own_is_an_error() -> None:
    text = with_column(small(), "Result", "Filter")
    assert [d for d in read_text(text, "md").diagnostics if is_complaint(d)] == []
    text = text.replace("| name | - | Collection |", "| name | parentId exists | Collection |")
    errors = [d for d in read_text(text, "md").diagnostics if d.code == "PJ107"]
    assert [(d.text, d.fix) for d in errors] == [("Filter", "write it in the column `Input Parameters`")]


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_no_line_of_an_example_is_lost(path: Path) -> None:
    assert lost(path.read_text(), step=11) == []


def test_parts_of_a_map_may_be_listed_below_it() -> None:
    text = small().replace("(map, optional)\n", "(map, optional)\n    - `street` (string)\n    - `town` (string)\n")
    reading = read_text(text, "md")
    assert not any(map(is_complaint, reading.diagnostics))
    office = reading.workload.entity("Office")
    assert office is not None
    assert [a.name for a in office.attributes] == ["officeId", "address"]
    assert "`street` (string)" in office.attributes[1].text
    other = read_text(text.replace("(map, optional)", "(string, optional)"), "md")
    assert [d.code for d in other.diagnostics if d.severity is Severity.ERROR] == ["PJ115", "PJ115"]


# An edit of the small document, and the message and the fix of the one error.
SLIPS = [
    ("Single | - | No | 5/s | Eventual | No |\n", "Single | - | No | 5/s | Eventual | No |\n\n", "PJ114", "blank line", "remove the blank line"),
    ("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", "", "PJ114", "these 3 rows are not read: the line of dashes", "write `| --- | --- | --- |"),
    ("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", "| --- | --- |\n", "PJ114", "the header has 10 cells, and the line below it 2", "write `| --- |"),
    ("| AP-002", "Some words:\n\n| AP-002", "PJ116", "this row has 1 cells, the table 10 columns", "write all of them"),
    ("| AP-002", "<!-- names -->\n| AP-002", "PJ114", "the comment `<!-- names -->` ends the table", "move the comment"),
    ("| AP-002", "<!--\n| AP-009 | Team |\n-->\n| AP-002", "PJ114", "the comment `-->` ends the table", "move the comment"),
    ("| AP-002", "```\n| AP-002", "PJ114", "in a code block", "remove its fence"),
    ("| AP-002", "    | AP-002", "PJ114", "begins with `|`", "without indentation"),
    ("| 1/s | Eventual | No |", "| 1/s | Eventual |", "PJ116", "`Multi-Entity` would be empty", "write all of them"),
    ("| Transaction | Conditions |", "| Transaction | Conditons |", "PJ107", "`Conditons` is not read", "`Conditions`"),
    ("| Transaction | Conditions |", "| Transaction | Conditions (all) |", "PJ107", "is not read", "`Conditions`"),
    ("### Office\n", "###Office\n", "PJ115", "`###Office` is not a heading", "write a space: `### Office`"),
    ("### Office\n", "Office\n", "PJ117", "`Team` has `Attributes` twice", "another entity begins with `### Name`"),
    ("### Office\n", "#### Office\n", "PJ115", "a part of the text above", "list item"),
    ("- **Unique**: name", "  - **Unique**: name", "PJ115", "this label is a part of the text above it", "without indentation"),
    ("- **Unique**: name", "- **Uniqe**: name", "PJ108", "`Uniqe` is not read", "`Unique`"),
    ("- **Unique**: name", "- **Unique**: (name)", "PJ113", "", ""),
    ("- **Tenant**: officeId → Office", "- **Tenent**: officeId → Office", "PJ108", "`Tenent` is not read", "`Tenant`"),
    ("## Context\n", "", "PJ115", "the setting `Tenant` is not read", "below `## Context`"),
    ("- no copies\n", "no copies\n", "PJ115", "this decision is not read", "below `## Decisions`"),
    ("## Decisions\n", "", "PJ115", "this decision is not read", "below `## Decisions`"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code", "message", "fix"), SLIPS)
def test_a_slip_is_an_error_that_names_it(old: str, new: str, code: str, message: str, fix: str) -> None:
    text = small()
    assert old in text
    text = text.replace(old, new, 1)
    errors = [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]
    assert [d for d in errors if d.code == code and message in d.message and fix in d.fix], errors


@pytest.mark.parametrize("level", range(1, 7))
@pytest.mark.parametrize("title", ["Context", "Reads", "Writes", "Decisions"])
def test_a_known_section_is_read_at_any_level(title: str, level: int) -> None:
    text = small()
    mutant = re.sub(rf"^#+ {title}$", f"{'#' * level} {title}", text, flags=re.MULTILINE)
    assert meaning(read_text(mutant, "md").workload) == meaning(read_text(text, "md").workload)


# Things that authors add for themselves, and that stay allowed.
OWN = [
    ("| Multi-Entity |", "| Multi-Entity | Screen |"),
    ("> Status: REVIEWED", "> Status: REVIEWED\n\nTenant: whoever rents an office. Status: see above."),
    ("- **Teams**: 1", "- **Teams**: 1\n\nOffices are tenants – each has its own teams."),
    ("### Writes", "#### Screens\n\n| Screen | Patterns |\n| --- | --- |\n| Home | AP-001 |\n\n### Writes"),
    ("### Writes", "<!--\n| AP-009 | Team | Old | name | Single | - | No | 1/s | Eventual | No |\n-->\n\n### Writes"),
    ("## Decisions", "## Glossary\n\n- **Team**: people\n- `name` (string) is shown\n\n## Decisions"),
    ("### Office", "- **Colour**: red\n- Size matters here\n\nSee `name` (above).\n\n### Office"),
    ("## Decisions", "## Notes\n\n- no copies, says Ann | Bob\n- #1 of 3\n\n## Decisions"),
    ("- at most 2 GSIs - they cost", "- at most 2 GSIs\n  - because they cost"),
]


@pytest.mark.parametrize(("old", "new"), OWN)
def test_text_of_the_author_is_kept_without_a_complaint(old: str, new: str) -> None:
    text = small()
    assert old in text
    mutant = text.replace(old, new, 1)
    if "Screen |" in new and "####" not in new:
        mutant = mutant.replace("| --- |\n| AP-001", "| --- | --- |\n| AP-001").replace(
            "Eventual | No |", "Eventual | No | - |"
        )
    reading = read_text(mutant, "md")
    assert [d for d in reading.diagnostics if is_complaint(d)] == []
    whole = meaning(read_text(text, "md").workload)
    assert [e.name for e in reading.workload.entities] == ["Team", "Office"]
    assert meaning(reading.workload)[3] == whole[3]
    assert len(reading.workload.patterns) == 4
