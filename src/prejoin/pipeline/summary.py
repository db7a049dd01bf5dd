"""Numbers and short phrases about documents and diagnostics: `3 entities, 2 reads`, `1 error, 2 hints`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from prejoin.diagnostics import Diagnostic, Severity
from prejoin.workload.model import Workload


def quantity(number: int, noun: str) -> str:
    """A number with its noun.

    >>> quantity(1, "error"), quantity(2, "entity"), quantity(3, "index")
    ('1 error', '2 entities', '3 indexes')
    """
    ending = "es" if noun.endswith("x") else "s"
    plural = noun if number == 1 else noun[:-1] + "ies" if noun.endswith("y") else noun + ending
    return f"{number} {plural}"


def proven_summary(number: int, not_proven: Sequence[str]) -> str:
    """How many patterns are proven, and which are not.

    >>> proven_summary(2, []), proven_summary(58, ["AP-012"])
    ('2 of 2 patterns proven', '57 of 58 patterns proven, 1 not proven: AP-012')
    """
    proven = f"{number - len(not_proven)} of {quantity(number, 'pattern')} proven"
    return f"{proven}, {len(not_proven)} not proven: {', '.join(not_proven)}" if not_proven else proven


def counts(diagnostics: Iterable[Diagnostic]) -> dict[str, int]:
    """How many errors, warnings and hints there are."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    return {f"{severity.value}s": severities.count(severity) for severity in Severity}


def tally(diagnostics: Iterable[Diagnostic]) -> str:
    """The same as a phrase: `1 error, 2 hints`; empty if there are none."""
    return ", ".join(quantity(number, kind.removesuffix("s")) for kind, number in counts(diagnostics).items() if number)


def contents(workload: Workload) -> str:
    """The contents of a document: `3 entities, 2 reads`."""
    parts = {"entity": workload.entities, "read": workload.reads, "write": workload.writes, "delete": workload.deletes}
    return ", ".join(quantity(len(elements), noun) for noun, elements in parts.items() if elements) or "nothing"


def figures(workload: Workload) -> dict[str, Any]:
    """The same as data, with title and status."""
    return {
        "title": workload.title,
        "status": workload.status.value if workload.status else None,
        "entities": len(workload.entities),
        "reads": len(workload.reads),
        "writes": len(workload.writes),
        "deletes": len(workload.deletes),
    }


def duration(seconds: float) -> str:
    """
    >>> duration(0.4), duration(75), duration(7300)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds_left = divmod(round(seconds), 60)
    return f"{minutes} min {seconds_left} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
