"""Decisions that a design violates or ignores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

import msgspec

from prejoin import keys
from prejoin.design.counters import obstacle
from prejoin.design.layout.sharding import starts_of
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.model import TABLE, Design, Item
from prejoin.workload.lookup import root
from prejoin.workload.model import (
    Accept,
    AtMost,
    ContentPlace,
    CounterShards,
    Entity,
    FixedKey,
    IndexKeys,
    Minimise,
    Naming,
    OutOfScope,
    OwnTable,
    Pin,
    Spread,
    Under,
    Unproven,
    Without,
    Workload,
)


class Violation(msgspec.Struct, frozen=True):
    """A decision that a design violates."""

    pin: Pin
    there: tuple[str, ...]
    """The indexes, copies or parts that the decision does not allow."""
    name: str
    """The index, copy or entity concerned."""
    slot: str = ""


def violations(design: Design, workload: Workload) -> Iterator[Violation]:
    """The decisions that a design violates.

    >>> from prejoin.design.model import TABLE, KeyAttribute, Slot
    >>> from prejoin.workload.model import Decision
    >>> slots = tuple(Slot(name, (KeyAttribute(f"{name}pk"),)) for name in (TABLE, "gsi1", "gsi2"))
    >>> [one.there for one in violations(Design("shop", slots), Workload(decisions=(Decision(AtMost("GSIs", 1)),)))]
    [('gsi1', 'gsi2')]
    """
    indexes = [slot.name for slot in design.indexes if not slot.local]
    copies = [_name(item) for item in design.copies]
    names_by_structure = {"GSIs": indexes, "copies": copies, "structures": [*indexes, *copies]}
    facets = tuple(usable_facets(design, workload))
    # One match, because it is exhaustive: a new kind of decision has to say here what violates it.
    for decision in workload.decisions:
        match decision.pin:
            case AtMost() as pin if pin.what in names_by_structure:
                if len(names_by_structure[pin.what]) > pin.count:
                    yield Violation(pin, tuple(names_by_structure[pin.what]), names_by_structure[pin.what][-1])
            case Without() as pin if pin.what in names_by_structure:
                own = [item for item in design.items if item.entity == pin.entity]
                if pin.what != "copies":
                    yield from (
                        Violation(pin, (f"{_name(item)} in {facet.slot}",), _name(item), facet.slot)
                        for item in own
                        for facet in item.facets
                        if facet.slot in indexes
                    )
                if pin.what != "GSIs":
                    yield from (Violation(pin, (_name(item),), _name(item)) for item in own if item.copy)
            case AtMost() | Without() | Spread() as pin:
                yield from _cut(pin, facets)
            case Naming() as pin:
                given_name = _name_in_design(design, pin.what)
                if given_name not in ("", pin.name):
                    yield Violation(pin, (given_name,), given_name)
            case FixedKey() as pin:
                item = design.item(pin.entity)
                facet = item.facet(pin.index or TABLE) if item else None
                if facet and (facet.pk, facet.sk) != ((pin.pk,), (pin.sk,) if pin.sk else ()):
                    key = " and ".join(facet.templates)
                    yield Violation(pin, (key,), pin.entity, facet.slot)
            case (
                Under()
                | CounterShards()
                | ContentPlace()
                | Minimise()
                | IndexKeys()
                | Accept()
                | OutOfScope()
                | Unproven()
                | OwnTable()
                | None
            ):
                pass
            case _:
                assert_never(decision.pin)


def _name_in_design(design: Design, label: str) -> str:
    """The name that a design gives to something; empty if it gives none."""
    base = design.slot(TABLE)
    match label:
        case "partition key":
            return design.partition_key
        case "sort key":
            return base.sk[0].name if base and base.sk else ""
        case "type attribute":
            return design.type_attribute
        case "separator":
            return design.separator
        case _:
            return "" if design.table == TABLE else design.table


class IgnoredDecision(msgspec.Struct, frozen=True):
    """A decision without effect on a design, and why."""

    pin: Pin
    why: str
    fix: str


def ignored_decisions(design: Design, workload: Workload) -> Iterator[IgnoredDecision]:
    """The decisions that have no effect on a design, or that its author did not follow.

    >>> from prejoin.workload.model import Decision, Entity
    >>> shop = Workload(entities=(Entity("Shop", singleton=True),), decisions=(Decision(Spread("Shop", shards=8)),))
    >>> [one.why for one in ignored_decisions(Design("shop"), shop)]
    ['it has one item']
    """
    facets = tuple(usable_facets(design, workload))
    # One match, because it is exhaustive: a new kind of decision has to say here what ignores it.
    for decision in workload.decisions:
        match decision.pin:
            case Spread() as pin:
                own = [facet for facet in facets if facet.entity == pin.entity]
                cuts = {(f.encoding.shards, f.encoding.bucket) for facet in own for f in facet.pk.fields}
                is_followed = any(
                    (shards == pin.shards if pin.shards else bucket == pin.bucket) for shards, bucket in cuts
                )
                entity = workload.entity(pin.entity)
                if entity and not is_followed and pin.shards != 1:
                    yield IgnoredDecision(pin, *_uncut(pin, entity, workload, own))
            case CounterShards() as pin if pin.shards > 1 and (entity := workload.entity(pin.entity)):
                counter, attribute = design.counter(pin.entity), entity.attribute(pin.attribute)
                if attribute and (counter is None or pin.attribute not in counter.attributes):
                    why = obstacle(workload, entity, attribute) or f"{pin.attribute} is not a counter in the design"
                    yield IgnoredDecision(pin, why, "change that, or leave the decision out")
            case ContentPlace() as pin if pin.store != design.in_store(pin.entity, pin.attribute):
                if design.item(pin.entity):
                    why = f"the design has it {'in parts' if pin.store else 'in a store, where contents may be'}"
                    yield IgnoredDecision(pin, why, "change the design, or leave the decision out")
            case FixedKey() as pin if (item := design.item(pin.entity)) and item.facet(pin.index or TABLE) is None:
                place = pin.index or "the table"
                yield IgnoredDecision(
                    pin, f"{pin.entity} has no key in {place}", "give it that key, or leave the decision out"
                )
            case Under() as pin if not _lies_under(pin, workload, facets):
                why = f"the partition of {pin.entity} is not made of the id of {pin.parent}, nor that of {pin.parent}"
                yield IgnoredDecision(pin, why, f"key it by the id of {pin.parent}, or leave the decision out")
            case CounterShards() | ContentPlace() | FixedKey() | Under():  # obeyed
                pass
            case (
                AtMost()
                | Without()
                | Minimise()
                | IndexKeys()
                | Accept()
                | OutOfScope()
                | Unproven()
                | Naming()
                | OwnTable()
                | None
            ):
                pass
            case _:
                assert_never(decision.pin)


def _uncut(pin: Spread, entity: Entity, workload: Workload, facets: Sequence[keys.Facet]) -> tuple[str, str]:
    """Why no partition of an entity is split as decided."""
    leave = "leave the decision out"
    if entity.singleton or not entity.id:
        return "it has one item" if entity.singleton else "nothing identifies its items", leave
    if pin.shards:
        key_names = list(dict.fromkeys(name for facet in facets for name in facet.pk.attributes))
        return (
            f"each of its partitions is of one {' or '.join(key_names)}, and none gets more writes than it takes",
            f"{leave}; a partition that many items share, such as one for each status, would be cut",
        )
    reads = [read for read in workload.reads if pin.entity in read.entities]
    without = [read.id for read in reads if not starts_of(entity, read)]
    if len(without) == len(reads):
        return "no read of it gives a start time", "ask with a start, such as `createdAt between`, or " + leave
    if without:
        return f"{' and '.join(without)} does not give a start time", f"give it a start, `… between`, or {leave}"
    return "its reads are by different times, or by one that the key does not hold", leave


def _lies_under(pin: Under, workload: Workload, facets: Sequence[keys.Facet]) -> bool:
    """Whether the partition of an entity is its parent's id, or is shared with its parent."""
    parent = workload.entity(pin.parent)
    if parent is None or workload.entity(pin.entity) is None:
        return True  # reported by another check
    bases = {facet.entity: facet for facet in facets if facet.slot == TABLE and not facet.copy}
    if pin.entity not in bases:
        return True

    def roots(name: str) -> frozenset[tuple[str, str]]:
        entity, facet = workload.entity(name), bases.get(name)
        names = facet.pk.attributes if facet else ()
        return frozenset(root(workload, entity, a) for n in names if entity and (a := entity.attribute(n)))

    ids = frozenset(root(workload, parent, a) for a in parent.id)
    return roots(pin.entity) in (ids, roots(pin.parent))


