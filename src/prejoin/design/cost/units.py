"""The capacity units of one call of an operation, by DynamoDB's rules: `predict_units(operation, design, workload)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.footprint import EntryWrite, PageRead
from prejoin.design.model import TABLE, Call, Design, Operation, Request, Units
from prejoin.protocol.prices import EVENTUAL, STRONG, TRANSACTIONAL, read_units, write_units
from prejoin.workload.model import Workload

_EXACT = 6
"""Digits to round to: units are sums of fractions."""


def predict_units(
    operation: Operation, design: Design, workload: Workload, estimates: Estimates | None = None
) -> Units:
    """The units of one call, from estimates."""
    estimates = estimates or Estimates(design, workload)
    pages: dict[int, Iterable[PageRead]] = {}
    entries_by_request: dict[int, Iterable[EntryWrite]] = {}
    for number, request in enumerate(operation.requests):
        if request.call.is_read:
            pages[number] = estimates.pages(operation, request)
        else:
            entries_by_request[number] = estimates.entries(operation, request)
    return sum_units(operation, pages, entries_by_request)


def sum_units(
    operation: Operation,
    pages: Mapping[int, Iterable[PageRead]],
    entries_by_request: Mapping[int, Iterable[EntryWrite]],
) -> Units:
    """The units of what the requests of an operation read and write, by the numbers of the requests."""
    read = write = 0.0
    for number, request in enumerate(operation.requests):
        factor = _factor(request)
        read += sum(page.times * read_units(page.size, factor) for page in pages.get(number, ()))
        is_transaction = request.call is Call.TRANSACT_WRITE
        entries = entries_by_request.get(number, ())
        write += sum(entry.times * units_of(entry, is_transaction) for entry in entries)
    return Units(round(read, _EXACT), round(write, _EXACT))


def read_units_of(operation: Operation, request: Request, estimates: Estimates) -> float:
    """The read units of one request of an operation."""
    factor = _factor(request)
    return sum(page.times * read_units(page.size, factor) for page in estimates.pages(operation, request))


def _factor(request: Request) -> float:
    if request.call is Call.TRANSACT_GET:
        return TRANSACTIONAL
    return STRONG if request.consistent else EVENTUAL


def units_of(entry: EntryWrite, transactional: bool = False) -> float:
    """Write units of one item, or of one index entry.

    An item is charged by its larger version, twice in a transaction. An index is charged for what changes: once for a
    put or a delete, twice for a changed key, nothing if it does not hold the change. A transaction does not double
    that.

    >>> units_of(EntryWrite("table", 900, 1100)), units_of(EntryWrite("table", after=300), transactional=True)
    (2.0, 2.0)
    >>> units_of(EntryWrite("gsi1", 300, 300)), units_of(EntryWrite("gsi1", 300, 300, moved=True), transactional=True)
    (1.0, 2.0)
    >>> units_of(EntryWrite("gsi1", 300, 300, same=True)), units_of(EntryWrite("gsi1", before=300))
    (0.0, 1.0)
    """
    larger = max(entry.before, entry.after)
    if entry.slot == TABLE:
        return write_units(larger, transactional=transactional)
    # DynamoDB compares the projected attributes, and leaves an unchanged entry alone.
    if not larger or (entry.same and not entry.moved):
        return 0.0
    if entry.moved:
        return write_units(entry.before) + write_units(entry.after)
    return write_units(larger)
