"""Reads access patterns: one row each, in the tables Reads, Writes and Deletes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from prejoin.diagnostics import Code
from prejoin.workload import codes
from prejoin.workload.document.markdown import MarkdownBlock, Text
from prejoin.workload.document.read_entities import read_names
from prejoin.workload.document.tables import (
    COLLECTIONS,
    DELETES,
    NAME,
    READS,
    WRITES,
    KnownNames,
    TableCodes,
    read_rows,
)
from prejoin.workload.grammar.answers import (
    read_combine,
    read_consistency,
    read_page,
    read_result,
    read_sort,
    read_yes_no,
)
from prejoin.workload.grammar.inputs import read_inputs
from prejoin.workload.grammar.quantities import read_rate
from prejoin.workload.grammar.writes import read_actions, read_checks
from prejoin.workload.model import Combine, Input, ItemCollection, Read, Verb, Write
from prejoin.workload.read_result import Notes, Path

T = TypeVar("T")
NONE = frozenset({"-", "–", "—", "n/a", "none"})
"""Text for "none". An empty cell means "not said"."""
_SAY = TableCodes(codes.COLUMN, codes.NO_COLUMN, codes.TOO_MANY_CELLS, codes.TOO_FEW_CELLS)
COLUMNS = {
    "reads": KnownNames((*READS, NAME)),
    "writes": KnownNames((*WRITES, NAME)),
    "deletes": KnownNames((*DELETES, NAME)),
    "collections": KnownNames(COLLECTIONS),
}
_MUST = {
    "reads": ("ID", "Entity", "Result"),
    "writes": ("ID", "Entity", "Items Written"),
    "deletes": ("ID", "Entity", "Items Deleted"),
    "collections": ("Group", "Entities"),
}


@dataclass(slots=True)
class _Row:
    """A row while it is read: its cells by column, and the text to keep."""

    cells: Mapping[str, Text]
    notes: Notes
    path: Path
    verbatim: dict[str, str] = field(default_factory=dict)

    def text(self, column: str) -> str:
        cell = self.cells.get(column)
        return cell.lines() if cell and cell.text not in NONE else ""

    def read(self, column: str, fields: str, code: Code, read: Callable[[str], T]) -> T | None:
        cell = self.cells.get(column)
        if not cell:
            return None
        self.notes.places.mark((*self.path, fields), cell)
        if cell.text.lower() in NONE:
            return None
        value = self.notes.attempt(code, cell, read)
        if value is None:
            self.verbatim[column] = cell.lines()
        return value

    def said_nothing(self, column: str) -> bool:
        return not self.cells.get(column)


def read_table(
    block: MarkdownBlock, kind: str, notes: Notes, count: int
) -> list[Read] | list[Write] | list[ItemCollection]:
    """The patterns of one table; `count` is the number of patterns of this kind before it."""
    notes.mark_read(block.line, block.height)
    found = read_rows(block, COLUMNS[kind], _MUST[kind], notes, _SAY)
    rows = []
    for index, one in enumerate(found or ()):
        path: Path = (kind, count + index)
        row = _Row(one.cells, notes, path, dict(one.own))
        notes.places.mark(path, one.first)
        rows.append({"reads": _read, "collections": _collection}.get(kind, _write)(row))
    return rows  # type: ignore[return-value]


def _entities(row: _Row) -> tuple[str, ...]:
    return row.read("Entity", "entities", codes.UNKNOWN_ENTITY, read_names) or ()


def _inputs(row: _Row) -> tuple[Input, ...]:
    return row.read("Input Parameters", "inputs", codes.INPUTS, read_inputs) or ()


def _read(row: _Row) -> Read:
    result = row.read("Result", "result", codes.RESULT, read_result)
    page = row.read("Paginated", "paginated", codes.PAGE, read_page)
    combine, via = row.read("Multi-Entity", "combine", codes.COMBINE, read_combine) or (None, "")
    if combine is True:
        cell = row.cells["Multi-Entity"]
        fix = "write `Collection` (side by side under one id) or `Join` (the first names the second)"
        row.notes.say(codes.COMBINE_HOW, cell, "`Yes` is read as `Collection`", fix, "Collection")
    inputs = _inputs(row)
    if row.said_nothing("Input Parameters") and "Input Parameters" not in row.verbatim:
        _no_inputs(row)
    return Read(
        id=row.text("ID"),
        name=row.text(NAME),
        entities=_entities(row),
        description=row.text("Description"),
        inputs=inputs,
        result=result[0] if result else None,
        needs=result[1] if result else (),
        limit=result[2] if result else None,
        sort=row.read("Sort", "sort", codes.SORT, read_sort) or (),
        paginated=page[0] if page else None,
        page=page[1] if page else None,
        rate=row.read("Frequency", "rate", codes.RATE, read_rate),
        consistency=row.read("Consistency", "consistency", codes.CONSISTENCY, read_consistency),
        combine=combine if isinstance(combine, Combine) else Combine.COLLECTION if combine else None,
        via=via,
        verbatim=row.verbatim,
    )


def _no_inputs(row: _Row) -> None:
    cell = row.cells.get("Input Parameters") or row.cells["ID"]
    fix = "write the attributes that the caller knows, or `-` for none"
    row.notes.say(codes.NO_INPUTS, cell, f"{row.text('ID') or 'this pattern'} does not say its inputs", fix)


def _write(row: _Row) -> Write:
    items = "Items Deleted" if row.path[0] == "deletes" else "Items Written"
    inputs = _inputs(row)
    names = frozenset(i.attribute for i in inputs)
    if row.said_nothing("Input Parameters"):
        _no_inputs(row)
    return Write(
        id=row.text("ID"),
        name=row.text(NAME),
        entities=_entities(row),
        description=row.text("Description"),
        inputs=inputs,
        actions=row.read(items, "actions", codes.ACTIONS, lambda t: read_actions(t, names, _suggested_verb(row))) or (),
        atomic=row.read("Transaction", "atomic", codes.TRANSACTION, read_yes_no),
        checks=row.read("Conditions", "checks", codes.CONDITIONS, lambda t: read_checks(t, names)) or (),
        rate=row.read("Frequency", "rate", codes.RATE, read_rate),
        verbatim=row.verbatim,
    )


def _suggested_verb(row: _Row) -> Verb:
    """The verb that a description suggests, for the advice in a diagnostic."""
    if row.path[0] == "deletes":
        return Verb.DELETE
    changing = re.match(
        r"\s*(update|change|edit|set|rename|mark|increment|decrement|move)", row.text("Description"), re.IGNORECASE
    )
    return Verb.UPDATE if changing else Verb.CREATE


def _collection(row: _Row) -> ItemCollection:
    return ItemCollection(
        name=row.text("Group"),
        entities=row.read("Entities", "entities", codes.WORDING, read_names) or (),
        patterns=row.read("Access Patterns", "patterns", codes.WORDING, _ids) or (),
        text=row.text("Rationale"),
        verbatim=row.verbatim,
    )


def _ids(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.replace(",", " ").replace(";", " ").split() if part)
