"""Contenders as processes, and what they share in a run."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from common.worker_process import ContenderError, WorkerProcess

from .ways import Way, command, environment

__all__ = ["Contender", "ContenderError", "Setting"]


@dataclass(frozen=True)
class Setting:
    """What all contenders of a run share."""

    scratch: str
    requests: str
    first: list[tuple[str, dict[str, Any]]]
    table: str
    users: int
    large: bool


class Contender(WorkerProcess):
    """A way, in a process of its own that waits while others are measured."""

    def __init__(self, way: Way, setting: Setting, *, cold: bool = False) -> None:
        self.way = way
        order = {
            **vars(setting),
            "engine": way.engine,
            "client": way.client,
            "cold": cold,
            "network": os.readlink("/proc/self/ns/net") if way.engine == "local" else "",
        }
        log = f"{setting.scratch}/{way.id}.log"
        super().__init__(way.name, [*command(way), json.dumps(order)], environment(way.tree), log)
