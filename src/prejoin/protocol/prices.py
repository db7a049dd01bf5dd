"""Units and money: how many units a size costs, and what units and storage cost in us-east-1."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

READ_UNIT_SIZE: Final = 4096
WRITE_UNIT_SIZE: Final = 1024
STORAGE_OVERHEAD: Final = 100
"""Bytes that DynamoDB adds to every stored item and to every index entry."""

READ_MILLION: Final = Decimal("0.125")
"""Dollars per million read request units, on demand."""
WRITE_MILLION: Final = Decimal("0.625")
"""Dollars per million write request units, on demand."""
STORAGE_GB_MONTH: Final = Decimal("0.25")
"""Dollars per GB and month, table class Standard."""

READ_CAPACITY_HOUR: Final = Decimal("0.00013")
"""Dollars per provisioned read unit a second, and hour."""
WRITE_CAPACITY_HOUR: Final = Decimal("0.00065")
"""Dollars per provisioned write unit a second, and hour."""
GB: Final = 1_000_000_000
"""Bytes of a GB, as storage is billed."""
MONTH_SECONDS: Final = 2_592_000
"""A month of 30 days."""

EVENTUAL: Final = 0.5
STRONG: Final = 1.0
TRANSACTIONAL: Final = 2.0


def read_units(size: int, factor: float = EVENTUAL) -> float:
    """Read units for one item, or for one page of a Query or Scan whose sizes were summed before.

    >>> read_units(0), read_units(4096), read_units(4097), read_units(4097, STRONG)
    (0.5, 0.5, 1.0, 2.0)
    """
    return max(1, -(-size // READ_UNIT_SIZE)) * factor


def write_units(size: int, *, transactional: bool = False) -> float:
    """Write units for one item of this size: the larger of before and after, or of what is deleted.

    >>> write_units(0), write_units(1025), write_units(100, transactional=True)
    (1.0, 2.0, 2.0)
    """
    return max(1, -(-size // WRITE_UNIT_SIZE)) * (2.0 if transactional else 1.0)


def provisioned_dollars(*, reads: float = 0, writes: float = 0, utilisation: float = 0.7) -> Decimal:
    """The price of a month with provisioned capacity for these units a second, used only in part.

    >>> provisioned_dollars(reads=70, writes=70)
    Decimal('56.16000')
    """
    hours = Decimal(MONTH_SECONDS) / 3600 / Decimal(str(utilisation))
    money = Decimal(str(reads)) * READ_CAPACITY_HOUR + Decimal(str(writes)) * WRITE_CAPACITY_HOUR
    return (money * hours).quantize(Decimal("0.00001"))


def dollars(*, reads: float = 0, writes: float = 0, gb_months: float = 0) -> Decimal:
    """The price of these units and this storage.

    >>> dollars(reads=1_000_000, writes=1_000_000, gb_months=1)
    Decimal('1.000')
    """
    million = Decimal(1_000_000)
    return (
        Decimal(str(reads)) * READ_MILLION / million
        + Decimal(str(writes)) * WRITE_MILLION / million
        + Decimal(str(gb_months)) * STORAGE_GB_MONTH
    )
