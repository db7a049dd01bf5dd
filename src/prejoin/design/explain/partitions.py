"""Explains hot partitions with the arithmetic: the load of the busiest, the limit, and the shards it needs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.cost.assumptions import per_second
from prejoin.design.explain.model import AboutKey, AboutPartition, Because
from prejoin.design.explain.phrases import amount, count, share
from prejoin.design.layout.sharding import MOST_WRITES, Heat, heat
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import TABLE, Design
from prejoin.design.solver.candidates import Candidate
from prejoin.keys import Facet
from prejoin.workload.model import Workload

MOST_READS = 3000
"""DynamoDB's limit of read units a second for one partition."""

WORTH_TELLING = 0.01
"""The fraction of the limit from which a partition is reported, unless it is split."""


def partitions(workload: Workload, design: Design, keys: tuple[AboutKey, ...]) -> tuple[AboutPartition, ...]:
    """The keys whose items are not spread by an id, and those with a declared hottest key."""
    facets = {(facet.entity, facet.copy, facet.slot): facet for facet in planner_facets(design, workload)}
    return tuple(
        found for key in keys if (found := _partition(workload, design, key, facets[key.entity, key.copy, key.slot]))
    )


def _partition(workload: Workload, design: Design, key: AboutKey, facet: Facet) -> AboutPartition | None:
    entity = workload.entity(key.entity)
    assert entity is not None
    if entity.singleton:
        return None
    pk = tuple(dict.fromkeys(part.attribute for part in key.partition if part.because is not Because.SPREAD))
    cuts = [field.encoding for field in facet.pk.fields if field.encoding.derived]
    shards = math.prod(cut.shards for cut in cuts if cut.shards)
    bucket = next((cut.bucket for cut in cuts if not cut.shards), "")
    warm = heat(workload, entity, Candidate(key.entity, pk))
    reads = [_read_heat(workload, design, key, pattern, warm.share) for pattern in key.patterns]
    busiest = max(warm.hottest / MOST_WRITES, sum(reads) / MOST_READS)
    if not cuts and busiest < WORTH_TELLING and not _said(workload, key):
        return None
    enough = max(warm.shards, math.ceil(sum(reads) / MOST_READS), 1)
    found = AboutPartition(key.entity, key.slot, key.pk, key.copy, warm.hottest, sum(reads), shards, bucket, enough)
    return replace(found, text=tuple(_sentences(found, warm)))


def _said(workload: Workload, key: AboutKey) -> bool:
    """Whether the document declares a hottest key for a read of this key."""
    return any((p := workload.pattern(name)) and p.rate and p.rate.hottest for name in key.patterns)


def _read_heat(workload: Workload, design: Design, key: AboutKey, pattern: str, constant: float) -> float:
    """Read units a second of a read on the busiest partition, before it is split."""
    read, operation = workload.pattern(pattern), design.operation(pattern)
    if read is None:
        return 0.0  # the design belongs to an earlier document
    part = read.rate.hottest / 100 if read.rate and read.rate.hottest else constant
    if operation is None or operation.units is None or not part:
        return 0.0
    peak = read.rate.peak if read.rate and read.rate.peak is not None else per_second(read.rate)
    return peak * part * operation.units.read


def _sentences(found: AboutPartition, warm: Heat) -> Iterator[str]:
    if warm.hottest:
        each = count(warm.units / warm.writes, "unit")
        part = (
            "all of them may be for one partition" if warm.share == 1 else f"{share(warm.share)} are for one partition"
        )
        yield (
            f"Written {amount(warm.writes)} times a second when busiest, at {each}: "
            f"{amount(warm.units)} write units a second; {part}: {amount(warm.hottest)}, where one bears "
            f"{amount(MOST_WRITES)}."
        )
    if found.read_units:
        yield f"Read with {amount(found.read_units)} units a second there, where one bears {amount(MOST_READS)}."
    yield from _verdict(found)


def _verdict(found: AboutPartition) -> Iterator[str]:
    busiest = max(found.write_units / MOST_WRITES, found.read_units / MOST_READS)
    if found.bucket:
        yield f"It is cut by {found.bucket}, so that it does not grow for ever; what is new still goes to one."
    if found.shards > 1:
        each = amount(found.write_units / found.shards)
        yield f"It is cut into {count(found.shards, 'shard')}, {each} write units each; {found.enough} are enough."
    if found.enough > found.shards:
        slow = "" if found.slot == TABLE else ", and with the index the table's own writes"
        yield f"That is too much: DynamoDB will refuse some{slow}. {found.enough} shards would be enough."
    elif found.shards == 1 and busiest:
        yield f"It bears that: {share(busiest)} of the limit."
