"""Filters instead of indexes and copies: reads that may read a little more than they return."""

from __future__ import annotations

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.phrases import count, listed, money
from prejoin.design.whatif.alternative import Alternative
from prejoin.design.whatif.attempt import (
    WhatIf,
    price_of,
    removable_structures,
    shape_of,
    without_structure,
)
from prejoin.design.whatif.change import Change, apply_change
from prejoin.workload.model import Accept, Read

MOST_FILTERED = 3
"""The most combinations of filters that are attempted."""
SMALL = 10.0
"""Read units of a call that a filter may read: a collection of up to 80 KB."""


def filter_alternatives(what_if: WhatIf) -> tuple[Alternative, ...]:
    """Designs with fewer structures that are not dearer, if some reads may use a filter; the cheapest first."""
    alternatives: dict[object, Alternative] = {}
    for change in filter_changes(what_if):
        outcome = what_if.attempt(change)
        if outcome.design is None or outcome.structures >= 0 or outcome.dollars > 0 or outcome.lost_patterns:
            continue
        reads = listed(pin.pattern for pin in change.pins if isinstance(pin, Accept))
        fewer = f"{count(-outcome.structures, 'structure')} fewer and {money(-outcome.dollars)} less"
        text = f"if {reads} may filter: {shape_of(outcome.design)} for {money(outcome.price)} a month, {fewer}"
        alternatives.setdefault(outcome.design.items, what_if.alternative(outcome, text))
    return tuple(alternatives.values())


def filter_changes(what_if: WhatIf) -> list[Change]:
    """Filters that spare a structure and cost no more: all at once, then one structure each, the cheapest first."""
    # The reads of a structure belong together: it goes only if none of them needs it.
    prices: dict[tuple[str, ...], float] = {}
    for name in removable_structures(what_if.design, what_if.kept):
        smaller = without_structure(what_if.design, name)
        read_ids = tuple(sorted(read.id for read in reads_lost_by(what_if, smaller) or ()))
        price = _price_with_filters(what_if, smaller, read_ids) if read_ids else None
        if price is not None and price <= what_if.price:
            prices[read_ids] = price
    groups = sorted(prices, key=lambda read_ids: (prices[read_ids], read_ids))
    if len(groups) > 1:
        # One place is for all of them at once.
        groups = groups[: MOST_FILTERED - 1]
    if len(groups) > 1:
        groups.insert(0, tuple(sorted(set[str]().union(*groups))))
    return [_accept_filters(group) for group in groups]


def reads_lost_by(what_if: WhatIf, smaller: Design) -> list[Read] | None:
    """The reads that a smaller design does not serve; None if it does not serve a write either."""
    unserved_reads = map_patterns(smaller, what_if.workload).unserved - what_if.design.unserved
    reads = [read for read in what_if.workload.reads if read.id in unserved_reads]
    return reads if len(reads) == len(unserved_reads) else None


def _price_with_filters(what_if: WhatIf, smaller: Design, read_ids: tuple[str, ...]) -> float | None:
    """The price of a smaller design with filters; None if a call reads too much."""
    workload = apply_change(what_if.workload, _accept_filters(read_ids))
    mapped_design = map_patterns(smaller, workload)
    for read_id in read_ids:
        operation = mapped_design.operation(read_id)
        # A filter over a large collection is no simplification, whatever it costs.
        if not operation or not operation.served or not operation.units or operation.units.read > SMALL:
            return None
    return price_of(workload, mapped_design)


def _accept_filters(read_ids: tuple[str, ...]) -> Change:
    return Change(pins=tuple(Accept(read_id, "filter") for read_id in read_ids))
