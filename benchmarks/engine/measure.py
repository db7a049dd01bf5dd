"""Measuring side by side: short stretches of each contender in turn, so that noise hits all alike; then medians."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from common.figures import Figure, figure

from .contenders import Contender, ContenderError, Setting
from .ways import Way


@dataclass(frozen=True)
class Pace:
    """How long to measure."""

    warm_seconds: float
    warm_java: float
    """How many times as long for DynamoDB Local, which compiles itself as it runs."""
    stretch_seconds: float
    repetitions: int
    starts: int


FULL = Pace(warm_seconds=0.4, warm_java=8, stretch_seconds=0.08, repetitions=9, starts=5)
BEFORE = Pace(warm_seconds=0.3, warm_java=1, stretch_seconds=0.03, repetitions=51, starts=0)
"""Many short stretches: two trees differ by less than two engines."""
QUICK = Pace(warm_seconds=0.03, warm_java=1, stretch_seconds=0.015, repetitions=3, starts=1)


Say = Callable[[str], None]


def operations(ways: Iterable[Way], setting: Setting, pace: Pace, say: Say) -> dict[str, dict[str, Figure]]:
    """Seconds per call of each operation, by way. A way that cannot be opened is left out, and that is said."""
    with ExitStack() as stack:
        contenders = [stack.enter_context(Contender(way, setting)) for way in ways]
        _all(contenders, say)
        offered = {one.way.id: found["operations"] for one, found in _all(contenders, say, "load")}
        answers = _all(contenders, say, "answers")
        _compare(answers)
        return timed([(one, one.way.id, offered[one.way.id]) for one, _ in answers], pace, say)


def _all(contenders: list[Contender], say: Say, do: str = "") -> list[tuple[Contender, dict[str, Any]]]:
    """What each answers, all at work at once, since this is not measured. Those that fail are dropped from the list."""
    for contender in contenders:
        if do:
            contender.tell(do)
    found = []
    for contender in tuple(contenders):
        try:
            found.append((contender, contender.wait()))
        except ContenderError as error:
            contenders.remove(contender)
            say(f"left out: {error}")
    return found


def timed(contenders: Sequence[tuple[Contender, str, list[str]]], pace: Pace, say: Say) -> dict[str, dict[str, Figure]]:
    """Times what each offers, under the name that is given with it."""
    found: dict[str, dict[str, Figure]] = {}
    order = random.Random(1)
    for operation in dict.fromkeys(operation for _, _, offered in contenders for operation in offered):
        say(operation)
        taking = [(contender, name) for contender, name, offered in contenders if operation in offered]
        counts, samples = {}, {}
        for contender, name in taking:
            warming = pace.warm_seconds * (pace.warm_java if contender.way.engine == "local" else 1)
            seconds = contender.ask("warm", operation=operation, seconds=warming)["seconds"]
            counts[name], samples[name] = max(1, round(pace.stretch_seconds / seconds)), list[float]()
        for _ in range(pace.repetitions):
            for contender, name in order.sample(taking, len(taking)):
                samples[name].append(contender.ask("time", operation=operation, count=counts[name])["seconds"])
        found[operation] = {name: figure(samples[name]) for name in samples}
    return found


def _compare(answers: Sequence[tuple[Contender, dict[str, Any]]]) -> None:
    """Times are comparable only where the answers are the same."""
    expected: dict[str, tuple[Contender, Any]] = {}
    for contender, given in answers:
        for operation, answer in given.items():
            first, wanted = expected.setdefault(operation, (contender, answer))
            if answer != wanted:
                raise ContenderError(f"{contender.way.name} answers {operation} otherwise than {first.way.name}")
    if not answers:
        raise ContenderError("there is nobody to measure")
