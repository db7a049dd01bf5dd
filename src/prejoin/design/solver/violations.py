"""Decisions that a design violates or ignores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

import msgspec

from prejoin import keys
from prejoin.design.counters import obstacle
from prejoin.design.layout.sharding import starts_of
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.model import TABLE, Design
from prejoin.design.pins import is_refused, least_limit, pins_of
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
    NamedPart,
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

_STRUCTURES = ("GSIs", "copies", "structures")


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
    >>> limit = Decision(AtMost("GSIs", 1))
    >>> [violation.there for violation in violations(Design("shop", slots), Workload(decisions=(limit,)))]
    [('gsi1', 'gsi2')]
    """
    facets = tuple(usable_facets(design, workload))
    for decision in workload.decisions:
        if decision.pin is not None:
            yield from _violations_of(decision.pin, design, facets)


def _violations_of(pin: Pin, design: Design, facets: Sequence[keys.Facet]) -> Iterator[Violation]:
    match pin:
        case AtMost() if pin.what in _STRUCTURES:
            structures = _structures(pin.what, design)
            if len(structures) > pin.count:
                yield Violation(pin, tuple(structures), structures[-1])
        case Without() if pin.what in _STRUCTURES:
            yield from _find_refused_structures(pin, design)
        case AtMost() | Without() | Spread():
            yield from _find_other_cuts(pin, facets)
        case Naming():
            given_name = _name_in_design(design, pin.what)
            if given_name not in ("", pin.name):
                yield Violation(pin, (given_name,), given_name)
        case FixedKey():
            item = design.item(pin.entity)
            facet = item.facet(pin.index or TABLE) if item else None
            if facet and (facet.pk, facet.sk) != ((pin.pk,), (pin.sk,) if pin.sk else ()):
                yield Violation(pin, (" and ".join(facet.templates),), pin.entity, facet.slot)
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
        ):
            pass
        case _:
            assert_never(pin)


def _structures(kind: str, design: Design) -> list[str]:
    """The names of the structures of a design that a decision counts. It counts no local index as a GSI."""
    indexes = [slot.name for slot in design.indexes if not slot.local] if kind != "copies" else []
    copies = [item.name for item in design.copies] if kind != "GSIs" else []
    return [*indexes, *copies]


def _find_refused_structures(pin: Without, design: Design) -> Iterator[Violation]:
    """The index keys and the copies of an entity that may have none."""
    own = [item for item in design.items if item.entity == pin.entity]
    indexes = _structures("GSIs", design) if pin.what != "copies" else []
    for item in own:
        for facet in item.facets:
            if facet.slot in indexes:
                yield Violation(pin, (f"{item.name} in {facet.slot}",), item.name, facet.slot)
    for item in own if pin.what != "GSIs" else ():
        if item.copy:
            yield Violation(pin, (item.name,), item.name)


def _name_in_design(design: Design, part: NamedPart) -> str:
    """The name that a design gives to something; empty if it gives none."""
    base = design.slot(TABLE)
    match part:
        case NamedPart.PARTITION_KEY:
            return design.partition_key
        case NamedPart.SORT_KEY:
            return base.sk[0].name if base and base.sk else ""
        case NamedPart.TYPE_ATTRIBUTE:
            return design.type_attribute
        case NamedPart.SEPARATOR:
            return design.separator
        case NamedPart.TABLE:
            return "" if design.table == TABLE else design.table
        case _:
            assert_never(part)


class IgnoredDecision(msgspec.Struct, frozen=True):
    """A decision without effect on a design, and why."""

    pin: Pin
    why: str
    fix: str


def ignored_decisions(design: Design, workload: Workload) -> Iterator[IgnoredDecision]:
    """The decisions that have no effect on a design, or that its author did not follow.

    >>> from prejoin.workload.model import Decision, Entity
    >>> shop = Workload(entities=(Entity("Shop", singleton=True),), decisions=(Decision(Spread("Shop", shards=8)),))
    >>> [decision.why for decision in ignored_decisions(Design("shop"), shop)]
    ['it has one item']
    """
    facets = tuple(usable_facets(design, workload))
    for decision in workload.decisions:
        ignored_decision = _ignored_decision(decision.pin, design, workload, facets) if decision.pin else None
        if ignored_decision:
            yield ignored_decision


def _ignored_decision(
    pin: Pin, design: Design, workload: Workload, facets: Sequence[keys.Facet]
) -> IgnoredDecision | None:
    """Why a decision has no effect on a design; None if it has one, or needs none."""
    match pin:
        case Spread():
            return _ignored_spread(pin, workload, facets)
        case CounterShards():
            return _ignored_counter(pin, design, workload)
        case ContentPlace():
            if pin.store == design.in_store(pin.entity, pin.attribute) or not design.item(pin.entity):
                return None
            place = "in parts" if pin.store else "in a store, where contents may be"
            return IgnoredDecision(pin, f"the design has it {place}", "change the design, or leave the decision out")
        case FixedKey():
            item = design.item(pin.entity)
            if item is None or item.facet(pin.index or TABLE):
                return None
            why = f"{pin.entity} has no key in {pin.index or 'the table'}"
            return IgnoredDecision(pin, why, "give it that key, or leave the decision out")
        case Under():
            if _lies_under(pin, workload, facets):
                return None
            why = f"the partition of {pin.entity} is not made of the id of {pin.parent}, nor that of {pin.parent}"
            return IgnoredDecision(pin, why, f"key it by the id of {pin.parent}, or leave the decision out")
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
        ):
            return None
        case _:
            assert_never(pin)


