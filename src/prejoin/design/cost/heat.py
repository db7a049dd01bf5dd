"""The heat of partitions: `loads(workload, design)`, the units a second on the busiest partition of each key.

DynamoDB gives a partition 1,000 write units and 3,000 read units a second, however many the table has, and throttles
the rest. Rates are the peaks of the document. The busiest partition takes the declared share (`400/s, hottest 5%`), or
an equal part. A constant, an enum or a boolean spreads nothing: most reads and writes are of the same status. All
writes to a key add up; each read is compared with the limit by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from prejoin import keys
from prejoin.design.cost.assumptions import count_by, count_of, hottest, peak
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import read_units_of, units_of
from prejoin.design.model import Call, Design, Operation, Request
from prejoin.protocol.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from prejoin.types import Kind
from prejoin.workload.lookup import identified
from prejoin.workload.model import Entity, Pattern, Read, Verb, Workload, Write

MOST_SHARDS = 200
_EXACT = 6
"""Digits to round to: loads are sums of fractions."""


class Load(msgspec.Struct, frozen=True):
    """The load of all writes on a key, or of one read."""

    entity: str
    copy: str
    slot: str
    calls: float
    """Items written a second, or calls of the read."""
    units: float
    """Units a second on all partitions together."""
    share: float
    """The fraction of them on the busiest partition."""
    read: str = ""
    """The read; empty for writes."""

    @property
    def busiest(self) -> float:
        """Units a second on the busiest partition. Rounded: 4,000 over 4 shards are 1,000, and no fraction more."""
        return round(self.units * self.share, _EXACT)

    @property
    def limit(self) -> int:
        return PARTITION_READ_UNITS if self.read else PARTITION_WRITE_UNITS

    @property
    def hot(self) -> bool:
        """Whether DynamoDB throttles the busiest partition."""
        return self.busiest > self.limit

    @property
    def shards(self) -> int:
        """The number of shards that is enough for the writes.

        >>> Load("Payment", "", "gsi1", 555, 4440, 1.0).shards
        5
        """
        return min(MOST_SHARDS, max(1, math.ceil(self.busiest / self.limit)))

    def with_write(self, calls: float, units: float, share: float) -> Load:
        """The load with another write, a share of which is on the busiest partition."""
        # Shares are weighted by units: a busy write decides more than a rare one.
        total, busiest = self.units + units, self.units * self.share + units * share
        return Load(
            self.entity, self.copy, self.slot, self.calls + calls, total, busiest / total if total else share, self.read
        )


def hot_loads(workload: Workload, design: Design) -> tuple[Load, ...]:
    """The loads of a mapped design that DynamoDB throttles."""
    return tuple(load for load in loads(workload, design) if load.hot)


def loads(workload: Workload, design: Design) -> Iterator[Load]:
    """The load of the writes on each key, and of each read, of a mapped design."""
    figures = Estimates(design, workload)
    requests: list[tuple[Write, Request]] = []
    for write in workload.changing:
        operation = design.operation(write.id)
        if operation and operation.served:
            requests += [(write, request) for request in operation.requests]
    yield from write_loads(figures, requests)
    for read in workload.reads:
        operation = design.operation(read.id)
        if operation and operation.served:
            yield from read_loads(figures, read, operation)


def write_loads(figures: Estimates, requests: Iterable[tuple[Write, Request]]) -> Iterator[Load]:
    """The load of some writes on each key, without guards, shards and versions, which have partitions of their own."""
    workload = figures.workload
    loads_by_key: dict[tuple[str, str, str], Load] = {}
    for write, request in requests:
        for action in request.actions:
            target, action_request = action.item, msgspec.structs.replace(request, actions=(action,))
            for entry in figures.entries(Operation(write.id), action_request):
                key = (target.entity, target.copy, entry.slot)
                # A guard, a shard and a version are in partitions that no other item is in.
                facet = None if target.apart else figures.facet(*key)
                if facet is None:
                    continue
                names, shards = partition_of(facet)
                calls = peak(write.rate) * entry.times
                units = calls * units_of(entry, request.call is Call.TRANSACT_WRITE)
                entity = workload.entity(target.entity)
                assert entity is not None
                share = write_share(workload, entity, names, write) / shards
                loads_by_key[key] = loads_by_key.get(key, Load(*key, 0.0, 0.0, 0.0)).with_write(calls, units, share)
    yield from loads_by_key.values()


def read_loads(figures: Estimates, read: Read, operation: Operation) -> Iterator[Load]:
    """The load of each request of a read on the key that it reads."""
    workload = figures.workload
    for request in operation.requests:
        name = request.entities[0]
        key = (name, request.copy_of(name), request.slot)
        entity, facet = workload.entity(name), figures.facet(*key)
        if facet is not None and entity is not None and not request.counter:
            names, shards = partition_of(facet)
            # Reads are not added up: each has its own busiest partition, which need not be the same.
            units = peak(read.rate) * read_units_of(operation, request, figures)
            share = read_share(workload, entity, names, read) / shards
            yield Load(*key, peak(read.rate), units, share, read.id)


def partition_of(facet: keys.Facet) -> tuple[tuple[str, ...], int]:
    """The attributes that distinguish partitions, and the number of shards. Current items share a time bucket."""
    names: dict[str, None] = {}
    shards = 1
    for field in facet.pk.fields:
        shards *= field.encoding.shards or 1
        if not field.encoding.shards and not field.encoding.bucket:
            names[field.attribute] = None
    return tuple(names), shards


# --- Shares -----------------------------------------------------------------------------------------------------------


def write_share(workload: Workload, entity: Entity, names: Sequence[str], write: Write) -> float:
    """The fraction of a write in the busiest partition. An item is created once, so that no single one is hot."""
    # A partition by the id has one creation, ever: `hottest` then speaks of other writes.
    is_created = any(action.verb is Verb.CREATE for action in write.actions if action.entity == entity.name)
    declared_share = 0.0 if is_created and identified(entity, names) else hottest(workload, entity, names, write.rate)
    return max(declared_share, partition_share(workload, entity, names))


def read_share(workload: Workload, entity: Entity, names: Sequence[str], read: Read) -> float:
    """The fraction of a read's calls for the busiest partition."""
    return max(hottest(workload, entity, names, read.rate), partition_share(workload, entity, names))


