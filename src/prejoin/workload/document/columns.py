"""Columns of tables and labels of lists. Each is a value that says how its text is read and written.

`tables.py` has those of access patterns, and `prejoin.design.document.tables` has those of table designs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from operator import attrgetter
from typing import Any

from prejoin.diagnostics import Code, Severity
from prejoin.workload.document.markdown import MarkdownBlock, Text, escape_cell, write_row
from prejoin.workload.read_result import Notes, Path

Fields = dict[str, Any]
"""Fields of the model by name."""
OVERFLOW = "Overflow"
"""The column for cells after the last one."""


# --- Names ----------------------------------------------------------------------------------------------------------


def normal(title: str) -> str:
    return re.sub(r"\s+", " ", title.replace("*", "").replace("`", "")).strip(" :.").lower()


class KnownNames:
    """Names with their synonyms.

    >>> KnownNames({"Sort": ("Order",)}).find("**order**")
    'Sort'
    """

    def __init__(self, synonyms: Mapping[str, Iterable[str]]) -> None:
        self.known = tuple(synonyms)
        self.by_name: Mapping[str, str] = {
            **{normal(synonym): name for name in self.known for synonym in synonyms[name]},
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


# --- Columns and labels ---------------------------------------------------------------------------------------------


def no_context(*parts: object) -> tuple[Any, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or a label of a list: its names, and how its text is read and written.

    >>> Column("Size", ("size",), int, synonyms=("Item size",)).fields_of("400")
    {'size': 400}
    """

    name: str
    fields: tuple[str, ...] = ()
    """The fields of the model that it holds; none if it is not read. Diagnostics find its place by the first one."""
    read: Callable[..., Any] = str
    """Reads the fields from a text: a tuple for several fields. Raises `Inexact`."""
    write: Callable[..., str] = str
    """Writes the fields, unless the first of them is None."""
    code: Code | None = None
    """Reports a text that `read` refuses. None if it reads every text: then it has no place."""
    synonyms: tuple[str, ...] = ()
    """Other names that are read."""
    is_required: bool = False
    """Whether a table without it is not read."""
    if_used: bool = False
    """Whether it is only printed if a row has a text for it."""
    empty: str = ""
    """The text for no value."""
    place: str | None = None
    """The path of its place, if not the first field; empty for the place of the row."""
    read_context: Callable[[Fields], tuple[Any, ...]] = no_context
    """Further arguments of `read`, from the fields that were read before."""
    write_context: Callable[..., tuple[Any, ...]] = no_context
    """Further arguments of `write`, from the object that has the fields, and the document."""

    @property
    def is_rule(self) -> bool:
        """Whether it decides what is stored or refused, so that to ignore it would be an error."""
        return self.code is not None and self.code.severity is Severity.ERROR

    def fields_of(self, text: str, before: Fields | None = None) -> Fields:
        """The fields in a text."""
        values = self.read(text, *self.read_context(before or {}))
        return dict(zip(self.fields, values if len(self.fields) > 1 else (values,), strict=True))

    def text_of(self, item: object, *context: object) -> str:
        """The text for the fields of an object."""
        values = [getattr(item, field) for field in self.fields]
        if not values or values[0] is None:
            return self.empty
        return self.write(*values, *self.write_context(item, *context)) or self.empty

    def read_text(
        self, text: Text, path: Path, notes: Notes, before: Fields | None = None, no_value: frozenset[str] = frozenset()
    ) -> Fields | None:
        """The fields in a text of a document; None, with a diagnostic, if it is not exact.

        `no_value` are the texts for no value.
        """
        if self.code is None:
            return self.fields_of(text.text, before)
        place = self.fields[0] if self.place is None else self.place
        notes.places.mark((*path, place) if place else path, text)
        if text.text.lower() in no_value:
            return {}
        return notes.attempt(self.code, text, lambda cell: self.fields_of(cell, before))


def known_names(columns: Iterable[Column]) -> KnownNames:
    return KnownNames({column.name: column.synonyms for column in columns})


