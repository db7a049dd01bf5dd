"""The tables of a document: known columns and labels with their synonyms, and rows of cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from prejoin.diagnostics import Code
from prejoin.workload.document.markdown import MarkdownBlock, Text
from prejoin.workload.read_result import Notes

OVERFLOW = "Overflow"
"""The column for cells after the last one."""


@dataclass(frozen=True, slots=True)
class TableRow:
    first: Text
    """The place where the row begins."""
    cells: Mapping[str, Text]
    """Cells by column: the known name, or the author's own."""
    own: Mapping[str, str]
    """Cells in the author's own columns."""


@dataclass(frozen=True, slots=True)
class TableCodes:
    """The codes of diagnostics about a table."""

    near: Code
    missing: Code
    too_many: Code
    too_few: Code | None = None
    """None where a row may leave out its last cells."""


def read_rows(
    block: MarkdownBlock, columns: KnownNames, must: Sequence[str], notes: Notes, say: TableCodes
) -> tuple[TableRow, ...] | None:
    """The rows of a table; None, with a diagnostic, if it lacks a required column."""
    header = _header(block, columns, must, notes, say)
    if header is None:
        return None
    return tuple(_row(block, cells, header, columns, notes, say) for cells in block.rows)


def _row(
    block: MarkdownBlock, cells: tuple[Text, ...], header: list[str], columns: KnownNames, notes: Notes, say: TableCodes
) -> TableRow:
    named = dict(zip(header, cells, strict=False))
    own = {}
    if len(cells) > len(header):
        extra = cells[len(header)]
        message = f"this row has {len(cells)} cells, the table {len(header)} columns"
        notes.say(say.too_many, extra, message, "write `\\|` for a `|` inside a cell")
        own[OVERFLOW] = " | ".join(c.text for c in cells[len(header) :])
    elif len(cells) < len(header) and say.too_few:
        missing = ", ".join(f"`{name}`" for name in header[len(cells) :])
        message = f"this row has {len(cells)} cells, the table {len(header)} columns: {missing} would be empty"
        notes.say(say.too_few, cells[0], message, "write all of them; `-` stands for none")
    own |= {name: cell.lines() for name, cell in named.items() if cell and name not in columns.known}
    return TableRow(cells[0] if cells else Text("", block.line, 1), named, own)


def _header(
    block: MarkdownBlock, columns: KnownNames, must: Sequence[str], notes: Notes, say: TableCodes
) -> list[str] | None:
    names: list[str] = []
    in_table = {columns.find(cell.text) for cell in block.header}
    for cell in block.header:
        name = columns.find(cell.text)
        if name in names:
            notes.say(say.near, cell, f"the column `{cell.text}` is there twice", "give one of them another name")
            name = None
        elif name is None and (near := columns.near(cell.text)) and near not in in_table:
            notes.say(say.near, cell, f"the column `{cell.text}` is not read", f"did you mean `{near}`?", near)
        title = name or cell.text or OVERFLOW
        while title in names:
            title += " "
        names.append(title)
    missing = [column for column in must if column not in names]
    if missing:
        where = Text(block.raw.split("\n")[0], block.line, 1)
        message = f"the table has no column {' and no column '.join(f'`{m}`' for m in missing)}"
        notes.say(say.missing, where, message, f"the columns are {', '.join(columns.known)}")
        return None
    return names


READS = (
    "ID", "Entity", "Description", "Input Parameters", "Result", "Sort", "Paginated", "Frequency", "Consistency",
    "Multi-Entity",
)  # fmt: skip
WRITES = (
    "ID", "Entity", "Description", "Input Parameters", "Items Written", "Transaction", "Conditions", "Frequency",
)  # fmt: skip
DELETES = tuple("Items Deleted" if column == "Items Written" else column for column in WRITES)
COLLECTIONS = ("Group", "Entities", "Access Patterns", "Rationale")
ENTITY_LABELS = (
    "Description", "Attributes", "Relationships", "Cardinality", "Size", "Retention", "History", "Unique", "Excludes",
    "Owner", "Lifecycle", "Renamed from",
)  # fmt: skip
CONTEXT_LABELS = ("Teams", "Stage", "Access patterns", "Analytics", "Ad-hoc queries", "GraphQL", "Experience", "Tenant")
SECTIONS = (
    "Domain Overview", "Context", "Entities", "Access Patterns", "Reads", "Writes", "Deletes",
    "Item Collection Candidates", "Decisions", "Notes",
)  # fmt: skip
NAME = "Name"
"""The optional column with the names of patterns."""

_OTHER_NAMES = {
    "input parameters": ("input", "inputs", "parameters", "input parameter"),
    "result": ("result type", "returns"),
    "sort": ("sort required", "order", "sort order"),
    "paginated": ("pagination", "pages"),
    "frequency": ("rate",),
    "multi-entity": ("multi entity", "multientity", "multiple entities"),
    "items written": ("items deleted", "items", "writes"),
    "items deleted": ("items written", "items", "deletes"),
    "transaction": ("transactional", "atomic"),
    "conditions": ("condition",),
    "entity": ("entities",),
    "entities": ("entity",),
    "group": ("collection", "item collection", "name"),
    "access patterns": ("patterns",),
    "rationale": ("reason", "why"),
    "domain overview": ("overview", "domain"),
    "item collection candidates": ("item collections",),
    "decisions": ("decisions and pins", "pins"),
    "reads": ("read patterns", "read"),
    "writes": ("write patterns", "write"),
    "deletes": ("delete patterns", "delete"),
    "cardinality": ("volume", "count"),
    "size": ("item size",),
    "retention": ("kept for",),
    "relationships": ("relationship", "relations"),
}


def normal(title: str) -> str:
    return re.sub(r"\s+", " ", title.replace("*", "").replace("`", "")).strip(" :.").lower()


class KnownNames:
    """A set of known names with their synonyms."""

    def __init__(self, known: Iterable[str], others: Mapping[str, Sequence[str]] = _OTHER_NAMES) -> None:
        self.known = tuple(known)
        self.by_name: Mapping[str, str] = {
            **{other: name for name in self.known for other in others.get(name.lower(), ())},
            **{normal(name): name for name in self.known},
        }

    def find(self, title: str) -> str | None:
        return self.by_name.get(normal(title))

    def near(self, title: str) -> str | None:
        """The known name that a title probably means: `Condition` or `Conditions (all)` for `Conditions`."""
        if before := self.by_name.get(normal(title).partition(" (")[0]):
            return before
        match = get_close_matches(normal(title)[:60], self.by_name, 1, 0.8)
        return self.by_name[match[0]] if match else None
