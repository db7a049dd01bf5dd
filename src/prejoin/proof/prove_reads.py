"""Reads: each method is called with several inputs, page by page, and compared with brute force."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from prejoin.cases.brute_force import BruteForce, FoundItems, difference
from prejoin.cases.read_cases import Inputs, read_cases
from prejoin.design.mapping.map_reads import map_read
from prejoin.design.model import TABLE, Operation, Request
from prejoin.proof.arguments import read_arguments
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.expected_units import read_units, units_difference
from prejoin.proof.result import PatternProof
from prejoin.proof.sample_table import REFUSALS, BrokenMethodError, SampleTable
from prejoin.render.python.method import Method, Option
from prejoin.table.client.observe import Call
from prejoin.table.errors import TooMany
from prejoin.table.read.page import Collection, Page
from prejoin.workload.model import Entity, Read

_PAGE = 2
"""Items per page when pages are walked: small, so that every kind of boundary falls into one."""


def prove_read(sample: SampleTable, read: Read, expected_table: ExpectedTable | None = None) -> PatternProof:
    """Proves a read that the design serves: the inputs that find most first, then others."""
    operation = sample.design.operation(read.id)
    assert operation is not None  # served
    method = sample.package.methods.get(read.id)
    if method is None:
        return PatternProof.of(read, "no key of the design serves it")
    expected_items = (expected_table or ExpectedTable(sample)).items
    brute_force = BruteForce(read, sample.workload, sample.now)
    reading = _ReadCheck(sample, brute_force, method)
    inputs = read_cases(sample, brute_force)
    first, pages, case_inputs = PatternProof.of(read), 0, inputs[0]
    try:
        for at, case_inputs in enumerate(inputs):
            with sample.watched() as calls:
                answer = reading.call(case_inputs)
            units = read_units(sample, operation, calls, expected_items)
            proof = PatternProof(
                read.id, read.description, tuple(calls), answer.count, case_inputs, at + 1, pages, predicted=units
            )
            wrong = reading.difference(case_inputs, answer) or units_difference(calls, units)
            # The requests of other cases have other values only, so those of the first are compared with the design.
            if at == 0:
                first = proof
                wrong = wrong or _design_difference(sample, read, operation, calls)
                wrong = wrong or reading.async_difference(case_inputs, answer, calls)
            if not wrong:
                wrong, walked_pages = reading.walk(case_inputs)
                pages += walked_pages
            if wrong:
                return replace(proof, pages=pages, wrong=wrong)
    except REFUSALS as error:
        return replace(PatternProof.of(read, str(error)), given=case_inputs)
    except (BrokenMethodError, LookupError, ValueError) as error:
        return replace(PatternProof.of(read, wrong=str(error)), given=case_inputs, cases=1)
    return replace(first, cases=len(inputs), pages=pages)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of a method, by the document's names."""

    items: FoundItems
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


