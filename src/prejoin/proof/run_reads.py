"""Reads run for real: each asked with several inputs, page by page and in reverse, and compared with the data."""

from __future__ import annotations

from prejoin.design.mapping.map_reads import map_read
from prejoin.design.model import TABLE, Operation, Request
from prejoin.proof.answer import Answer
from prejoin.proof.asking import Asking
from prejoin.proof.bench import REFUSALS, Bench
from prejoin.proof.facts import read_units
from prejoin.proof.inputs import Given, cases
from prejoin.proof.reference import Found, Reference, difference
from prejoin.proof.run_joins import follow
from prejoin.proof.state import State
from prejoin.table import Call
from prejoin.workload.model import Combine, Read, Result

_PAGE = 2
"""Items to a page where pages are walked: small, so that every kind of boundary falls into one."""


def run_read(bench: Bench, read: Read, state: State | None = None) -> Answer:
    """One read, with the inputs for which most is found, and then with others."""
    operation = bench.design.operation(read.id)
    if read.id in bench.outside:
        return Answer(read.id, read.description, problem=bench.outside[read.id], outside=True)
    if operation is None or not operation.served:
        problem, remedy = (operation.problem, operation.remedy) if operation else ("it is not in the design", "")
        return Answer(read.id, read.description, problem=problem, remedy=remedy)
    asked = Reference(read, bench.workload, bench.now)
    tried = cases(bench, asked)
    state = state or State(bench)
    items, pages, given = 0, 0, tried[0]
    calls: tuple[Call, ...] = ()
    units: float | None = None
    try:
        asking = Asking(bench, asked)
        for at, given in enumerate(tried):
            with bench.watched() as seen:
                wrong, count = _run(asking, given)
            expected = read_units(bench, operation, seen, state.items)
            used = sum(call.units for call in seen)
            if not wrong and expected is not None and expected != used:
                wrong = f"it used {used:g} units, and {expected:g} were predicted"
            if at == 0:
                calls, items, units = tuple(seen), count, expected
                wrong = wrong or _otherwise(asking, operation, calls)
            if not wrong:
                wrong, walked = _walk(asking, given, turned=at == 0)
                pages += walked
            if wrong:
                return Answer(read.id, read.description, tuple(seen), count, given, at + 1, pages, wrong=wrong)
    except REFUSALS as problem:
        return Answer(read.id, read.description, given=given, problem=str(problem))
    return Answer(read.id, read.description, calls, items, tried[0], len(tried), pages, predicted=units)


def _run(asking: Asking, given: Given) -> tuple[str, int]:
    """The pattern run once: what is wrong with the answer, and how many items it has."""
    bench, asked = asking.bench, asking.asked
    expected = asked.answer(bench.items, given)
    if asked.read.result is Result.COUNT and asking.single:
        count = asking.count(given)
        return (f"{count} counted instead of {len(expected)}" if count != len(expected) else "", count)
    found = asking.as_pattern(given, one=len(expected) < 2)
    limit = asking.limit
    wrong = difference(found, asking.shown(expected), None if asking.many else limit)
    if not wrong and not asking.needs and not asking.many:
        wrong = asked.disorder(found)
    if wrong or asked.read.combine is not Combine.JOIN:
        return wrong, len(found)
    others, named = follow(bench, asked.read, found)
    return difference(others, named), len(found) + len(others)


def _otherwise(asking: Asking, operation: Operation, calls: tuple[Call, ...]) -> str:
    """How what was sent differs from what the design says; empty where it does not."""
    asked = asking.asked.read
    mapped = map_read(asked, asking.bench.workload, asking.bench.facets)
    for request, other in zip(operation.requests, mapped.requests, strict=False):
        if _place(request) != _place(other):
            return f"the design says {' '.join(_place(request))}, and its keys give {' '.join(_place(other))}"
    for request, call in zip(operation.requests, calls, strict=False):
        if (request.call, request.slot) != (call.operation, call.index or TABLE):
            sent = f"{call.operation} on {call.index or TABLE}"
            return f"it was a {sent}, and the design says {request.call} on {request.slot}"
    return ""


def _place(request: Request) -> tuple[str, ...]:
    """Where and how a request reads, in words."""
    order = "in reverse" if request.reverse else ""
    return tuple(filter(None, (request.call, request.slot, request.pk, request.sk, order)))


def _walk(asking: Asking, given: Given, turned: bool) -> tuple[str, int]:
    """What is wrong with the pages of an answer, one after the other; and how many there were.

    Together they are what is read at once, in the same order also of equals; the other way round they are the same
    items, in the opposite order.
    """
    if asking.many is not None or asking.asked.read.result is Result.COUNT:
        return "", 0
    expected = asking.shown(asking.asked.answer(asking.bench.items, given))
    if len(expected) < 2:
        return "", 0
    whole, _ = asking.page(given, None)
    wrong = difference(whole, expected)
    limited = asking.limit
    if not wrong and limited and asking.page(given, limited)[0] != whole[:limited]:
        wrong = f"the first {limited} items are not the first of all"
    if not wrong and not asking.needs:
        wrong = asking.asked.disorder(whole)
    paged: Found = []
    cursor, pages = None, 0
    while not wrong and (cursor is not None or not pages):
        page, cursor = asking.page(given, _PAGE, cursor)
        pages += 1
        paged += page
        if len(page) > _PAGE or pages > len(whole) + 1:
            wrong = (
                f"a page of {len(page)} items, and {_PAGE} were asked for" if len(page) > _PAGE else "pages without end"
            )
    if not wrong and paged != whole:
        wrong = f"page by page it is not what it is at once: {len(paged)} items, and {len(whole)}"
    if not wrong and turned:
        back, _ = asking.page(given, None, reverse=True)
        wrong = difference(back, expected)
        if not wrong and not asking.needs and asking.single:
            wrong = asking.asked.disorder(back[::-1])
        wrong = wrong and f"in reverse: {wrong}"
    return wrong, pages
