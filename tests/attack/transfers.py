"""Attack: money moved between accounts by threads of several processes on one file.

After every move the mover adds up all balances with one Query: the sum never changes. At the end each move is
counted.
"""

from __future__ import annotations

import subprocess
import sys
import time

from tests.engine import transferring
from tests.engine.test_concurrency import check_the_bank
from tests.engine.transferring import moves, open_accounts

from prejoin.engine import Embedded

from .places import file_place
from .result import Result

PROCESSES, MOVES = 2, 150


def run(seconds: float, seed: int) -> Result:
    result = Result()
    end = time.monotonic() + seconds
    while result.tries == 0 or time.monotonic() < end:
        with file_place() as path, Embedded(path) as dynamodb:
            open_accounts(dynamodb)
            others = [
                subprocess.Popen(
                    [sys.executable, transferring.__file__, path, str(seed + number), str(MOVES)],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
                for number in range(1, PROCESSES + 1)
            ]
            try:
                made = moves(dynamodb, seed, MOVES)
                for other in others:
                    said, complaint = other.communicate(timeout=300)
                    assert other.returncode == 0, complaint.decode()[-500:]
                    made += int(said)
                check_the_bank(dynamodb, made)
                result.tries += made
            except AssertionError as error:
                result.tries += 1
                result.findings.append(f"transfers, seed {seed}: {error or 'the sum or the count is wrong'}")
            finally:
                for other in others:
                    other.kill()
                    other.communicate()
        seed += PROCESSES + 1
    return result
