"""`prejoin interview`: a document from answers to questions, on a terminal or from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import Outcome, outcome_of
from prejoin.diagnostics import Span
from prejoin.pipeline import codes
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.errors import InvalidArgumentError, PipelineError
from prejoin.pipeline.interview import InterviewSession
from prejoin.pipeline.summary import contents, tally
from prejoin.workload.grammar.lexer import Inexact


@command("interview", format_aware=True)
@click.argument("path", type=click.Path(path_type=Path), default=DOCUMENT)
@click.option(
    "--answers", type=click.Path(allow_dash=True), help="A file with one answer per line; `-` is standard input."
)
def interview(path: Path, answers: str | None, as_json: bool) -> Outcome:
    """Write the document at PATH (access-patterns.md) by answering questions.

    The document is saved after every answer: leave with ^C, and run the command again to continue. If the document
    exists, the questions are about what it lacks.
    """
    session = InterviewSession(path)
    if answers is not None or not sys.stdin.isatty():
        try:
            return _from_answers(session, answers or "-")
        except PipelineError as problem:
            return outcome_of(problem, session.result())
    from prejoin.cli.prompt.interview import talk

    return _outcome(session, is_interrupted=talk(session, prompt_on_stderr=as_json))


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


def _unread(name: str, problem: str, fix: str) -> PipelineError:
    subject = "standard input" if name == "-" else name
    return PipelineError(codes.ANSWER, f"{subject} {problem}", fix, name)


def _from_answers(session: InterviewSession, name: str) -> Outcome:
    """Takes answers until they end, or one cannot be used. An empty line takes the default."""
    has_answers = False
    for number, line in enumerate(_lines(name), 1):
        has_answers = True
        if line.startswith("#") or line.strip() == "?":
            continue
        question = session.question
        if question is None:
            if not line.strip():
                continue
            fix = "remove it; an answer above it may belong to another question than you meant"
            raise _wrong(name, number, line, "the interview is over before this answer", fix)
        try:
            session.give(line)
        except Inexact as problem:
            message = f"{problem.message} (the question is: {question.text})"
            raise _wrong(name, number, line, message, problem.fix, problem.offset, problem.text) from None
    if not has_answers:
        message = "there is no terminal to ask on, and no answers are given"
        fix = "run it in a terminal, pipe answers in, or give `--answers FILE`: one answer per line"
        raise InvalidArgumentError(codes.MISUSED, message, fix)
    return _outcome(session, is_interrupted=session.question is not None)


def _wrong(name: str, number: int, line: str, message: str, fix: str, offset: int = 0, text: str = "") -> PipelineError:
    span = Span(number, min(offset, len(line)) + 1, text or line)
    return PipelineError(codes.ANSWER, message, fix, name, span, "\n" * (number - 1) + line)


def _outcome(session: InterviewSession, is_interrupted: bool) -> Outcome:
    path = session.path
    notes = ["nothing was answered, and nothing was written"]
    if session.text is not None:
        notes = [f"{path} has {contents(session.workload)}."]
    if session.aside:
        notes.append(f"Some text could not be carried over: the old text is in {session.aside}.")
    if is_interrupted and (question := session.question):
        notes.append(f"The next question is: {question.text} Continue with `prejoin interview {path}`.")
    elif not is_interrupted:
        summary = tally(session.source().diagnostics) or "no messages"
        notes.append(f"`prejoin check {path}` has {summary}.")
    return Outcome(result=session.result(), notes=tuple(notes))
