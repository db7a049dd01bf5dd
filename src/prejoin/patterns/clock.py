"""The clock of patterns that store times. Tests can pass another one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def now() -> datetime:
    return datetime.now(UTC)
