"""`Throttle`: writes held back to a rate of consumed units."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from prejoin.table.client.observe import Call

_READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})


class Throttle:
    """Counts consumed write units, and holds writers back so that no more than `rate` a second are consumed."""

    def __init__(self, rate: float | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self.units = 0.0
        self._rate = rate
        self._sleep = sleep
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._spent = 0.0

    def observe(self, call: Call) -> None:
        if call.operation in _READS:
            return
        with self._lock:
            self.units += call.units
            self._spent += call.units

    def wait(self) -> None:
        """Sleeps until the consumed units fit the rate again."""
        if self._rate is None:
            return
        with self._lock:
            ahead = self._spent / self._rate - (time.monotonic() - self._began)
            if ahead < -1:  # time in which nothing was written is not saved up for a burst
                self._began, self._spent, ahead = time.monotonic(), 0.0, 0.0
        if ahead > 0:
            self._sleep(ahead)
