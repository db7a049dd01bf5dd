"""The decisions of a document in the form that the solver obeys: limits, the goal, and rules for entities."""

from __future__ import annotations

import msgspec

from prejoin.workload.model import Accept, AtMost, FixedKey, Minimise, OutOfScope, Pin, Under, Without, Workload

MOST_INDEXES = 20
"""DynamoDB's default limit of global secondary indexes for a table."""
UNLIMITED = 1_000

_ACCEPTED_COSTS = frozenset({"filter", "several pages"})
"""Decisions that accept what a read costs; a key still has to find its items."""


class DesignConstraints(msgspec.Struct, frozen=True):
    """The decisions that constrain the solver."""

    indexes: int = MOST_INDEXES
    copies: int = UNLIMITED
    structures: int = UNLIMITED
    money: bool = False
    """Whether cost comes before the number of structures."""
    without_indexes: frozenset[str] = frozenset()
    without_copies: frozenset[str] = frozenset()
    under: tuple[Under, ...] = ()
    keys: tuple[FixedKey, ...] = ()
    aside: frozenset[str] = frozenset()
    """Patterns that no key has to serve."""


def constraints_of(workload: Workload) -> DesignConstraints:
    pins: list[Pin] = [d.pin for d in workload.decisions if d.pin is not None]

    def most(structure: str, otherwise: int) -> int:
        return min([otherwise, *(pin.count for pin in pins if isinstance(pin, AtMost) and pin.what == structure)])

    def without(structure: str) -> frozenset[str]:
        return frozenset(
            pin.entity for pin in pins if isinstance(pin, Without) and pin.what in (structure, "structures")
        )

    # A pattern with an accepted filter still needs a key; the other accepted patterns do not.
    aside = {
        p.pattern for p in pins if isinstance(p, OutOfScope) or (isinstance(p, Accept) and p.how not in _ACCEPTED_COSTS)
    }
    return DesignConstraints(
        most("GSIs", MOST_INDEXES),
        most("copies", UNLIMITED),
        most("structures", UNLIMITED),
        any(isinstance(pin, Minimise) and pin.what == "money" for pin in pins),
        without("GSIs"),
        without("copies"),
        tuple(pin for pin in pins if isinstance(pin, Under)),
        tuple(pin for pin in pins if isinstance(pin, FixedKey)),
        frozenset(aside),
    )
