"""Exit statuses: the same for every command, documented in docs/reference/command.md."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    FINE = 0
    FAILED = 1
    """The input has errors, a check or a proof failed, or a file could not be read or written."""
    MISUSED = 2
    """The command was used wrongly."""
    NOT_INSTALLED = 3
    REFUSED = 4
    """It would have overwritten or destroyed something."""
    FAULT = 70
    """Our own mistake."""
    INTERRUPTED = 130
