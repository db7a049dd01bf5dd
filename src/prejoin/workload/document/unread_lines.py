"""Finds lines of a document that look like rows, attributes, labels, settings or decisions, and that nothing has read.

Markdown has no syntax errors: a blank line ends a table, and the rows below it are a paragraph. Such lines would be
lost in silence. The readers mark the lines that they have read; this module looks at the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prejoin.workload import codes
from prejoin.workload.document.columns import known_names
from prejoin.workload.document.markdown import Text
from prejoin.workload.document.read_entities import is_attribute
from prejoin.workload.document.tables import CONTEXT_LABELS, ENTITY_LABELS, PATTERN_TABLES
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.statements import read_pin, read_relationship, read_tenant
from prejoin.workload.read_result import Notes

_TABLE_SECTIONS = frozenset({"Access Patterns", "Reads", "Writes", "Deletes", "Item Collection Candidates"})
_DECISION_SECTIONS = _TABLE_SECTIONS | {"Decisions", "Context"}
_SETTING_SECTIONS = frozenset({"", "Domain Overview", "Context"})
_COLUMNS = known_names(column for kind in PATTERN_TABLES for column in kind.columns)
_SETTINGS = "|".join(label.name for label in CONTEXT_LABELS)
_PIPE = re.compile(r"(?<!\\)\|")
_RULE = frozenset(" \t>|:-")
"""The characters of a line below a header."""
_BULLETS = "-*+–—−•·‣◦●▪"
"""The bullets of Markdown, then other signs that look like bullets, and begin no list."""
_MARKS = re.compile(rf"(?:[>\s]|[{_BULLETS}](?=[\s|])|\d{{1,9}}[.)]\s)*")
"""Quotation marks, indentation and bullets, which make something else of a row."""
_BULLET = re.compile(rf"[>\s]*(?:([{_BULLETS}])\s*(?!\1))?")
_LIST_ITEM = re.compile(rf"[>\s]*[{_BULLETS}]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNSPACED_HEADING = re.compile(r" {0,3}#{2,6}[A-Za-z`]")
_PATTERN_ID = re.compile(r"[A-Z][A-Z0-9]{0,9}-?\d+")
_FEWEST_CELLS = 5
"""A row with fewer cells is not taken for a pattern outside of the sections of patterns."""


def _label(names: Iterable[str]) -> re.Pattern[str]:
    choice = "|".join(names)
    return re.compile(rf"(?:\*\*|__)({choice})\s*:?(?:\*\*|__)|({choice})\s*:", re.IGNORECASE)


_WORDS = frozenset({"Description", "Size", "Owner", "Lifecycle"})
"""Labels that people also write in the text of an attribute."""
_ENTITY_LABEL = _label(label.name for label in ENTITY_LABELS)
_UNMARKED_LABEL = re.compile(rf"({'|'.join(_WORDS)})\s*:", re.IGNORECASE)
_ATTRIBUTES_LABEL = _label(["Attributes"])
_SETTING = re.compile(rf"(?:\*\*|__)({_SETTINGS})\s*:?(?:\*\*|__)", re.IGNORECASE)
_BARE_SETTING = re.compile(rf"({_SETTINGS})\s*:", re.IGNORECASE)
_BARE_TENANT = re.compile(r"Tenant\s*+:\s*+(\S.*)", re.IGNORECASE)
_STATUS = re.compile(r"[^\w<]*+Status[*_]*+\s*+:[*_]*+\s*+[*_`]*+(?:DRAFT|REVIEWED|APPROVED)\b", re.IGNORECASE)
_TENANT = re.compile(r"(?:\*\*|__)Tenant\s*:?(?:\*\*|__)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Region:
    """The lines of a section and its subsections."""

    first: int
    last: int
    section: str
    """The known section; for one of the author's own, the known section before it."""
    own: bool = False
    """Whether it is a section of the author's own."""


