"""Reads: each method is called with several inputs, page by page, and compared with brute force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, assert_never

from prejoin.design.mapping.map_reads import followed, map_read, varying
from prejoin.design.model import TABLE, Operation, Request
from prejoin.proof.arguments import read_arguments
from prejoin.proof.brute_force import BruteForce, Found, difference
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.expected_units import read_units, units_difference
from prejoin.proof.read_cases import Inputs, read_cases
from prejoin.proof.result import PatternProof
from prejoin.proof.sample_table import REFUSALS, BrokenMethodError, SampleTable
from prejoin.render.python.method import Method, Option
from prejoin.table.client.observe import Call
from prejoin.table.errors import TooMany
from prejoin.table.read.page import Collection, Page
from prejoin.workload.model import Combine, Read, Result
from prejoin.workload.tenants import tenant_of

_PAGE = 2
"""Items per page when pages are walked: small, so that every kind of boundary falls into one."""


def prove_read(sample: SampleTable, read: Read, expected: ExpectedTable | None = None) -> PatternProof:
    """Proves a read that the design serves: the inputs that find most first, then others."""
    operation = sample.design.operation(read.id)
    assert operation is not None  # served
    method = sample.package.methods.get(read.id)
    if method is None:
        return PatternProof(read.id, read.description, problem="no key of the design serves it")
    there = (expected or ExpectedTable(sample)).items
    brute_force = BruteForce(read, sample.workload, sample.now)
    reading = _ReadCheck(sample, brute_force, method)
    inputs = read_cases(sample, brute_force)
    first, pages, given = PatternProof(read.id, read.description), 0, inputs[0]
    try:
        for at, given in enumerate(inputs):
            with sample.watched() as calls:
                answer = reading.call(given)
            units = read_units(sample, operation, calls, there)
            proof = PatternProof(
                read.id, read.description, tuple(calls), answer.count, given, at + 1, pages, predicted=units
            )
            wrong = reading.difference(given, answer) or units_difference(calls, units)
            if at == 0:
                first = proof
                wrong = wrong or _design_difference(sample, read, operation, calls)
                wrong = wrong or reading.async_difference(given, answer, calls)
            if not wrong:
                wrong, walked = reading.walk(given)
                pages += walked
            if wrong:
                return replace(proof, pages=pages, wrong=wrong)
    except REFUSALS as error:
        return PatternProof(read.id, read.description, given=given, problem=str(error))
    except (BrokenMethodError, LookupError, ValueError) as error:
        return PatternProof(read.id, read.description, given=given, cases=1, wrong=str(error))
    return replace(first, cases=len(inputs), pages=pages)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of a method, by the document's names."""

    items: Found
    """The items of all entities; for a join, those of the first entity."""
    records: tuple[Any, ...] = ()
    joined: tuple[Mapping[Any, Any], ...] = ()
    """For a join, the objects of each further entity, by their ids."""
    number: int | None = None
    """The result of a count."""
    too_many: bool = False
    """Whether it refused to choose one of several items."""
    cursor: str | None = None

    @property
    def count(self) -> int:
        return len(self.items) + sum(map(len, self.joined)) if self.number is None else self.number


def _most_items(read: Read) -> int | None:
    """The number of items after which a read without a list of ids may stop."""
    match read.result:
        case Result.ONE:
            return 1
        case Result.MANY | Result.COUNT | None:
            return read.limit or read.page
        case _:
            assert_never(read.result)


