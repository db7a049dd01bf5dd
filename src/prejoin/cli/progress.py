"""How far a command is: in one line on the terminal that goes again, or step by step, each told when it is done."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from prejoin.cli.output import say, show

PATIENCE = 1.0
"""Seconds in which nothing is said."""
PIPE_PATIENCE = 10.0
"""Seconds between two lines where there is no terminal."""
_CLEAR = "\r\x1b[K"
_WIDEST = 8
"""Letters of a step's name."""


class Progress:
    """`with Progress() as told: told("solving")`. In a pipe there is a line every ten seconds.

    Those come from a thread: one run of the solver may take longer than that.
    """

    _told_in_steps = False

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._what = ""
        self._shown = False
        self._how_far = ""
        self._able = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._over = threading.Event()

    def __enter__(self) -> Progress:
        if not self._able and not self._told_in_steps:
            threading.Thread(target=self._tell, args=(sys.stderr,), daemon=True).start()
        return self

    def _tell(self, stream: TextIO) -> None:
        while not self._over.wait(PIPE_PATIENCE):
            took = time.monotonic() - self._begun
            show([[f"{took:.0f} s: {self._told(self._how_far)}"]], stream)

    def begin(self, what: str, step: str = "") -> None:
        """From here on it is this that takes its time, as part of a step."""
        self._what = what
        self("")

    def __call__(self, how_far: str) -> None:
        self._how_far = how_far
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
        self._over.set()
        self._gone()


class Steps(Progress):
    """The steps of a long way: on a terminal the one at work in a line that goes, and those done in lines that stay.

    In a pipe there are the lines that stay, and nothing at all if nobody is to be told.
    """

    _told_in_steps = True

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
