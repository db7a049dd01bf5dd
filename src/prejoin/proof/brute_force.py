"""Brute force: the expected answer of a read, by a search through all items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, assert_never

from prejoin.proof.data import Values
from prejoin.types import Kind
from prejoin.workload.constants import constant
from prejoin.workload.lookup import alternatives, bindings
from prejoin.workload.model import Attribute, Combine, Direction, Entity, Input, Op, Read, Result, Sort, Value, Workload

Found = list[tuple[str, Values]]
"""Items, each with its entity."""


def _asked_entities(read: Read) -> tuple[str, ...]:
    """The entities that the inputs are about. A join follows the others from the items of the first."""
    match read.combine:
        case Combine.JOIN:
            return read.entities[:1]
        case Combine.COLLECTION | None:
            return read.entities
        case _:
            assert_never(read.combine)


def _order_of(read: Read) -> tuple[Sort, ...]:
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
        self.now = now
        self.entities = _asked_entities(read)
        self.bound = {i: bindings(workload, self.entities, i.attribute) for i in read.inputs}
        self.sorts = [(bindings(workload, self.entities, s.attribute), s.direction) for s in _order_of(read)]
        self._described = [entity for entity in map(workload.entity, self.entities) if entity]

    def answer(self, items: Mapping[str, Sequence[Values]], inputs: Mapping[str, Any]) -> Found:
        """All items that match, entity by entity, in the order of the read."""
        found: Found = []
        for entity in self._described:
            tests = self._tests(entity, inputs)
            if tests is not None:
                matching = list(items.get(entity.name, ()))
                for test in tests:
                    matching = [values for values in matching if test(values)]
                found += [(entity.name, values) for values in self._ordered(matching, entity.name)]
        return found

    def _tests(self, entity: Entity, inputs: Mapping[str, Any]) -> list[Callable[[Values], bool]] | None:
        """The tests that an item of an entity has to pass; None if an input is missing, and none can."""
        tests: list[Callable[[Values], bool]] = []
        for group in alternatives(self.read.inputs):
            some: list[Callable[[Values], bool]] = []
            for one in group:
                name = self.bound[one].get(entity.name)
                attribute = entity.attribute(name) if name else None
                if name is None or attribute is None:
                    continue  # The entity has no such attribute: the input is about the others.
                if one.op in {Op.EXISTS, Op.NOT_EXISTS}:
                    some.append(_presence(name, one.op is Op.EXISTS))
                    continue
                if one.values and (other := one.values[0].attribute) is not None:
                    some.append(_relation(name, one.op, other))
                    continue
                asked = [value_of(v, attribute, self.now) for v in one.values] or inputs.get(one.attribute)
                if asked is not None:
                    values = asked if one.values or isinstance(asked, list | tuple) else [asked]
                    some.append(_comparison(name, one, values))
                elif not one.optional:
                    return None
            tests += [_any(some)] if some else []
        return tests

    def _ordered(self, items: Iterable[Values], entity: str) -> list[Values]:
        found = list(items)
        for bound, direction in reversed(self.sorts):
            if name := bound.get(entity):
                found.sort(key=_by(name), reverse=direction is Direction.DESC)
        return found

    def disorder(self, items: Found, expected: Found) -> str:
        """An error message if items are not in the order of the read. Entities without the attribute do not count."""
        ordered = [bound for bound, _ in self.sorts]
        if not ordered:
            return ""
        if len(self.entities) == 1:  # items that sort equal may change places
            places = [[_by(bound[name])(values) for bound in ordered] for name, values in items]
            first = [[_by(bound[name])(values) for bound in ordered] for name, values in expected[: len(items)]]
            return "" if places == first else "the items are not in the order asked for"
        having = [(name, values) for name, values in items if all(name in bound for bound in ordered)]
        places = [[_by(bound[name])(values) for bound in ordered] for name, values in having]
        for one, other in pairwise(places):
            for at, (_, direction) in enumerate(self.sorts):
                low, high = (one[at], other[at]) if direction is Direction.ASC else (other[at], one[at])
                if low > high:
                    return "the items are not in the order asked for"
                if low < high:
                    break
        return ""


def _any(tests: Sequence[Callable[[Values], bool]]) -> Callable[[Values], bool]:
    if len(tests) == 1:
        return tests[0]
    return lambda values: any(test(values) for test in tests)


def _presence(name: str, present: bool) -> Callable[[Values], bool]:
    return lambda values: (values.get(name) is not None) is present


def _comparison(name: str, one: Input, asked: Sequence[Any]) -> Callable[[Values], bool]:
    op, many = one.op, one.many
    return lambda values: compare(op, values.get(name), asked, many)


def _relation(name: str, op: Op, other: str) -> Callable[[Values], bool]:
    """The comparison of two attributes. Of an absent one only `<>` is true."""

    def test(values: Values) -> bool:
        compared = values.get(other)
        return op is Op.NE if compared is None else compare(op, values.get(name), [compared])

    return test


def compare(op: Op, value: Any, asked: Sequence[Any], many: bool = False) -> bool:
    """Whether a comparison is true. Of an absent attribute only `<>` is, as in DynamoDB.

    >>> compare(Op.BETWEEN, 3, (1, 5)), compare(Op.BEGINS_WITH, "Anna", ["An"])
    (True, True)
    >>> compare(Op.NE, None, ["DONE"]), compare(Op.EQ, None, ["DONE"])
    (True, False)
    """
    if value is None:
        return op in (Op.NE, Op.NOT_EXISTS)
    if many and op not in (Op.EXISTS, Op.NOT_EXISTS):
        return value in asked
    match op:
        case Op.EXISTS:
            return True
        case Op.NOT_EXISTS:
            return False
        case Op.IN:
            return value in asked
        case Op.EQ:
            return bool(value == asked[0])
        case Op.NE:
            return bool(value != asked[0])
        case Op.LT:
            return bool(value < asked[0])
        case Op.LE:
            return bool(value <= asked[0])
        case Op.GT:
            return bool(value > asked[0])
        case Op.GE:
            return bool(value >= asked[0])
        case Op.BETWEEN:
            return bool(asked[0] <= value <= asked[1])
        case Op.BEGINS_WITH:
            return str(value).startswith(str(asked[0]))
        case Op.CONTAINS:
            return asked[0] in value
        case _:
            assert_never(op)


def _by(name: str) -> Callable[[Values], Any]:
    """The sort key of an attribute; items without it come first, as in the keys."""
    return lambda values: (values.get(name) is not None, values.get(name))


def difference(items: Found, expected: Found, limit: int | None = None) -> str:
    """How items differ from the expected ones; with a limit, any of these may be missing beyond it."""
    wanted = len(expected) if limit is None else min(len(expected), limit)
    left = list(expected)
    for item in items:
        if item not in left:
            return f"an item that was not asked for: {item[0]} {item[1]}"
        left.remove(item)
    if len(items) != wanted:
        return f"{len(items)} items instead of {wanted}"
    return ""


def value_of(value: Value, attribute: Attribute, now: datetime, inputs: dict[str, Any] | None = None) -> Any:
    """The Python value of a constant, an input or a time, for an attribute."""
    if value.param is not None:
        return (inputs or {})[value.param]
    if value.now is not None:
        return _moment(now + timedelta(seconds=value.now), attribute)
    return constant(value.const or "", attribute.type)


def _moment(moment: datetime, attribute: Attribute) -> Any:
    match attribute.type.kind:
        case Kind.DATETIME:
            return moment.replace(microsecond=0) if attribute.ttl else moment
        case Kind.DATE:
            return moment.date()
        case Kind.STRING:
            return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
        case (
            Kind.NUMBER
            | Kind.INTEGER
            | Kind.DECIMAL
            | Kind.BOOLEAN
            | Kind.BINARY
            | Kind.UUID
            | Kind.ULID
            | Kind.LIST
            | Kind.MAP
            | Kind.SET
            | Kind.ENUM
            | Kind.CONTENT
        ):
            return int(moment.timestamp())
        case _:
            assert_never(attribute.type.kind)
