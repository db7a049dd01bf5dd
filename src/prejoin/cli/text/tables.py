"""Rows of short texts as a page shows them: titled, and cut to the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prejoin.cli.outcome import Line
from prejoin.cli.output import table

Row = tuple[str, ...]
LONGEST = 64
"""A key past this is cut in the middle; on a narrow terminal earlier."""
SHORTEST = 10
"""Of a text that can be cut further, still something is seen."""


def titled(header: Row, rows: Sequence[Row], styles: tuple[str, ...]) -> list[Line]:
    """A table with its titles above it, dimmed."""
    first, *rest = table([header, *rows], styles)
    title = tuple((piece if isinstance(piece, str) else piece[0], "dim") for piece in first)
    return [title, *rest]


def fitted(header: Row, rows: Sequence[Row], width: int | None, columns: Iterable[tuple[int, int]]) -> list[Row]:
    """The rows cut to a terminal's width: column after column, each as far as is needed and not below its least."""
    cut_rows = list(rows)
    for column, least in columns:
        widths = [max(len(row[at]) for row in (header, *cut_rows)) + 2 for at in range(len(header))]
        if width is None or sum(widths) <= width:
            break
        longest = max(least, widths[column] - 2 - (sum(widths) - width))
        cut_rows = [(*row[:column], cut(row[column], longest), *row[column + 1 :]) for row in cut_rows]
    return cut_rows


def cut(key: str, longest: int = LONGEST) -> str:
    """A key as it fits into a column.

    >>> cut("USER#cd613e30-d8f1-4adf / ORDER#2026", 20)
    'USER#cd613e30…R#2026'
    """
    end = longest // 3
    return key if len(key) <= longest else f"{key[: longest - end - 1]}…{key[-end:]}"


def narrowed(header: Row, rows: Sequence[Row], width: int | None, least: Sequence[str]) -> tuple[Row, list[Row]]:
    """The columns that fit a terminal's width: the least needed ones go, by their titles, until the others do.

    >>> narrowed(("Key", "Units", "Price"), [("USER#1", "0.5", "$1")], 14, ["Price", "Units"])
    (('Key', 'Units'), [('USER#1', '0.5')])
    """
    names, found = list(header), [list(row) for row in rows]
    for title in least:
        widths = [max(len(row[at]) for row in (names, *found)) + 2 for at in range(len(names))]
        if width is None or sum(widths) - 2 <= width:
            break
        at = names.index(title)
        for row in (names, *found):
            del row[at]
    return tuple(names), [tuple(row) for row in found]
