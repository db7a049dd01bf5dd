"""Finds columns of the author's own that hold what a known column should: `Requires` instead of `Conditions`.

A column with another name is prose, and its cells have no effect. If the grammar of a known column can read one of
them, the column is probably meant as that one, and its conditions or inputs would be lost in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from prejoin.workload import codes
from prejoin.workload.document.columns import Column, TableKind, normal
from prejoin.workload.document.markdown import MarkdownBlock, Text
from prejoin.workload.document.tables import (
    CONDITIONS,
    CONSISTENCY,
    FREQUENCY,
    INPUTS,
    MULTI_ENTITY,
    NONE,
    PAGINATED,
    READS,
    SORT,
    TRANSACTION,
)
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.lookup import bare_name
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Notes


@dataclass(frozen=True, slots=True)
class PatternTable:
    """A table of patterns as it stands in the document."""

    kind: TableKind
    block: MarkdownBlock


_CONDITION_TITLES = frozenset({
    "constraint", "constraints", "require", "requires", "required", "requirements", "guard", "guards", "rule", "rules",
    "if", "when", "only if", "only when", "precondition", "preconditions", "where", "check", "checks", "must hold",
    "provided that", "invariants", "validation",
})  # fmt: skip
"""Names that people give the column `Conditions`, also beside it."""
_FILTER_TITLES = _CONDITION_TITLES | {"condition", "conditions", "filter", "filters"}
"""The same of reads, whose conditions are inputs."""
_SORT_TITLES = frozenset({"ordering", "ordered by", "order by", "sorted by", "sorting", "sorted"})


@dataclass(frozen=True, slots=True)
class _Hint:
    """What shows that a column of the author's own was meant as a known one."""

    column: Column
    titles: frozenset[str] = frozenset()
    """Its name. Without them the cells alone are enough, if the table does not have the known column."""
    words: re.Pattern[str] = re.compile("")
    """What a cell has to have in it."""

    def is_meant_by(self, title: str, text: str, present: set[str | None], names: frozenset[str]) -> bool:
        """Whether a cell below a title was meant. `names` are those of entities and attributes."""
        is_likely = title in self.titles if self.titles else self.column.name not in present
        return is_likely and bool(self.words.search(text)) and _is_exact(self.column, text, names)


def _is_exact(column: Column, text: str, names: frozenset[str]) -> bool:
    """Whether a text can be read as a cell of a column, and only has names that the document has."""
    try:
        value = column.read(text, names) if column is CONDITIONS else column.read(text)
    except Inexact:
        return False
    if column in (INPUTS, SORT):
        return bool(value) and all(bare_name(part.attribute) in names for part in value)
    return True


_READ_HINTS = (
    # A name alone may be anything, and so may `Yes`: these also need a title.
    _Hint(INPUTS, _FILTER_TITLES, re.compile(r"[=<>]|\b(?:between|exists|begins|contains|last)\b")),
    _Hint(SORT, _SORT_TITLES),
    _Hint(PAGINATED, frozenset({"paged", "paging", "page", "page size"})),
    _Hint(INPUTS),
    _Hint(SORT, words=re.compile(r"\b(?:asc|desc)", re.IGNORECASE)),
    _Hint(FREQUENCY),
    _Hint(CONSISTENCY),
    _Hint(MULTI_ENTITY, words=re.compile(r"\A(?!(?:yes|no|true|false)\Z)", re.IGNORECASE)),
)
_WRITE_HINTS = (
    _Hint(CONDITIONS, _CONDITION_TITLES),
    _Hint(TRANSACTION, frozenset({"tx", "in transaction", "in a transaction", "all or nothing"})),
    _Hint(CONDITIONS),
    _Hint(INPUTS),
    _Hint(FREQUENCY),
)


def report_unread_columns(tables: Iterable[PatternTable], workload: Workload, notes: Notes) -> None:
    """An error for each column that is not read though a known column could hold its cells."""
    names = {name for entity in workload.entities for name in (entity.name, *(a.name for a in entity.attributes))}
    for table in tables:
        column_names = table.kind.names
        present = {column_names.find(cell.text) for cell in table.block.header}
        for index, title in enumerate(table.block.header):
            if column_names.find(title.text) or column_names.near(title.text) or not title.text:
                continue
            cells = [row[index] for row in table.block.rows if index < len(row)]
            for cell in cells:
                if column := _meant_column(table.kind, title, cell, present, frozenset(names)):
                    _report(title, cell, column, column in present, notes)
                    break


def _report(title: Text, cell: Text, column: str, is_present: bool, notes: Notes) -> None:
    message = f"the column `{title.text}` is not read, and `{cell.text[:60]}` would be lost"
    if is_present:
        notes.say(codes.COLUMN, title, message, f"write it in the column `{column}`")
    else:
        notes.say(codes.COLUMN, title, message, f"name the column `{column}`", column)


def _meant_column(
    kind: TableKind, title: Text, cell: Text, present: set[str | None], names: frozenset[str]
) -> str | None:
    """The known column that a cell was probably meant for; None for the author's own words."""
    text = cell.lines()
    if not text or text.lower() in NONE:
        return None
    for hint in _READ_HINTS if kind is READS else _WRITE_HINTS:
        if hint.is_meant_by(normal(title.text), text, present, names):
            return hint.column.name
    return None
