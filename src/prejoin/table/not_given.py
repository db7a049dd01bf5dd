"""The default of arguments that may be left out, where None is a value: generated methods use it."""

from __future__ import annotations

from enum import Enum
from typing import Final


class NotGiven(Enum):
    """The type of `NOT_GIVEN`: `def edit(self, *, nick: str | NotGiven | None = NOT_GIVEN)`.

    An enum with one member, because type checkers understand `nick is not NOT_GIVEN` then.
    """

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN
"""The default of an argument that may be left out: what is not given stays as it is."""