def _cut(pin: AtMost | Without | Spread, facets: Sequence[keys.Facet]) -> Iterator[Violation]:
    """Partitions that are split in another way than decided."""
    for facet in facets:
        if not isinstance(pin, AtMost) and pin.entity != facet.entity:
            continue
        for cut in (field.encoding for field in facet.pk.fields):
            if _is_other(pin, cut.shards, cut.bucket):
                how = f"{cut.shards} shards" if cut.shards else f"a partition each {cut.bucket}"
                yield Violation(pin, (f"{how} of {_name(facet)} in {facet.slot}",), _name(facet), facet.slot)


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
        case Spread():  # it may be split into shards, too
            return bucket not in ("", pin.bucket)
        case _:
            assert_never(pin)


def _name(item: Item | keys.Facet) -> str:
    return f"{item.entity}/{item.copy}" if item.copy else item.entity


def has_contradiction(workload: Workload) -> bool:
    """Whether decisions about splitting an entity contradict each other.

    >>> from prejoin.workload.model import Decision
    >>> has_contradiction(Workload(decisions=(Decision(Spread("Order", shards=8)), Decision(AtMost("shards", 4)))))
    True
    """
    pins = [decision.pin for decision in workload.decisions]
    most_shards = min((pin.count for pin in pins if isinstance(pin, AtMost) and pin.what == "shards"), default=None)
    for pin in pins:
        if isinstance(pin, CounterShards):
            if pin.shards > 1 and Without("shards", pin.entity) in pins:
                return True
            if most_shards is not None and pin.shards > max(most_shards, 1):
                return True
        if isinstance(pin, Spread):
            cut = "shards" if pin.shards else "buckets"
            if Without(cut, pin.entity) in pins or (cut == "buckets" and AtMost(cut, 0) in pins):
                return True
            if most_shards is not None and pin.shards > max(most_shards, 1):
                return True
    return False
