"""All assumptions behind the figures of a design: `assumed(workload, design)`.

Those that follow from the document alone are in `assumptions`. Others depend on the keys: how many items are in an
index, how large an entry of it is, and whether the part of the items that a read finds changes its price.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.constructs.registry import added_in, keeps_contents
from prejoin.design.cost.assumptions import (
    FUNCTION,
    GARBAGE,
    Assumption,
    assumptions,
    has_guessed_size,
    kept_by,
    share_within,
    span,
)
from prejoin.design.cost.estimates import Estimates, is_share_stated, share_in
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.mapping.map_reads import map_read
from prejoin.design.model import TABLE, Design, ProjectionKind, Units
from prejoin.workload.contents import contents_of
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.model import RANGES, Entity, Read, Workload
from prejoin.workload.program.resolved_read import Clause, Role, resolve_read

_ASKED = "the units of this read depend on it"
_BYTES = "units and storage depend on it"
_DAY = 86_400
_FACTORS = (0.2, 3.0)
"""A share is tried smaller and larger by these factors, to see whether the price depends on it."""


def assumed(workload: Workload, design: Design) -> tuple[Assumption, ...]:
    """All assumptions behind the figures of a mapped design."""
    all_assumptions = [*assumptions(workload)]
    stated_subjects = {(assumption.about, assumption.what) for assumption in all_assumptions}
    design_assumptions = (
        *_shares_of_reads(workload, design),
        *_index_entries(workload, design),
        *_contents(workload, design),
        *_stream(workload, design),
        *_further_items(workload, design),
    )
    all_assumptions += [
        assumption for assumption in design_assumptions if (assumption.about, assumption.what) not in stated_subjects
    ]
    return tuple(all_assumptions)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share:.2g}"


# --- Reads ----------------------------------------------------------------------------------------------------------


def _shares_of_reads(workload: Workload, design: Design) -> Iterator[Assumption]:
    """The parts of items that ranges and filters of reads keep, where the document does not say it and it matters."""
    for read in workload.reads:
        operation = design.operation(read.id)
        if operation is None or not operation.served:
            continue
        for number, clause in enumerate(resolve_read(workload, read).clauses):
            condition, share = clause.input, _guessed_share(workload, read, clause)
            if share is None or not _matters(workload, design, read, number, share):
                continue
            subject = f"the part of the items with {write_inputs((condition,))}"
            if condition.op in RANGES and not condition.filter:
                subject = f"the part of the items within {condition.attribute}"
            yield Assumption(read.id, subject, _percent(share), _ASKED)


def _guessed_share(workload: Workload, read: Read, clause: Clause) -> float | None:
    """The part of the items that an input keeps, if it is a guess."""
    condition = clause.input
    if condition.keeps is not None or condition.many:
        return None
    entity = next(filter(None, map(workload.entity, read.entities)), None)
    if condition.op in RANGES and not condition.filter and entity is not None:
        return share_within(workload, entity, condition) if span(condition) is None else None
    if clause.role in (Role.FILTER, Role.MEMBERSHIP) or condition.values:
        return kept_by(workload, clause)
    return None


def _matters(workload: Workload, design: Design, read: Read, number: int, share: float) -> bool:
    """Whether the units of a read depend on the part of the items that one of its inputs keeps."""
    usual = _units(workload, design, read)
    for factor in _FACTORS:
        # The units of a call are rounded up, so most shares do not matter: then the assumption is not listed.
        other = replace(read.inputs[number], keeps=min(100.0, 100 * share * factor))
        inputs = (*read.inputs[:number], other, *read.inputs[number + 1 :])
        if _units(workload, design, replace(read, inputs=inputs)) != usual:
            return True
    return False


def _units(workload: Workload, design: Design, read: Read) -> Units:
    changed_workload = replace(
        workload, reads=tuple(read if other.id == read.id else other for other in workload.reads)
    )
    operation = map_read(read, changed_workload, tuple(usable_facets(design, changed_workload)))
    return predict_units(operation, design, changed_workload) if operation.served else Units()


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
            if share < 1 and not is_share_stated(workload, entity, facet):
                why = "the price of writing and storing them there depends on it"
                yield Assumption(item.name, f"the part of the items in {place}", _percent(share), why)
            # A whole item has its declared size. An entry has the sizes of some attributes, which nobody declared.
            if _is_narrow(design, facet.slot, item.attributes) and _holds_guessed(entity):
                size = figures.size(item.item_name, facet.slot)
                yield Assumption(item.name, f"the size of an entry in {place}", f"{size} B", _BYTES)


def _is_narrow(design: Design, slot: str, attributes: tuple[str, ...]) -> bool:
    """Whether entries of a slot do not hold whole items."""
    index = design.slot(slot)
    narrow_index = slot != TABLE and index is not None and index.projection.kind is not ProjectionKind.ALL
    return narrow_index or bool(attributes)


def _holds_guessed(entity: Entity) -> bool:
    """Whether the size of the item is declared, so that no other assumption is about the sizes of its attributes."""
    return entity.size is not None and any(has_guessed_size(attribute) for attribute in entity.attributes)


def _further_items(workload: Workload, design: Design) -> Iterator[Assumption]:
    for bound in added_in(workload, design):
        if bound.size_words:
            yield Assumption(str(bound.item_name), bound.size_words, f"{bound.item_size} B", _BYTES)


# --- Requests in the background -------------------------------------------------------------------------------------


def _contents(workload: Workload, design: Design) -> Iterator[Assumption]:
    for entity in workload.entities:
        if design.item(entity.name) and not keeps_contents(entity):
            for attribute in contents_of(entity):
                why = "the price of `remove_garbage` depends on it"
                days = f"{GARBAGE // _DAY} days"
                yield Assumption(
                    f"{entity.name}.{attribute.name}", "the time between two garbage collections", days, why
                )


def _stream(workload: Workload, design: Design) -> Iterator[Assumption]:
    if any(refresh.bound.within is not None for refresh in refreshes(workload, design)):
        why = "the price of the stream's function depends on it"
        yield Assumption("the stream", "the size of a call of its function", f"{FUNCTION:g} GB-seconds", why)
