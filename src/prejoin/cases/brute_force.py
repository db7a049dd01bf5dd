"""Brute force: the expected answer of a read, by a search through all items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, assert_never

from prejoin.cases.conditions import compare, value_of
from prejoin.cases.items import Values
from prejoin.cases.joins import join_links, joined_entities
from prejoin.workload.lookup import alternatives, bindings
from prejoin.workload.model import Attribute, Direction, Entity, Input, Op, Read, Result, Sort, Workload

FoundItems = list[tuple[str, Values]]
"""Items, each with its entity."""
_ItemTest = Callable[[Values], bool]


def _order_of(read: Read) -> tuple[Sort, ...]:
    """The order, taken from the document itself: what the proof compares with decides by itself what was asked for."""
    match read.result:
        case Result.COUNT:  # what is only counted has no order
            return ()
        case Result.ONE | Result.MANY | None:
            return read.sort
        case _:
            assert_never(read.result)


class BruteForce:
    """A read answered by a search through all items."""

    def __init__(self, read: Read, workload: Workload, now: datetime) -> None:
        self.read = read
        self.workload = workload
        self.now = now
        self.joined = joined_entities(workload, read)
        """The entities whose items a join reads beside those that it finds."""
        self.entities = read.entities[:1] if self.joined else read.entities
        self.bound = {source: bindings(workload, self.entities, source.attribute) for source in read.inputs}
        self.sorts = [(bindings(workload, self.entities, s.attribute), s.direction) for s in _order_of(read)]

    def answer(self, items: Mapping[str, Sequence[Values]], inputs: Mapping[str, Any]) -> FoundItems:
        """All items that match, entity by entity, in the order of the read."""
        answer_items: FoundItems = []
        for entity in filter(None, map(self.workload.entity, self.entities)):
            tests = self._tests(entity, inputs)
            if tests is not None:
                matching = list(items.get(entity.name, ()))
                for test in tests:
                    matching = [values for values in matching if test(values)]
                answer_items += [(entity.name, values) for values in self._sort_items(matching, entity.name)]
        return answer_items

    def joined_items(self, other: Entity, answer: FoundItems, items: Mapping[str, Sequence[Values]]) -> list[Values]:
        """The items of a joined entity to which those of an answer refer."""
        links = join_links(self.workload, self.read, other)
        ids = [tuple(map(values.get, links.values())) for _, values in answer]
        return [values for values in items.get(other.name, ()) if tuple(map(values.get, links)) in ids]

    def most_items(self) -> int | None:
        """The number of items after which the read may stop; None if it has to give all."""
        is_list = any(source.many for source in self.read.inputs)
        match self.read.result:
            case Result.COUNT:
                return None
            case Result.ONE | Result.MANY | None if len(self.entities) > 1:
                return self.read.limit or self.read.page
            case Result.ONE | Result.MANY | None if is_list:
                return None
            case Result.ONE:
                return 1
            case Result.MANY | None:
                return self.read.limit or self.read.page
            case _:
                assert_never(self.read.result)

    def _tests(self, entity: Entity, inputs: Mapping[str, Any]) -> list[_ItemTest] | None:
        """The tests that an item of an entity has to pass; None if an input is missing, and none can."""
        tests: list[_ItemTest] = []
        for group in alternatives(self.read.inputs):
            alternative_tests: list[_ItemTest] = []
            for source in group:
                name = self.bound[source].get(entity.name)
                attribute = entity.attribute(name) if name else None
                if attribute is None:
                    continue  # The entity has no such attribute: the input is about the others.
                test = self._test(source, attribute, inputs)
                if test is not None:
                    alternative_tests.append(test)
                elif not source.optional:
                    return None
            if alternative_tests:
                tests.append(_any_test(alternative_tests))
        return tests

    def _test(self, source: Input, attribute: Attribute, inputs: Mapping[str, Any]) -> _ItemTest | None:
        """The test of one input; None if the caller does not give it."""
        if source.op in {Op.EXISTS, Op.NOT_EXISTS}:
            return _presence(attribute.name, source.op is Op.EXISTS)
        if source.values:
            other = source.values[0].attribute
            if other is not None:
                return _relation(attribute.name, source.op, other)
            constants = [value_of(value, attribute, self.now) for value in source.values]
            return _comparison(attribute.name, source, constants)
        operand = inputs.get(source.attribute)
        if operand is None:
            return None
        return _comparison(attribute.name, source, operand if isinstance(operand, list | tuple) else [operand])

    def _sort_items(self, items: Iterable[Values], entity: str) -> list[Values]:
        order = list(items)
        for bound, direction in reversed(self.sorts):
            if name := bound.get(entity):
                order.sort(key=_sort_key(name), reverse=direction is Direction.DESC)
        return order

    def disorder(self, items: FoundItems, expected_items: FoundItems) -> str:
        """An error message if items are not in the order of the read. Entities without the attribute do not count."""
        if not self.sorts:
            return ""
        if len(self.entities) == 1:  # items that sort equal may change places
            is_in_order = self._sort_keys(items) == self._sort_keys(expected_items[: len(items)])
        else:
            is_in_order = all(self._is_before(low, high) for low, high in pairwise(self._sort_keys(items)))
        return "" if is_in_order else "the items are not in the order asked for"

    def _sort_keys(self, items: FoundItems) -> list[list[Any]]:
        """The sort keys of the items that have all attributes of the order."""
        keys: list[list[Any]] = []
        for entity, values in items:
            # An entity without the attribute may be anywhere among the others.
            names = [bound.get(entity) for bound, _ in self.sorts]
            if None not in names:
                keys.append([_sort_key(name)(values) for name in names if name])
        return keys

    def _is_before(self, keys: Sequence[Any], next_keys: Sequence[Any]) -> bool:
        """Whether an item may come before the next one: the first sort key in which they differ decides."""
        for key, next_key, (_, direction) in zip(keys, next_keys, self.sorts, strict=True):
            if key != next_key:
                return bool(key < next_key) is (direction is Direction.ASC)
        return True


def _any_test(tests: Sequence[_ItemTest]) -> _ItemTest:
    if len(tests) == 1:
        return tests[0]
    return lambda values: any(test(values) for test in tests)


def _presence(name: str, present: bool) -> _ItemTest:
    return lambda values: (values.get(name) is not None) is present


def _comparison(name: str, source: Input, operands: Sequence[Any]) -> _ItemTest:
    op, is_list = source.op, source.many
    return lambda values: compare(op, values.get(name), operands, is_list)


def _relation(name: str, op: Op, other: str) -> _ItemTest:
    """The comparison of two attributes. Of an absent one only `<>` is true."""

    def test(values: Values) -> bool:
        operand = values.get(other)
        return op is Op.NE if operand is None else compare(op, values.get(name), [operand])

    return test


def _sort_key(name: str) -> Callable[[Values], Any]:
    """The sort key of an attribute; items without it come first, as in the keys."""
    return lambda values: (values.get(name) is not None, values.get(name))


def difference(items: FoundItems, expected_items: FoundItems, limit: int | None = None) -> str:
    """How items differ from the expected ones; with a limit, any of these may be missing beyond it."""
    expected_count = len(expected_items) if limit is None else min(len(expected_items), limit)
    remaining = list(expected_items)
    for item in items:
        if item not in remaining:
            return f"an item that was not asked for: {item[0]} {item[1]}"
        remaining.remove(item)
    if len(items) != expected_count:
        return f"{len(items)} items instead of {expected_count}"
    return ""
