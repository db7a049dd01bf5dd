"""All output of the command: colour on a terminal, plain text in a pipe, one JSON object with `--format json`.

Results go to standard output, messages to standard error. A closed pipe (`| head`) is not an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import msgspec

from prejoin.cli.outcome import Line, Outcome, Page, Piece, envelope
from prejoin.cli.text.messages import messages, with_code_style
from prejoin.pipeline import codes
from prejoin.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from rich.console import Console


class OutputError(PipelineError):
    """Standard output cannot be written."""

    def __init__(self, problem: OSError) -> None:
        message = f"standard output cannot be written: {problem.strerror or problem}"
        super().__init__(codes.CANNOT_WRITE, message, "check where it goes")


def emit(command: str, outcome: Outcome, as_json: bool) -> None:
    """Prints the outcome of a command."""
    if as_json:
        data = msgspec.json.format(msgspec.json.encode(envelope(command, outcome)), indent=2)
        _write(sys.stdout, data.decode() + "\n")
        return
    show(messages(outcome.sources, width_of(_place(outcome))), _place(outcome))
    if outcome.page:
        show(outcome.page)
    for note in outcome.notes:
        say(*with_code_style(note))


def _place(outcome: Outcome) -> TextIO:
    return sys.stdout if outcome.about else sys.stderr


def say(*pieces: Piece) -> None:
    """Prints a line to standard error."""
    show([pieces], sys.stderr)


def show(page: Page | Iterable[Line], where: TextIO | None = None) -> None:
    stream: TextIO = where or sys.stdout
    if isinstance(page, str):
        _write(stream, page if page.endswith("\n") else page + "\n")
    elif has_colours(stream):
        _paint(page, stream)
    else:
        text = "\n".join("".join(p if isinstance(p, str) else p[0] for p in line).rstrip() for line in page)
        if text:
            _write(stream, text + "\n")


def has_colours(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def width_of(stream: TextIO) -> int | None:
    """The width of the terminal; None for a pipe, in which lines are not broken."""
    return max(shutil.get_terminal_size().columns, 40) if stream.isatty() else None


def _paint(page: Iterable[Line], stream: TextIO) -> None:
    from rich.text import Text

    console = _console(stream)
    for line in page:
        try:
            console.print(Text.assemble(*line), soft_wrap=True)
        except BrokenPipeError:
            discard(stream)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False, force_terminal=True)


def _write(stream: TextIO, text: str) -> None:
    """Writes UTF-8 to a pipe or file, whatever the locale, and the terminal's own encoding to a terminal."""
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
        discard(stream)
    except OSError as problem:
        if stream is sys.stderr:
            return
        discard(stream)
        raise OutputError(problem) from None


def discard(stream: TextIO) -> None:
    """Sends further output to the null device. A reader that has left does not change the exit status."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        stream.write = lambda text: len(text)  # type: ignore[method-assign]
