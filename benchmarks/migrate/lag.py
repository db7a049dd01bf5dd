"""Measures the lag of `follow`: an application changes rows at a steady rate, and stores the time of each commit.

`lag.py FOLDER URL SECONDS` loads, follows while a second process writes, and prints the lags and the CPU time as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from prejoin import TablePlace, follow_table, load_table, open_migration
from prejoin.pipeline.throttle import WriteThrottle

RATE = 1_000
"""Changes a second, each in its own transaction."""


def write(url: str, seconds: float) -> None:
    """The application: updates row after row, and stores the time in each."""
    with psycopg.connect(url, autocommit=True) as connection:
        began = time.time()
        for number in range(int(RATE * seconds)):
            due = began + number / RATE
            if (wait := due - time.time()) > 0:
                time.sleep(wait)
            connection.execute("UPDATE orders SET note = %s WHERE id = %s", (repr(time.time()), number + 1))


class _Lags(WriteThrottle):
    """Observes the writes of the follower."""

    found: list[float]

    def observe(self, call: Any) -> None:
        super().observe(call)
        now = time.time()
        for put in _puts(call.request):
            note = put.get("Item", {}).get("note", {}).get("S", "")
            if note and not note.startswith("note"):
                self.found.append(now - float(note))


def _puts(request: Any) -> Iterator[Any]:
    """The puts of a request: of a batch, as bytes; of a transaction; or of a single row."""
    for put in request.get("RequestItems", {}).get("shop", ()):
        yield msgspec.json.decode(put)["PutRequest"]
    yield from (action["Put"] for action in request.get("TransactItems", ()) if "Put" in action)
    if "Item" in request:
        yield request


def main(folder: str, url: str, seconds: str) -> None:
    place, state = TablePlace(db=str(Path(folder) / "followed.db")), Path(folder) / "following"
    lags: list[float] = []
    _Lags.found = lags
    wanted = int(RATE * float(seconds))
    with open_migration(Path(folder) / "access-patterns.md", Path(folder) / "mapping.toml", url) as migration:
        load_table(migration, place, table="shop", state=state, create=True, follow=True)
        import prejoin.migrate.follow.follow as follow  # replaces the throttle, which sees all writes

        follow.WriteThrottle = _Lags  # type: ignore[misc]
        writer = subprocess.Popen([sys.executable, __file__, "write", url, seconds])
        began, used = time.monotonic(), time.process_time()
        end = began + 10 * float(seconds)
        follow_table(
            migration, place, table="shop", state=state, stop=lambda: len(lags) >= wanted or time.monotonic() > end
        )
        cpu, took = time.process_time() - used, time.monotonic() - began
        if writer.wait():
            raise SystemExit("the writer failed")
    print(json.dumps({"lags": lags, "cpu": cpu, "seconds": took, "changes": wanted}))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], float(sys.argv[3]))
    else:
        main(*sys.argv[1:])
