"""What somebody decided, as the designer obeys it: limits, the goal, and what an entity must or must not have."""

from __future__ import annotations

import msgspec

from prejoin.workload.model import Accept, AtMost, FixedKey, Minimise, OutOfScope, Pin, Under, Without, Workload

MOST_INDEXES = 20
"""Global secondary indexes that a table may have; DynamoDB's limit unless it is raised."""
UNLIMITED = 1_000


class Constraints(msgspec.Struct, frozen=True):
    """The pins of a workload."""

    indexes: int = MOST_INDEXES
    copies: int = UNLIMITED
    structures: int = UNLIMITED
    money: bool = False
    """Whether the money is looked at before the number of structures."""
    without_indexes: frozenset[str] = frozenset()
    without_copies: frozenset[str] = frozenset()
    under: tuple[Under, ...] = ()
    keys: tuple[FixedKey, ...] = ()
    aside: frozenset[str] = frozenset()
    """Patterns that no key has to serve."""


def constraints_of(workload: Workload) -> Constraints:
    pins: list[Pin] = [d.pin for d in workload.decisions if d.pin is not None]

    def most(what: str, otherwise: int) -> int:
        return min([otherwise, *(pin.count for pin in pins if isinstance(pin, AtMost) and pin.what == what)])

    def without(what: str) -> frozenset[str]:
        return frozenset(pin.entity for pin in pins if isinstance(pin, Without) and pin.what in (what, "structures"))

    # A filter is asked of a key all the same; the others are not.
    aside = {p.pattern for p in pins if isinstance(p, OutOfScope) or (isinstance(p, Accept) and p.how != "filter")}
    return Constraints(
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
