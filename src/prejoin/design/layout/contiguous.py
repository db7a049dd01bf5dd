"""Orders in which given sets are contiguous: the consecutive-ones problem (Booth and Lueker, 1976).

One Query reads a range of a partition, so the types that it reads must be neighbours in sort order. For the types
A, B, C and D, and reads of {A, C} and {B, C}, an order is A, C, B, D. With a read of {C, D} there is none: C has only
two neighbours.

    order   A C B D
    {A, C}  1 1 0 0     the ones of each row are consecutive
    {B, C}  0 1 1 0

The sets are few and small, so a bounded depth-first search is enough.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

MOST_STEPS = 20_000
"""The most partial orders that are tried."""

Unit = TypeVar("Unit", bound=Hashable)


def is_contiguous(order: Sequence[Unit], group: frozenset[Unit]) -> bool:
    """Whether the units of a set are neighbours in an order."""
    positions = [position for position, unit in enumerate(order) if unit in group]
    return not positions or positions[-1] - positions[0] == len(positions) - 1


def ends(order: Sequence[Unit], group: frozenset[Unit]) -> tuple[Unit, Unit]:
    """The first and the last unit of a set in an order."""
    members = [unit for unit in order if unit in group]
    return members[0], members[-1]


def side_by_side(usual: Sequence[Unit], sets: Sequence[frozenset[Unit]]) -> list[Unit]:
    """The first order in which each set is contiguous; the usual order if there is none.

    >>> side_by_side("abc", [frozenset("ac"), frozenset("bc")])
    ['a', 'c', 'b']
    """
    return contiguous_order(usual, sets) or list(usual)


def contiguous_order(usual: Sequence[Unit], sets: Sequence[frozenset[Unit]]) -> list[Unit] | None:
    """The first order in which each set is contiguous; None if there is none within the step limit.

    >>> contiguous_order("abcd", [frozenset("ab"), frozenset("ac"), frozenset("ad")])
    """
    steps = 0
    # A set of one unit, or of all, is contiguous in every order.
    groups = [group for group in dict.fromkeys(sets) if 1 < len(group) < len(usual)]

    def extend(order: list[Unit]) -> list[Unit] | None:
        """The first order of all units that begins so and has each set in one piece."""
        nonlocal steps
        steps += 1
        if len(order) == len(usual):
            return order
        if steps > MOST_STEPS:
            return None
        # A set that has begun has to end before another unit comes.
        open_groups = [group for group in groups if 0 < len(group.intersection(order)) < len(group)]
        for unit in usual:
            if unit not in order and all(unit in group for group in open_groups):
                result = extend([*order, unit])
                if result is not None:
                    return result
        return None

    return extend([])


def excluding_sets(usual: Sequence[Unit], sets: Sequence[frozenset[Unit]]) -> list[frozenset[Unit]]:
    """A minimal subset of sets that cannot all be contiguous.

    >>> pairs = [frozenset("ab"), frozenset("ac"), frozenset("ad"), frozenset("bc")]
    >>> ["".join(sorted(group)) for group in excluding_sets("abcd", pairs)]
    ['ab', 'ac', 'bc']
    """
    minimal = list(dict.fromkeys(sets))
    # Leave out each set that is not needed for the contradiction.
    # The fewer sets a cut names, the more selections it excludes.
    for group in list(minimal):
        other_sets = [other for other in minimal if other != group]
        if contiguous_order(usual, other_sets) is None:
            minimal = other_sets
    return minimal
