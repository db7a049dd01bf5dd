"""Diagnostics as text: the place, the message, the line with the place underlined, and the fix."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from prejoin.cli.invocation import runnable
from prejoin.cli.outcome import Line, Piece
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.pipeline.errors import Source

WIDTH = 100
"""The width of an excerpt in a pipe."""
_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.HINT: "bold cyan"}
_LEADING_CELLS = 24
"""Cells of an excerpt before the place that it shows."""


def messages(sources: Iterable[Source], width: int | None = None) -> list[Line]:
    """The messages about files, one file after the other: errors and warnings first, then hints."""
    blocks: list[list[Line]] = []
    alike: tuple[str, str] | None = None
    for source in sources:
        lines = _lines(source.text)
        for d in source.diagnostics:
            if d.severity is not Severity.HINT:
                excerpt = list(_excerpt(lines, d, width or WIDTH))
                fix = list(_fix(d.fix, width))
                # The same message about several files has its fix once.
                if not excerpt and fix and alike == (d.code, d.fix):
                    blocks[-1][-len(fix) :] = [_head(source.file, d), *fix]
                else:
                    blocks.append([_head(source.file, d), *excerpt, *fix])
                alike = None if excerpt else (d.code, d.fix)
        hints = list(_hints(source, width))
        blocks += hints
        alike = None if hints else alike
    return [line for at, block in enumerate(blocks) for line in ([(), *block] if at else block)]


def _hints(source: Source, width: int | None) -> Iterator[list[Line]]:
    """Hints with the same code stand together, and a fix that they share comes once."""
    hints = [d for d in source.diagnostics if d.severity is Severity.HINT]
    for code in dict.fromkeys(d.code for d in hints):
        kind = [d for d in hints if d.code == code]
        block: list[Line] = []
        for at, hint in enumerate(kind):
            block.append(_head(source.file, hint))
            if at + 1 == len(kind) or kind[at + 1].fix != hint.fix:
                block += _fix(hint.fix, width)
        yield block


def _head(file: str, d: Diagnostic) -> Line:
    name = file_name(file) if file else "prejoin"
    place = f"{name}:{d.line}:{d.column}: " if d.line else f"{name}: "
    return (safe(place), (f"{d.severity} {d.code}", _STYLE[d.severity]), ": ", *with_code_style(safe(d.message)))


def file_name(file: str) -> str:
    return "<stdin>" if file == "-" else file


def _fix(fix: str, width: int | None) -> Iterator[Line]:
    if not fix:
        return
    label, indent = "  fix: ", " " * 7
    text = safe(runnable(fix))
    lines = textwrap.wrap(text, width - len(indent), break_long_words=False) if width and width > 40 else [text]
    for at, line in enumerate(lines):
        yield ((label, "green") if at == 0 else indent, *with_code_style(line))


def with_code_style(text: str) -> list[Piece]:
    """A sentence with code in bold, and commands as this user can run them."""
    parts = runnable(text).split("`")
    if len(parts) % 2 == 0:
        return [runnable(text)]
    return [(f"`{part}`", "bold") if at % 2 else part for at, part in enumerate(parts) if part or at % 2]


def _excerpt(lines: Sequence[str], d: Diagnostic, width: int) -> Iterator[Line]:
    if not 0 < d.line <= len(lines) or not lines[d.line - 1].strip():
        return
    line = lines[d.line - 1]
    start = min(max(d.column - 1, 0), len(line))
    first = d.text.split("\n")[0]
    length = len(first) if first and line.startswith(first, start) else min(len(first), len(line) - start)
    gutter = f"{d.line:>5} | "
    excerpt, before, under = _window(line, start, max(length, 1), max(width - len(gutter), 40))
    yield ((gutter, "dim"), excerpt)
    yield ((" " * 5 + " | ", "dim"), " " * before, ("^" * under, _STYLE[d.severity]))


def _window(line: str, start: int, length: int, width: int) -> tuple[str, int, int]:
    """The part of a line around a place, and the numbers of cells before and under the mark."""
    shapes = [_shape(char) for char in line]
    widths = [cells(shape) for shape in shapes]
    start_index, end_index = 0, len(line)
    if sum(widths) > width:
        room = width - 2
        start_index = start
        while start_index > 0 and sum(widths[start_index - 1 : start]) <= _LEADING_CELLS:
            start_index -= 1
        end_index = start_index
        used_cells = 0
        while end_index < len(line) and used_cells + widths[end_index] <= room:
            used_cells += widths[end_index]
            end_index += 1
        while end_index == len(line) and start_index > 0 and used_cells + widths[start_index - 1] <= room:
            start_index -= 1
            used_cells += widths[start_index]
    end = min(start + length, end_index)
    lead, tail = ("…" if start_index else ""), ("…" if end_index < len(line) else "")
    before = len(lead) + sum(widths[start_index:start])
    return lead + "".join(shapes[start_index:end_index]) + tail, before, max(sum(widths[start:end]), 1)


def _shape(char: str) -> str:
    """A character as it is shown: a tab as four spaces, without control characters."""
    return "    " if char == "\t" else safe(char)


def safe(text: str) -> str:
    """A text without control characters: a message may quote anything."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "�" if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c != "\u200d" else c for c in text
    )


def cells(text: str) -> int:
    """The width of a text on a terminal.

    >>> cells("a語")
    3
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) or c == "\u200d" else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _lines(text: str) -> list[str]:
    """Lines as the readers count them."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n") if text else []
