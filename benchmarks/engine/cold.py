"""From nothing to the first answer, and what then lies in memory. Each start is a new process."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from common.figures import Figure, figure

from .contenders import Contender, ContenderError, Setting
from .measure import Pace, Say
from .ways import Way


@dataclass(frozen=True)
class Start:
    """From the start of the process to the answer to its first GetItem, with the table made and an item put."""

    seconds: Figure
    client_bytes: float
    """Resident memory of the Python process that asks, with the engine in it where that is so."""
    server_bytes: float

    @property
    def bytes(self) -> float:
        return self.client_bytes + self.server_bytes


def starts(ways: Sequence[Way], setting: Setting, pace: Pace, say: Say) -> dict[str, Start]:
    say("first answer, memory")
    seconds: dict[str, list[float]] = {way.id: [] for way in ways}
    memory: dict[str, list[dict[str, int]]] = {way.id: [] for way in ways}
    order = random.Random(2)
    failed: set[str] = set()
    for _ in range(pace.starts):
        for way in order.sample(ways, len(ways)):
            if way.id in failed:
                continue
            begin = time.perf_counter()
            with Contender(way, setting, cold=True) as contender:
                try:
                    contender.wait()
                    seconds[way.id].append(time.perf_counter() - begin)
                    memory[way.id].append(contender.ask("memory"))
                except ContenderError as error:
                    failed.add(way.id)
                    say(f"left out: {error}")
    return {
        way.id: Start(
            figure(seconds[way.id]),
            median(one["client"] for one in memory[way.id]),
            median(one["server"] for one in memory[way.id]),
        )
        for way in ways
        if way.id not in failed
    }
