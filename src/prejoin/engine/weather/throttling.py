"""Throttling: the units that tables, indexes and partitions may use, and the errors that say why a request was refused.

A table or global index has a throughput, of which each partition has an equal share. What a partition does not use it
keeps for a while, to use it in a burst. With adaptive capacity the partitions share all of it. Beside that, a partition
can only do so much in a second. With adaptive capacity, which gives a busy partition key a partition of its own, this
is the limit of one partition key.
"""

from __future__ import annotations

import threading
from typing import Literal

import msgspec

from prejoin.engine.tables.definition import IndexDefinition, TableDefinition
from prejoin.engine.weather.conditions import Conditions
from prejoin.protocol.errors import DynamoDBError

Direction = Literal["Read", "Write"]

_ACCOUNT_UNITS = 40_000
"""The default quota of a table or index on demand."""
_PROVISIONED_MESSAGE = (
    "The level of configured provisioned throughput for {} exceeded. "
    "Consider increasing your provisioning level{} with the UpdateTable API."
)
_ON_DEMAND_MESSAGE = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or "
    "index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)


class ThrottledPlace(msgspec.Struct, frozen=True):
    """A partition key of a table or global index, by the hash of its value."""

    table: TableDefinition
    index: IndexDefinition | None
    partition_hash: bytes


class _Bucket:
    """A token bucket: units flow in at a rate, up to its capacity. A request may take more than there is, once."""

    __slots__ = ("level", "rate", "seen", "size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self.rate, self.size, self.level, self.seen = rate, size, size, now

    def fill(self, now: float) -> float:
        self.level = min(self.size, self.level + (now - self.seen) * self.rate)
        self.seen = now
        return self.level


class ThroughputLimiter:
    """Counts the units of requests. Threads may share it."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._lock = threading.Lock()
        self._buckets: dict[tuple[object, ...], _Bucket] = {}

    def check(self, place: ThrottledPlace, direction: Direction, now: float) -> None:
        """Raise DynamoDB's error if there is no unit left."""
        with self._lock:
            resource, partition = self._of(place, direction, now)
            # The partition is named as the reason even if the table has no units left, too.
            if partition.fill(now) <= 0:
                raise throttling_error(place, direction, "KeyRangeThroughputExceeded")
            if resource.fill(now) <= 0:
                raise throttling_error(place, direction, _limit(place, direction)[1])

    def charge(self, place: ThrottledPlace, direction: Direction, units: float, now: float) -> None:
        with self._lock:
            # A level may fall below zero: a request may take more than there is, and the next ones wait until that is
            # filled up.
            for bucket in self._of(place, direction, now):
                bucket.level -= units

    def _of(self, place: ThrottledPlace, direction: Direction, now: float) -> tuple[_Bucket, _Bucket]:
        """The bucket of the throughput, and the bucket of the partition."""
        conditions = self._conditions
        number = int.from_bytes(place.partition_hash) * conditions.partitions >> 32
        resource = (place.table.id, place.index.number if place.index else 0, direction)
        rate = _limit(place, direction)[0] / (1 if conditions.adaptive else conditions.partitions)
        partition_rate = conditions.partition_reads if direction == "Read" else conditions.partition_writes
        return (
            self._bucket(
                (*resource, "shared", 0 if conditions.adaptive else number),
                rate,
                max(1.0, conditions.burst_seconds),
                now,
            ),
            self._bucket(
                (*resource, "own", place.partition_hash if conditions.adaptive else number), partition_rate, 1.0, now
            ),
        )

    def _bucket(self, name: tuple[object, ...], rate: float, seconds: float, now: float) -> _Bucket:
        bucket = self._buckets.get(name)
        if bucket is None or bucket.rate != rate:
            # UpdateTable has changed the throughput.
            bucket = self._buckets[name] = _Bucket(rate, rate * seconds, now)
        return bucket


def _limit(place: ThrottledPlace, direction: Direction) -> tuple[float, str]:
    """The units a second of a table or index, and the kind of this limit."""
    resource = place.index or place.table
    unit_index = 0 if direction == "Read" else 1
    if place.table.throughput is not None:
        return (resource.throughput or place.table.throughput)[unit_index], "ProvisionedThroughputExceeded"
    maximum = resource.on_demand[unit_index]
    return (_ACCOUNT_UNITS, "AccountLimitExceeded") if maximum is None else (maximum, "MaxOnDemandThroughputExceeded")


def throttling_error(place: ThrottledPlace, direction: Direction, limit: str) -> DynamoDBError:
    """The error of a throttled request, with its reason."""
    table, index = place.table, place.index
    arn = table.arn if index is None else f"{table.arn}/index/{index.name}"
    reasons = [{"reason": f"{'Table' if index is None else 'Index'}{direction}{limit}", "resource": arn}]
    if table.throughput is None:
        return DynamoDBError("ThrottlingException", _ON_DEMAND_MESSAGE, fields={"throttlingReasons": reasons})
    exceeded_part = "the table was" if index is None else "one or more global secondary indexes of the table was"
    advice = "" if index is None else " for the under-provisioned global secondary indexes"
    return DynamoDBError(
        "ProvisionedThroughputExceededException",
        _PROVISIONED_MESSAGE.format(exceeded_part, advice),
        fields={"ThrottlingReasons": reasons},
    )
