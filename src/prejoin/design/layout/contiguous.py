"""Orders in which given sets are contiguous: the consecutive-ones problem (Booth and Lueker, 1976).

The sets are few and small, so a bounded depth-first search is enough.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

MOST_STEPS = 20_000
"""The most partial orders that are tried."""

Unit = TypeVar("Unit", bound=Hashable)


def is_contiguous(order: Sequence[Unit], wanted: frozenset[Unit]) -> bool:
    """Whether the units of a set are neighbours in an order."""
    places = [at for at, label in enumerate(order) if label in wanted]
    return not places or places[-1] - places[0] == len(places) - 1


def ends(order: Sequence[Unit], wanted: frozenset[Unit]) -> tuple[Unit, Unit]:
    """The first and the last unit of a set in an order."""
    found = [unit for unit in order if unit in wanted]
    return found[0], found[-1]


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
    wanted = [one for one in dict.fromkeys(sets) if 1 < len(one) < len(usual)]

    def extended(order: list[Unit]) -> list[Unit] | None:
        nonlocal steps
        steps += 1
        if len(order) == len(usual) or steps > MOST_STEPS:
            return order if len(order) == len(usual) else None
        begun = [one for one in wanted if one & set(order) and not one <= set(order)]
        for unit in usual:
            if unit not in order and all(unit in one for one in begun):
                found = extended([*order, unit])
                if found is not None:
                    return found
        return None

    return extended([])


def excluding_sets(usual: Sequence[Unit], sets: Sequence[frozenset[Unit]]) -> list[frozenset[Unit]]:
    """A minimal subset of sets that cannot all be contiguous."""
    left = list(dict.fromkeys(sets))
    for one in list(left):
        rest = [other for other in left if other != one]
        if contiguous_order(usual, rest) is None:
            left = rest
    return left