class _ReadCheck:
    """A read, the method that does it, and the brute-force answer."""

    def __init__(self, sample: SampleTable, brute_force: BruteForce, method: Method) -> None:
        self.sample = sample
        self.brute_force = brute_force
        self.method = method
        self.many = any(one.many for one in brute_force.read.inputs)
        self.paged = any(param.meaning == Option("after") for param in method.params)
        tenant = sample.workload.tenant
        self._tenant = tenant.attribute if tenant else ""

    def call(self, inputs: Inputs, asynchronous: bool = False, **options: Any) -> _Answer:
        """Calls the method with the inputs."""
        arguments = read_arguments(self.method, inputs, self.sample.now) | options
        try:
            result = self.sample.run(self.method, arguments, inputs.get(self._tenant), asynchronous=asynchronous)
        except TooMany:
            return _Answer([], too_many=True)
        others: Sequence[Mapping[Any, Any]] = ()
        if isinstance(result, int):
            return _Answer([], number=result)
        if self.brute_force.read.combine is Combine.JOIN:
            result, *others = result
        several = isinstance(result, Page | Collection | list)
        records = tuple(result) if several else () if result is None else (result,)
        items = [self.sample.package.values(record) for record in records]
        return _Answer(items, records, tuple(others), cursor=getattr(result, "cursor", None) if several else None)

    def expected(self, inputs: Inputs) -> Found:
        return self.brute_force.answer(self.sample.items, inputs)

    def difference(self, inputs: Inputs, answer: _Answer) -> str:
        """How an answer differs from the brute-force one; empty where it does not."""
        read, expected = self.brute_force.read, self.expected(inputs)
        if answer.too_many:
            return "" if len(expected) > 1 else "too many items were found"
        if answer.number is not None:
            return "" if answer.number == len(expected) else f"{answer.number} counted instead of {len(expected)}"
        wrong = difference(answer.items, self.shown(answer, expected), None if self.many else _most_items(read))
        if not wrong and self.shows_order(answer):
            wrong = self.brute_force.disorder(answer.items, expected)
        for name, named in zip(read.entities[1:], answer.joined, strict=False):
            wrong = wrong or self._join_difference(name, answer.items, named)
        return wrong

    def is_view(self, answer: _Answer) -> bool:
        """Whether objects have only some of their entity's attributes."""
        return any(
            len(self.sample.package.holds(one)) < len(self.sample.package.fields[name])
            for one, (name, _) in zip(answer.records[:1], answer.items, strict=False)
        )

    def shows_order(self, answer: _Answer) -> bool:
        """Whether objects have the attributes by which they are sorted."""
        sorts = {name for bound, _ in self.brute_force.sorts for name in bound.values()}
        return not self.is_view(answer) or sorts <= self.sample.package.holds(answer.records[0])

    def shown(self, answer: _Answer, expected: Found) -> Found:
        """Expected items with the attributes that a view has."""
        if not self.is_view(answer):
            return expected
        held = self.sample.package.holds(answer.records[0])
        return [(name, {k: v for k, v in values.items() if k in held}) for name, values in expected]

    def _join_difference(self, name: str, answer: Found, named: Mapping[Any, Any]) -> str:
        """How the items that a join has fetched differ from those that the first ones refer to."""
        read, workload = self.brute_force.read, self.sample.workload
        links = followed(read, workload, name)
        ids = [[values.get(link.own.name) for link in links] for _, values in answer]
        # The tenant of a client is no part of what it is called with.
        names = [link.other.name for link in varying([o for o in links if o.own.name != tenant_of(workload, read)])]
        wanted = {
            values[names[0]] if len(names) == 1 else tuple(values[n] for n in names): values
            for values in self.sample.items.get(name, [])
            if [values.get(link.other.name) for link in links] in ids
        }
        there = {key: self.sample.package.values(one)[1] for key, one in named.items()}
        held = {key: self.sample.package.holds(one) for key, one in named.items()}
        shown = {k: {n: v for n, v in values.items() if n in held.get(k, ())} for k, values in wanted.items()}
        return "" if there == shown else f"{len(there)} of {name} instead of {len(wanted)}"

    def async_difference(self, inputs: Inputs, found: _Answer, calls: Sequence[Call]) -> str:
        """How the async method differs from the other: in its answer, or in what it sends."""
        if self.sample.package.async_repository is None:
            return ""
        with self.sample.watched() as seen:
            answer = self.call(inputs, asynchronous=True)
        more = found.cursor is not None
        # Cursors have the time in them.
        if replace(answer, cursor=None) != replace(found, cursor=None) or (answer.cursor is not None) is not more:
            return "the async method gives another answer"
        if sorted(map(_sent, seen)) != sorted(map(_sent, calls)):  # of several queries at once, any may be first
            return "the async method sends other requests"
        return ""

    def walk(self, inputs: Inputs) -> tuple[str, int]:
        """Read the pages of an answer one after the other, and return the difference and the number of pages.

        Together they have to be what is read at once, also in the order of items that sort equal.
        """
        read = self.brute_force.read
        expected = self.expected(inputs)
        if not self.paged or len(expected) < 2:
            return "", 0
        whole = self.call(inputs, limit=len(expected) + 1)
        wrong = difference(whole.items, self.shown(whole, expected))
        limited = read.limit or read.page
        if not wrong and limited and self.call(inputs, limit=limited).items != whole.items[:limited]:
            wrong = f"the first {limited} items are not the first of all"
        if not wrong and self.shows_order(whole):
            wrong = self.brute_force.disorder(whole.items, expected)
        paged: Found = []
        cursor, pages = None, 0
        while not wrong and (cursor is not None or not pages):
            page = self.call(inputs, limit=_PAGE, after=cursor)
            cursor, pages = page.cursor, pages + 1
            paged += page.items
            if len(page.items) > _PAGE:
                wrong = f"a page of {len(page.items)} items, and {_PAGE} were asked for"
            elif pages > len(whole.items) + 1:
                wrong = "pages without end"
        if not wrong and paged != whole.items:
            wrong = f"the pages have other items than one read: {len(paged)}, not {len(whole.items)}"
        return wrong, pages


def _sent(call: Call) -> str:
    return f"{call.operation} {call.request}"


def _design_difference(sample: SampleTable, read: Read, operation: Operation, calls: Sequence[Call]) -> str:
    """How the requests sent differ from those of the design; empty where they do not."""
    mapped = map_read(read, sample.workload, sample.facets)
    for request, other in zip(operation.requests, mapped.requests, strict=False):
        if _place(request) != _place(other):
            return f"the design says {' '.join(_place(request))}, and its keys give {' '.join(_place(other))}"
    # A request is sent several times for shards, time buckets and lists.
    said = [place for place, _ in groupby((str(request.call), request.slot) for request in operation.requests)]
    sent = [place for place, _ in groupby((call.operation, call.index or TABLE) for call in calls)]
    for wanted, was in zip(said, sent, strict=False):
        if wanted != was:
            return f"it was a {' on '.join(was)}, and the design says {' on '.join(wanted)}"
    return ""


def _place(request: Request) -> tuple[str, ...]:
    """Where and how a request reads, in words."""
    order = "in reverse" if request.reverse else ""
    return tuple(filter(None, (request.call, request.slot, request.pk, request.sk, order)))