# --- Tables ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableKind:
    """A kind of table: its columns, and what a row is."""

    field: str
    """The field of the model that has the rows."""
    columns: tuple[Column, ...]
    row: Callable[..., Any]
    """Makes the object of a row from its fields."""
    row_name: Callable[[Any], str] = attrgetter("name")
    """The name of a row, by which the author's own cells are kept beside it."""

    @cached_property
    def names(self) -> KnownNames:
        return known_names(self.columns)

    @cached_property
    def required_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.is_required)


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


def read_rows(block: MarkdownBlock, kind: TableKind, notes: Notes, say: TableCodes) -> tuple[TableRow, ...] | None:
    """The rows of a table; None, with a diagnostic, if it lacks a required column."""
    header = _header(block, kind, notes, say)
    if header is None:
        return None
    return tuple(_row(block, cells, header, kind, notes, say) for cells in block.rows)


def _row(
    block: MarkdownBlock, cells: tuple[Text, ...], header: list[str], kind: TableKind, notes: Notes, say: TableCodes
) -> TableRow:
    first = cells[0] if cells else Text("", block.line, 1)
    own = {}
    if len(cells) > len(header):
        extra = cells[len(header)]
        message = f"this row has {len(cells)} cells, the table {len(header)} columns"
        notes.say(say.too_many, extra, message, "write `\\|` for a `|` inside a cell")
        own[OVERFLOW] = " | ".join(cell.text for cell in cells[len(header) :])
    elif len(cells) < len(header) and say.too_few:
        missing = ", ".join(f"`{name}`" for name in header[len(cells) :])
        message = f"this row has {len(cells)} cells, the table {len(header)} columns: {missing} would be empty"
        notes.say(say.too_few, first, message, "write all of them; `-` stands for none")
    # Readers rely on the cells of required columns, which a short row may leave out.
    by_column = dict.fromkeys(kind.required_names, Text("", first.line, first.column))
    by_column |= zip(header, cells, strict=False)
    own |= {name: cell.lines() for name, cell in by_column.items() if cell and name not in kind.names.known}
    return TableRow(first, by_column, own)


def _header(block: MarkdownBlock, kind: TableKind, notes: Notes, say: TableCodes) -> list[str] | None:
    names: list[str] = []
    columns = kind.names
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
    missing = [name for name in kind.required_names if name not in names]
    if missing:
        message = f"the table has no column {' and no column '.join(f'`{m}`' for m in missing)}"
        notes.say(say.missing, block.first_line, message, f"the columns are {', '.join(columns.known)}")
        return None
    return names


def read_fields(
    columns: Iterable[Column], row: TableRow, path: Path, notes: Notes, no_value: frozenset[str] = frozenset()
) -> tuple[Fields, dict[str, str]]:
    """The fields in the cells of a row, and the texts of cells that are not exact, by column."""
    fields: Fields = {}
    inexact = {}
    for column in columns:
        cell = row.cells.get(column.name)
        if not cell or not column.fields:
            continue
        values = column.read_text(cell, path, notes, fields, no_value)
        if values is None:
            inexact[column.name] = cell.lines()
        else:
            fields |= values
    return fields, inexact


def write_table(
    columns: Sequence[Column], rows: Sequence[Mapping[str, str]], missing: str = "", widest: int = 0
) -> str:
    """A table of rows of texts by column. Columns of the author's own come last.

    Cells are padded up to the width `widest`, so that a long one does not widen the column.
    """
    if not rows:
        return ""
    header = _printed_columns(columns, rows)
    cells = [[escape_cell(row.get(name, missing)) for name in header] for row in rows]
    cells.insert(0, [escape_cell(name) for name in header])
    narrowest = min(3, widest)
    widths = [max(narrowest, *(min(len(text), widest) for text in texts)) for texts in zip(*cells, strict=True)]
    cells.insert(1, ["-" * max(3, width) for width in widths])
    return "\n".join(write_row(map(str.ljust, texts, widths)) for texts in cells)


def _printed_columns(columns: Sequence[Column], rows: Sequence[Mapping[str, str]]) -> list[str]:
    own_names = {name: None for row in rows for name, text in row.items() if text}
    for column in columns:
        own_names.pop(column.name, None)
    names_with_text = {name for row in rows for name, text in row.items() if text not in {"", "-"}}
    return [*(column.name for column in columns if not column.if_used or column.name in names_with_text), *own_names]
