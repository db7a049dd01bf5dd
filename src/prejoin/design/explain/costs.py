"""The monthly cost of each part of a design."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.bill import Amplification, Bill, amplification, bill
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.cost.units import units_of
from prejoin.design.explain.model import WriteExplanation
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Call, Design, Operation, Request, Units
from prejoin.design.phrases import amount, count
from prejoin.protocol.prices import MONTH_SECONDS, dollars
from prejoin.workload.model import Verb, Workload

_DIGITS = 6
_DOING = {Verb.CREATE: "Creating", Verb.DELETE: "Deleting"}


class Costs(msgspec.Struct, frozen=True):
    """Dollars a month."""

    bill: Bill
    reading: float
    writing: float
    background: float
    """What no pattern sends: refreshes, streams, large contents."""
    storing: float
    indexes: dict[str, float]
    """By index: writes to it and its storage."""
    copies: dict[str, float]
    """By copy, `Order/lookup`: the saving without it."""
    written: dict[str, tuple[WriteExplanation, ...]]
    write_sentences: dict[str, tuple[str, ...]]
    """By entity: the sentences about creating and deleting an item, one for both if they are equal."""

    @property
    def total(self) -> float:
        return _round_dollars(self.bill.total)

    def units(self, pattern: str) -> Units:
        """Units of one call."""
        cost = self.bill.pattern(pattern)
        return cost.units if cost else Units()

    def pattern(self, pattern: str) -> float:
        cost = self.bill.pattern(pattern)
        return _round_dollars(cost.dollars) if cost else 0.0


def costs_of(workload: Workload, design: Design) -> Costs:
    monthly_bill = bill(workload, design)
    amplifications = tuple(amplification(workload, design))
    reads = sum((dollars(reads=cost.calls * cost.units.read) for cost in monthly_bill.patterns), Decimal())
    return Costs(
        monthly_bill,
        _round_dollars(reads),
        _round_dollars(monthly_bill.requests - monthly_bill.in_background - reads),
        _round_dollars(monthly_bill.in_background),
        _round_dollars(monthly_bill.kept),
        {slot.name: _index_dollars(workload, design, monthly_bill, slot.name) for slot in design.indexes},
        _copy_savings(workload, design, monthly_bill),
        _write_explanations(amplifications),
        _write_sentences(amplifications),
    )


def _copy_savings(workload: Workload, design: Design, monthly_bill: Bill) -> dict[str, float]:
    """By copy: what the table would cost less without it.

    Reads are left out: those that lose the copy may be served by nothing, and their price would count as saved.
    """
    dollars_with_copy = _dollars_besides_reads(workload, monthly_bill)
    savings = {}
    for copy in design.copies:
        other_items = tuple(item for item in design.items if item is not copy)
        design_without_copy = map_patterns(replace(design, items=other_items), workload)
        dollars_without_copy = _dollars_besides_reads(workload, bill(workload, design_without_copy))
        savings[copy.name] = _round_dollars(dollars_with_copy - dollars_without_copy)
    return savings


def _write_explanations(amplifications: Sequence[Amplification]) -> dict[str, tuple[WriteExplanation, ...]]:
    """By entity."""
    explanations: dict[str, tuple[WriteExplanation, ...]] = {}
    for write in amplifications:
        explanations[write.entity] = (*explanations.get(write.entity, ()), _explain_write(write))
    return explanations


def _write_sentences(amplifications: Sequence[Amplification]) -> dict[str, tuple[str, ...]]:
    """By entity: creating and deleting share a sentence if they amount to the same."""
    verbs_by_clause: dict[str, dict[str, list[str]]] = {}
    for write in amplifications:
        verbs_by_clause.setdefault(write.entity, {}).setdefault(_write_clause(write), []).append(_DOING[write.verb])
    sentences = {}
    for entity, clauses in verbs_by_clause.items():
        sentences[entity] = tuple(f"{' or '.join(verbs).capitalize()} {clause}" for clause, verbs in clauses.items())
    return sentences


def _dollars_besides_reads(workload: Workload, monthly_bill: Bill) -> Decimal:
    """The cost of writes and storage, without reads."""
    read_ids = {read.id for read in workload.reads}
    write_dollars = sum((cost.dollars for cost in monthly_bill.patterns if cost.pattern not in read_ids), Decimal())
    return write_dollars + monthly_bill.in_background + monthly_bill.kept


def _index_dollars(workload: Workload, design: Design, monthly_bill: Bill, index: str) -> float:
    """Dollars a month for the writes of patterns and refreshes to an index, and for its storage."""
    estimates = Estimates(design, workload)
    units = 0.0
    for operation in design.operations:
        cost = monthly_bill.pattern(operation.pattern)
        if cost is None:
            continue
        for request in operation.requests:
            if request.actions:
                # DynamoDB bills twice the units for a write in a transaction, index entries included.
                is_transaction = request.call is Call.TRANSACT_WRITE
                units += cost.calls * _entry_units(estimates, operation, request, index, is_transaction)
    for refresh in refreshes(workload, design):
        # The last request of a refresh is the one that writes; those before it read.
        request = refresh.operation.requests[-1]
        items = refresh.rate * MONTH_SECONDS * refresh.items
        units += items * _entry_units(estimates, refresh.operation, request, index, transactional=True)
    return _round_dollars(dollars(writes=units) + monthly_bill.slot(index))


def _entry_units(
    estimates: Estimates, operation: Operation, request: Request, index: str, transactional: bool
) -> float:
    """Write units for the entries in an index that one call of a request writes."""
    entries = [entry for entry in estimates.entries(operation, request) if entry.slot == index]
    return sum(entry.times * units_of(entry, transactional) for entry in entries)


def _explain_write(write: Amplification) -> WriteExplanation:
    text = f"{_DOING[write.verb]} {_write_clause(write)}"
    return WriteExplanation(write.verb, write.items, write.entries, write.units, write.alone, text)


def _write_clause(write: Amplification) -> str:
    parts = [count(write.items, "item") if write.items > 1 else "one item"]
    if write.entries:
        parts.append(count(write.entries, "index entry", "index entries"))
    # Compared as printed: a difference that rounding hides is not worth a clause.
    has_more = amount(write.units) != amount(write.alone)
    comparison = f", instead of {amount(write.alone)} for the item alone" if has_more else ""
    manner = " in a transaction" if write.transaction else ""
    return f"one writes {' and '.join(parts)}{manner}: {count(write.units, 'write unit')}{comparison}."


def _round_dollars(number: Decimal | float) -> float:
    return round(float(number), _DIGITS)
