"""What a case of a write breaks, and where."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from prejoin.constructs.construct import DeclaredConstruct
from prejoin.workload.model import Leaf, Test

LIST_LENGTH = 2
"""How many items a list has, unless a variation says otherwise."""

Place = tuple[int, int]
"""The position of an action, or of a checked item after them, and the number of the item in its list."""


class Break(Enum):
    """What a variation breaks."""

    NOTHING = auto()
    CONDITION = auto()
    """A condition is false, though its attribute has a value."""
    ATTRIBUTE = auto()
    """A condition is false, because its attribute is absent."""
    ITEM = auto()
    """An item that must exist does not, or one that must not exist does."""
    UNIQUE = auto()
    """Another item has the same unique values."""
    LINK = auto()
    """An item has another value than the input that it is known by."""
    AGREEMENT = auto()
    """Two objects of the call do not belong together."""
    VALUE = auto()
    """A value is beyond the bounds of its attribute."""
    AMOUNT = auto()
    """An amount is beyond its bounds, or not positive."""
    RESULT = auto()
    """The sum of the stored number and an amount is beyond its bounds."""


class Side(Enum):
    """How a value is beyond `n between low and high`."""

    BELOW = auto()
    ABOVE = auto()
    INVERTED = auto()
    """It is between the ends, but the first is above the second, so that no value is within."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A case of a write. Without a text it is one that must succeed."""

    text: str = ""
    kind: Break = Break.NOTHING
    place: Place = (-1, 0)
    check: Test | None = None
    """The condition that is broken, or whose parts are tried."""
    names: tuple[str, ...] = ()
    """The attributes that are broken, or that are absent in a case of a condition."""
    value: Any = None
    """The value that is beyond a bound."""
    count: int = LIST_LENGTH
    """The number of items of each list."""
    is_other: bool = False
    """Whether a put replaces an item, an upsert creates one, and values are at the other end of a condition."""
    is_again: bool = False
    """Whether the method is called again, for items of its lists that an index did not show the first time."""
    side: Side = Side.BELOW
    """How a value is beyond a range, if the condition that is broken is one."""
    hiding: DeclaredConstruct | None = None
    """The construct that hides the item: it is there, and no write finds it."""
    has_full_histories: bool = False
    """Whether the stored items have as many versions as are kept."""
    has_large_contents: bool = False
    """Whether the contents that the caller gives are too large for their items."""
    may_exceed_bounds: bool = False
    """Whether sums may be beyond their bounds, too, because a broken condition says the same: `due >= amount`."""
    decisive: Leaf | None = None
    """The part of the condition on which its truth depends."""
    decisive_truth: bool = True
    """Whether that part is true."""

    @property
    def is_accepted(self) -> bool:
        """Whether the call must succeed. It may be about an item that is not there, and that it passes over."""
        return not self.text

    def breaks(self, kind: Break, place: Place) -> bool:
        return self.kind is kind and self.place == place
