"""The result of one attack."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Result:
    tries: int = 0
    """Operations, kills, documents …: whatever the attack counts."""
    findings: list[str] = field(default_factory=list)
    """One sentence for each broken promise, with enough to repeat it."""
