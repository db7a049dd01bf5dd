"""Finds columns of the author's own that hold what a known column should: `Requires` instead of `Conditions`.

A column with another name is prose, and its cells have no effect. If the grammar of a known column can read one of
them, the column is probably meant as that one, and its conditions or inputs would be lost in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prejoin.workload import codes
from prejoin.workload.document.markdown import MarkdownBlock, Text
from prejoin.workload.document.read_patterns import COLUMNS, NONE
from prejoin.workload.document.tables import normal
from prejoin.workload.grammar.answers import read_combine, read_consistency, read_page, read_sort, read_yes_no
from prejoin.workload.grammar.inputs import read_inputs
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.quantities import read_rate
from prejoin.workload.grammar.writes import read_checks
from prejoin.workload.lookup import bare_name
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Notes


@dataclass(frozen=True, slots=True)
class PatternTable:
    """A table of patterns as it stands in the document."""

    kind: str
    """`reads`, `writes` or `deletes`."""
    block: MarkdownBlock


_CanRead = Callable[[str, frozenset[str]], bool]
"""Whether a text can be read as a cell of a known column, with the names of entities and attributes."""


def _can(read: Callable[[str], object]) -> _CanRead:
    def can_read(text: str, names: frozenset[str]) -> bool:
        try:
            read(text)
        except Inexact:
            return False
        return True

    return can_read


def _is_input_list(text: str, names: frozenset[str]) -> bool:
    """Whether a text consists of inputs whose attributes or entities the document has."""
    try:
        inputs = read_inputs(text)
    except Inexact:
        return False
    return bool(inputs) and all(bare_name(one.attribute) in names for one in inputs)


def _is_condition(text: str, names: frozenset[str]) -> bool:
    return _can(lambda cell: read_checks(cell, names))(text, names)


def _is_filter(text: str, names: frozenset[str]) -> bool:
    """Whether a text compares an attribute: `status = OPEN`. A name alone may be anything."""
    return _is_input_list(text, names) and bool(re.search(r"[=<>]|\b(?:between|exists|begins|contains|last)\b", text))


def _is_sort(text: str, names: frozenset[str]) -> bool:
    try:
        sort = read_sort(text)
    except Inexact:
        return False
    return bool(sort) and all(bare_name(one.attribute) in names for one in sort)


def _is_directed_sort(text: str, names: frozenset[str]) -> bool:
    return bool(re.search(r"\b(?:asc|desc)", text, re.IGNORECASE)) and _is_sort(text, names)


def _is_combination(text: str, names: frozenset[str]) -> bool:
    return text.lower() not in {"yes", "no", "true", "false"} and _can(read_combine)(text, names)


_CONDITION_TITLES = frozenset({
    "constraint", "constraints", "require", "requires", "required", "requirements", "guard", "guards", "rule", "rules",
    "if", "when", "only if", "only when", "precondition", "preconditions", "where", "check", "checks", "must hold",
    "provided that", "invariants", "validation",
})  # fmt: skip
"""Names that people give the column `Conditions`, also beside it."""
_FILTER_TITLES = _CONDITION_TITLES | {"condition", "conditions", "filter", "filters"}
"""The same of reads, whose conditions are inputs."""
_SORT_TITLES = frozenset({"ordering", "ordered by", "order by", "sorted by", "sorting", "sorted"})
_TITLED: dict[str, tuple[tuple[frozenset[str], str, _CanRead], ...]] = {
    "reads": (
        (_FILTER_TITLES, "Input Parameters", _is_filter),
        (_SORT_TITLES, "Sort", _is_sort),
        (frozenset({"paged", "paging", "page", "page size"}), "Paginated", _can(read_page)),
    ),
    "writes": (
        (_CONDITION_TITLES, "Conditions", _is_condition),
        (frozenset({"tx", "in transaction", "in a transaction", "all or nothing"}), "Transaction", _can(read_yes_no)),
    ),
}
"""Columns that are recognised by their names and cells, because cells alone (`Yes`, `name`) say too little."""
_MISSING: dict[str, dict[str, _CanRead]] = {
    "reads": {
        "Input Parameters": _is_input_list,
        "Sort": _is_directed_sort,
        "Frequency": _can(read_rate),
        "Consistency": _can(read_consistency),
        "Multi-Entity": _is_combination,
    },
    "writes": {"Conditions": _is_condition, "Input Parameters": _is_input_list, "Frequency": _can(read_rate)},
}
"""Columns that are recognised by their cells alone, if the table does not have them."""


def report_unread_columns(tables: Iterable[PatternTable], workload: Workload, notes: Notes) -> None:
    """An error for each column that is not read though a known column could hold its cells."""
    names = {name for entity in workload.entities for name in (entity.name, *(a.name for a in entity.attributes))}
    for table in tables:
        known = COLUMNS[table.kind]
        present = {known.find(cell.text) for cell in table.block.header}
        for at, title in enumerate(table.block.header):
            if known.find(title.text) or known.near(title.text) or not title.text:
                continue
            cells = [row[at] for row in table.block.rows if at < len(row)]
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


def _meant_column(kind: str, title: Text, cell: Text, present: set[str | None], names: frozenset[str]) -> str | None:
    """The known column that a cell was probably meant for; None for the author's own words."""
    text = cell.lines()
    if not text or text.lower() in NONE:
        return None
    like = "reads" if kind == "reads" else "writes"
    for titles, column, can_read in _TITLED[like]:
        if normal(title.text) in titles and can_read(text, names):
            return column
    missing = {column: can_read for column, can_read in _MISSING[like].items() if column not in present}
    return next((column for column, can_read in missing.items() if can_read(text, names)), None)
