"""All assumptions behind the figures of a design: `assumed(workload, design)`.

Those that follow from the document alone are in `assumptions`. Others depend on the keys: how many items are in an
index, how large an entry of it is, and whether the part of the items that a read finds changes its price.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.cost.assumptions import (
    COUNTER,
    FUNCTION,
    GARBAGE,
    GUARD,
    Assumption,
    assumptions,
    has_guessed_size,
    kept_by,
    share_within,
    span,
)
from prejoin.design.cost.estimates import Estimates, share_in
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.mapping.map_reads import map_read
from prejoin.design.model import TABLE, Design, ProjectionKind, Units
from prejoin.workload.contents import contents_of
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.model import RANGES, Entity, Input, Read, Workload

_ASKED = "the units of this read depend on it"
_BYTES = "units and storage depend on it"
_DAY = 86_400
_FACTORS = (0.2, 3.0)
"""A share is tried smaller and larger by these factors, to see whether the price depends on it."""


def assumed(workload: Workload, design: Design) -> tuple[Assumption, ...]:
    """All assumptions behind the figures of a mapped design."""
    found = [*assumptions(workload)]
    told = {(one.about, one.what) for one in found}
    every = (
        *_shares_of_reads(workload, design),
        *_index_entries(workload, design),
        *_contents(workload, design),
        *_stream(workload, design),
        *_further_items(design),
    )
    found += [one for one in every if (one.about, one.what) not in told]
    return tuple(found)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share:.2g}"


# --- Reads ----------------------------------------------------------------------------------------------------------


def _shares_of_reads(workload: Workload, design: Design) -> Iterator[Assumption]:
    """The parts of items that ranges and filters of reads keep, where the document does not say it and it matters."""
    for read in workload.reads:
        operation = design.operation(read.id)
        if operation is None or not operation.served:
            continue
        for number, one in enumerate(read.inputs):
            share = _guessed_share(workload, read, one)
            if share is None or not _matters(workload, design, read, number, share):
                continue
            what = f"the part of the items with {write_inputs((one,))}"
            if one.op in RANGES and not one.filter:
                what = f"the part of the items within {one.attribute}"
            yield Assumption(read.id, what, _percent(share), _ASKED)


def _guessed_share(workload: Workload, read: Read, one: Input) -> float | None:
    """The part of the items that an input keeps, if it is a guess."""
    if one.keeps is not None or one.many:
        return None
    entity = next((e for name in read.entities if (e := workload.entity(name))), None)
    if one.op in RANGES and not one.filter and entity is not None:
        return share_within(workload, entity, one) if span(one) is None else None
    if one.filter or one.values:
        return kept_by(workload, read, one)
    return None


def _matters(workload: Workload, design: Design, read: Read, number: int, share: float) -> bool:
    """Whether the units of a read depend on the part of the items that one of its inputs keeps."""
    usual = _units(workload, design, read)
    for factor in _FACTORS:
        other = replace(read.inputs[number], keeps=min(100.0, 100 * share * factor))
        inputs = (*read.inputs[:number], other, *read.inputs[number + 1 :])
        if _units(workload, design, replace(read, inputs=inputs)) != usual:
            return True
    return False


def _units(workload: Workload, design: Design, read: Read) -> Units:
    changed = replace(workload, reads=tuple(read if one.id == read.id else one for one in workload.reads))
    operation = map_read(read, changed, tuple(usable_facets(design, changed)))
    return predict_units(operation, design, changed) if operation.served else Units()


# --- Items and entries ----------------------------------------------------------------------------------------------


def _index_entries(workload: Workload, design: Design) -> Iterator[Assumption]:
    """The part of the items that is in an index, and the size of an entry that does not hold the whole item."""
    figures = Estimates(design, workload)
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity is None:
            continue
        for facet in figures.facets[item.entity, item.copy]:
            share = share_in(workload, entity, facet)
            place = facet.slot if facet.slot != TABLE else "the table"
            if share < 1:
                why = "the price of writing and storing them there depends on it"
                yield Assumption(item.name, f"the part of the items in {place}", _percent(share), why)
            if _is_narrow(design, facet.slot, item.attributes) and _holds_guessed(entity):
                size = figures.size(item.name, facet.slot)
                yield Assumption(item.name, f"the size of an entry in {place}", f"{size} B", _BYTES)


def _is_narrow(design: Design, slot: str, attributes: tuple[str, ...]) -> bool:
    """Whether entries of a slot do not hold whole items."""
    found = design.slot(slot)
    narrow_index = slot != TABLE and found is not None and found.projection.kind is not ProjectionKind.ALL
    return narrow_index or bool(attributes)


def _holds_guessed(entity: Entity) -> bool:
    """Whether the size of the item is declared, so that no other assumption is about the sizes of its attributes."""
    return entity.size is not None and any(has_guessed_size(attribute) for attribute in entity.attributes)


def _further_items(design: Design) -> Iterator[Assumption]:
    for guard in design.guards:
        yield Assumption(guard.name, "the size of the item that makes a value unique", f"{GUARD} B", _BYTES)
    for counter in design.counters:
        yield Assumption(counter.name, "the size of a shard of the counter", f"{COUNTER} B", _BYTES)


# --- Requests in the background -------------------------------------------------------------------------------------


def _contents(workload: Workload, design: Design) -> Iterator[Assumption]:
    for entity in workload.entities:
        if design.item(entity.name) and not entity.history:
            for attribute in contents_of(entity):
                why = "the price of `remove_garbage` depends on it"
                days = f"{GARBAGE // _DAY} days"
                yield Assumption(
                    f"{entity.name}.{attribute.name}", "the time between two garbage collections", days, why
                )


def _stream(workload: Workload, design: Design) -> Iterator[Assumption]:
    if any(one.link.within is not None for one in refreshes(workload, design)):
        why = "the price of the stream's function depends on it"
        yield Assumption("the stream", "the size of a call of its function", f"{FUNCTION:g} GB-seconds", why)
