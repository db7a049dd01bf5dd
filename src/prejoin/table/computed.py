"""What an update may set an attribute to beside a value: what DynamoDB computes from what is there."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal

import msgspec

Steps = tuple[str, *tuple[str | int, ...]]
"""The way to a place in an item: an attribute, then names in maps and positions in lists."""


class Beside(str):
    """The name, in the table, of an attribute that no class has: a mark that a pattern leaves for a while."""


class Computed(msgspec.Struct, frozen=True):
    """A new value that only DynamoDB knows, made of the old one at `path`."""

    path: Steps


class Sum(Computed, frozen=True):
    """A number plus or minus an amount; `from_zero`, where an absent number counts as 0."""

    sign: Literal["+", "-"]
    amount: Any
    from_zero: bool = False


class Joined(Computed, frozen=True):
    """A list with more elements behind it, or before it. An absent list counts as empty."""

    elements: Sequence[Any]
    before: bool = False


class Members(Computed, frozen=True):
    """A set with some members more, or without them. An absent set counts as empty."""

    sign: Literal["+", "-"]
    members: AbstractSet[Any]


class First(Computed, frozen=True):
    """A value for what is absent; what is there stays."""

    value: Any


def shown(path: Steps) -> str:
    """A path as it is written in Python.

    >>> shown(("lines", 0, "qty"))
    'lines[0].qty'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
