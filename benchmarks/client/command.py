"""The command: parses options, measures, and writes the results."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from common import before
from common.tables import write_into
from common.worker_process import ContenderError
from engine.machine import machine
from engine.ways import DYNOXIDE

from . import cold, measure, report, server
from .results import Results, to_json
from .sizes import sizes, versions
from .ways import BY_ID, WAYS, missing

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    chosen = [BY_ID[name] for name in given.only.split(",")] if given.only else list(WAYS)
    chosen = [way for way in chosen if way.ours or not given.ours]
    left_out = {way.id: why for way in chosen if (why := missing(way))}
    ways = [way for way in chosen if way.id not in left_out]
    if given.server == "dynoxide" and not DYNOXIDE.exists():
        print("dynoxide is not installed: run benchmarks/client/install, or use --server serve", file=sys.stderr)
        return 1
    here = machine() | {"server": "prejoin serve" if given.server == "serve" else given.server}
    if float(here["load"]) > 0.5 * int(here["cores"]):
        _say(f"this machine is busy (load {here['load']}): ratios are less accurate")
    pace = measure.QUICK if given.quick else measure.BEFORE if given.before else measure.FULL
    if given.before:
        ways = before.twins([way for way in ways if way.ours], given.before)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="prejoin-bench-") as scratch,
            server.serving(given.server) as tables,
        ):
            operations, failed = measure.operations(ways, tables, scratch, pace, _say)
            ways = [way for way in ways if way.id not in failed]
            if given.before:
                cpu = {name: {way: cost.cpu for way, cost in costs.items()} for name, costs in operations.items()}
                print(before.report(ways, cpu))
                return 0
            starts = cold.starts(ways, tables, pace, _say)
    except ContenderError as error:
        print(error, file=sys.stderr)
        return 1
    results = Results(here, versions(ways), left_out | failed, operations, starts, sizes(ways))
    text = report.report(results)
    print(f"{report.measured(results)}\n\n{text}")
    if not (given.quick or given.only or given.ours or given.server != "dynoxide"):
        (HERE / "results.json").write_text(to_json(results), encoding="utf-8")
        write_into(HERE / "README.md", text)
        _say("wrote results.json and the results in README.md")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks/client", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure for half a minute; nothing is written")
    parser.add_argument("--ours", action="store_true", help="only prejoin; nothing is written")
    parser.add_argument("--only", metavar="IDS", help=f"only {', '.join(BY_ID)}; nothing is written")
    parser.add_argument(
        "--before", metavar="FOLDER", help="compare the CPU with prejoin in another clone; nothing is written"
    )
    parser.add_argument(
        "--server",
        choices=["dynoxide", "serve"],
        default="dynoxide",
        help="the server: dynoxide, or prejoin serve, with which nothing is written",
    )
    return parser


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
