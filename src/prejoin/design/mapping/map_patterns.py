"""Maps every access pattern to an operation: `map_patterns(design, workload)`."""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_reads import map_read
from prejoin.design.mapping.map_writes import map_write
from prejoin.design.model import Design, Operation
from prejoin.workload.model import OutOfScope, Pattern, Read, Workload


def map_patterns(design: Design, workload: Workload) -> Design:
    """The design with an operation and its units for each pattern in scope."""
    facets = planner_facets(design, workload)
    figures = Estimates(design, workload)
    outside = {d.pin.pattern for d in workload.decisions if isinstance(d.pin, OutOfScope)}

    def operation(pattern: Pattern) -> Operation:
        if isinstance(pattern, Read):
            found = map_read(pattern, workload, facets)
        else:
            found = map_write(pattern, workload, design)
        return replace(found, units=predict_units(found, design, workload, figures)) if found.served else found

    return replace(design, operations=tuple(operation(p) for p in workload.patterns if p.id not in outside))
