"""What came of running a pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prejoin.table import Call


@dataclass(frozen=True, slots=True)
class Answer:
    pattern: str
    description: str = ""
    calls: tuple[Call, ...] = ()
    items: int = 0
    """Read, or written."""
    given: Mapping[str, Any] = field(default_factory=dict)
    wrong: str = ""
    """How the answer differs from what the data says; empty where it does not."""
    problem: str = ""
    """Why the pattern was not run."""
    remedy: str = ""

    @property
    def right(self) -> bool:
        return not self.wrong and not self.problem

    @property
    def units(self) -> float:
        return sum(call.units for call in self.calls)
