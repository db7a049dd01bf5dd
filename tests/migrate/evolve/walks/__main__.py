"""Run by scripts/soak --evolve: random walks over the commands of `prejoin evolve`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.migrate.evolve.walks.check import run_walk
from tests.migrate.evolve.walks.studio import PAIRS


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/soak --evolve", description=__doc__)
    parser.add_argument("walks", type=int, help="walks in all, shared among the pairs of designs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first walk of each pair")
    parser.add_argument("--only", choices=sorted(PAIRS), action="append", help="only this pair of designs")
    parser.add_argument("--failures", type=int, default=1, help="how many failures end the run")
    options = parser.parse_args()
    pairs = options.only or list(PAIRS)
    done: Counter[str] = Counter()
    events: Counter[str] = Counter()
    failures = 0
    began = time.monotonic()
    for number in range(options.walks):
        pair = pairs[number % len(pairs)]
        seed = options.seed + number // len(pairs)
        try:
            with TemporaryDirectory(prefix="prejoin-") as folder:
                events += run_walk(pair, seed, Path(folder)).events
        except Exception:
            traceback.print_exc(limit=-6)
            print(f"FAILED: scripts/soak --evolve 1 --only {pair!r} --seed {seed}", flush=True)
            failures += 1
            if failures == options.failures:
                break
        done[pair] += 1
    for pair, count in done.items():
        print(f"{count:>6} walks  {pair}")
    for event, count in sorted(events.items()):
        print(f"{count:>6} times  {event}")
    print(f"{sum(done.values())} walks, {failures} failures, {time.monotonic() - began:.0f} s")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
