"""When an item expires: what counts as a time to live, and how long it counts."""

from __future__ import annotations

from typing import Final

from prejoin.protocol import numbers
from prejoin.protocol.values import Value

FORGOTTEN_SECONDS: Final = 5 * 365 * 86_400
"""A time to live further back than five years is taken for something else than a time, and removes nothing."""
_LATEST: Final = 10**15


def expiry(value: Value | None) -> int | None:
    """The second at which an item with this value expires; None where it never does.

    >>> expiry({"N": "1700000000.5"}), expiry({"S": "1700000000"}), expiry(None)
    (1700000000, None, None)
    """
    if value is None or "N" not in value:
        return None
    number = numbers.value(value["N"])
    return int(number) if 0 < number < _LATEST else None
