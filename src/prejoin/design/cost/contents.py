"""The price of a large content: in parts in the table, and in S3."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from prejoin.protocol.limits import KB
from prejoin.protocol.prices import STORAGE_GB_MONTH, WRITE_MILLION, write_units

PART: Final = 240 * KB
"""Bytes of a part in the table, as `Large` writes it."""
PUT_THOUSAND: Final = Decimal("0.005")
"""Dollars per thousand PUT requests to S3 Standard in us-east-1."""
OBJECT_GB_MONTH: Final = Decimal("0.023")
"""Dollars per GB and month in S3 Standard in us-east-1."""
_OBJECT: Final = 8 * KB * KB


def part_units(size: int) -> float:
    """Write units of a content in parts. Each has a key and names its item, in 300 bytes or so.

    >>> part_units(100 * KB), part_units(1024 * KB)
    (101.0, 1029.0)
    """
    whole, rest = divmod(size, PART)
    return whole * write_units(PART + 300) + (write_units(rest + 300) if rest else 0)


def content_fix(name: str, size: int) -> str:
    """The fix for an attribute that is too large for an item, with the price of both places.

    >>> content_fix("body", 2 * 1024 * KB).partition(": ")[2]
    'a thousand writes cost $1.29 in parts in the table, and $0.005 in S3; a GB costs $0.25 or $0.023 a month'
    """
    parts = Decimal(str(part_units(size))) * WRITE_MILLION / 1000
    objects = PUT_THOUSAND * -(-size // _OBJECT)
    return (
        f"keep `{name}` beside the item with the pattern `Large`: a thousand writes cost ${parts:.2f} in parts in the "
        f"table, and ${objects:.3f} in S3; a GB costs ${STORAGE_GB_MONTH} or ${OBJECT_GB_MONTH} a month"
    )
