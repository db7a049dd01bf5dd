"""Where all output goes through: colour on a terminal, plain text in a pipe, one envelope with `--format json`.

Standard output is data, standard error is talk. A reader that has had enough (`| head`) is no error.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec

from prejoin.cli.outcome import CommandError, Line, Outcome, Page, Piece, envelope
from prejoin.cli.status import Status
from prejoin.cli.text.messages import cells, coded, messages
from prejoin.pipeline import codes

if TYPE_CHECKING:
    from rich.console import Console


class OutputError(CommandError):
    """Standard output cannot be written, so what it was to hold is lost."""

    def __init__(self, problem: OSError) -> None:
        message = f"standard output cannot be written: {problem.strerror or problem}"
        super().__init__(codes.CANNOT_WRITE, message, "check where it goes to", Status.FAILED)


def emit(command: str, outcome: Outcome, as_json: bool) -> None:
    """Shows what a command gave back."""
    if as_json:
        data = msgspec.json.format(msgspec.json.encode(envelope(command, outcome)), indent=2)
        _write(sys.stdout, data.decode() + "\n")
        return
    show(messages(outcome.sources, width_of(_place(outcome))), _place(outcome))
    if outcome.page:
        show(outcome.page)
    for note in outcome.notes:
        say(*coded(note))


def _place(outcome: Outcome) -> TextIO:
    return sys.stdout if outcome.about else sys.stderr


def say(*pieces: Piece) -> None:
    """A line of talk."""
    show([pieces], sys.stderr)


def show(page: Page | Iterable[Line], where: TextIO | None = None) -> None:
    stream: TextIO = where or sys.stdout
    if isinstance(page, str):
        _write(stream, page if page.endswith("\n") else page + "\n")
    elif coloured(stream):
        _paint(page, stream)
    else:
        text = "\n".join("".join(p if isinstance(p, str) else p[0] for p in line).rstrip() for line in page)
        if text:
            _write(stream, text + "\n")


def coloured(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def width_of(stream: TextIO) -> int | None:
    """The terminal's width, or None where text goes into a pipe and lines are not to be broken."""
    return max(shutil.get_terminal_size().columns, 40) if stream.isatty() else None


def _paint(page: Iterable[Line], stream: TextIO) -> None:
    from rich.text import Text

    console = _console(stream)
    for line in page:
        try:
            console.print(Text.assemble(*line), soft_wrap=True)
        except BrokenPipeError:
            _deaf(stream)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False, force_terminal=True)


def _write(stream: TextIO, text: str) -> None:
    """Text as UTF-8, whatever the locale: it may be a document. A stream of another kind gets what it can show."""
    try:
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            stream.write(text)
        else:
            stream.flush()
            encoding = stream.encoding if stream.isatty() else "utf-8"
            buffer.write(text.encode(encoding, "replace"))
        stream.flush()
    except BrokenPipeError:
        _deaf(stream)
    except OSError as problem:
        if stream is sys.stderr:
            return
        _deaf(stream)
        raise OutputError(problem) from None


def _deaf(stream: TextIO) -> None:
    """Nobody reads the stream any more: what else is written to it goes nowhere, and the status stays what it is."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        stream.write = lambda text: len(text)  # type: ignore[method-assign]


def table(rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> list[Line]:
    """Rows in columns, the last one as long as it is."""
    widths = [max(cells(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    styled = [*styles, *[""] * len(widths)]
    return [
        [(cell + " " * (widths[at] + 2 - cells(cell)) * (at + 1 < len(row)), styled[at]) for at, cell in enumerate(row)]
        for row in rows
    ]
