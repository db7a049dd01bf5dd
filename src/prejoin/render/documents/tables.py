"""Markdown tables with aligned columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

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
    used_columns = [
        name for name in columns if name not in optional or any(row.get(name, "-") not in {"", "-"} for row in rows)
    ]
    cells = [used_columns, *([escape_cell(row.get(name) or "-") for name in used_columns] for row in rows)]
    widths = [max(3, *(min(_width(row[at]), _WIDEST) for row in cells)) for at in range(len(used_columns))]
    lines = [cells[0], ["-" * width for width in widths], *cells[1:]]
    return "\n".join(
        write_row(cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )  # fmt: skip


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
