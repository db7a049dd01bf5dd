"""Lines that somebody types on the terminal: with line editing and completion, or a yes or no."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from prejoin.cli.output import say


def ask(question: str) -> bool:
    """Asks for a yes or no. The end of the input is a no."""
    try:
        return read_line(f"{question} [y/n] ", ["yes", "no"]).strip().lower() in {"y", "yes"}
    except EOFError:
        say()
        return False


def read_line(prompt: str, choices: Sequence[str], prompt_on_stderr: bool = False) -> str:
    """Reads a line. Raises EOFError if there is none."""
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
    """Enables line editing, and completion with Tab, if the platform has readline."""
    try:
        import readline
    except ImportError:
        return

    def completer(text: str, state: int) -> str | None:
        matches = [choice for choice in choices if choice.lower().startswith(text.lower())]
        return matches[state] if state < len(matches) else None

    readline.set_completer_delims(" \t\n,;()=")
    readline.set_completer(completer)
    readline.parse_and_bind("tab: complete")
