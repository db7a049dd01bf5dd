"""Units and money: how many units a size costs, and what units and storage cost in us-east-1, on demand."""

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


def dollars(*, reads: float = 0, writes: float = 0, gb_months: float = 0) -> Decimal:
    """What these units and this storage cost.

    >>> dollars(reads=1_000_000, writes=1_000_000, gb_months=1)
    Decimal('1.000')
    """
    million = Decimal(1_000_000)
    return (
        Decimal(str(reads)) * READ_MILLION / million
        + Decimal(str(writes)) * WRITE_MILLION / million
        + Decimal(str(gb_months)) * STORAGE_GB_MONTH
    )