def report_unread_lines(source: str, regions: Iterable[Region], notes: Notes) -> None:
    source_lines = source.split("\n")
    lines = without_comments(source).split("\n")
    code = _code_lines(lines)
    for region in regions:
        numbers = [n for n in range(region.first, region.last + 1) if n <= len(lines) and n not in notes.read_lines]
        rows = [number for number in numbers if _is_row(lines[number - 1], region)]
        for group in _runs(rows):
            _report_rows(lines, source_lines, group, code, notes)
        for number in sorted({*numbers} - {*rows}):
            _report_line(lines[number - 1], number, region, notes)


def _report_line(line: str, number: int, region: Region, notes: Notes) -> None:
    position = Text(line.strip(), number, len(line) - len(line.lstrip()) + 1)
    if region.section in _SETTING_SECTIONS and _STATUS.match(line):
        fix = "write it directly below the title: `> Status: DRAFT`"
        notes.say(codes.STATUS, position, "the status is not read", fix)
    elif problem := _problem(line, region):
        notes.say(codes.UNREAD_LINE, position, *problem)


def without_comments(source: str) -> str:
    """The source with blanks for comments, so that the other lines and columns stay."""
    parts = []
    at = 0
    while (start := source.find("<!--", at)) >= 0 and (end := source.find("-->", start)) >= 0:
        parts += [source[at:start], re.sub(r"[^\n]", " ", source[start : end + 3])]
        at = end + 3
    return "".join([*parts, source[at:]])


# --- Rows -----------------------------------------------------------------------------------------------------------


def _is_row(line: str, region: Region) -> bool:
    content = line[_MARKS.match(line).end() :]  # type: ignore[union-attr]
    pipes = len(_PIPE.findall(content))
    if pipes < 2:
        return False
    if region.section in _TABLE_SECTIONS and content.startswith("|"):
        return True
    cells = _cells(content)
    if len(cells) < _FEWEST_CELLS:
        return False
    return bool(_PATTERN_ID.fullmatch(cells[0])) or _is_header(cells) or _is_rule(content)


def _is_header(cells: list[str]) -> bool:
    columns = {_COLUMNS.find(cell) for cell in cells}
    return {"ID", "Entity"} <= columns and bool(columns & {"Result", "Items Written", "Items Deleted"})


def _is_rule(line: str) -> bool:
    return "-" in line and _RULE.issuperset(line)


def _cells(row: str) -> list[str]:
    return [cell.strip(" `*") for cell in _PIPE.split(row.strip().strip("|"))]


