"""What becomes of our engine as a table grows: the same requests at 10³ items, 10⁴, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from common.figures import Figure

from .contenders import Contender, Setting
from .measure import Pace, Say, timed
from .ways import Engine, Way
from .workload import OF_A_USER


@dataclass(frozen=True)
class Size:
    """A table of so many items, in memory or on a file."""

    engine: Engine
    items: int
    stored_bytes: int
    seconds: dict[str, Figure]


def growth(sizes: Sequence[int], setting: Setting, pace: Pace, say: Say) -> list[Size]:
    """All sizes are there at once and measured in turn."""
    pace = replace(pace, repetitions=min(pace.repetitions, 5))
    say(f"growth up to {sizes[-1]:,} items")
    with ExitStack() as stack:
        contenders, loads = [], {}
        engines: tuple[Engine, ...] = ("embedded", "file")
        for engine in engines:
            for items in sizes:
                name = f"{engine}-{items}"
                own = replace(setting, users=items // OF_A_USER, large=False)
                contender = stack.enter_context(Contender(Way(name, name, engine, "bytes"), own))
                contender.wait()
                contender.tell("load")
                contenders.append((contender, name))
        for contender, name in contenders:
            loads[name] = contender.wait()
        found = timed([(contender, name, loads[name]["operations"]) for contender, name in contenders], pace, say)
        return [
            Size(
                engine,
                items,
                loads[name]["bytes"],
                {operation: figures[name] for operation, figures in found.items()},
            )
            for engine in engines
            for items in sizes
            for name in [f"{engine}-{items}"]
        ]
