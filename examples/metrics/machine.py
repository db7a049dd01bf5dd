"""Measures this machine: processors, memory and network."""

from __future__ import annotations

import datetime as dt
import os
import re
from decimal import Decimal
from pathlib import Path

from metrics.entities import Sample

KEPT = dt.timedelta(days=30)
"""The lifetime of a sample."""


class Machine:
    """This machine, measured from /proc (Linux)."""

    def __init__(self, name: str, proc: Path = Path("/proc")) -> None:
        self.name = name
        self._proc = proc
        self._through = self._network()

    def sample(self, now: dt.datetime) -> Sample:
        before, self._through = self._through, self._network()
        memory = dict(re.findall(r"^(\w+):\s+(\d+)", (self._proc / "meminfo").read_text(), re.MULTILINE))
        total, free = int(memory["MemTotal"]), int(memory["MemAvailable"])
        return Sample(
            resource_id=self.name,
            recorded_at=now,
            cpu=per_cent(os.getloadavg()[0], os.cpu_count() or 1),
            memory=per_cent(total - free, total),
            traffic=max(0, self._through - before),  # the counters of an interface restart at 0 when it does
            expires_at=int((now + KEPT).timestamp()),
        )

    def _network(self) -> int:
        """Bytes received and sent since the start of the machine, without the loopback interface."""
        lines = (self._proc / "net" / "dev").read_text().splitlines()[2:]
        rows = (line.partition(":") for line in lines)
        counts = (counts.split() for name, _, counts in rows if name.strip() != "lo")
        return sum(int(row[0]) + int(row[8]) for row in counts)


def per_cent(part: float, whole: float) -> Decimal:
    """A percentage with one decimal.

    >>> per_cent(1, 3)
    Decimal('33.3')
    """
    return Decimal(f"{100 * part / whole:.1f}")
