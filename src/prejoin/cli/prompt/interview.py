"""The interview on a terminal: shows each question with the current value in the document, and reads the answer."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

from prejoin.cli.outcome import Line
from prejoin.cli.output import say, show
from prejoin.cli.prompt.line import read_line
from prejoin.cli.text.messages import safe, with_code_style
from prejoin.pipeline.interview import InterviewSession
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.interview import Question

_LINES_SHOWN = 12
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
        say(*with_code_style(_farewell(session)))
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
        say(*with_code_style(f"{session.path} has changed meanwhile; continuing with the new contents."))
        if session.question != question:
            return
    try:
        session.give(text)
    except Inexact as problem:
        say(("This answer cannot be used: ", "bold red"), *with_code_style(safe(problem.message)))
        _tell(f"fix: {problem.fix}")


def _farewell(session: InterviewSession) -> str:
    if session.text is None:
        return "Nothing was answered, and nothing was written."
    return f"Saved in {session.path}. `prejoin interview {session.path}` continues from here."


def _greet(session: InterviewSession) -> None:
    workload = session.workload
    if session.text is None:
        say(*with_code_style(f"Your answers are written to {session.path}, one by one."))
    else:
        say((workload.title or str(session.path), "bold"), f", from {session.path}:")
        lines: list[Line] = [
            (f"  {entity.name}: ", ", ".join(attribute.name for attribute in entity.attributes) or "nothing yet")
            for entity in workload.entities
        ]
        lines += [(f"  {pattern.id}  {pattern.description}",) for pattern in workload.patterns]
        show(_few(lines), sys.stderr)
    _tell("`?` explains a question. " + _COMMANDS)


def _few(lines: Sequence[Line]) -> list[Line]:
    more_lines = len(lines) - _LINES_SHOWN
    return [*lines[:_LINES_SHOWN], (f"  … and {more_lines} more",)] if more_lines > 0 else list(lines)


def _ask(question: Question) -> None:
    say()
    known_lines: list[Line] = [((f"  {safe(line)}", "dim"),) for line in question.known]
    show(_few(known_lines) if question.several else known_lines, sys.stderr)
    for number, line in enumerate(textwrap.wrap(safe(question.text), _width())):
        say(*((piece, "bold") if number == 0 and isinstance(piece, str) else piece for piece in with_code_style(line)))


def _tell(text: str) -> None:
    for line in textwrap.wrap(text, _width() - 2, break_long_words=False):
        say("  ", *with_code_style(line))


def _width() -> int:
    return max(min(shutil.get_terminal_size().columns, 100), 40)


def _read(question: Question, prompt_on_stderr: bool) -> str:
    return read_line(f"[{question.default}] > " if question.default else "> ", question.choices, prompt_on_stderr)
