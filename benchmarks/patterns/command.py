"""The command: what to measure, and where the results go."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from common.figures import usual_spread
from common.tables import write_into
from engine.machine import machine
from engine.servers import running, wait_for
from prejoin.engine import Embedded
from prejoin.transport import Credentials, Endpoint

from . import bulk, large, rename, report
from .measure import costs
from .reads import DAYS, SHARDS, bucket_cases, shard_cases
from .writes import KINDS, write_cases

BULK, END_OF_BULK = "<!-- bulk: written by the benchmark -->", "<!-- end of bulk -->"
LARGE, END_OF_LARGE = "<!-- large: written by the benchmark -->", "<!-- end of large -->"
RENAME, END_OF_RENAME = "<!-- rename: written by the benchmark -->", "<!-- end of rename -->"
HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/patterns", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look in some seconds; nothing is written")
    parser.add_argument("--bulk", action="store_true", help="only the bulk load, by CPU time")
    parser.add_argument("--large", action="store_true", help="only a document of 5 MB, by CPU time")
    parser.add_argument("--rename", action="store_true", help="only the new name of a user, by CPU time")
    given = parser.parse_args(arguments)
    quick = given.quick
    if given.bulk:
        return _bulk(quick)
    if given.large:
        return _large(quick)
    if given.rename:
        return _rename(quick)
    shards, days, kinds = (SHARDS[:2], DAYS[:2], list(KINDS)[:2]) if quick else (SHARDS, DAYS, list(KINDS))
    repeats = 3 if quick else 31
    with running("serve", {}) as (process, port), Embedded() as engine:
        wait_for(port, process)
        server = Endpoint(f"http://127.0.0.1:{port}", credentials=Credentials("local", "local"))
        places = {"in process": engine, "over HTTP": server}
        _say("shards")
        by_shards = costs(shard_cases(300 if quick else 3000, shards), places, repeats)
        _say("buckets")
        by_days = costs(bucket_cases(6 if quick else 24, days), places, repeats)
        _say("writes")
        written = costs(write_cases(kinds), places, repeats)
        server.close()
    names = list(places)
    here = machine()
    figures = [one for found in (by_shards, by_days, written) for cost in found.values() for one in cost.times.values()]
    text = f"""Measured on {here["cores"]} cores, {here["system"]}.
In the median case the middle half of the repetitions lies within {usual_spread(figures):.0%} of the median.

### Shards

3,000 items of about 400 bytes; times as long as one partition takes.

{report.shards(by_shards, shards, names)}

### Time buckets

24 items a day; times as long as the same days in one partition take.

{report.buckets(by_days, days, names)}

### Writes

An order of about 400 bytes; times as long as the plain write takes.

{report.writes(written, names, kinds)}
"""
    print(text)
    if not quick:
        write_into(HERE / "README.md", text)
        _say("wrote the results in README.md")
    return 0


def _bulk(quick: bool) -> int:
    count, repeats = (200, 1) if quick else (5_000, 7)
    with running("serve", {}) as (process, port):
        wait_for(port, process)
        text = bulk.report(bulk.load_costs(port, count, repeats), count)
    print(text)
    if not quick:
        write_into(HERE / "README.md", f"{text}\n", BULK, END_OF_BULK)
    return 0


def _large(quick: bool) -> int:
    with running("serve", {}) as (process, port):
        wait_for(port, process)
        text = large.report(large.document_costs(port, 500_000 if quick else 5_000_000, 1 if quick else 21))
    print(text)
    if not quick:
        write_into(HERE / "README.md", f"{text}\n", LARGE, END_OF_LARGE)
    return 0


def _rename(quick: bool) -> int:
    count, repeats = (150, 1) if quick else (10_000, 3)
    with running("serve", {}) as (process, port):
        wait_for(port, process)
        text = rename.report(rename.rename_costs(port, count, repeats))
    print(text)
    if not quick:
        write_into(HERE / "README.md", f"{text}\n", RENAME, END_OF_RENAME)
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
