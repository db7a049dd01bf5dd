"""Results of a run: figures, ratios between contenders, targets, and their JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common.figures import Figure, rounded, usual_spread

from .cold import Start
from .measure import Cost
from .ways import WAYS, Way
from .workload import GET, QUERY_1000

CPU, WALL, AROUND = "client CPU", "time", "around the calls"
IMPORT, FIRST_ANSWER, FIRST_CPU = "import", "first answer", "first answer, CPU"
MEMORY, SIZE = "memory", "installed size"


@dataclass(frozen=True)
class Results:
    """The results of a run. Times are seconds, by operation and way."""

    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    left_out: Mapping[str, str]
    operations: Mapping[str, Mapping[str, Cost]]
    starts: Mapping[str, Start]
    sizes: Mapping[str, int]

    @property
    def ways(self) -> list[Way]:
        taking = {way for costs in self.operations.values() for way in costs}
        return [way for way in WAYS if way.id in taking]

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns of each kind of cost."""
        around = [IMPORT, FIRST_ANSWER, FIRST_CPU, MEMORY, *([SIZE] if self.sizes else [])]
        return {CPU: list(self.operations), WALL: list(self.operations), AROUND: around}

    def cost(self, kind: str, column: str) -> dict[str, float]:
        """The cost by way, in seconds or bytes."""
        if kind == AROUND:
            if column == SIZE:
                return {way: float(size) for way, size in self.sizes.items()}
            value = {
                IMPORT: lambda start: start.imported.median,
                FIRST_ANSWER: lambda start: start.wall.median,
                FIRST_CPU: lambda start: start.cpu.median,
                MEMORY: lambda start: start.bytes,
            }[column]
            return {way: value(start) for way, start in self.starts.items()}
        costs = self.operations[column]
        return {way: (cost.cpu if kind == CPU else cost.wall).median for way, cost in costs.items()}

    def reference(self, kind: str, column: str) -> str:
        """The way that others are compared with: boto3's client, otherwise aioboto3, otherwise the first."""
        costs = self.cost(kind, column)
        return next((way for way in ("boto3", "aioboto3") if way in costs), next(iter(costs)))

    def ratio(self, kind: str, column: str, way: str, reference: str) -> float | None:
        """The cost of the reference divided by the way's; None if one of them does not offer the operation."""
        costs = self.cost(kind, column)
        return costs[reference] / costs[way] if way in costs and reference in costs else None

    @property
    def spread(self) -> float:
        return usual_spread(cost.cpu for costs in self.operations.values() for cost in costs.values())


@dataclass(frozen=True)
class Target:
    """The ratio to reach, compared with another contender."""

    kind: str
    column: str
    beside: str
    times: float


TARGETS = (
    Target(CPU, GET, "boto3", 8),
    Target(CPU, GET, "pydynox", 2),
    Target(CPU, QUERY_1000, "boto3-resource", 12),
    Target(CPU, QUERY_1000, "pydynox", 5),
    Target(AROUND, FIRST_ANSWER, "boto3", 5),
)


def reached(results: Results, target: Target) -> float | None:
    return results.ratio(target.kind, target.column, "prejoin", target.beside)


def to_json(results: Results) -> str:
    def micro(figure: Figure) -> dict[str, float]:
        return {name: rounded(seconds * 1e6) for name, seconds in vars(figure).items()}

    data = {
        "machine": results.machine,
        "versions": results.versions,
        "left_out": results.left_out,
        "microseconds": {
            operation: {way: {"cpu": micro(cost.cpu), "wall": micro(cost.wall)} for way, cost in costs.items()}
            for operation, costs in results.operations.items()
        },
        "starts": {
            way: {
                "microseconds": {
                    "wall": micro(start.wall),
                    "cpu": micro(start.cpu),
                    "import": micro(start.imported),
                },
                "bytes": start.bytes,
            }
            for way, start in results.starts.items()
        },
        "installed_bytes": results.sizes,
        "ratios": {
            kind: {
                column: {
                    "reference": reference,
                    **{
                        way.id: rounded(ratio)
                        for way in results.ways
                        if (ratio := results.ratio(kind, column, way.id, reference)) is not None
                    },
                }
                for column in columns
                for reference in [results.reference(kind, column)]
            }
            for kind, columns in results.columns.items()
        },
        "targets": [
            {
                "of": target.kind,
                "operation": target.column,
                "beside": target.beside,
                "target": target.times,
                "reached": rounded(found),
            }
            for target in TARGETS
            if (found := reached(results, target)) is not None
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
