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
from prejoin.workload.model import Context, Entity, Workload

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
    text = text.replace("## Entities", CONTEXT, 1)
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


def of_row(line: str) -> Iterator[tuple[str, list[str]]]:
    yield "blank line below", [line, ""]
    yield "text below", [line, "Some words."]
    for above in ("<!-- a comment -->", "```", "#### Admin", "### Admin", "## Admin", "---", "***", "Words", "- words"):
        yield f"`{above}` above", [above, line]
        yield f"`{above}` and a blank line above", [above, "", line]
    for start in ("    ", "\t", "- ", "> ", "1. ", "     - "):
        yield f"{start!r} before", [start + line]
    yield "no first pipe", [line[1:]]
    yield "first cell missing", ["|" + line[1:].partition("|")[2]]
    yield "last cell missing", [line.rstrip().rstrip("|").rpartition("|")[0] + "|"]
    yield "a cell more", [line + " x |"]
    if re.fullmatch(r"[|\-: ]+", line):
        yield "rule missing", []
        yield "rule blank", [""]
        yield "rule short", ["| --- | --- |"]


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
    yield "another bullet", [line.replace("- ", "* ", 1)]
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
    return [*map(plain, workload.entities)], workload.reads, writes, pins, context, workload.collections


def plain(entity: Entity) -> Entity:
    attributes = tuple(replace(attribute, text="") for attribute in entity.attributes)
    return replace(entity, attributes=attributes, description="", notes="", owner="", lifecycle="", verbatim={})


def is_complaint(diagnostic: Diagnostic) -> bool:
    """Whether a diagnostic says that a line is not read as it stands: an error, or a warning about its form."""
    warned = diagnostic.severity is Severity.WARNING and diagnostic.code.startswith("PJ1")
    return warned or diagnostic.severity is Severity.ERROR


def lost(text: str, step: int = 1) -> list[str]:
    """The mutations of a document that change its meaning without a complaint, or lose a pattern without an error.

    Every mutation is tried, or one of `step`.
    """
    original = read_text(text, "md")
    assert not any(map(is_complaint, original.diagnostics))
    whole, number = meaning(original.workload), len(original.workload.patterns)
    names = []
    for name, mutant in islice(mutants(text), 0, None, step):
        reading = read_text(mutant, "md")
        refused = any(d.severity is Severity.ERROR for d in reading.diagnostics)
        fewer = len(reading.workload.patterns) < number
        changed = meaning(reading.workload) != whole and not any(map(is_complaint, reading.diagnostics))
        if changed or (fewer and not refused):
            names.append(name)
    return names


@pytest.mark.slow
def test_no_line_of_a_small_document_is_lost() -> None:
    assert lost(small()) == []


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
    ("| AP-002", "<!-- names -->\n| AP-002", "PJ114", "blank line", "remove the blank line"),
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
