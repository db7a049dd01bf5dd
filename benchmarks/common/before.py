"""Compares this tree with an older one: each contender has a twin that runs the older code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from .figures import Figure
from .tables import table

SUFFIX = "-before"

# A contender is a dataclass with an id, a name and the tree that it runs.
Way = TypeVar("Way", bound=Any)


def twins(ways: Sequence[Way], tree: str) -> list[Way]:
    """The contenders, each with its twin on the older tree."""
    older = Path(tree).resolve()
    if not (older / "src" / "prejoin").is_dir():
        raise SystemExit(f"{tree} has no src/prejoin: give the folder of another clone")
    return [
        one for way in ways for one in (way, replace(way, id=way.id + SUFFIX, name=f"{way.name}, before", tree=older))
    ]


def report(ways: Sequence[Way], operations: Mapping[str, Mapping[str, Figure]]) -> str:
    """The cost of this tree's calls divided by the older tree's: above 1.00 is slower.

    It compares lower quartiles, because noise on a shared machine only makes calls slower.
    """
    rows = []
    for way in ways:
        cells = [_ratio(operations[operation], way.id) for operation in operations]
        if any(cells):
            rows.append([way.name, *(cell or "-" for cell in cells)])
    return table(["", *operations], rows)


def _ratio(figures: Mapping[str, Figure], way: str) -> str:
    if way not in figures or way + SUFFIX not in figures:
        return ""
    return f"{figures[way].low / figures[way + SUFFIX].low:.2f}"
