"""Where a design that is there goes beyond what is decided: too many of something, or one that was not to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from prejoin import keys
from prejoin.design.facets import usable_facets
from prejoin.design.model import Design, Item
from prejoin.workload.model import AtMost, Pin, Spread, Without, Workload


class Beyond(msgspec.Struct, frozen=True):
    """A decision that a design does not keep."""

    pin: Pin
    there: tuple[str, ...]
    """What there is too much of: names of indexes and copies, or what an entity has."""
    name: str
    """The index, the copy or the entity that it is said about."""
    slot: str = ""


def beyond(design: Design, workload: Workload) -> Iterator[Beyond]:
    """What a design has that a decision does not allow.

    >>> from prejoin.design.model import TABLE, KeyAttribute, Slot
    >>> from prejoin.workload.model import Decision
    >>> slots = tuple(Slot(name, (KeyAttribute(f"{name}pk"),)) for name in (TABLE, "gsi1", "gsi2"))
    >>> [one.there for one in beyond(Design("shop", slots), Workload(decisions=(Decision(AtMost("GSIs", 1)),)))]
    [('gsi1', 'gsi2')]
    """
    indexes = [slot.name for slot in design.indexes if not slot.local]
    copies = [_name(item) for item in design.copies]
    counted = {"GSIs": indexes, "copies": copies, "structures": [*indexes, *copies]}
    facets = tuple(usable_facets(design, workload))
    for decision in workload.decisions:
        match decision.pin:
            case AtMost() as pin if pin.what in counted:
                if len(counted[pin.what]) > pin.count:
                    yield Beyond(pin, tuple(counted[pin.what]), counted[pin.what][-1])
            case Without() as pin if pin.what in counted:
                own = [item for item in design.items if item.entity == pin.entity]
                if pin.what != "copies":
                    yield from (
                        Beyond(pin, (f"{_name(item)} in {facet.slot}",), _name(item), facet.slot)
                        for item in own
                        for facet in item.facets
                        if facet.slot in indexes
                    )
                if pin.what != "GSIs":
                    yield from (Beyond(pin, (_name(item),), _name(item)) for item in own if item.copy)
            case AtMost() | Without() | Spread() as pin:
                yield from _cut(pin, facets)


def _cut(pin: AtMost | Without | Spread, facets: Sequence[keys.Facet]) -> Iterator[Beyond]:
    """Partitions that are cut in another way than was decided."""
    for facet in facets:
        if not isinstance(pin, AtMost) and pin.entity != facet.entity:
            continue
        for cut in (field.encoding for field in facet.pk.fields):
            if _is_other(pin, cut.shards, cut.bucket):
                how = f"{cut.shards} shards" if cut.shards else f"a partition each {cut.bucket}"
                yield Beyond(pin, (f"{how} of {_name(facet)} in {facet.slot}",), _name(facet), facet.slot)


def _is_other(pin: AtMost | Without | Spread, shards: int, bucket: str) -> bool:
    match pin:
        case AtMost() if pin.what == "shards":
            return shards > max(pin.count, 1)
        case Without() if pin.what == "shards":
            return bool(shards)
        case AtMost() | Without():
            return bool(bucket)
        case Spread() if pin.shards:
            return bool(bucket) or shards not in (0, pin.shards)
        case Spread():  # which may be cut into shards beside
            return bucket not in ("", pin.bucket)


def _name(one: Item | keys.Facet) -> str:
    return f"{one.entity}/{one.copy}" if one.copy else one.entity


def opposed(workload: Workload) -> bool:
    """Whether an entity is to be cut as another decision does not allow.

    >>> from prejoin.workload.model import Decision
    >>> opposed(Workload(decisions=(Decision(Spread("Order", shards=8)), Decision(AtMost("shards", 4)))))
    True
    """
    pins = [decision.pin for decision in workload.decisions]
    most = min((pin.count for pin in pins if isinstance(pin, AtMost) and pin.what == "shards"), default=None)
    for pin in pins:
        if isinstance(pin, Spread):
            cut = "shards" if pin.shards else "buckets"
            if Without(cut, pin.entity) in pins or (cut == "buckets" and AtMost(cut, 0) in pins):
                return True
            if most is not None and pin.shards > max(most, 1):
                return True
    return False
