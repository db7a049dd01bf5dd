"""The changes of an update as data: values set, amounts added, attributes removed, members deleted from sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from prejoin.table.codec.paths import Steps, path_text
from prejoin.table.errors import TableError

from .computed import Computed, Members, Sum

At = str | Steps
"""The target of a change: the name of an attribute, or a path inside of one, `("lines", 0, "qty")`."""

Values = Mapping[Any, Any]
"""Values by their `At`. The type is wider, so that a dict with names as keys is accepted."""


class Changes(msgspec.Struct, frozen=True):
    """The changes of an update. Other attributes stay as they are; a value of None removes its attribute.

    >>> Changes({"status": "SHIPPED"}, adds={"parcels": 1}, removes=frozenset({"note"})).names == {
    ...     "status", "parcels", "note"}
    True
    """

    sets: Values = {}
    adds: Values = {}
    """Amounts to add, to 0 if the attribute is absent; members to add to sets."""
    removes: frozenset[Any] = frozenset()
    deletes: Values = {}
    """Members to remove from sets."""

    @property
    def all(self) -> list[At]:
        """The targets of all changes."""
        return [*self.sets, *self.adds, *self.removes, *self.deletes]

    @property
    def names(self) -> frozenset[str]:
        """The attributes that are changed, or changed inside."""
        return frozenset([head(at) for at in self.all])

    @property
    def nested(self) -> bool:
        """Whether a path inside an attribute is changed."""
        return any(not isinstance(at, str) for at in self.all)

    @property
    def replaced(self) -> frozenset[str]:
        """The attributes that are changed as a whole. Keys depend only on whole attributes."""
        return frozenset([at for at in self.all if isinstance(at, str)])

    @property
    def unknown(self) -> frozenset[str]:
        """The attributes whose new value DynamoDB computes."""
        computed_targets = [at for at, value in self.sets.items() if isinstance(value, Computed)]
        return frozenset([at for at in (*computed_targets, *self.adds, *self.deletes) if isinstance(at, str)])

    def only(self, names: Iterable[str]) -> Changes:
        """Return the changes of these attributes only."""
        selection = set(names)
        return Changes(
            {at: value for at, value in self.sets.items() if head(at) in selection},
            {at: value for at, value in self.adds.items() if head(at) in selection},
            frozenset([at for at in self.removes if head(at) in selection]),
            {at: value for at, value in self.deletes.items() if head(at) in selection},
        )

    def after(self, known_values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the known values after the changes. A removed attribute is None."""
        values = dict(known_values)
        values.update([(at, value) for at, value in self.sets.items() if isinstance(at, str)])
        values.update([(at, None) for at in self.removes if isinstance(at, str)])
        for name in self.unknown:
            values.pop(name, None)
        return values


NO_CHANGES = Changes()


def head(at: At) -> str:
    """Return the attribute of a target."""
    return at if isinstance(at, str) else at[0]


def steps(at: At) -> Steps:
    """Return a target as a path."""
    return (at,) if isinstance(at, str) else at


def computed_change(at: At, value: Computed) -> Changes:
    """Return the change to a value that DynamoDB computes: with ADD or DELETE if possible, else with SET."""
    path = steps(at)
    is_from_zero = isinstance(value, Sum) and value.from_zero
    if value.path != path and (is_from_zero or not isinstance(value, Sum)):
        raise TableError(f"{path_text(path)} cannot be computed from {path_text(value.path)}, only from itself")
    if isinstance(value, Members):
        if not value.members:
            return NO_CHANGES
        return Changes(adds={at: value.members}) if value.sign == "+" else Changes(deletes={at: value.members})
    # ADD takes whole attributes only. Inside of one, SET with if_not_exists does the same.
    if isinstance(value, Sum) and is_from_zero and len(path) == 1:
        return Changes(adds={at: value.amount})
    return Changes({at: value})
