"""One call measured: its requests, its units, and its time, in several places side by side."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from common.figures import Figure, figure
from prejoin import Call, Client, Schema
from prejoin.transport import Transport

Calling = Callable[[Client], object]


@dataclass(frozen=True)
class Case:
    """A call on a table of its own, filled before."""

    name: str
    schema: Schema
    fill: Calling
    call: Calling
    before: Calling = lambda db: None
    """What has to be there for the call to be repeated; not measured."""


@dataclass(frozen=True)
class Cost:
    """What a case came to. Requests and units are the same everywhere."""

    requests: int
    units: float
    times: dict[str, Figure]
    """By place."""


def costs(cases: Sequence[Case], places: dict[str, Transport], repeats: int) -> dict[str, Cost]:
    """All cases in all places, in turn and in random order, so that noise hits all alike."""
    clients: dict[tuple[str, str], Client] = {}
    for number, case in enumerate(cases):
        for place, transport in places.items():
            db = clients[case.name, place] = Client(case.schema, f"bench-{number}", transport)
            if db.describe():
                db.call("DeleteTable")
            db.create_table()
            case.fill(db)
    samples: dict[tuple[str, str], list[float]] = {key: [] for key in clients}
    turns = [(case, place) for case in cases for place in places] * repeats
    random.Random(1).shuffle(turns)
    for case, place in turns:
        db = clients[case.name, place]
        case.before(db)
        begin = perf_counter()
        case.call(db)
        samples[case.name, place].append(perf_counter() - begin)
    return {case.name: _cost(case, clients, samples, places) for case in cases}


def _cost(
    case: Case,
    clients: dict[tuple[str, str], Client],
    samples: dict[tuple[str, str], list[float]],
    places: dict[str, Transport],
) -> Cost:
    counted = set()
    for place, transport in places.items():
        calls: list[Call] = []
        case.before(clients[case.name, place])
        case.call(Client(case.schema, clients[case.name, place].table, transport, observe=calls.append))
        counted.add((len(calls), sum(call.units for call in calls)))
    # The places run the same engine: what they count must be the same.
    ((requests, units),) = counted
    return Cost(requests, units, {place: figure(samples[case.name, place]) for place in places})
