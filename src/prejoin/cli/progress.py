"""Progress of a command on standard error: one line that is replaced, or one line for each step that is done."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

from prejoin.cli.output import say, show

PATIENCE = 1.0
"""Seconds before the first report."""
PIPE_PATIENCE = 10.0
"""Seconds between two reports in a pipe."""
_CLEAR = "\r\x1b[K"
_WIDEST = 8
"""Characters of a step's name."""


class ProgressLine:
    """Reports progress in one line of the terminal, which is cleared at the end; in a pipe, every ten seconds.

    In a pipe a thread reports, because one run of the solver may take longer than that.
    """

    def __init__(self, silent: bool = False) -> None:
        self._silent = silent
        self._begun = time.monotonic()
        self._activity = ""
        self._detail = ""
        self._shown = False
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._over = threading.Event()

    def __enter__(self) -> Self:
        if not self._live and not self._silent:
            threading.Thread(target=self._report, args=(sys.stderr,), daemon=True).start()
        return self

    def _report(self, stream: TextIO) -> None:
        while not self._over.wait(PIPE_PATIENCE):
            show([[f"{time.monotonic() - self._begun:.0f} s: {self._status()}"]], stream)

    def begin(self, activity: str, step: str = "") -> None:
        self._activity = activity
        self.update("")

    def update(self, detail: str) -> None:
        self._detail = detail
        took = time.monotonic() - self._begun
        if self._live and took >= PATIENCE:
            self._replace(f"{took:.0f} s, {self._status()} …")

    def result(self, summary: str) -> None:
        """A single line shows no results."""

    def _status(self) -> str:
        return f"{self._activity}: {self._detail}" if self._detail else self._activity

    def _replace(self, text: str) -> None:
        # A line longer than the terminal would leave its end behind when it is replaced.
        sys.stderr.write(f"{_CLEAR}{text[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()
        self._shown = True

    def _clear(self) -> None:
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = False

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._clear()


class ProgressSteps(ProgressLine):
    """Reports each step in a line of its own when it is done, and the current one: in a line below, or as in a pipe."""

    def __init__(self, silent: bool = False) -> None:
        super().__init__(silent)
        self._step = ""
        self._result = ""

    def begin(self, activity: str, step: str = "") -> None:
        if step and step != self._step:
            self._end("✓", "green")
            self._step, self._result, self._begun = step, "", time.monotonic()
        super().begin(activity)

    def update(self, detail: str) -> None:
        self._detail = detail
        if self._live and not self._silent:
            self._replace(f"… {self._step:<{_WIDEST}}{self._status()}")

    def result(self, summary: str) -> None:
        self._result = summary

    def _end(self, sign: str, style: str) -> None:
        self._clear()
        if not self._step or self._silent:
            return
        took = f"{time.monotonic() - self._begun:.1f} s"
        if self._live:
            result = f"{self._result}  " if self._result else ""
            say((f"{sign} ", style), (f"{self._step:<{_WIDEST}}", "bold"), result, (took, "dim"))
        else:
            say(f"{self._step}: {self._result or self._activity}, {took}")
        self._step = ""

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._end(*(("✓", "green") if kind is None else ("✗", "red")))
