"""The decisions of a document by their kind, for everything that has to obey them."""

from __future__ import annotations

from typing import TypeVar

from prejoin.workload.model import AtMost, Pin, Without, Workload

_P = TypeVar("_P", bound=Pin)


def pins_of(workload: Workload, kind: type[_P]) -> tuple[_P, ...]:
    """The decisions of one kind, in document order.

    >>> from prejoin.workload.model import Decision
    >>> pins_of(Workload(decisions=(Decision(AtMost("GSIs", 1)), Decision(text="a note"))), AtMost)
    (AtMost(what='GSIs', count=1),)
    """
    key = ("pins_of", kind)
    # The solver asks for the same pins once for each key that it prices.
    if key not in workload.memo:
        pins = [decision.pin for decision in workload.decisions]
        workload.memo[key] = tuple([pin for pin in pins if isinstance(pin, kind)])
    pins_of_kind: tuple[_P, ...] = workload.memo[key]
    return pins_of_kind


def least_limit(workload: Workload, structure: str) -> int | None:
    """The lowest number that decisions allow of a structure (`at most 2 GSIs`); None if none limits it."""
    limits = [pin.count for pin in pins_of(workload, AtMost) if pin.what == structure]
    return min(limits, default=None)


def is_refused(workload: Workload, structure: str, entity: str) -> bool:
    """Whether a decision refuses a structure to an entity: `no shards for Page`."""
    return Without(structure, entity) in pins_of(workload, Without)
