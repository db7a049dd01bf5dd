"""Formats tables, ratios and times in Markdown, and writes results into a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

BEGIN, END = "<!-- results: written by the benchmark -->", "<!-- end of results -->"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join([first, *rest])} |"

    rule = f"| {'-' * widths[0]} | {' | '.join('-' * (width - 1) + ':' for width in widths[1:])} |"
    return "\n".join([line(head), rule, *map(line, rows)])


def times(ratio: float | None) -> str:
    """A ratio: 29×, 1.3×, 0.56×; a dash for None."""
    if ratio is None:
        return "-"
    return f"{ratio:.0f}×" if ratio >= 9.95 else f"{ratio:.1f}×" if ratio >= 0.95 else f"{ratio:.2g}×"


def amount(seconds: float) -> str:
    """A time in milliseconds or microseconds."""
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e6:.0f} µs"


def write_into(page: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    """Replaces the text between the marks of a page."""
    before, rest = page.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")
