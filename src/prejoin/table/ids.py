"""ULIDs: ids that sort by creation time. 48 bits of time and 80 random bits in 26 characters."""

from __future__ import annotations

import time
from datetime import datetime
from os import urandom

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(at: datetime | None = None) -> str:
    """Return a new ULID, of now or of `at`. ULIDs of the same millisecond have no order.

    >>> from datetime import UTC
    >>> ulid(datetime(2026, 5, 4, tzinfo=UTC))[:10], len(ulid()), ulid() != ulid()
    ('01KQR4HQ00', 26, True)
    """
    moment = time.time() if at is None else at.timestamp()
    if not 0 <= moment < 2**48 / 1000:
        raise ValueError(f"the time of a ULID is from 1970 to 10889, not {at}")
    bits = int(moment * 1000) << 80 | int.from_bytes(urandom(10))
    return "".join([_DIGITS[bits >> shift & 31] for shift in range(125, -1, -5)])
