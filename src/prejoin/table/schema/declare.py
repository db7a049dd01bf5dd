"""What a schema is declared with: entities and their keys, indexes, patterns. Plain data, nothing checked yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import msgspec

from prejoin.keys import When

from .pattern import Pattern

E = TypeVar("E")

Membership = Callable[[Any], Any] | Sequence[When] | None


class Key(msgspec.Struct, frozen=True):
    """The key of an entity's items, as templates. `when` makes an index or a copy sparse.

    `when` is a condition on the entity (`lambda o: o.status != "DONE"`) or a list of `When`; only those of its kind
    that a query can imply: an attribute is one of some values, or is present.
    """

    pk: str
    sk: str | None = None
    when: Membership = None
    raw: bool = False
    """Values stand in the key as they are: for a table that others filled."""


class Index(msgspec.Struct, frozen=True):
    """A secondary index. Entities give it keys of their own, or `pk` and `sk` name attributes they have.

    Named attributes may be several, up to four each: `Index("by-place", pk=("country", "city"), sk=("kind", "total"))`.
    """

    name: str
    pk: str | Sequence[str] = ""
    """The attribute that is its partition key; for an index with keys of our making, `<name>pk` if not said."""
    sk: str | Sequence[str] = ""
    projection: str | Sequence[str] = "ALL"
    """ALL, KEYS_ONLY, or the attributes it holds beside the keys."""
    local: bool = False
    """Whether it sorts the table's own partitions in another way: a local secondary index, read consistently if asked.
    It is made with the table and never after, and keeps each partition below 10 GB."""


class Entity(msgspec.Struct, Generic[E], frozen=True):
    """A class, and where its items are."""

    cls: type[E]
    key: Key
    indexes: Mapping[str, Key] = msgspec.field(default_factory=dict)
    tag: str = ""
    """What the type attribute of its items says; the name of the class if not said."""
    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Attributes that have another name in the table."""
    patterns: Sequence[Pattern] = ()
    """What else is kept for its items: unique values, copies, versions, … See `prejoin.patterns`."""
    unknown: Literal["replace", "keep", "refuse"] = "replace"
    """What a put does with attributes of the item that the class does not know: it replaces them as PutItem does, keeps
    them (by an UpdateItem that sets all attributes of the class), or is refused, unless it reads and finds none."""
