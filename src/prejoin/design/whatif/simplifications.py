"""Simplifications: other ways to answer a read that is served, for a simpler or much cheaper table.

- A lookup item instead of an index: the guard of a unique value, as an entity that holds the id. Two requests.
- A counter instead of counting.
- A small collection that the application sorts, instead of a key in that order.
- An eventual read of an index, instead of a copy that is read consistently.
- A key for a constant that is filtered by, so that an index holds only the items that are asked for.

As with relaxations, each is a change of the document, solved and priced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prejoin.design.cost.bill import bill
from prejoin.design.model import TABLE, Call, Operation
from prejoin.design.phrases import money
from prejoin.design.whatif.alternative import Alternative, cheapest_first
from prejoin.design.whatif.attempt import Outcome, WhatIf, removable_structures, shape_of, without_structure
from prejoin.design.whatif.change import Change, apply_change, combine_changes
from prejoin.design.whatif.companions import lookup_changes
from prejoin.design.whatif.counter import counter_changes
from prejoin.design.whatif.filters import reads_lost_by
from prejoin.design.whatif.read_edits import constants_in_key, eventual_read, unsorted_read
from prejoin.workload.model import Read

MOST_SIMPLIFIED = 3
"""The most simplifications that are attempted."""
MUCH = 0.9
"""A simplification without fewer structures costs at most this part of the bill."""


def simplify(what_if: WhatIf, limit: int = MOST_SIMPLIFIED) -> tuple[Alternative, ...]:
    """Changes of the document for fewer structures that are not dearer, or a much smaller bill; the cheapest first."""
    alternatives = []
    for outcome in what_if.attempt_best(simplification_changes(what_if), limit):
        if outcome.design is not None and not outcome.lost_patterns and _is_better(what_if, outcome):
            price = f"{money(outcome.price)} a month, {money(-outcome.dollars)} less"
            text = f"{outcome.change.summary}: {shape_of(outcome.design)} for {price}"
            alternatives.append(what_if.alternative(outcome, text, changes_document=True))
    return tuple(sorted(alternatives, key=cheapest_first))


def _is_better(what_if: WhatIf, outcome: Outcome) -> bool:
    """Whether a design has fewer structures, or an index for a copy, and is not dearer; or is much cheaper."""
    if outcome.structures < 0:
        return outcome.dollars <= 0
    if outcome.structures > 0:
        return False
    return outcome.price <= MUCH * what_if.price or (outcome.copies < 0 and outcome.dollars <= 0)


def simplification_changes(what_if: WhatIf) -> list[Change]:
    """Changes after which an index or a copy is not needed any more; then changes of reads that cost much."""
    changes: list[Change] = []
    for change in _all_changes(what_if):
        if change not in changes:
            changes.append(change)
    return changes


def _all_changes(what_if: WhatIf) -> Iterator[Change]:
    workload, design = what_if.workload, what_if.design
    for name in removable_structures(design, what_if.kept):
        yield from _lookups(what_if, reads_lost_by(what_if, without_structure(design, name)) or ())
    served_reads = _served_reads(what_if)
    for read, operation in served_reads:
        if operation.requests[0].copies:
            yield from eventual_read(read)
        if operation.requests[0].call is Call.QUERY:
            # The key has the value and the id, and a guard keeps the value unique: one item would do.
            yield from lookup_changes(workload, read)
    # A tenth of the bill: less would not be worth a change of the document.
    costs = {cost.pattern: cost.dollars for cost in bill(workload, design).patterns}
    for read, _ in served_reads:
        if costs[read.id] > (1 - MUCH) * what_if.price:
            yield from counter_changes(workload, read)
            yield from constants_in_key(read)
    for read, operation in served_reads:
        if operation.requests[0].copies or operation.requests[0].slot != TABLE:
            yield from unsorted_read(workload, design, read)


def _served_reads(what_if: WhatIf) -> list[tuple[Read, Operation]]:
    operations = {operation.pattern: operation for operation in what_if.design.operations if operation.served}
    return [(read, operations[read.id]) for read in what_if.workload.reads if read.id in operations]


def _lookups(what_if: WhatIf, reads: Sequence[Read]) -> Iterator[Change]:
    """Lookup items for all of some reads; nothing if one of them cannot have one."""
    workload = what_if.workload
    changes = []
    for read in reads:
        # Each change is made after those before it, because two reads may need one lookup item.
        change = next(lookup_changes(workload, read), None)
        if change is None:
            return
        changes.append(change)
        workload = apply_change(workload, change)
    if changes:
        yield combine_changes(changes) if len(changes) > 1 else changes[0]
