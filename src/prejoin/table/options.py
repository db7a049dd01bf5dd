"""Types and defaults of arguments that the sync client, the async client and transactions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

Returning = Literal["new", "old"] | None
"""The object that an update returns: as it is after the update, or as it was before."""

WhenUnreadable = Literal["raise", "keep"]
"""Handling of items that do not fit their class: raise CodecError, or return them in `unreadable`."""

Progress = Callable[[int], None]
"""Called now and then with the number of objects that are done."""

NOT_GIVEN = cast("bool", 0)
"""False, as the default of an option. It tells an option that the caller gave from the default, because an attribute
of the entity may have the same name as the option."""
