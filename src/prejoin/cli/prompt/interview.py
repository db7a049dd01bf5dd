"""The interview on a terminal: shows each question with the current value in the document, and reads the answer."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

from prejoin.cli.outcome import Line
from prejoin.cli.output import say, show
from prejoin.cli.prompt.line import read_line
from prejoin.cli.text.messages import coded, safe
from prejoin.pipeline.interview import InterviewSession
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.interview import Question

_MOST = 12
"""Lines of the document that are shown; more would push the question off the screen."""
_COMMANDS = (
    "Enter takes the answer in brackets, `back` returns to the previous question, `done` ends a list, `drop` removes "
    "the current pattern, `quit` or ^C leaves; everything is saved."
)


def talk(session: InterviewSession, prompt_on_stderr: bool) -> bool:
    """Asks until there are no more questions; True if the user left before."""
    try:
        return _converse(session, prompt_on_stderr)
    except EOFError:
        say()
        return True
    except KeyboardInterrupt:  # every answer before it is saved
        say()
        say(*coded(_farewell(session)))
        raise


def _converse(session: InterviewSession, prompt_on_stderr: bool) -> bool:
    _greet(session)
    while (question := session.question) is not None:
        _ask(question)
        text = _read(question, prompt_on_stderr)
        if text.strip() == "quit":
            return True
        if text.strip() == "?":
            _tell(question.help)
            _tell(_COMMANDS)
            continue
        _take(session, question, text)
    return False


def _take(session: InterviewSession, question: Question, text: str) -> None:
    if session.refresh():
        say(*coded(f"{session.path} has changed meanwhile; continuing with the new contents."))
        if session.question != question:
            return
    try:
        session.give(text)
    except Inexact as problem:
        say(("This answer cannot be used: ", "bold red"), *coded(safe(problem.message)))
        _tell(f"fix: {problem.fix}")


def _farewell(session: InterviewSession) -> str:
    if session.text is None:
        return "Nothing was answered, and nothing was written."
    return f"Saved in {session.path}. `prejoin interview {session.path}` continues from here."


def _greet(session: InterviewSession) -> None:
    w = session.workload
    if session.text is None:
        say(*coded(f"Your answers are written to {session.path}, one by one."))
    else:
        say((w.title or str(session.path), "bold"), f", from {session.path}:")
        lines: list[Line] = [
            (f"  {e.name}: ", ", ".join(a.name for a in e.attributes) or "nothing yet") for e in w.entities
        ]
        lines += [(f"  {p.id}  {p.description}",) for p in w.patterns]
        show(_few(lines), sys.stderr)
    _tell("`?` explains a question. " + _COMMANDS)


def _few(lines: Sequence[Line]) -> list[Line]:
    more = len(lines) - _MOST
    return [*lines[:_MOST], (f"  … and {more} more",)] if more > 0 else list(lines)


def _ask(question: Question) -> None:
    say()
    known: list[Line] = [((f"  {safe(line)}", "dim"),) for line in question.known]
    show(_few(known) if question.several else known, sys.stderr)
    for at, line in enumerate(textwrap.wrap(safe(question.text), _width())):
        say(*((piece, "bold") if at == 0 and isinstance(piece, str) else piece for piece in coded(line)))


def _tell(text: str) -> None:
    for line in textwrap.wrap(text, _width() - 2, break_long_words=False):
        say("  ", *coded(line))


def _width() -> int:
    return max(min(shutil.get_terminal_size().columns, 100), 40)


def _read(question: Question, prompt_on_stderr: bool) -> str:
    return read_line(f"[{question.default}] > " if question.default else "> ", question.choices, prompt_on_stderr)
