"""Declarations of a schema: entities, keys and indexes. Plain data; the schema checks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import msgspec

from prejoin.keys import When

from .pattern import Lifecycle, Pattern

E = TypeVar("E")

Membership = Callable[[Any], Any] | Sequence[When] | None


class Key(msgspec.Struct, frozen=True):
    """The key of an entity's items, as templates. With `when`, only some items are in an index or copy.

    `when` is a condition on the entity (`lambda o: o.status != "DONE"`) or a list of `When`. A query must be able to
    imply it, so it can only say that an attribute is present, or has one of some values.
    """

    pk: str
    sk: str | None = None
    when: Membership = None
    raw: bool = False
    """Whether values are written without escapes, for a table with existing keys."""
    write_only: bool = False
    """Whether no read uses this key of an index or a copy, because some items do not have it yet. Writes keep it."""


class Index(msgspec.Struct, frozen=True):
    """A secondary index. Entities have key templates for it, or `pk` and `sk` name attributes of the entities.

    `pk` and `sk` may name up to four attributes each: `Index("by-place", pk=("country", "city"), sk=("kind",
    "total"))`.
    """

    name: str
    pk: str | Sequence[str] = ""
    """The partition key attribute. The default for an index with key templates is `<name>pk`."""
    sk: str | Sequence[str] = ""
    projection: str | Sequence[str] = "ALL"
    """ALL, KEYS_ONLY, or the attributes to project beside the keys."""
    local: bool = False
    """Whether it is a local secondary index: it has the partitions of the table, and can be read consistently. It can
    only be created with the table, and limits each partition to 10 GB."""


class Entity(msgspec.Struct, Generic[E], frozen=True):
    """A class and its keys."""

    cls: type[E]
    key: Key
    indexes: Mapping[str, Key] = msgspec.field(default_factory=dict)
    tag: str = ""
    """The value of the type attribute of its items. The default is the name of the class."""
    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Names in the table, for attributes that have another name there."""
    patterns: Sequence[Pattern] = ()
    """Unique values, copies, versions and more. See `prejoin.patterns`."""
    unknown: Literal["replace", "keep", "refuse"] = "replace"
    """What a put does with stored attributes that the class does not have. `replace` deletes them, as PutItem does;
    `keep` keeps them, with an UpdateItem of all attributes of the class; `refuse` raises, unless the put reads first
    and finds none."""

    @property
    def lifecycles(self) -> tuple[Lifecycle, ...]:
        """How patterns end the items."""
        lifecycles = [pattern.lifecycle for pattern in self.patterns]
        return tuple([lifecycle for lifecycle in lifecycles if lifecycle is not None])
