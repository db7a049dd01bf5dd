"""How long to wait before trying again: longer each time, and never two the same."""

from __future__ import annotations

from .conversation import Pause

LONGEST = 5.0


def pause(attempt: int, first: float = 0.025) -> Pause:
    """The pause after an attempt, from 0: anything up to twice what it was before ("full jitter")."""
    import random  # only those who wait pay for it

    return Pause(random.uniform(0, min(LONGEST, first * 2**attempt)))  # noqa: S311 - no secret
