"""The outcome of an access pattern, also if the design has no operation for it; for pages and pictures."""

from __future__ import annotations

from prejoin.design.model import Design, Operation
from prejoin.workload.model import Pattern, Workload

OUT_OF_SCOPE = "out of scope"
_NOT_MAPPED = "it has not been mapped to keys"


def operation_of(workload: Workload, design: Design, pattern: Pattern) -> Operation:
    """The operation of a pattern; if the design has none, an operation with the problem.

    >>> from prejoin.workload.model import Decision, OutOfScope, Read
    >>> search = Workload(reads=(Read("AP-1"),), decisions=(Decision(OutOfScope("AP-1")),))
    >>> operation_of(search, Design("t"), search.reads[0]).problem
    'out of scope'
    """
    operation = design.operation(pattern.id)
    if operation is not None:
        return operation
    problem = OUT_OF_SCOPE if pattern.id in workload.out_of_scope else _NOT_MAPPED
    return Operation(pattern.id, problem=problem)


def outcome(operation: Operation) -> str:
    """The outcome in words: `served`, `not served` or `out of scope`."""
    if operation.served:
        return "served"
    return OUT_OF_SCOPE if operation.problem == OUT_OF_SCOPE else "not served"
