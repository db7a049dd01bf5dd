"""The command: what to measure, and where the results go."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import before
from common.tables import write_into

from . import cold, growth, measure, report, streams
from .contenders import ContenderError, Setting
from .machine import machine, versions
from .results import Results, to_json
from .ways import BY_ID, WAYS, missing
from .workload import CREATE_TABLE, TABLE, USERS, batches, item, order, population, requests

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    if given.streams:
        print(streams.report(2 if given.quick else 60))
        return 0
    # moto takes most of the time, and its server is as moto itself.
    unasked = [way for way in WAYS if not (given.quick and way.engine == "moto server")]
    chosen = [BY_ID[name] for name in given.only.split(",")] if given.only else unasked
    chosen = [way for way in chosen if way.ours or not given.ours]
    left_out = {way.id: why for way in chosen if (why := missing(way))}
    ways = [way for way in chosen if way.id not in left_out]
    pace = measure.QUICK if given.quick else measure.BEFORE if given.before else measure.FULL
    if given.before:
        ways = before.twins([way for way in ways if way.ours], given.before)
    here = machine()
    if float(here["load"]) > 0.5 * int(here["cores"]):
        _say(f"this machine is busy (load {here['load']}): the ratios are less sure than they could be")
    sizes = [10**power for power in range(3, 7 if given.million else 4 if given.quick else 6)]
    try:
        with tempfile.TemporaryDirectory(prefix="prejoin-bench-") as scratch:
            setting = _setting(scratch)
            if given.before:
                print(before.report(ways, measure.operations(ways, setting, pace, _say)))
                return 0
            results = Results(
                here,
                versions(),
                left_out,
                measure.operations(ways, setting, pace, _say),
                cold.starts(ways, setting, pace, _say),
                growth.growth(sizes, setting, pace, _say),
            )
    except ContenderError as error:
        print(error, file=sys.stderr)
        return 1
    text = report.report(results)
    print(f"{report.measured(results)}\n\n{text}")
    if not (given.quick or given.only or given.ours):
        (HERE / "results.json").write_text(to_json(results), encoding="utf-8")
        write_into(HERE / "README.md", text)
        _say("wrote results.json and the results in README.md")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks/engine", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a look in half a minute, without moto's server; nothing is written"
    )
    parser.add_argument("--ours", action="store_true", help="only the ways that are ours; nothing is written")
    parser.add_argument("--only", metavar="WAYS", help=f"only some, by comma: {', '.join(BY_ID)}; nothing is written")
    parser.add_argument(
        "--before",
        metavar="FOLDER",
        help="ours beside ours of another clone: the ratio of the times; nothing is written",
    )
    parser.add_argument("--streams", action="store_true", help="what a stream adds to a PutItem; nothing is written")
    parser.add_argument("--million", action="store_true", help="growth up to a million items")
    return parser


def _setting(scratch: str) -> Setting:
    one = order("u000001", 1)
    data = {
        "load": list(batches(population(USERS, large=True))),
        "calls": requests(USERS, large=True),
    }
    Path(scratch, "requests.json").write_text(json.dumps(data), encoding="utf-8")
    first: list[tuple[str, dict[str, Any]]] = [
        ("CreateTable", CREATE_TABLE),
        ("PutItem", {"TableName": TABLE, "Item": item(one)}),
        ("GetItem", {"TableName": TABLE, "Key": {name: item(one)[name] for name in ("pk", "sk")}}),
    ]
    return Setting(scratch, f"{scratch}/requests.json", first, TABLE, USERS, large=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