class _ReadCheck:
    """A read, the method that does it, and the brute-force answer."""

    def __init__(self, sample: SampleTable, brute_force: BruteForce, method: Method) -> None:
        self.sample = sample
        self.brute_force = brute_force
        self.method = method
        self.paged = any(param.meaning == Option.AFTER for param in method.params)

    def call(self, inputs: Inputs, asynchronous: bool = False, **options: Any) -> _Answer:
        """Calls the method with the inputs."""
        arguments = read_arguments(self.method, inputs, self.sample.now) | options
        try:
            result = self.sample.run(
                self.method, arguments, inputs.get(self.sample.tenant_name), asynchronous=asynchronous
            )
        except TooMany:
            return _Answer([], too_many=True)
        joined_objects: Sequence[Mapping[Any, Any]] = ()
        if isinstance(result, int):
            return _Answer([], number=result)
        if self.brute_force.joined:
            result, *joined_objects = result
        # A method for one item returns it or None, the others a page, a list or a collection of several entities.
        is_several = isinstance(result, Page | Collection | list)
        records = tuple(result) if is_several else () if result is None else (result,)
        items = [self.sample.package.values(record) for record in records]
        return _Answer(
            items, records, tuple(joined_objects), cursor=getattr(result, "cursor", None) if is_several else None
        )

    def expected_answer(self, inputs: Inputs) -> FoundItems:
        return self.brute_force.answer(self.sample.items, inputs)

    def difference(self, inputs: Inputs, answer: _Answer) -> str:
        """How an answer differs from the brute-force one; empty where it does not."""
        expected_items = self.expected_answer(inputs)
        if answer.too_many:
            return "" if len(expected_items) > 1 else "too many items were found"
        if answer.number is not None:
            is_right = answer.number == len(expected_items)
            return "" if is_right else f"{answer.number} counted instead of {len(expected_items)}"
        wrong = difference(
            answer.items, self.with_view_attributes(answer, expected_items), self.brute_force.most_items()
        )
        if not wrong and self.shows_order(answer):
            wrong = self.brute_force.disorder(answer.items, expected_items)
        for entity, objects in zip(self.brute_force.joined, answer.joined, strict=True):
            wrong = wrong or self._join_difference(entity, answer.items, objects)
        return wrong

    def is_view(self, answer: _Answer) -> bool:
        """Whether objects have only some of their entity's attributes."""
        return any(
            len(self.sample.package.holds(record)) < len(self.sample.package.fields[name])
            for record, (name, _) in zip(answer.records[:1], answer.items, strict=False)
        )

    def shows_order(self, answer: _Answer) -> bool:
        """Whether objects have the attributes by which they are sorted."""
        sorts = {name for bound, _ in self.brute_force.sorts for name in bound.values()}
        return not self.is_view(answer) or sorts <= self.sample.package.holds(answer.records[0])

    def with_view_attributes(self, answer: _Answer, expected_items: FoundItems) -> FoundItems:
        """Expected items with the attributes that a view has."""
        if not self.is_view(answer):
            return expected_items
        view_names = self.sample.package.holds(answer.records[0])
        return [(name, {k: v for k, v in values.items() if k in view_names}) for name, values in expected_items]

    def _join_difference(self, entity: Entity, answer: FoundItems, objects: Mapping[Any, Any]) -> str:
        """How the items that a join has fetched differ from those that the first ones refer to.

        Each is in the result under the values of some of its attributes; under which ones is a matter of the code.
        """
        expected_items = self.brute_force.joined_items(entity, answer, self.sample.items)
        if len(objects) != len(expected_items):
            return f"{len(objects)} of {entity.name} instead of {len(expected_items)}"
        for key, record in objects.items():
            view_names = self.sample.package.holds(record)
            expected_views = [
                {name: value for name, value in values.items() if name in view_names} for values in expected_items
            ]
            values = self.sample.package.values(record)[1]
            if values not in expected_views:
                return f"{entity.name} {values} is none that is referred to"
            parts = key if isinstance(key, tuple) else (key,)
            if not all(part in values.values() for part in parts):
                return f"{entity.name} {values} is under {key}"
        return ""

    def async_difference(self, inputs: Inputs, sync_answer: _Answer, calls: Sequence[Call]) -> str:
        """How the async method differs from the other: in its answer, or in what it sends."""
        if self.sample.package.async_repository is None:
            return ""
        with self.sample.watched() as async_calls:
            answer = self.call(inputs, asynchronous=True)
        has_more = sync_answer.cursor is not None
        # Cursors have the time in them.
        if (
            replace(answer, cursor=None) != replace(sync_answer, cursor=None)
            or (answer.cursor is not None) is not has_more
        ):
            return "the async method gives another answer"
        # Of several queries at once, any may be first.
        if sorted(map(_request_text, async_calls)) != sorted(map(_request_text, calls)):
            return "the async method sends other requests"
        return ""

    def walk(self, inputs: Inputs) -> tuple[str, int]:
        """Read the pages of an answer one after the other, and return the difference and the number of pages.

        Together they have to be what is read at once, also in the order of items that sort equal.
        """
        expected_items = self.expected_answer(inputs)
        if not self.paged or len(expected_items) < 2:
            return "", 0
        # One more than expected, so that the read does not stop where it should have ended.
        whole_answer = self.call(inputs, limit=len(expected_items) + 1)
        wrong = self._whole_difference(inputs, whole_answer, expected_items)
        if wrong:
            return wrong, 0
        return self._paged_difference(inputs, whole_answer.items)

    def _whole_difference(self, inputs: Inputs, answer: _Answer, expected_items: FoundItems) -> str:
        """How all items, read at once, differ from the brute-force ones, and from those read with the limit."""
        wrong = difference(answer.items, self.with_view_attributes(answer, expected_items))
        limit = self.brute_force.read.limit or self.brute_force.read.page
        if not wrong and limit and self.call(inputs, limit=limit).items != answer.items[:limit]:
            wrong = f"the first {limit} items are not the first of all"
        if not wrong and self.shows_order(answer):
            wrong = self.brute_force.disorder(answer.items, expected_items)
        return wrong

    def _paged_difference(self, inputs: Inputs, whole_items: FoundItems) -> tuple[str, int]:
        """How the items of all pages differ from those read at once, and the number of pages."""
        paged_items: FoundItems = []
        cursor, pages = None, 0
        while cursor is not None or not pages:
            page = self.call(inputs, limit=_PAGE, after=cursor)
            cursor, pages = page.cursor, pages + 1
            paged_items += page.items
            if len(page.items) > _PAGE:
                return f"a page of {len(page.items)} items, and {_PAGE} were asked for", pages
            # A page may be empty where a filter removes its items, but each request has to come further.
            if pages > len(whole_items) + 1:
                return "pages without end", pages
        if paged_items != whole_items:
            return f"the pages have other items than one read: {len(paged_items)}, not {len(whole_items)}", pages
        return "", pages


def _request_text(call: Call) -> str:
    # A server may give the attributes of a key in any order, and the next request has them so.
    return f"{call.operation} {json.dumps(call.request, sort_keys=True)}"


def _design_difference(sample: SampleTable, read: Read, operation: Operation, calls: Sequence[Call]) -> str:
    """How the requests sent differ from those of the design; empty where they do not."""
    mapped_operation = map_read(read, sample.workload, sample.facets)
    for request, other in zip(operation.requests, mapped_operation.requests, strict=False):
        if _place(request) != _place(other):
            return f"the design says {' '.join(_place(request))}, and its keys give {' '.join(_place(other))}"
    # A request is sent several times for shards, time buckets and lists.
    design_places = [place for place, _ in groupby(map(_said_place, operation.requests))]
    sent_places = [place for place, _ in groupby(map(_sent_place, calls))]
    for design_place, sent_place in zip(design_places, sent_places, strict=False):
        if design_place != sent_place:
            return f"it was a {sent_place}, and the design says {design_place}"
    return ""


def _said_place(request: Request) -> str:
    return _place_text(request.call, request.slot, request.reverse)


def _sent_place(call: Call) -> str:
    return _place_text(call.operation, call.index or TABLE, call.request.get("ScanIndexForward") is False)


def _place_text(operation: str, slot: str, is_reverse: bool) -> str:
    return f"{operation} on {slot}" + (" in reverse" if is_reverse else "")


def _place(request: Request) -> tuple[str, ...]:
    """Where and how a request reads, in words."""
    order = "in reverse" if request.reverse else ""
    return tuple(filter(None, (request.call, request.slot, request.pk, str(request.sk or ""), order)))
