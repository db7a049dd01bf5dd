"""Maps every access pattern to an operation: `map_patterns(design, workload)`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_reads import map_read, with_sums
from prejoin.design.mapping.map_writes import map_write
from prejoin.design.model import Design, Operation
from prejoin.workload.model import OutOfScope, Pattern, Read, Workload


def map_patterns(design: Design, workload: Workload) -> Design:
    """The design with an operation and its units for each pattern in scope."""
    outside = {d.pin.pattern for d in workload.decisions if isinstance(d.pin, OutOfScope)}
    mapped = _mapping(design, workload)
    return replace(design, operations=tuple(mapped(p) for p in workload.patterns if p.id not in outside))


def map_changed_index(design: Design, workload: Workload, index: str) -> Design:
    """The mapped design after an index became narrower: only the operations that this can change are mapped again.

    These are the operations that use the index. Other reads stay as they are, because a narrower index serves no more
    than before; other writes write as before, with other units.
    """
    mapped = _mapping(design, workload)
    figures = Estimates(design, workload)

    def operation(one: Operation) -> Operation:
        pattern = workload.pattern(one.pattern)
        if pattern is None or any(request.slot == index for request in one.requests):
            return mapped(pattern) if pattern else one
        if isinstance(pattern, Read) or not one.served:
            return one
        return replace(one, units=predict_units(one, design, workload, figures))

    return replace(design, operations=tuple(map(operation, design.operations)))


def _mapping(design: Design, workload: Workload) -> Callable[[Pattern], Operation]:
    facets = planner_facets(design, workload)
    figures = Estimates(design, workload)

    def operation(pattern: Pattern) -> Operation:
        if isinstance(pattern, Read):
            found = with_sums(map_read(pattern, workload, facets), pattern, workload, design)
        else:
            found = map_write(pattern, workload, design)
        return replace(found, units=predict_units(found, design, workload, figures)) if found.served else found

    return operation
