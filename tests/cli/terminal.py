"""Runs a command on a pseudo-terminal, for interactive tests."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from itertools import cycle
from pathlib import Path

from tests.signals import default_interrupt

START = "from prejoin.cli import main; main()"


class Terminal:
    """A command on a pseudo-terminal."""

    def __init__(self, *arguments: str, folder: Path, **environment: str) -> None:
        self.pid, self.handle = pty.fork()
        if self.pid == 0:
            default_interrupt()
            os.chdir(folder)
            os.environ.update({"TERM": "xterm", "COLUMNS": "100", **environment})
            os.execv(sys.executable, [sys.executable, "-c", START, *arguments])
        self.seen = ""

    def expect(self, text: str, again: str = "") -> None:
        """Waits for a text. If nothing comes for a second, it presses the next key of `again`.

        Keys that come before the line editor listens are lost. readline notices an interrupt that has emptied its
        input only at the next key, so `again` has another key before Ctrl-C.
        """
        end = time.monotonic() + 60
        keys = cycle(again)
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come; there was {self.seen!r}"
            before = time.monotonic()
            if not self._read():
                break
            if again and time.monotonic() - before > 0.9:  # a second without output
                self.send(next(keys))
        assert text in self.seen
        self.seen = self.seen.partition(text)[2]

    def _read(self) -> bool:
        ready, _, _ = select.select([self.handle], [], [], 1)
        try:
            data = os.read(self.handle, 65536) if ready else b" "
        except OSError:
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)

    def send(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def status(self, again: str = "") -> int:
        """Waits for the end and returns the exit status; `again` as in `expect`."""
        end = time.monotonic() + 60
        keys = cycle(again)
        while time.monotonic() < end:
            before = time.monotonic()
            self._read()
            if again and time.monotonic() - before > 0.9:  # a second without output
                self.send(next(keys))
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.handle)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError("it does not end")
