"""Settings of a transport: timeouts, connections, retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ssl import SSLContext

OnRetry = Callable[[str, int, Exception, float], None]
"""Called before each retry with the operation, the attempts so far, the error and the delay in seconds."""


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum number of attempts, and the delays between them.

    A delay is random between 0 and `base`, then twice that, four times that, up to `longest`.

    >>> [Retries(base=0.05, longest=0.3).ceiling(attempt) for attempt in (1, 2, 3, 4)]
    [0.05, 0.1, 0.2, 0.3]
    """

    attempts: int = 6
    base: float = 0.05
    longest: float = 5.0

    def ceiling(self, attempt: int) -> float:
        """The longest delay after this attempt; the first attempt is 1."""
        return float(min(self.longest, self.base * 2.0 ** min(attempt - 1, 30)))


class TransportSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one transport."""

    timeout: float
    """Seconds for one attempt, from the request to the end of its response."""
    connect_timeout: float
    retries: Retries
    pool: int
    """Maximum number of connections: for all threads together, and for each event loop."""
    idle: float
    """Seconds after which an unused connection is not used again."""
    ssl_context: SSLContext | None
    on_retry: OnRetry | None

    def __post_init__(self) -> None:
        for name, value in (("timeout", self.timeout), ("connect_timeout", self.connect_timeout)):
            if not value > 0:
                raise ValueError(f"{name} must be a number of seconds above 0, not {value!r}")
        if self.pool < 1:
            raise ValueError(f"pool must be at least 1 connection, not {self.pool!r}")
        if self.retries.attempts < 1:
            raise ValueError(f"attempts must be at least 1 (no retries), not {self.retries.attempts!r}")
