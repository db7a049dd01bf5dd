"""How many repetitions a transport can afford, all its requests together: a table that is down is not to be stormed."""

from __future__ import annotations

from _thread import allocate_lock

_FULL = 500
_RETRY = 5
_RETRY_AFTER_TIMEOUT = 10


class Quota:
    """A purse, as in the AWS SDKs: a repetition costs, success pays back what it cost, a plain success one coin.

    >>> quota = Quota()
    >>> sum(bool(quota.spend()) for _ in range(200))
    100
    """

    __slots__ = ("_left", "_lock")

    def __init__(self) -> None:
        self._left = _FULL
        self._lock = allocate_lock()

    def spend(self, *, timed_out: bool = False) -> int:
        """What one repetition costs; 0 where there is not enough left, and then there is none."""
        price = _RETRY_AFTER_TIMEOUT if timed_out else _RETRY
        with self._lock:
            if self._left < price:
                return 0
            self._left -= price
            return price

    def earn(self, spent: int) -> None:
        """A request succeeded, after its last repetition cost this much."""
        if self._left < _FULL:
            with self._lock:
                self._left = min(_FULL, self._left + (spent or 1))

    def after_fork(self) -> None:
        """In a child: whichever thread held the lock is not here."""
        self._lock = allocate_lock()
