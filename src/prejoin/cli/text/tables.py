"""Tables of short texts: in columns, with titles, and cut to the width of a terminal.

The tables of rich wrap cells or truncate their end. Here keys are cut in the middle, as their ends tell them apart,
and on a narrow terminal columns are left out in a given order. In a pipe nothing is cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prejoin.cli.outcome import Line
from prejoin.cli.text.messages import cells

Row = tuple[str, ...]
LONGEST = 64
"""Characters of a key. On a narrow terminal there may be fewer."""
SHORTEST = 10
"""Characters to which a text may be cut."""


def table(rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> list[Line]:
    """Rows in aligned columns."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    column_styles = [*styles, *[""] * len(widths)]
    return [
        [
            (cell + " " * (widths[column] + 2 - cells(cell)) * (column + 1 < len(row)), column_styles[column])
            for column, cell in enumerate(row)
        ]
        for row in rows
    ]


def table_with_titles(header: Row, rows: Sequence[Row], styles: tuple[str, ...]) -> list[Line]:
    """Rows in columns, with titles above them."""
    first, *lines = table([header, *rows], styles)
    title = tuple((piece if isinstance(piece, str) else piece[0], "dim") for piece in first)
    return [title, *lines]


def fit_columns(header: Row, rows: Sequence[Row], width: int | None, columns: Iterable[tuple[int, int]]) -> list[Row]:
    """The rows cut to the width of a terminal, column by column, none below its minimum."""
    cut_rows = list(rows)
    for column, shortest in columns:
        widths = [max(len(row[index]) for row in (header, *cut_rows)) + 2 for index in range(len(header))]
        if width is None or sum(widths) <= width:
            break
        longest = max(shortest, widths[column] - 2 - (sum(widths) - width))
        cut_rows = [(*row[:column], cut(row[column], longest), *row[column + 1 :]) for row in cut_rows]
    return cut_rows


def cut(key: str, longest: int = LONGEST) -> str:
    """Cuts a key in the middle.

    >>> cut("USER#cd613e30-d8f1-4adf / ORDER#2026", 20)
    'USER#cd613e30…R#2026'
    """
    end = longest // 3
    return key if len(key) <= longest else f"{key[: longest - end - 1]}…{key[-end:]}"


def drop_columns(
    header: Row, rows: Sequence[Row], width: int | None, optional_titles: Sequence[str]
) -> tuple[Row, list[Row]]:
    """Leaves out columns, those with the titles in `least` first, until the others fit the terminal.

    >>> drop_columns(("Key", "Units", "Price"), [("USER#1", "0.5", "$1")], 14, ["Price", "Units"])
    (('Key', 'Units'), [('USER#1', '0.5')])
    """
    names, remaining_rows = list(header), [list(row) for row in rows]
    for title in optional_titles:
        widths = [max(len(row[index]) for row in (names, *remaining_rows)) + 2 for index in range(len(names))]
        if width is None or sum(widths) - 2 <= width:
            break
        index = names.index(title)
        for row in (names, *remaining_rows):
            del row[index]
    return tuple(names), [tuple(row) for row in remaining_rows]
