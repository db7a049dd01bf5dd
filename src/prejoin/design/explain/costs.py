"""The monthly cost of each part of a design."""

from __future__ import annotations

from decimal import Decimal

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.bill import Amplification, Bill, amplification, bill
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.cost.units import units_of
from prejoin.design.explain.model import WriteExplanation
from prejoin.design.explain.phrases import amount, count
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Call, Design, Units
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
        return _rounded(self.bill.total)

    def units(self, pattern: str) -> Units:
        """Units of one call."""
        found = self.bill.pattern(pattern)
        return found.units if found else Units()

    def pattern(self, pattern: str) -> float:
        found = self.bill.pattern(pattern)
        return _rounded(found.dollars) if found else 0.0


def costs_of(workload: Workload, design: Design) -> Costs:
    whole = bill(workload, design)
    keeping = _keeping(workload, whole)
    copies = {}
    for item in design.copies:
        rest = replace(design, items=tuple(one for one in design.items if one is not item))
        less = _keeping(workload, bill(workload, map_patterns(rest, workload)))
        copies[item.name] = _rounded(keeping - less)
    written: dict[str, tuple[WriteExplanation, ...]] = {}
    clauses: dict[str, dict[str, list[str]]] = {}
    for one in amplification(workload, design):
        written[one.entity] = (*written.get(one.entity, ()), _written(one))
        clauses.setdefault(one.entity, {}).setdefault(_clause(one), []).append(_DOING[one.verb])
    reads = sum((dollars(reads=one.calls * one.units.read) for one in whole.patterns), Decimal())
    return Costs(
        whole,
        _rounded(reads),
        _rounded(whole.requests - whole.in_background - reads),
        _rounded(whole.in_background),
        _rounded(whole.kept),
        {slot.name: _index(workload, design, whole, slot.name) for slot in design.indexes},
        copies,
        written,
        {
            name: tuple(f"{' or '.join(doing).capitalize()} {clause}" for clause, doing in found.items())
            for name, found in clauses.items()
        },
    )


def total(workload: Workload, design: Design) -> float:
    return _rounded(bill(workload, design).total)


def _keeping(workload: Workload, whole: Bill) -> Decimal:
    """The cost of writes and storage, without reads."""
    reads = {read.id for read in workload.reads}
    written = sum((one.dollars for one in whole.patterns if one.pattern not in reads), Decimal())
    return written + whole.in_background + whole.kept


def _index(workload: Workload, design: Design, whole: Bill, name: str) -> float:
    figures = Estimates(design, workload)
    units = 0.0
    for operation in design.operations:
        cost = whole.pattern(operation.pattern)
        for request in operation.requests:
            if cost and request.actions:
                together = request.call is Call.TRANSACT_WRITE
                entries = [e for e in figures.entries(operation, request) if e.slot == name]
                units += cost.calls * sum(e.times * units_of(e, together) for e in entries)
    for refresh in refreshes(workload, design):
        entries = [e for e in figures.entries(refresh.operation, refresh.operation.requests[-1]) if e.slot == name]
        items = refresh.rate * MONTH_SECONDS * refresh.items
        units += items * sum(e.times * units_of(e, transactional=True) for e in entries)
    return _rounded(dollars(writes=units) + whole.slot(name))


def _written(one: Amplification) -> WriteExplanation:
    text = f"{_DOING[one.verb]} {_clause(one)}"
    return WriteExplanation(one.verb, one.items, one.entries, one.units, one.alone, text)


def _clause(one: Amplification) -> str:
    parts = [count(one.items, "item") if one.items > 1 else "one item"]
    if one.entries:
        parts.append(count(one.entries, "index entry", "index entries"))
    more = f", instead of {amount(one.alone)} for the item alone" if one.units != one.alone else ""
    how = " in a transaction" if one.transaction else ""
    return f"one writes {' and '.join(parts)}{how}: {count(one.units, 'write unit')}{more}."


def _rounded(number: Decimal | float) -> float:
    return round(float(number), _DIGITS)
