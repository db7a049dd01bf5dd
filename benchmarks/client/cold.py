"""Measures cold starts in new processes: time to the first response, time of the import, and memory later."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from common.figures import Figure, figure
from common.worker_process import ContenderError

from .measure import Pace, Say
from .server import Tables
from .ways import HERE, Way, environment, python


@dataclass(frozen=True)
class Start:
    """The start of a process until it has its first item."""

    wall: Figure
    cpu: Figure
    """CPU time of the process, including the start of the interpreter."""
    imported: Figure
    """Wall time of the library's import."""
    bytes: float
    """Resident memory after many gets."""


def starts(ways: Sequence[Way], tables: Tables, pace: Pace, say: Say) -> dict[str, Start]:
    """Measures the starts of each way. Its table must exist."""
    say("first answer, memory")
    samples: dict[str, list[_Sample]] = {way.id: [] for way in ways}
    order = random.Random(2)
    # The first start is not counted: it reads from disk, and Python compiles modules.
    for at in range(pace.starts + 1):
        for way in order.sample(ways, len(ways)):
            gets = pace.gets if at > pace.starts - pace.memories else 0
            one = _start(way, tables.url, gets)
            if at:
                samples[way.id].append(one)
    return {
        way: Start(
            figure([one.wall for one in some]),
            figure([one.cpu for one in some]),
            figure([one.imported for one in some]),
            median(one.bytes for one in some if one.bytes),
        )
        for way, some in samples.items()
    }


@dataclass(frozen=True)
class _Sample:
    wall: float
    cpu: float
    imported: float
    bytes: int


def _start(way: Way, url: str, gets: int) -> _Sample:
    # -P keeps the folder of the program out of the module path.
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
    return _Sample(wall, found["cpu"], found["import"], json.loads(rest)["bytes"] if rest else 0)
