"""A facet: one way in which an entity is keyed, in the table itself, in an index, or by a copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .condition import MOST_PK_BYTES, MOST_SK_BYTES, sized
from .encoding import plain
from .template import Template

TABLE = "table"
"""The slot that is the table itself. All other slots are global secondary indexes, by their names."""


@dataclass(frozen=True)
class When:
    """An item is in a sparse facet when the attribute has a value; or, where `values` are given, one of them.

    >>> str(When("assignee")), str(When("status", frozenset({"OPEN"})))
    ('assignee is present', 'status = OPEN')
    """

    attribute: str
    values: frozenset[object] | None = None

    def holds(self, item: Mapping[str, object]) -> bool:
        value = plain(item.get(self.attribute))
        return value is not None and (self.values is None or value in self.values)

    def __str__(self) -> str:
        if self.values is None:
            return f"{self.attribute} is present"
        return f"{self.attribute} = {' or '.join(sorted(map(str, self.values)))}"


@dataclass(frozen=True)
class Facet:
    """A way an entity is keyed. In the table a key is one item; in an index many items may share one."""

    entity: str
    slot: str
    pk: Template
    sk: Template | None = None
    when: tuple[When, ...] = ()
    """All of these hold for the items that are there: a sparse facet. Empty: every item is."""
    copy: str = ""
    """The name of the copy whose items these are; empty for the entity's own items."""
    holds: frozenset[str] | None = None
    """The attributes that are there beside the keys; None: all of them."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes its keys are made of."""
        return tuple(dict.fromkeys(self.pk.attributes + (self.sk.attributes if self.sk else ())))

    def has(self, item: Mapping[str, object]) -> bool:
        """Whether an item with these values is in the facet."""
        return all(when.holds(item) for when in self.when)

    def key(self, values: Mapping[str, object]) -> tuple[str, str | None]:
        """The partition key and sort key of an item with these values."""
        return self.pk_of(values), self.sk_of(values)

    def pk_of(self, values: Mapping[str, object]) -> str:
        return sized(self.pk.build(values), "partition key", MOST_PK_BYTES)

    def sk_of(self, values: Mapping[str, object]) -> str | None:
        return sized(self.sk.build(values), "sort key", MOST_SK_BYTES) if self.sk else None

    def __str__(self) -> str:
        key = f"{self.pk} / {self.sk}" if self.sk else str(self.pk)
        copy = f", copy {self.copy}" if self.copy else ""
        when = f", when {' and '.join(map(str, self.when))}" if self.when else ""
        return f"{self.entity} in {self.slot}: {key}{copy}{when}"
