"""New values that DynamoDB computes from the stored value: sums, joined lists, members of sets, defaults."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal

import msgspec
from msgspec.structs import astuple

from prejoin.table.codec.paths import Steps, path_text
from prejoin.table.errors import NotAValue


class HiddenName(str):
    """The name in the table of an attribute that no class has: a temporary mark of a pattern."""


class _Unencodable:
    """A value that msgspec cannot encode, so that recorded conditions and sums are never encoded as data."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "recorded"


class Mark(_Unencodable):
    """Identifies the draft of a computed value, and keeps the reprs of its attributes.

    It is a separate object, so that computed values do not refer to the draft.
    """

    __slots__ = ("texts",)

    def __init__(self) -> None:
        self.texts: tuple[str, ...] = ()


UNENCODABLE = _Unencodable()


class _Recorded(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    recorded: Any = UNENCODABLE


class Computed(_Recorded, frozen=True):
    """A new value that DynamoDB computes from the stored value at `path`.

    Like a recorded attribute it has no value here: using it as a value raises `NotAValue`.
    """

    path: Steps

    def __bool__(self) -> bool:
        raise self._no_value("tested")

    def __str__(self) -> str:
        raise self._no_value("written as text")

    def __format__(self, spec: str) -> str:
        raise self._no_value("written as text")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Computed):
            raise self._no_value("compared")
        return type(self) is type(other) and astuple(self)[:-1] == astuple(other)[:-1]

    def __hash__(self) -> int:
        raise self._no_value("put into a set, or used as a key of a dict")

    def __repr__(self) -> str:
        text = f"<recorded {type(self).__name__} of {path_text(self.path)}>"
        if isinstance(self.recorded, Mark):
            self.recorded.texts += (text,)
        return text

    def _no_value(self, how: str) -> NotAValue:
        return NotAValue(
            f"DynamoDB computes the new value of {path_text(self.path)} when the update is sent. It has no value here "
            f"and cannot be {how}. Assign it to an attribute of the draft, or get the item first and use its value"
        )


class Sum(Computed, frozen=True):
    """A number plus or minus an amount. With `from_zero`, an absent number counts as 0."""

    sign: Literal["+", "-"]
    amount: Any
    from_zero: bool = False


class Joined(Computed, frozen=True):
    """A list with elements added at its end, or its beginning. An absent list counts as empty."""

    elements: Sequence[Any]
    before: bool = False


class Members(Computed, frozen=True):
    """A set with members added or removed. An absent set counts as empty."""

    sign: Literal["+", "-"]
    members: AbstractSet[Any]


class First(Computed, frozen=True):
    """A value that is set only if the attribute is absent."""

    value: Any
