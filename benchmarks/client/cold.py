"""From nothing to the first answer, in a new process each time: the time, the import's part of it, the memory later."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from common.figures import Figure, figure
from common.told import ContenderError

from .measure import Pace, Say
from .served import Tables
from .ways import HERE, Way, environment, python


@dataclass(frozen=True)
class Start:
    """A process that gets one item, from its start to the answer."""

    wall: Figure
    cpu: Figure
    """Of the process, with the interpreter's start in it."""
    imported: Figure
    """The import of the library alone, by the clock."""
    bytes: float
    """What the process holds in memory after many gets."""


def starts(ways: Sequence[Way], tables: Tables, pace: Pace, say: Say) -> dict[str, Start]:
    """Of each way whose table is there."""
    say("first answer, memory")
    taken: dict[str, list[_Taken]] = {way.id: [] for way in ways}
    order = random.Random(2)
    # The first start of each is not counted: it reads from disk, and writes what Python compiles.
    for at in range(pace.starts + 1):
        for way in order.sample(ways, len(ways)):
            gets = pace.gets if at > pace.starts - pace.memories else 0
            one = _start(way, tables.url, gets)
            if at:
                taken[way.id].append(one)
    return {
        way: Start(
            figure([one.wall for one in some]),
            figure([one.cpu for one in some]),
            figure([one.imported for one in some]),
            median(one.bytes for one in some if one.bytes),
        )
        for way, some in taken.items()
    }


@dataclass(frozen=True)
class _Taken:
    wall: float
    cpu: float
    imported: float
    bytes: int


def _start(way: Way, url: str, gets: int) -> _Taken:
    # -P: the folder of the program is not looked into for modules.
    command = [python(way), "-P", str(HERE / "first.py"), way.module, url, way.id, "thousand", "7"]
    pipe = subprocess.PIPE
    begin = time.perf_counter()
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment(way)) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        wall = time.perf_counter() - begin
        rest, _ = process.communicate(f"{gets}\n".encode())
    if process.returncode or not first:
        raise ContenderError(f"{way.name} did not start: exit code {process.returncode}")
    found = json.loads(first)
    return _Taken(wall, found["cpu"], found["import"], json.loads(rest)["bytes"] if rest else 0)
