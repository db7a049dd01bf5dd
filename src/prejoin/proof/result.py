"""What came of running a pattern, and of running all."""

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
    """Of the first case: the one for which most is found."""
    items: int = 0
    """Read, or written."""
    given: Mapping[str, Any] = field(default_factory=dict)
    cases: int = 0
    """How often it was run, each time with other inputs; what it should refuse not counted."""
    pages: int = 0
    """Pages that were walked through, cursor by cursor."""
    provoked: tuple[str, ...] = ()
    """The conditions that were broken on purpose. Each was refused, and nothing was written."""
    predicted: float | None = None
    """Units, by the design's prediction for the items there are."""
    wrong: str = ""
    """How the answer differs from what the data says; empty where it does not."""
    problem: str = ""
    """Why the pattern was not run."""
    remedy: str = ""
    outside: bool = False
    """The document says that this table does not answer it."""

    @property
    def right(self) -> bool:
        return self.outside or (not self.wrong and not self.problem)

    @property
    def units(self) -> float:
        return sum(call.units for call in self.calls)


@dataclass(frozen=True, slots=True)
class Proof:
    """A design run: every pattern, and the table as all the writes have left it."""

    answers: tuple[Answer, ...]
    items: int = 0
    """Items of the table, with copies and guards, before the writes."""
    findings: tuple[str, ...] = ()
    """What of the data could not be written, and what an audit of the table found at the end."""

    @property
    def right(self) -> bool:
        return not self.findings and all(answer.right for answer in self.answers)

    @property
    def asked(self) -> tuple[Answer, ...]:
        """The patterns that the table is to answer; one that could not be run is among them, and is not proven."""
        return tuple(answer for answer in self.answers if not answer.outside)

    @property
    def proven(self) -> int:
        """How many of these were run, and were right."""
        return sum(answer.right for answer in self.asked)

    @property
    def failed(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.right)

    def answer(self, pattern: str) -> Answer | None:
        return next((a for a in self.answers if a.pattern == pattern), None)
