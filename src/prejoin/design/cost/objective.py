"""The objective that designs are compared by: `objective(workload, design)`."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from prejoin.design.cost.bill import bill
from prejoin.design.model import Design
from prejoin.workload.model import Read, Workload

IN_WORDS = "the fewest patterns not served, then the fewest indexes and copies, then the fewest copies"
BETWEEN_EQUALS = "the number of writes that have to read first, and then the price"


class Objective(msgspec.Struct, frozen=True, order=True):
    """The objective: smaller is better, and the first difference decides."""

    unserved: int
    structures: int
    copies: int
    reading_writes: int
    """Writes that take more than one request, because they have to read first."""
    dollars: Decimal


def objective(workload: Workload, design: Design) -> Objective:
    """The objective of a mapped design. It is computed without any figure from the solver."""
    writes = [o for o in design.operations if not isinstance(workload.pattern(o.pattern), Read)]
    return Objective(
        sum(not operation.served for operation in design.operations),
        len(design.indexes) + len(design.copies),
        len(design.copies),
        sum(len(operation.requests) > 1 for operation in writes),
        bill(workload, design).total.quantize(Decimal("0.01")),
    )
