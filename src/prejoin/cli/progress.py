"""How far a command is, in one line on the terminal that comes after a second and goes when there is more to say."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType

PATIENCE = 1.0
"""Seconds in which nothing is said."""
_CLEAR = "\r\x1b[K"


class Progress:
    """`with Progress() as told: told("solving")`. In a pipe nothing is said."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._what = ""
        self._shown = False
        self._able = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> Progress:
        return self

    def begin(self, what: str) -> None:
        """From here on it is this that takes its time."""
        self._what = what
        self("")

    def __call__(self, how_far: str) -> None:
        took = time.monotonic() - self._begun
        if self._able and took >= PATIENCE:
            said = f"{self._what}: {how_far}" if how_far else self._what
            sys.stderr.write(f"{_CLEAR}{took:.0f} s, {said} …")
            sys.stderr.flush()
            self._shown = True

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
