"""What an update changes, as data: set, added to, removed, taken out of a set; checked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import msgspec

from prejoin.table.codec.paths import Steps, path_text, place
from prejoin.table.errors import CodecError, TableError
from prejoin.table.schema.bind import Bound
from prejoin.types import NUMERIC, Kind

from .computed import Computed, Joined, Members, Sum

At = str | Steps
"""What is changed: an attribute by its name, or a place inside one by its path, `("lines", 0, "qty")`."""

Values = Mapping[Any, Any]
"""Values by what they are for, an `At`. Its type says less: else what is by names only would not do."""


class Changes(msgspec.Struct, frozen=True):
    """What an update changes. What is not said stays; None is removed.

    >>> Changes({"status": "SHIPPED"}, adds={"parcels": 1}, removes=frozenset({"note"})).names == {
    ...     "status", "parcels", "note"}
    True
    """

    sets: Values = {}
    adds: Values = {}
    """Numbers added, from 0 where there is none; members added to sets."""
    removes: frozenset[Any] = frozenset()
    deletes: Values = {}
    """Members taken out of sets."""

    @property
    def all(self) -> list[At]:
        """All that is changed."""
        return [*self.sets, *self.adds, *self.removes, *self.deletes]

    @property
    def names(self) -> frozenset[str]:
        """The attributes that are changed, or something inside of them."""
        return frozenset([head(at) for at in self.all])

    @property
    def nested(self) -> bool:
        """Whether anything inside an attribute is changed."""
        return any(not isinstance(at, str) for at in self.all)

    @property
    def whole(self) -> frozenset[str]:
        """The attributes that are changed themselves. No key is made of what lies inside one."""
        return frozenset([at for at in self.all if isinstance(at, str)])

    @property
    def unknown(self) -> frozenset[str]:
        """The attributes whose new value only DynamoDB knows."""
        return frozenset(
            [at for at, value in self.sets.items() if isinstance(value, Computed) and isinstance(at, str)]
            + [at for at in (*self.adds, *self.deletes) if isinstance(at, str)]
        )

    def only(self, names: Iterable[str]) -> Changes:
        """The part of the changes that concerns these attributes."""
        wanted = set(names)
        return Changes(
            {at: value for at, value in self.sets.items() if head(at) in wanted},
            {at: value for at, value in self.adds.items() if head(at) in wanted},
            frozenset([at for at in self.removes if head(at) in wanted]),
            {at: value for at, value in self.deletes.items() if head(at) in wanted},
        )

    def after(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """The values after the change, as far as they are known; what is removed is None."""
        values = dict(known)
        values.update([(at, value) for at, value in self.sets.items() if isinstance(at, str)])
        values.update([(at, None) for at in self.removes if isinstance(at, str)])
        for name in self.unknown:
            values.pop(name, None)
        return values


NOTHING = Changes()


def head(at: At) -> str:
    """The attribute that a change is about."""
    return at if isinstance(at, str) else at[0]


def steps(at: At) -> Steps:
    return (at,) if isinstance(at, str) else at


def checked(entity: Bound[Any], changes: Changes, *, moves: bool = False) -> Changes:
    """Changes that make sense: None set is an attribute removed; what is required stays, the key if it has to."""
    codec = entity.codec
    if changes.adds or changes.deletes:
        changes = _without_empty_sets(changes)
    elif not changes.removes and _is_ordinary(entity, changes.sets):
        return changes
    said = changes.all
    if not said:
        raise TableError(f"an update of {entity.tag} that changes nothing")
    base = entity.base.attributes
    for at in said:
        name = head(at)
        codec.attribute(name)
        if name in base and not moves:
            raise TableError(
                f"{name} is part of the key of {entity.tag}, so that to change it is to move the item: update it with "
                "read=True, and it is deleted and put under its new key in one transaction"
            )
    if len(said) > 1:
        _check_apart(entity, said)
    sets: dict[At, Any] = {}
    emptied: list[At] = []
    for at, value in changes.sets.items():
        if value is None and _absent_if_none(entity, at):
            _check_removable(entity, at)
            emptied.append(at)
        elif isinstance(value, set | frozenset) and not value:
            # DynamoDB has no empty set: to set one is to remove the attribute, optional or not.
            emptied.append(at)
        else:
            if isinstance(value, Computed):
                _check_type(entity, at, type(value))
            sets[at] = value
    for at in changes.removes:
        _check_removable(entity, at)
    for at in (*changes.adds, *changes.deletes):
        _check_type(entity, at, Members if at in changes.deletes else Sum)
    if not emptied:
        return changes
    return Changes(sets, changes.adds, changes.removes.union(emptied), changes.deletes)


def _is_ordinary(entity: Bound[Any], sets: Values) -> bool:
    """Whether values, and nothing else, are set, of attributes that can have them: as in most updates."""
    codec, base = entity.codec, entity.base.attributes
    for at, value in sets.items():
        if type(at) is not str or at not in codec.attributes or at in base:
            return False
        if isinstance(value, Computed):
            _check_type(entity, at, type(value))
        elif value is None or isinstance(value, set | frozenset):
            return False
    return bool(sets)


def computed(at: At, value: Computed) -> Changes:
    """The change that sets a place to what DynamoDB computes: ADD and DELETE where these do it."""
    path = steps(at)
    summed = isinstance(value, Sum) and value.from_zero
    if value.path != path and (summed or not isinstance(value, Sum)):
        raise TableError(f"{path_text(path)} cannot be set to what is made of {path_text(value.path)}, only of itself")
    if isinstance(value, Members):
        if not value.members:
            return NOTHING
        return Changes(adds={at: value.members}) if value.sign == "+" else Changes(deletes={at: value.members})
    if isinstance(value, Sum) and summed and len(path) == 1:
        return Changes(adds={at: value.amount})
    return Changes({at: value})


def _without_empty_sets(changes: Changes) -> Changes:
    """DynamoDB takes no empty set, and to add or take away no members is to do nothing."""
    adds, deletes = (
        {at: value for at, value in values.items() if value or not isinstance(value, set | frozenset)}
        for values in (changes.adds, changes.deletes)
    )
    if len(adds) == len(changes.adds) and len(deletes) == len(changes.deletes):
        return changes
    return Changes(changes.sets, adds, changes.removes, deletes)


def _check_apart(entity: Bound[Any], said: list[At]) -> None:
    """DynamoDB takes no two changes of the same place, nor of one that lies in the other."""
    if len(set(said)) == len(said) and all(isinstance(at, str) for at in said):
        return
    for one, other in combinations(sorted(map(steps, said), key=len), 2):
        if other[: len(one)] == one:
            raise TableError(f"an update of {entity.tag} changes {path_text(one)} in two ways")


def _absent_if_none(entity: Bound[Any], at: At) -> bool:
    """Whether None is to be absent. In lists and maps it is a value."""
    return isinstance(at, str) or place(entity.codec, at).last == "field"


_COMPUTED: dict[type[Computed], tuple[frozenset[Kind], str]] = {
    Sum: (NUMERIC | {Kind.SET}, "a number, nor a set"),
    Joined: (frozenset({Kind.LIST}), "a list"),
    Members: (frozenset({Kind.SET}), "a set"),
}


def _check_type(entity: Bound[Any], at: At, how: type[Computed]) -> None:
    """Numbers are added to, sets get and lose members, lists are joined, and nothing else."""
    if how not in _COMPUTED:
        return
    kinds, what = _COMPUTED[how]
    codec = entity.codec
    value = codec.attribute(at).value if isinstance(at, str) else place(codec, at).value
    # What may be anything is a map to us: there DynamoDB has to say.
    if value.type.kind not in kinds and value.type.kind is not Kind.MAP:
        raise CodecError(f"{entity.tag}.{path_text(steps(at))} is not {what}, and cannot be changed like one")


def _check_removable(entity: Bound[Any], at: At) -> None:
    found = place(entity.codec, steps(at))
    if found.last == "field" and not found.optional:
        raise CodecError(f"{entity.tag}.{path_text(steps(at))} is not optional and cannot be removed")
