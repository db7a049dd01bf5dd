"""`prejoin interview`: asks, on a terminal or from answers in a file, for what goes into the document."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from prejoin.cli.command import command
from prejoin.cli.commands.check import contents
from prejoin.cli.outcome import CommandError, Outcome, Source
from prejoin.cli.status import Status
from prejoin.cli.text.messages import tally
from prejoin.diagnostics import Span
from prejoin.pipeline import codes
from prejoin.pipeline.document import DEFAULT
from prejoin.pipeline.interview import Sitting, UnusableError
from prejoin.workload.grammar.lexer import Inexact


@command("interview")
@click.argument("path", type=click.Path(path_type=Path), default=DEFAULT)
@click.option(
    "--answers", type=click.Path(allow_dash=True), help="A file with one answer a line; `-` is standard input."
)
def interview(path: Path, answers: str | None, as_json: bool) -> Outcome:
    """Ask, step by step, for what goes into the document at PATH (access-patterns.md).

    The document is saved after every answer: leave with ^C, and run the command again to go on. Where there is a
    document already it goes on with what is missing in it.
    """
    try:
        sitting = Sitting(path)
        if answers is not None or not sys.stdin.isatty():
            name = answers or "-"
            return _from_answers(sitting, name, _lines(name))
        from prejoin.cli.prompt.interview import talk

        return _outcome(sitting, left=talk(sitting, prompt_on_stderr=as_json))
    except UnusableError as problem:
        note = f"{path} is there and cannot be read, so nothing was asked"
        return Outcome(Status.FAILED, sources=(problem.source,), notes=(note,))


def _lines(name: str) -> Iterator[str]:
    try:
        if name == "-":
            for data in sys.stdin.buffer:
                yield data.decode("utf-8").rstrip("\r\n")
        else:
            with Path(name).open(encoding="utf-8") as file:
                for line in file:
                    yield line.rstrip("\n")
    except UnicodeDecodeError:
        raise _unread(name, "is not UTF-8", "save it as UTF-8") from None
    except OSError as problem:
        raise _unread(name, f"cannot be read: {problem.strerror or problem}", "check the path") from None


def _unread(name: str, what: str, fix: str) -> CommandError:
    subject = "standard input" if name == "-" else name
    return CommandError(codes.ANSWER, f"{subject} {what}", fix, Status.FAILED, name)


def _from_answers(sitting: Sitting, name: str, lines: Iterable[str]) -> Outcome:
    """Takes answers until they end, or one cannot be used. Empty lines take the default, as an empty answer does."""
    seen = False
    for number, line in enumerate(lines, 1):
        seen = True
        if line.startswith("#") or line.strip() == "?":
            continue
        asked = sitting.question
        if asked is None:
            if not line.strip():
                continue
            fix = "take it away; something above it answers another question than you meant"
            raise _wrong(sitting, name, number, line, "the interview is over before this answer", fix)
        try:
            sitting.give(line)
        except Inexact as problem:
            message = f"{problem.message} (the question is: {asked.text})"
            raise _wrong(sitting, name, number, line, message, problem.fix, problem.offset, problem.text) from None
    if not seen:
        fix = "run it in a terminal, pipe answers in, or give `--answers FILE`: one answer a line"
        failure = CommandError(
            codes.MISUSED, "there is no terminal to ask on, and no answers are given", fix, Status.MISUSED
        )
        failure.result = sitting.result()
        raise failure
    return _outcome(sitting, left=sitting.question is not None)


def _wrong(
    sitting: Sitting, name: str, number: int, line: str, message: str, fix: str, offset: int = 0, text: str = ""
) -> CommandError:
    span = Span(number, min(offset, len(line)) + 1, text or line)
    problem = CommandError(codes.ANSWER, message, fix, Status.FAILED, name, span, "\n" * (number - 1) + line)
    problem.result = sitting.result()
    return problem


def _outcome(sitting: Sitting, left: bool) -> Outcome:
    path = sitting.path
    notes = [
        f"{path} has {contents(sitting.workload)}."
        if sitting.text is not None
        else "nothing was answered, nothing written"
    ]
    if sitting.aside:
        notes.append(f"The text as it was before is in {sitting.aside}: not all of it could be carried over.")
    source: Source | None = None
    if left and (asked := sitting.question):
        notes.append(f"Next is: {asked.text} Go on with `prejoin interview {path}`.")
    elif not left:
        source = sitting.source()
        found = tally(source.diagnostics) or "nothing to say"
        notes.append(f"`prejoin check {path}` has {found}.")
    return Outcome(result=sitting.result(), sources=(), notes=tuple(notes))
