"""The numbers of the new indexes: `distributed(groups, indexes, excluded)`.

New indexes are alike, so the program has no preference among them. The selected keys are distributed over the indexes
here, in an order that depends on nothing but the keys. Two keys of one entity are in different indexes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from prejoin.design.solver.placement import CollectionPlace, Placement

Group = frozenset[Placement | CollectionPlace]
"""Keys that are in one index, because they are read together, and the places of these reads."""
MOST_STEPS = 20_000
"""The most steps of the search."""


def keys_of(group: Group) -> list[Placement]:
    return sorted(one for one in group if isinstance(one, Placement))


def joined(groups: Sequence[Group], read: Group) -> list[Group]:
    """The groups after those that a read of several entities has keys in became one."""
    return [one for one in groups if not one & read] + [read.union(*(one for one in groups if one & read))]


def distributed(groups: Sequence[Group], indexes: int, excluded: Sequence[Group] = ()) -> dict[Group, int] | None:
    """An index for each group, the lowest that has room for it; None if no distribution is found.

    No index has all of an `excluded` group.
    """
    ordered = sorted(groups, key=lambda one: (-len(keys_of(one)), keys_of(one)))
    names = [frozenset(place.entity for place in keys_of(one)) for one in ordered]
    if any(len(keys_of(one)) > len(entities) for one, entities in zip(ordered, names, strict=True)):
        return None
    matters = frozenset[Placement | CollectionPlace]().union(*excluded)
    steps = 0

    def extended(taken: tuple[frozenset[Hashable], ...], at: int = 0) -> list[int] | None:
        """The indexes of all groups from this one on, if those before it are in the indexes already."""
        nonlocal steps
        steps += 1
        if at == len(ordered) or steps > MOST_STEPS:
            return [] if at == len(ordered) else None
        for index, there in enumerate(taken):
            now = there | names[at] | (ordered[at] & matters)
            if there.isdisjoint(names[at]) and there not in taken[:index] and not any(one <= now for one in excluded):
                rest = extended((*taken[:index], now, *taken[index + 1 :]), at + 1)
                if rest is not None:
                    return [index, *rest]
        return None

    found = extended((frozenset(),) * indexes)
    return dict(zip(ordered, found, strict=True)) if found is not None else None
