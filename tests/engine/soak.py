"""The long version of the tests that depend on luck: kills, and many at once. Run by scripts/soak."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prejoin.engine import Durability, Embedded

from . import transferring
from .crashing import kill_and_check
from .test_concurrency import check_the_bank
from .transferring import moves, open_accounts


def soak_kills(kills: int, seed: int) -> None:
    rounds = 10
    killed = 0
    while killed < kills:
        durability: Durability = "full" if seed % 2 else "normal"
        with tempfile.TemporaryDirectory() as folder:
            written = kill_and_check(Path(folder) / "soak.db", durability, rounds, seed, writers=3)
        killed += rounds * 3
        say(f"{killed} writers killed (seed {seed}, {durability}): {written} operations, every one accounted for")
        seed += 1


def soak_transfers(seconds: float, seed: int) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bank.db"
            with Embedded(path) as dynamodb:
                open_accounts(dynamodb)
                command = [sys.executable, transferring.__file__, str(path)]
                others = [
                    subprocess.Popen([*command, str(seed + number), "300"], stdout=subprocess.PIPE)
                    for number in range(3)
                ]
                made = moves(dynamodb, seed + 3, 300)
                made += sum(int(other.communicate()[0]) for other in others)
                check_the_bank(dynamodb, made)
        say(f"{made} moves by 4 processes of 3 threads (seed {seed}): the sum holds")
        seed += 4


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many writers to kill")
    parser.add_argument("--seconds", type=float, default=30, help="how long to move money")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    soak_kills(asked.kills, asked.seed)
    soak_transfers(asked.seconds, asked.seed)


if __name__ == "__main__":
    main()
