"""The result of a proof: one `PatternProof` per access pattern, together a `Proof`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prejoin.table.client.observe import Call
from prejoin.workload.model import Pattern


@dataclass(frozen=True, slots=True)
class PatternProof:
    """The proof of one access pattern."""

    pattern: str
    description: str = ""
    calls: tuple[Call, ...] = ()
    """The calls of the first case."""
    items: int = 0
    """Items read or written in the first case."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The inputs of the first case."""
    cases: int = 0
    """How often the method was called with different inputs, without the calls that have to be refused."""
    pages: int = 0
    """Pages read, cursor by cursor."""
    refused: tuple[str, ...] = ()
    """The conditions that were broken on purpose. Each call was refused, and nothing was written."""
    predicted: float | None = None
    """The units that the design predicts for the first case."""
    wrong: str = ""
    """How the answer differs from the data; empty if it does not."""
    problem: str = ""
    """Why the pattern could not be run."""
    remedy: str = ""
    out_of_scope: bool = False
    """Whether the document excludes the pattern from this table."""

    @classmethod
    def of(cls, pattern: Pattern, problem: str = "", wrong: str = "") -> PatternProof:
        """The proof of a pattern, before or without a case that was run."""
        return cls(pattern.id, pattern.description, problem=problem, wrong=wrong)

    @property
    def right(self) -> bool:
        return self.out_of_scope or (not self.wrong and not self.problem)

    @property
    def units(self) -> float:
        return sum(call.units for call in self.calls)


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof of a design: every pattern, and the table after all writes."""

    patterns: tuple[PatternProof, ...]
    items: int = 0
    """Items in the table before the writes, with copies and guards."""
    findings: tuple[str, ...] = ()
    """Sample data that could not be written, and what an audit of the table found at the end."""
    blocked: str = ""
    """Why no pattern at all could be run; then it is the `problem` of each."""

    @property
    def right(self) -> bool:
        return not self.findings and not self.blocked and all(proof.right for proof in self.patterns)

    @property
    def in_scope(self) -> tuple[PatternProof, ...]:
        """The patterns that the table has to serve, also those that could not be run."""
        return tuple(proof for proof in self.patterns if not proof.out_of_scope)

    @property
    def proven(self) -> int:
        """How many patterns in scope are right."""
        return sum(proof.right for proof in self.in_scope)

    @property
    def not_run(self) -> dict[str, str]:
        """The patterns that could not be run, with the reason. A pattern with a wrong result is not among them."""
        return {proof.pattern: proof.problem for proof in self.in_scope if proof.problem and not proof.wrong}

    @property
    def failed(self) -> tuple[PatternProof, ...]:
        return tuple(proof for proof in self.patterns if not proof.right)
