"""`Throttle`: writes held back to a rate of consumed units."""

from __future__ import annotations

import time
from collections.abc import Callable

from prejoin.patterns.bulk.pace import READS, Pace
from prejoin.table.client.observe import Call


class WriteThrottle:
    """Counts consumed write units, and holds writers back so that no more than `rate` a second are consumed."""

    def __init__(self, rate: float | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self._pace = Pace(rate)
        self._sleep = sleep

    @property
    def units(self) -> float:
        return self._pace.units

    def observe(self, call: Call) -> None:
        if call.operation not in READS:
            self._pace.add(call.units)

    def wait(self) -> None:
        """Sleeps until the consumed units fit the rate again."""
        if (ahead := self._pace.ahead()) > 0:
            self._sleep(ahead)
