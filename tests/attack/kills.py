"""Attack: writers killed by SIGKILL at random points, on one file.

Each writer's operations follow from their numbers (`tests.engine.crashing`), so the state after any number of them is
known. After each kill the file must hold exactly the acknowledged operations, or those and the next one: items, both
indexes, transactions whole. At the end SQLite checks the file itself.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from tests.engine.crashing import kill_and_check

from prejoin.engine import Durability

from .places import file_place
from .result import Result

ROUNDS, WRITERS = 5, 3


def run(seconds: float, seed: int) -> Result:
    result = Result()
    end = time.monotonic() + seconds
    while result.tries == 0 or time.monotonic() < end:
        durability: Durability = "full" if seed % 2 else "normal"
        with file_place() as path:
            try:
                kill_and_check(Path(path), durability, ROUNDS, seed, WRITERS)
            except AssertionError as error:
                result.findings.append(f"kills, seed {seed}, durability {durability}: {error}")
            result.findings += [f"kills, seed {seed}: integrity_check says {line}" for line in damage(path)]
        result.tries += ROUNDS * WRITERS
        seed += 1
    return result


def damage(path: str) -> list[str]:
    """What SQLite finds wrong in a file."""
    with closing(sqlite3.connect(path)) as connection:
        lines = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    return [] if lines == ["ok"] else lines
