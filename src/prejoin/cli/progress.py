"""How far a command is: in one line on the terminal that goes again, or step by step, each told when it is done."""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import TracebackType

from prejoin.cli.output import say

PATIENCE = 1.0
"""Seconds in which nothing is said."""
_CLEAR = "\r\x1b[K"
_WIDEST = 8
"""Letters of a step's name."""


class Progress:
    """`with Progress() as told: told("solving")`. In a pipe nothing is said."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._what = ""
        self._shown = False
        self._able = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> Progress:
        return self

    def begin(self, what: str, step: str = "") -> None:
        """From here on it is this that takes its time, as part of a step."""
        self._what = what
        self("")

    def __call__(self, how_far: str) -> None:
        took = time.monotonic() - self._begun
        if self._able and took >= PATIENCE:
            self._live(f"{took:.0f} s, {self._told(how_far)} …")

    def result(self, what: str) -> None:
        """What came out of the step that is at work."""

    def _told(self, how_far: str) -> str:
        return f"{self._what}: {how_far}" if how_far else self._what

    def _live(self, text: str) -> None:
        """A line that is written over by the next one; a longer one would leave its end behind."""
        sys.stderr.write(f"{_CLEAR}{text[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()
        self._shown = True

    def _gone(self) -> None:
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = False

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gone()


class Steps(Progress):
    """The steps of a long way: on a terminal the one at work in a line that goes, and those done in lines that stay.

    In a pipe there are the lines that stay, and nothing at all if nobody is to be told.
    """

    def __init__(self, silent: bool = False) -> None:
        super().__init__()
        self._silent = silent
        self._step = ""
        self._result = ""

    def begin(self, what: str, step: str = "") -> None:
        if step and step != self._step:
            self._end("✓", "green")
            self._step, self._result, self._begun = step, "", time.monotonic()
        super().begin(what)

    def __call__(self, how_far: str) -> None:
        if self._able and not self._silent:
            self._live(f"… {self._step:<{_WIDEST}}{self._told(how_far)}")

    def result(self, what: str) -> None:
        self._result = what

    def _end(self, sign: str, style: str) -> None:
        self._gone()
        if not self._step or self._silent:
            return
        took = f"{time.monotonic() - self._begun:.1f} s"
        if self._able:
            result = f"{self._result}  " if self._result else ""
            say((f"{sign} ", style), (f"{self._step:<{_WIDEST}}", "bold"), result, (took, "dim"))
        else:
            say(f"{self._step}: {self._result or self._what}, {took}")
        self._step = ""

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(*(("✓", "green") if kind is None else ("✗", "red")))
