"""The interview on a terminal: shows each question with what is there already, and reads the answer."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

from prejoin.cli.outcome import Line
from prejoin.cli.output import say, show
from prejoin.cli.text.messages import coded, safe
from prejoin.pipeline.interview import Sitting
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.interview import Question

_MOST = 12
"""Lines of what is there already; more would push the question off the screen."""
_COMMANDS = (
    "Enter takes what stands in brackets, `back` goes one question back, `done` ends a list, `drop` takes out the "
    "pattern that is asked about, `quit` or ^C leaves; everything is saved."
)


def talk(sitting: Sitting, prompt_on_stderr: bool) -> bool:
    """Asks until there is nothing more to ask; True where the other side left before."""
    try:
        return _converse(sitting, prompt_on_stderr)
    except EOFError:
        say()
        return True
    except KeyboardInterrupt:  # Wherever it comes: every answer before it is saved.
        say()
        say(*coded(_farewell(sitting)))
        raise


def _converse(sitting: Sitting, prompt_on_stderr: bool) -> bool:
    _greet(sitting)
    while (asked := sitting.question) is not None:
        _ask(asked)
        text = _read(asked, prompt_on_stderr)
        if text.strip() == "quit":
            return True
        if text.strip() == "?":
            _tell(asked.help)
            _tell(_COMMANDS)
            continue
        _take(sitting, asked, text)
    return False


def _take(sitting: Sitting, asked: Question, text: str) -> None:
    if sitting.refresh():
        say(*coded(f"{sitting.path} was changed in the meantime; going on with what it says now."))
        if sitting.question != asked:
            return
    try:
        sitting.give(text)
    except Inexact as problem:
        say(("That cannot be used: ", "bold red"), *coded(safe(problem.message)))
        _tell(f"fix: {problem.fix}")


def _farewell(sitting: Sitting) -> str:
    if sitting.text is None:
        return "Nothing was answered, nothing was written."
    return f"Saved in {sitting.path}. `prejoin interview {sitting.path}` goes on from here."


def _greet(sitting: Sitting) -> None:
    w = sitting.workload
    if sitting.text is None:
        say(*coded(f"Your answers go into {sitting.path}, one by one."))
    else:
        say((w.title or str(sitting.path), "bold"), f", as {sitting.path} has it:")
        lines: list[Line] = [
            (f"  {e.name}: ", ", ".join(a.name for a in e.attributes) or "nothing yet") for e in w.entities
        ]
        lines += [(f"  {p.id}  {p.description}",) for p in w.patterns]
        show(_few(lines), sys.stderr)
    _tell("`?` explains a question. " + _COMMANDS)


def _few(lines: Sequence[Line]) -> list[Line]:
    more = len(lines) - _MOST
    return [*lines[:_MOST], (f"  … and {more} more",)] if more > 0 else list(lines)


def _ask(asked: Question) -> None:
    say()
    known: list[Line] = [((f"  {safe(line)}", "dim"),) for line in asked.known]
    show(_few(known) if asked.several else known, sys.stderr)
    for at, line in enumerate(textwrap.wrap(safe(asked.text), _width())):
        say(*((piece, "bold") if at == 0 and isinstance(piece, str) else piece for piece in coded(line)))


def _tell(text: str) -> None:
    for line in textwrap.wrap(text, _width() - 2, break_long_words=False):
        say("  ", *coded(line))


def _width() -> int:
    return max(min(shutil.get_terminal_size().columns, 100), 40)


def _read(asked: Question, prompt_on_stderr: bool) -> str:
    return read_line(f"[{asked.default}] > " if asked.default else "> ", asked.choices, prompt_on_stderr)


def read_line(prompt: str, choices: Sequence[str], prompt_on_stderr: bool = False) -> str:
    """A line that somebody types; EOFError where there is none."""
    if prompt_on_stderr or not sys.stdout.isatty():
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")
    _complete(choices)
    return input(prompt)


def _complete(choices: Sequence[str]) -> None:
    """Line editing, and Tab for what is likely; where the machine has it."""
    try:
        import readline
    except ImportError:
        return

    def completer(text: str, state: int) -> str | None:
        found = [c for c in choices if c.lower().startswith(text.lower())]
        return found[state] if state < len(found) else None

    readline.set_completer_delims(" \t\n,;()=")
    readline.set_completer(completer)
    readline.parse_and_bind("tab: complete")
