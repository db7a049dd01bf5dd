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
from prejoin.workload.model import Pattern, Read, Workload


def map_patterns(design: Design, workload: Workload) -> Design:
    """The design with an operation and its units for each pattern in scope."""
    map_pattern = _pattern_mapper(design, workload)
    return replace(
        design, operations=tuple(map_pattern(p) for p in workload.patterns if p.id not in workload.out_of_scope)
    )


def map_changed_index(design: Design, workload: Workload, index: str) -> Design:
    """The mapped design after an index became narrower: only the operations that this can change are mapped again.

    These are the operations that use the index. Other reads stay as they are, because a narrower index serves no more
    than before; other writes write as before, with other units.
    """
    map_pattern = _pattern_mapper(design, workload)
    figures = Estimates(design, workload)

    def operation(former: Operation) -> Operation:
        pattern = workload.pattern(former.pattern)
        if pattern is None or any(request.slot == index for request in former.requests):
            return map_pattern(pattern) if pattern else former
        if isinstance(pattern, Read) or not former.served:
            return former
        return replace(former, units=predict_units(former, design, workload, figures))

    return replace(design, operations=tuple(map(operation, design.operations)))


def _pattern_mapper(design: Design, workload: Workload) -> Callable[[Pattern], Operation]:
    facets = planner_facets(design, workload)
    figures = Estimates(design, workload)

    def operation(pattern: Pattern) -> Operation:
        if isinstance(pattern, Read):
            operation_of_read = with_sums(map_read(pattern, workload, facets), pattern, workload, design)
        else:
            operation_of_read = map_write(pattern, workload, design)
        return (
            replace(operation_of_read, units=predict_units(operation_of_read, design, workload, figures))
            if operation_of_read.served
            else operation_of_read
        )

    return operation