def _runs(numbers: list[int]) -> Iterator[list[int]]:
    """Numbers that follow each other, together."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _report_rows(
    lines: list[str], source_lines: list[str], group: list[int], code: frozenset[int], notes: Notes
) -> None:
    first = group[0]
    line = lines[first - 1]
    rows = sum(not _is_rule(lines[number - 1]) for number in group)
    if not rows:
        return  # a line of dashes alone loses nothing
    count = "this row is" if rows == 1 else f"these {rows} rows are"
    why, fix = _cause(lines, source_lines, group, code)
    position = Text(line.strip(), first, len(line) - len(line.lstrip()) + 1)
    notes.say(codes.UNREAD_ROW, position, f"{count} not read: {why}", fix)


def _cause(lines: list[str], source_lines: list[str], group: list[int], code: frozenset[int]) -> tuple[str, str]:
    """Why rows are not in a table, and the fix. `lines` are those that are `written`, without comments."""
    line = lines[group[0] - 1]
    above = lines[group[0] - 2] if group[0] > 1 else ""
    below = lines[group[0]] if group[0] < len(lines) else ""
    marks = _MARKS.match(line)
    if marks and (len(marks[0]) > 3 or marks[0].strip()):
        return "a row of a table begins with `|`", "write it without indentation, `>` or a bullet"
    if group[0] in code:
        return "it stands in a code block", "close the code block above it, or remove its fence"
    header = _cells(line)
    if _is_header(header) or "Group" in header:
        rule = "| " + " | ".join("---" for _ in header) + " |"
        if _is_rule(below):
            cells = len(_cells(below))
            if cells == len(header):
                return "the table stands directly below other text", "put a blank line above the table"
            return f"the header has {len(header)} cells, and the line below it {cells}", f"write `{rule}` below it"
        return "the line of dashes below the header is missing", f"write `{rule}` below the header"
    if not above.strip() and (comment := source_lines[group[0] - 2].strip()):
        return f"the comment `{comment[:40]}` ends the table above it", "move the comment above or below the table"
    if not above.strip():
        return "a blank line ends the table above it", "remove the blank line"
    return f"`{above.strip()[:40]}` ends the table above it", "move that line below the table"


def _code_lines(lines: list[str]) -> frozenset[int]:
    """The numbers of the lines in code blocks between fences."""
    fence = ""
    numbers = []
    for number, line in enumerate(lines, 1):
        if (match := _FENCE.match(line)) and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1]
        elif fence:
            numbers.append(number)
    return frozenset(numbers)


# --- Other lines ----------------------------------------------------------------------------------------------------


def _problem(line: str, region: Region) -> tuple[str, str] | None:
    """Why a line that was not read should have been, and the fix; None for text."""
    content = line[_BULLET.match(line).end() :].rstrip()  # type: ignore[union-attr]
    is_list_item = bool(_LIST_ITEM.match(line))
    if _UNSPACED_HEADING.match(line):
        heading = line.strip()
        level = len(heading) - len(heading.lstrip("#"))
        return f"`{heading[:40]}` is not a heading", f"write a space: `{heading[:level]} {heading[level:][:40]}`"
    if region.section in _SETTING_SECTIONS and _is_bare_tenant(content):
        return (
            "the setting `Tenant` is not read",
            "write it as a list item below `## Context`: `- **Tenant**: tenantId`",
        )
    if region.own:
        return _problem_in_own_section(content)
    if region.section == "Entities":
        return _problem_in_entity(content, is_list_item)
    label = _SETTING.match(content) or (_BARE_SETTING.match(content) if region.section == "Context" else None)
    if region.section in _SETTING_SECTIONS and label:
        return (
            f"the setting `{label[1]}` is not read",
            "write it as a list item below `## Context`, without indentation",
        )
    if region.section in _DECISION_SECTIONS and content and _is_decision(content, region, is_list_item):
        return "this decision is not read", "write it as a list item below `## Decisions`, without indentation"
    return None


def _is_bare_tenant(content: str) -> bool:
    """Whether a line is a tenant without the marks of a label: `Tenant: orgId`. A sentence is not."""
    match = _BARE_TENANT.match(content)
    try:
        return bool(match and read_tenant(match[1]))
    except Inexact:
        return False


def _problem_in_entity(content: str, is_list_item: bool) -> tuple[str, str] | None:
    if _ENTITY_LABEL.match(content) and (is_list_item or "*" in content[:2]) and not _UNMARKED_LABEL.match(content):
        return (
            "this label is a part of the text above it",
            "write it as a list item, `- **Label**:`, without indentation",
        )
    if (is_list_item or content.startswith("`")) and is_attribute(content):
        fix = "write it as a list item below `- **Attributes**:`, indented by two spaces"
        return "this attribute is a part of the text above it", fix
    if _is_relationship(content):
        fix = "write it as a list item below `- **Relationships**:`, indented by two spaces"
        return "this relationship is a part of the text above it", fix
    return None


def _is_relationship(content: str) -> bool:
    try:
        read_relationship(content)
    except Inexact:
        return False
    return True


def _problem_in_own_section(content: str) -> tuple[str, str] | None:
    if _ATTRIBUTES_LABEL.match(content):
        return "this entity is not read", "give it a heading of its own below `## Entities`: `### Name`"
    if _TENANT.match(content):
        return "the setting `Tenant` is not read", "write it as a list item below `## Context`"
    return None


def _is_decision(content: str, region: Region, is_list_item: bool) -> bool:
    if not is_list_item and region.section != "Decisions":
        return False
    heads = (content, *(content.partition(dash)[0] for dash in (" - ", " – ", " — ")))
    return any(read_pin(head) is not None for head in heads)