def unnamed_hottest(workload: Workload, entity: Entity, names: Sequence[str]) -> tuple[str, ...]:
    """The patterns that declare a hottest key without its attribute, where the partition consists of several.

    Their share is taken for one partition, though it may be that of a tenant with many.
    """
    if len(names) < 2:
        return ()
    unnamed_patterns = filter(_has_unnamed_hottest, workload.patterns)
    return tuple([pattern.id for pattern in unnamed_patterns if _concerns(pattern, entity, names)])


def _has_unnamed_hottest(pattern: Pattern) -> bool:
    rate = pattern.rate
    return rate is not None and bool(rate.hottest) and not rate.hottest_of


def _concerns(pattern: Pattern, entity: Entity, names: Sequence[str]) -> bool:
    if isinstance(pattern, Read):
        return entity.name in pattern.entities
    verbs = {action.verb for action in pattern.actions if action.entity == entity.name}
    if identified(entity, names):
        verbs.discard(Verb.CREATE)  # an item is created once
    return bool(verbs)


def partition_share(workload: Workload, entity: Entity, names: Sequence[str]) -> float:
    """The fraction of items in the busiest partition, as far as its attributes say."""
    if is_common(entity, names):
        return 1.0
    return count_by(workload, entity, names) / count_of(workload, entity)


def is_common(entity: Entity, names: Sequence[str]) -> bool:
    """Whether most items share a partition: it is constant, or consists of enums and booleans."""
    types = [attribute.type for attribute in map(entity.attribute, names) if attribute]
    return all(type_.values or type_.kind is Kind.BOOLEAN for type_ in types)
