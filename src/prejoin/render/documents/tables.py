"""Markdown tables with aligned columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from prejoin.workload.document.markdown import escape_cell, write_row

_WIDEST = 48
"""The largest width of a column; a longer cell does not widen the others."""


def write_table(columns: Sequence[str], rows: Sequence[Mapping[str, str]], optional: Sequence[str] = ()) -> str:
    """The rows as a table, without optional columns that are empty.

    >>> print(write_table(["ID", "Note"], [{"ID": "AP-001", "Note": "-"}], optional=["Note"]))
    | ID     |
    | ------ |
    | AP-001 |
    """
    used_columns = [name for name in columns if name not in optional or _is_used(name, rows)]
    cells = [used_columns, *(_cells(row, used_columns) for row in rows)]
    # Markdown takes three hyphens at least for the line under the head.
    widths = [max(3, min(max(map(_width, column)), _WIDEST)) for column in zip(*cells, strict=True)]
    lines = [cells[0], ["-" * width for width in widths], *cells[1:]]
    return "\n".join(_write_line(line, widths) for line in lines)


def _is_used(column: str, rows: Iterable[Mapping[str, str]]) -> bool:
    return any(row.get(column, "-") not in {"", "-"} for row in rows)


def _cells(row: Mapping[str, str], columns: Iterable[str]) -> list[str]:
    return [escape_cell(row.get(name) or "-") for name in columns]


def _write_line(cells: Iterable[str], widths: Iterable[int]) -> str:
    return write_row(cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True))


def _width(text: str) -> int:
    """The columns of a terminal or editor that a text takes: East Asian characters take two."""
    wide_characters = [char for char in text if unicodedata.east_asian_width(char) in "WF"]
    return len(text) + len(wide_characters)
