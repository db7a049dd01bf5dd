"""The objective that designs are compared by: `objective(workload, design)`.

The parts are compared in order. First the patterns that are not served, by their rates. Then the complexity: DynamoDB
keeps an index up to date, but the application's transactions keep a copy, so a copy weighs more (`WEIGHTS`). Then the
writes that have to read first, then the joins that read item by item, and last the monthly bill as it is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType

import msgspec

from prejoin.design.cost.assumptions import per_second
from prejoin.design.cost.bill import bill
from prejoin.design.cost.heat import hot_loads
from prejoin.design.model import Call, Design, Guard, Operation
from prejoin.workload.model import Pattern, Read, Workload

WEIGHTS: Mapping[str, Decimal] = MappingProxyType(
    {
        "index": Decimal(1),
        "copy": Decimal(2),
        "guard": Decimal("0.5"),
        "guard of a key": Decimal(1),
        "fan-out read": Decimal("0.5"),
        "hot partition": Decimal(4),
    }
)
"""The complexity of each structure. A guard keeps a `unique` attribute so. The guard of a key does that for an id that
is only a part of the table's key: every insert becomes a transaction, and the id alone does not find the item. A
fan-out read needs several requests: for shards, time buckets or a list. A hot partition is a key with more writes, or a
read of more units, than DynamoDB gives one partition (`heat`): an index and a copy that avoid it are worth it.
"""
STORE = Decimal(1)
"""The complexity of an object store. It is not among the weights, because no key depends on it."""
IN_WORDS = (
    "the fewest patterns not served (by their rates), then the least complexity ("
    + ", ".join(f"{kind} {weight.normalize():f}" for kind, weight in WEIGHTS.items())
    + ")"
)
BETWEEN_EQUALS = (
    "the number of writes that have to read first, then of joins with a Query for each item, and then the monthly bill"
)


class Objective(msgspec.Struct, frozen=True, order=True):
    """The objective: smaller is better, and the first difference decides."""

    lost: int
    """The weight of the patterns that are not served, and of writes that work only if the caller knows more of an
    item's key than the document gives: see `pattern_weight`.
    """
    complexity: Decimal
    """The sum of `WEIGHTS` over all structures and fan-out reads."""
    reading_writes: int
    """Writes that take more than one request, because they have to read first. Each read by which a write finds items,
    and which is not consistent, counts once more: an index may lack the newest items.
    """
    queries_each: int
    """Joins that send a Query for each item, because the id of the item is not its key in the table."""
    dollars: Decimal
    unserved: int = 0
    """The number of patterns that are not served."""
    hot: int = 0
    """The number of hot partitions, which are in the complexity, too."""


def objective(workload: Workload, design: Design) -> Objective:
    """The objective of a mapped design. It is computed without any figure from the solver."""
    # A write that needs more of a key than the document gives works for those callers only who know it.
    lost_patterns = {o.pattern for o in design.operations if not o.served or o.assumes}
    hot = len(hot_loads(workload, design))
    return Objective(
        weight_of(workload, lost_patterns),
        _complexity(workload, design, hot),
        sum(_reads_first(o) for o in design.operations if not _is_read(workload, o)),
        sum(queries_each(o) for o in design.operations if _is_read(workload, o)),
        # Rounded to cents, so that designs do not differ by a fraction that nobody sees.
        bill(workload, design).total.quantize(Decimal("0.01")),
        len(design.unserved),
        hot,
    )


def _reads_first(write: Operation) -> int:
    return (len(write.requests) > 1) + sum(not request.consistent for request in write.finds)


def pattern_weight(pattern: Pattern) -> int:
    """The weight of a pattern that is not served: its calls in 100 seconds, at least 1."""
    return max(1, round(100 * per_second(pattern.rate)))


def weight_of(workload: Workload, patterns: Iterable[str]) -> int:
    """The weight of several patterns that are not served, by their ids."""
    lost_patterns = map(workload.pattern, patterns)
    return sum(pattern_weight(pattern) for pattern in lost_patterns if pattern)


def complexity(workload: Workload, design: Design) -> Decimal:
    """The weighted number of structures, fan-out reads and hot partitions of a mapped design."""
    return _complexity(workload, design, len(hot_loads(workload, design)))


def _complexity(workload: Workload, design: Design, hot: int) -> Decimal:
    guards_of_keys = sum(_is_of_key(workload, guard) for guard in design.guards)
    counts = {
        "index": len(design.indexes),
        "copy": len(design.copies),
        "guard": len(design.guards) - guards_of_keys,
        "guard of a key": guards_of_keys,
        "fan-out read": sum(fans_out(o) for o in design.operations if _is_read(workload, o)),
        "hot partition": hot,
    }
    return sum((WEIGHTS[kind] * count for kind, count in counts.items()), STORE if design.stores else Decimal())


def _is_of_key(workload: Workload, guard: Guard) -> bool:
    """Whether a guard keeps the id unique, because the key in the table is made of more than the id."""
    entity = workload.entity(guard.entity)
    return entity is not None and {a.name for a in entity.id} == set(guard.attributes)


def fans_out(operation: Operation) -> bool:
    """Whether a read sends several requests that do not depend on each other's pages."""
    # The sum of a sharded counter is read with any keys, so it does not tell designs apart.
    requests = [request for request in operation.requests if not request.counter]
    has_parallel_requests = any(r.shards > 1 or r.bucket or (r.each and r.call is Call.QUERY) for r in requests)
    return has_parallel_requests or len(requests) > 1


def queries_each(operation: Operation) -> bool:
    """Whether a join sends a Query for each item that it found."""
    return any(r.each and r.call is Call.QUERY for r in operation.requests[1:])


def _is_read(workload: Workload, operation: Operation) -> bool:
    return isinstance(workload.pattern(operation.pattern), Read)
