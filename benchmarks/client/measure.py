"""Measures operations: short runs of all contenders in turn, so that noise affects all alike; then medians."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from common.figures import Figure, figure
from common.worker_process import ContenderError, WorkerProcess

from .server import Tables
from .ways import Way, environment, python

Say = Callable[[str], None]


@dataclass(frozen=True)
class Pace:
    """How long to measure."""

    warm_seconds: float
    stretch_seconds: float
    repetitions: int
    starts: int
    memories: int
    """The number of starts that also measure memory."""
    gets: int
    """The number of gets before memory is measured."""


FULL = Pace(warm_seconds=0.3, stretch_seconds=0.08, repetitions=11, starts=9, memories=2, gets=1000)
BEFORE = Pace(warm_seconds=0.3, stretch_seconds=0.04, repetitions=51, starts=0, memories=0, gets=0)
"""Many short runs, because two versions of prejoin differ less than two libraries."""
QUICK = Pace(warm_seconds=0.03, stretch_seconds=0.02, repetitions=3, starts=1, memories=1, gets=20)


@dataclass(frozen=True)
class Cost:
    """The cost of a call."""

    cpu: Figure
    """CPU time of the client's process, with all threads."""
    wall: Figure


class Contender(WorkerProcess):
    """A way, in its own process, which waits while others are measured."""

    def __init__(self, way: Way, url: str, scratch: str) -> None:
        self.way = way
        command = [python(way), "-m", "client.worker", way.module, url, way.id]
        super().__init__(way.name, command, environment(way), f"{scratch}/{way.id}.log")


def operations(
    ways: Iterable[Way], tables: Tables, scratch: str, pace: Pace, say: Say
) -> tuple[dict[str, dict[str, Cost]], dict[str, str]]:
    """The cost of a call by operation and way, and the ways that failed, with the reason."""
    left_out: dict[str, str] = {}
    with ExitStack() as stack:
        contenders = [stack.enter_context(Contender(way, tables.url, scratch)) for way in ways]
        for contender in contenders:
            tables.make(contender.way.id)
        offered = {one.way.id: found["operations"] for one, found in _all(contenders, left_out)}
        answers = _all(contenders, left_out, "answers")
        _compare(answers, tables)
        for name, why in left_out.items():
            say(f"left out: {name}: {why}")
        return _timed([(one, offered[one.way.id]) for one, _ in answers], pace, say), left_out


def _all(contenders: list[Contender], left_out: dict[str, str], do: str = "") -> list[tuple[Contender, dict[str, Any]]]:
    """The responses of all contenders, which work concurrently. Those that fail are removed from the list."""
    for contender in contenders:
        if do:
            contender.tell(do)
    found = []
    for contender in tuple(contenders):
        try:
            found.append((contender, contender.wait()))
        except ContenderError as error:
            contenders.remove(contender)
            left_out[contender.way.id] = str(error)
    return found


def _timed(contenders: Sequence[tuple[Contender, list[str]]], pace: Pace, say: Say) -> dict[str, dict[str, Cost]]:
    found: dict[str, dict[str, Cost]] = {}
    order = random.Random(1)
    for operation in dict.fromkeys(operation for _, offered in contenders for operation in offered):
        say(operation)
        taking = [contender for contender, offered in contenders if operation in offered]
        counts, samples = {}, {}
        for contender in taking:
            seconds = contender.ask("warm", operation=operation, seconds=pace.warm_seconds)["seconds"]
            counts[contender.way.id] = max(1, round(pace.stretch_seconds / seconds))
            samples[contender.way.id] = list[dict[str, float]]()
        for _ in range(pace.repetitions):
            for contender in order.sample(taking, len(taking)):
                name = contender.way.id
                samples[name].append(contender.ask("time", operation=operation, count=counts[name]))
        found[operation] = {
            name: Cost(figure([one["cpu"] for one in taken]), figure([one["wall"] for one in taken]))
            for name, taken in samples.items()
        }
    return found


def _compare(answers: Sequence[tuple[Contender, dict[str, Any]]], tables: Tables) -> None:
    """Raises a `ContenderError` unless all read the same and wrote the same."""
    if not answers:
        raise ContenderError("there are no contenders to measure")
    expected: dict[str, tuple[Way, Any]] = {}
    for contender, responses in answers:
        way = contender.way
        for what, found in [*responses.items(), ("what was written", tables.items(way.id))]:
            first, wanted = expected.setdefault(what, (way, found))
            if found != wanted:
                raise ContenderError(f"{way.name} differs from {first.name}: {what}")
