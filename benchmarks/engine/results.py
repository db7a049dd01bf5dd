"""What a run found: figures, the ratios between contenders, and the targets beside them. Plain data, and its JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common.figures import Figure, rounded, usual_spread

from .cold import Start
from .growth import Size
from .ways import BY_ID, WAYS, Way

FIRST_ANSWER, MEMORY = "first answer", "memory"
TYPED = "typed"


@dataclass(frozen=True)
class Results:
    """All of a run. Times are seconds, by operation and way."""

    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    left_out: Mapping[str, str]
    operations: Mapping[str, Mapping[str, Figure]]
    starts: Mapping[str, Start]
    growth: list[Size]

    @property
    def ways(self) -> list[Way]:
        taking = {way for figures in self.operations.values() for way in figures}
        return [way for way in WAYS if way.id in taking]

    @property
    def columns(self) -> list[str]:
        return [*self.operations, *((FIRST_ANSWER, MEMORY) if self.starts else ())]

    def cost(self, column: str) -> dict[str, float]:
        """What each way takes: seconds, or bytes."""
        if column == FIRST_ANSWER:
            return {way: start.seconds.median for way, start in self.starts.items()}
        if column == MEMORY:
            return {way: start.bytes for way, start in self.starts.items()}
        return {way: figure.median for way, figure in self.operations[column].items()}

    def reference(self, column: str) -> str:
        """The best of the other servers with a boto3 client; without any, our own server."""
        costs = self.cost(column)
        others = [way for way in costs if BY_ID[way].serves and not BY_ID[way].ours and BY_ID[way].client == "boto3"]
        return min(others, key=costs.__getitem__) if others else "serve" if "serve" in costs else min(costs)

    def ratio(self, column: str, way: str, reference: str) -> float | None:
        """How many times as fast (as small) as the reference; None where one of them does not offer it."""
        costs = self.cost(column)
        return costs[reference] / costs[way] if way in costs and reference in costs else None

    @property
    def spread(self) -> float:
        """The middle half of the repetitions, as a part of the median: what it is in the median case."""
        return usual_spread(figure for by_way in self.operations.values() for figure in by_way.values())


@dataclass(frozen=True)
class Target:
    """So many times as fast, from call to object, as something else."""

    operation: str
    beside: str
    times: float


SERVER, MOTO = "boto3 on the fastest other server", "moto in process"
TARGETS = (
    Target("GetItem", SERVER, 25),
    Target("GetItem", MOTO, 40),
    Target("Query of 1,000", SERVER, 25),
    Target("Query of 1,000", MOTO, 40),
    Target("PutItem", SERVER, 15),
    Target("TransactWrite of 3", SERVER, 15),
)


def reached(results: Results, target: Target) -> tuple[float, str] | None:
    """The ratio, and what it is to; None where that was not measured."""
    reference = "moto" if target.beside == MOTO else results.reference(target.operation)
    if BY_ID[reference].ours:
        return None
    ratio = results.ratio(target.operation, TYPED, reference)
    return None if ratio is None else (ratio, reference)


def to_json(results: Results) -> str:
    def micro(figure: Figure) -> dict[str, float]:
        return {name: rounded(seconds * 1e6) for name, seconds in vars(figure).items()}

    data = {
        "machine": results.machine,
        "versions": results.versions,
        "left_out": results.left_out,
        "microseconds": {
            operation: {way: micro(figure) for way, figure in figures.items()}
            for operation, figures in results.operations.items()
        },
        "starts": {
            way: {
                "microseconds": micro(start.seconds),
                "client_bytes": start.client_bytes,
                "server_bytes": start.server_bytes,
            }
            for way, start in results.starts.items()
        },
        "ratios": {
            column: {
                "reference": reference,
                **{
                    way.id: rounded(ratio)
                    for way in results.ways
                    if (ratio := results.ratio(column, way.id, reference)) is not None
                },
            }
            for column in results.columns
            for reference in [results.reference(column)]
        },
        "growth": [
            {
                "kept": "file" if size.engine == "file" else "memory",
                "items": size.items,
                "stored_bytes": size.stored_bytes,
                "microseconds": {operation: micro(figure) for operation, figure in size.seconds.items()},
            }
            for size in results.growth
        ],
        "targets": [
            {
                "operation": target.operation,
                "beside": target.beside,
                "target": target.times,
                "reached": rounded(found[0]),
                "to": found[1],
            }
            for target in TARGETS
            if (found := reached(results, target)) is not None
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
