"""Another design as an explanation lists it: a sentence with its differences."""

from __future__ import annotations

from prejoin.workload.model import Model


class Alternative(Model, frozen=True):
    """An alternative and its differences; negative numbers mean fewer or cheaper."""

    text: str
    structures: int = 0
    dollars: float = 0.0
    """Dollars a month."""
    unserved: tuple[str, ...] = ()
    """Patterns that it would not serve."""
    take: tuple[str, ...] = ()
    """The decisions or lines of the document that take it."""
    changes_document: bool = False
    """Whether `take` are changed lines of the document, and not decisions."""


def cheapest_first(alternative: Alternative) -> tuple[float, str]:
    """The order in which alternatives are listed."""
    return alternative.dollars, alternative.text
