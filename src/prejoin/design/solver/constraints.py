"""The decisions of a document in the form that the solver obeys: limits, the goal, and rules for entities."""

from __future__ import annotations

import msgspec

from prejoin.design.pins import least_limit, pins_of
from prejoin.workload.model import Accept, FixedKey, Minimise, Under, Without, Workload

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
    # A pattern with an accepted filter still needs a key; the other accepted patterns do not.
    accepted = [pin.pattern for pin in pins_of(workload, Accept) if pin.how not in _ACCEPTED_COSTS]
    return DesignConstraints(
        _limit(workload, "GSIs", MOST_INDEXES),
        _limit(workload, "copies", UNLIMITED),
        _limit(workload, "structures", UNLIMITED),
        Minimise("money") in pins_of(workload, Minimise),
        _entities_without(workload, "GSIs"),
        _entities_without(workload, "copies"),
        pins_of(workload, Under),
        pins_of(workload, FixedKey),
        workload.out_of_scope.union(accepted),
    )


def _limit(workload: Workload, structure: str, usual: int) -> int:
    limit = least_limit(workload, structure)
    return usual if limit is None else min(limit, usual)


def _entities_without(workload: Workload, structure: str) -> frozenset[str]:
    """The entities that may not have a structure."""
    pins = pins_of(workload, Without)
    return frozenset([pin.entity for pin in pins if pin.what in (structure, "structures")])