def _ignored_spread(pin: Spread, workload: Workload, facets: Sequence[keys.Facet]) -> IgnoredDecision | None:
    entity = workload.entity(pin.entity)
    own = [facet for facet in facets if facet.entity == pin.entity]
    is_followed = any(_is_cut_as_decided(pin, facet) for facet in own)
    if entity is None or is_followed or pin.shards == 1:
        return None
    return IgnoredDecision(pin, *_uncut(pin, entity, workload, own))


def _is_cut_as_decided(pin: Spread, facet: keys.Facet) -> bool:
    """Whether a partition has the decided number of shards, or the decided unit of time."""
    encodings = [field.encoding for field in facet.pk.fields]
    if pin.shards:
        return pin.shards in [encoding.shards for encoding in encodings]
    return pin.bucket in [encoding.bucket for encoding in encodings]


def _ignored_counter(pin: CounterShards, design: Design, workload: Workload) -> IgnoredDecision | None:
    entity = workload.entity(pin.entity)
    attribute = entity.attribute(pin.attribute) if entity else None
    counter = design.counter(pin.entity)
    is_followed = counter is not None and pin.attribute in counter.attributes
    if entity is None or attribute is None or is_followed or pin.shards <= 1:
        return None
    why = obstacle(workload, entity, attribute) or f"{pin.attribute} is not a counter in the design"
    return IgnoredDecision(pin, why, "change that, or leave the decision out")


def _uncut(pin: Spread, entity: Entity, workload: Workload, facets: Sequence[keys.Facet]) -> tuple[str, str]:
    """Why no partition of an entity is split as decided."""
    leave = "leave the decision out"
    if entity.singleton or not entity.id:
        return "it has one item" if entity.singleton else "nothing identifies its items", leave
    if pin.shards:
        key_names: dict[str, None] = {}
        for facet in facets:
            key_names |= dict.fromkeys(facet.pk.attributes)
        return (
            f"each of its partitions is of one {' or '.join(key_names)}, and none gets more writes than it takes",
            f"{leave}; a partition that many items share, such as one for each status, would be cut",
        )
    # Buckets need a start: a Query of a time range asks each bucket since then.
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
    facets_in_table = [facet for facet in facets if facet.slot == TABLE]
    bases = {facet.entity: facet for facet in facets_in_table if not facet.copy}
    if pin.entity not in bases:
        return True
    partition = _roots_of_partition(workload, bases[pin.entity])
    ids = frozenset([root(workload, parent, attribute) for attribute in parent.id])
    return partition == ids or partition == _roots_of_partition(workload, bases.get(pin.parent))


def _roots_of_partition(workload: Workload, facet: keys.Facet | None) -> frozenset[tuple[str, str]]:
    """The origins of the attributes of a partition: two partitions with the same origins hold the same values."""
    entity = workload.entity(facet.entity) if facet else None
    if facet is None or entity is None:
        return frozenset()
    attributes = filter(None, map(entity.attribute, facet.pk.attributes))
    return frozenset([root(workload, entity, attribute) for attribute in attributes])


def _find_other_cuts(pin: AtMost | Without | Spread, facets: Sequence[keys.Facet]) -> Iterator[Violation]:
    """Partitions that are split in another way than decided."""
    for facet in facets:
        if not isinstance(pin, AtMost) and pin.entity != facet.entity:
            continue
        for field in facet.pk.fields:
            cut = field.encoding
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


def _name(facet: keys.Facet) -> str:
    return f"{facet.entity}/{facet.copy}" if facet.copy else facet.entity


def has_contradiction(workload: Workload) -> bool:
    """Whether decisions about splitting an entity contradict each other.

    >>> from prejoin.workload.model import Decision
    >>> has_contradiction(Workload(decisions=(Decision(Spread("Order", shards=8)), Decision(AtMost("shards", 4)))))
    True
    """
    most_shards = least_limit(workload, "shards")
    demands: list[CounterShards | Spread] = [*pins_of(workload, CounterShards), *pins_of(workload, Spread)]
    if most_shards is not None and any(pin.shards > max(most_shards, 1) for pin in demands):
        return True
    return any(_is_refused(workload, pin) for pin in demands)


def _is_refused(workload: Workload, pin: CounterShards | Spread) -> bool:
    """Whether another decision refuses the shards or buckets that a decision demands."""
    if isinstance(pin, CounterShards):
        return pin.shards > 1 and is_refused(workload, "shards", pin.entity)
    if pin.shards:
        return is_refused(workload, "shards", pin.entity)
    return is_refused(workload, "buckets", pin.entity) or least_limit(workload, "buckets") == 0
