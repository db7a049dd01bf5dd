"""The numbers of the new indexes: `distribute(groups, indexes, excluded)`.

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
    return sorted(member for member in group if isinstance(member, Placement))


def merge_groups(groups: Sequence[Group], read: Group) -> list[Group]:
    """The groups after those that a read of several entities has keys in became one."""
    linked_groups = [group for group in groups if group & read]
    return [group for group in groups if not group & read] + [read.union(*linked_groups)]


def distribute(groups: Sequence[Group], indexes: int, excluded: Sequence[Group] = ()) -> dict[Group, int] | None:
    """An index for each group, the lowest that has room for it; None if no distribution is found.

    No index has all of an `excluded` group. With two indexes, the groups {Order, Item}, {Order} and {User} get the
    indexes 0, 1 and 0: two keys of one entity are not in one index.
    """
    # Large groups are the hardest to place, so they come first.
    large_first = sorted(groups, key=lambda group: (-len(keys_of(group)), keys_of(group)))
    names = [frozenset(placement.entity for placement in keys_of(group)) for group in large_first]
    if any(len(keys_of(group)) > len(entities) for group, entities in zip(large_first, names, strict=True)):
        return None
    # Of a place only what cuts speak of matters, so that contents with different other places are alike.
    cut_members = frozenset[Placement | CollectionPlace]().union(*excluded)
    steps = 0

    def extend(contents: tuple[frozenset[Hashable], ...], position: int = 0) -> list[int] | None:
        """The indexes of all groups from this one on, if those before it are in the indexes already."""
        nonlocal steps
        steps += 1
        if position == len(large_first):
            return []
        if steps > MOST_STEPS:
            return None
        for index, content in enumerate(contents):
            # Indexes with the same content are alike: to try the first of them is enough.
            if not content.isdisjoint(names[position]) or content in contents[:index]:
                continue
            extended_content = content | names[position] | (large_first[position] & cut_members)
            if any(group <= extended_content for group in excluded):
                continue
            following = extend((*contents[:index], extended_content, *contents[index + 1 :]), position + 1)
            if following is not None:
                return [index, *following]
        return None

    numbers = extend((frozenset(),) * indexes)
    return dict(zip(large_first, numbers, strict=True)) if numbers is not None else None
