"""A clock that tests set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class ManualClock:
    """A clock. `clock()` returns the time, `clock.turn(hours=1)` advances it."""

    def __init__(self) -> None:
        self.time = datetime(2026, 5, 4, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def turn(self, **by: float) -> None:
        self.time += timedelta(**by)
