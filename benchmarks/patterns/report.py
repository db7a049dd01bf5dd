"""The results as tables: requests and units as they are, times as ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from common.tables import table, times

from .measure import Cost
from .writes import KINDS, VERBS

Costs = Mapping[str, Cost]


def shards(found: Costs, counts: Sequence[int], places: Sequence[str]) -> str:
    rows = [
        [f"{what}, {_shards(count)}", *_cells(found[f"{key} {count}"], found[f"{key} 1"], places)]
        for key, what in (("page", "newest 100"), ("all", "all"))
        for count in (1, *counts)
    ]
    return table(["", "requests", "read units", *places], rows)


def buckets(found: Costs, days: Sequence[int], places: Sequence[str]) -> str:
    rows = [
        [
            f"{what} of {_days(count)}, {_kind(kind)}",
            *_cells(found[f"{key} {kind} {count}"], found[f"{key} one {count}"], places),
        ]
        for key, what in (("page", "newest 100"), ("all", "all"))
        for count in days
        for kind in ("one", "day", "day and 4 shards")
    ]
    return table(["", "requests", "read units", *places], rows)


def writes(found: Costs, places: Sequence[str], kinds: Sequence[str] = tuple(KINDS)) -> str:
    rows = []
    for kind in kinds:
        row = [kind]
        for verb in VERBS:
            cost, plain = found[f"{verb} {kind}"], found[f"{verb} plain"]
            ratios = " · ".join(times(cost.times[place].median / plain.times[place].median) for place in places)
            row += [_number(cost.units), ratios]
        rows.append(row)
    head = [""]
    for verb in VERBS:
        head += [f"{verb}, write units", f"time, {' · '.join(places)}"]
    return table(head, rows)


def _cells(cost: Cost, beside: Cost, places: Sequence[str]) -> list[str]:
    ratios = [times(cost.times[place].median / beside.times[place].median) for place in places]
    return [str(cost.requests), _number(cost.units), *ratios]


def _number(units: float) -> str:
    return f"{units:g}"


def _shards(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} shards"


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"


def _kind(kind: str) -> str:
    return "1 partition" if kind == "one" else f"a bucket each {kind}"
