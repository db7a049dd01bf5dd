"""The command: which designs, where they are proven, and how it is told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from common.tables import write_into
from designs import interlocking, large, report
from designs.exam import Place, examine
from prejoin.engine import Embedded
from prejoin.transport import Credentials, Endpoint, Transport

HERE = Path(__file__).resolve().parent
SIZE = (13, 60)
"""The size of the random documents that are published: entities and patterns."""


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    places: dict[str, Place] = {} if given.unproven else {"embedded": Embedded}
    places |= {name or url: partial(_endpoint, url) for name, url in map(_named, given.on)}
    if given.large:
        print(large.measured(places, _say))
        return 0
    if given.size:
        print(interlocking.measured(*given.size, _say))
        return 0
    if given.folder is None:
        _say("which folder? It holds published designs in corpus form (*.yaml); see benchmarks/corpus/README.md")
        return 2
    paths = _files(given.folder, given.only)
    if not paths:
        _say(f"{given.folder}: holds no corpus files (*.yaml)")
        return 2
    results = []
    for path in paths:
        _say(path.stem)
        results.append(examine(path, places))
    text = report.as_json(results) if given.format == "json" else report.as_table(results, list(places))
    print(text)
    if given.publish:
        made_up = large.measured(places, _say), interlocking.measured(*SIZE, _say)
        write_into(HERE / "README.md", report.published(results, list(places), *made_up))
        _say("wrote the results in README.md")
    return 1 if any(one.error for one in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks/designs", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="of corpus files, or one file")
    parser.add_argument(
        "--on", metavar="[NAME=]URL", action="append", default=[], help="also prove on this DynamoDB; may be repeated"
    )
    parser.add_argument("--only", metavar="NAMES", default="", help="only some files, by comma, without their ending")
    parser.add_argument("--unproven", action="store_true", help="solve only; with --on, prove only there")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--publish", action="store_true", help="write the results, and those of --large and --size, in README.md"
    )
    parser.add_argument("--large", action="store_true", help="large workloads, made up, instead of a folder")
    parser.add_argument(
        "--size", metavar="ENTITIESxPATTERNS", type=_size, help="random documents of a size, instead of a folder: 13x60"
    )
    return parser


def _size(text: str) -> tuple[int, int]:
    """`13x60`: entities and patterns."""
    entities, _, patterns = text.partition("x")
    return int(entities), int(patterns)


def _named(place: str) -> tuple[str, str]:
    """`dynoxide=http://127.0.0.1:8000`, or the address alone."""
    name, _, url = place.rpartition("=")
    return name, url


def _files(folder: Path, only: str) -> list[Path]:
    if folder.is_file():
        return [folder]
    wanted = set(filter(None, only.split(",")))
    found = sorted(p for p in folder.iterdir() if p.suffix in {".yaml", ".yml"}) if folder.is_dir() else []
    return [p for p in found if not wanted or p.stem in wanted]


@contextmanager
def _endpoint(url: str) -> Iterator[Transport]:
    place = Endpoint(url, credentials=Credentials("local", "local"))
    try:
        yield place
    finally:
        place.close()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
