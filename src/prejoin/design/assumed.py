"""What is assumed where the document does not say: rates, sizes, numbers of items. In one place, so that it is told."""

from __future__ import annotations

from prejoin.types import Kind
from prejoin.workload.model import Attribute, Entity, Level, Per, Rate, Workload

RATES = {Level.HOT: 200.0, Level.WARM: 10.0, Level.COLD: 0.1}
"""A second, for a level."""
RATE = 1.0
"""A second, where nothing is said."""
ITEMS = 10_000
_SIZES = {Kind.UUID: 36, Kind.ULID: 26, Kind.DATE: 10, Kind.DATETIME: 27, Kind.BOOLEAN: 1}
_SIZE = 20
_LARGE = {Kind.LIST: 200, Kind.MAP: 200, Kind.SET: 100, Kind.BINARY: 200}
_KEYS = 100
"""Bytes of the keys and the type of an item."""


def per_second(rate: Rate | None) -> float:
    """How often a pattern is asked.

    >>> per_second(Rate(level=Level.WARM)), per_second(Rate(value=120, per="min")), per_second(None)
    (10.0, 2.0, 1.0)
    """
    if rate is None:
        return RATE
    if rate.value is not None:
        return rate.value / Per(rate.per).seconds
    if rate.level is not None:
        return RATES[rate.level]
    return rate.weight if rate.weight is not None else RATE


def size_of(entity: Entity) -> int:
    """Bytes of a typical item, with its keys."""
    if entity.size is not None:
        return entity.size
    return _KEYS + sum(len(a.name) + _value_size(a) for a in entity.attributes)


def _value_size(attribute: Attribute) -> int:
    if attribute.size is not None:
        return attribute.size
    kind = attribute.type.kind
    return _SIZES.get(kind) or _LARGE.get(kind) or _SIZE


def count_of(workload: Workload, entity: Entity, seen: frozenset[str] = frozenset()) -> int:
    """How many items of an entity there are."""
    if entity.singleton:
        return 1
    counts = []
    for cardinality in entity.cardinality:
        if cardinality.count is None:
            continue
        if not cardinality.per:
            return cardinality.count
        parent = workload.entity(cardinality.per)
        above = count_of(workload, parent, seen | {entity.name}) if parent and parent.name not in seen else ITEMS
        counts.append(cardinality.count * above)
    return max(counts, default=ITEMS)
