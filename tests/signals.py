"""Signals for processes that tests start."""

from __future__ import annotations

import signal


def default_interrupt() -> None:
    """Let SIGINT end this process again.

    A shell starts background jobs and `nohup` with SIGINT ignored, and children inherit that. Pass this function as
    `preexec_fn` to a process that a test interrupts.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
