"""A read asked through the client: as the application would, with values in place of the pattern's inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne
from typing import Any

from prejoin import keys
from prejoin.design.mapping.map_reads import ask_of, is_filtered
from prejoin.proof.bench import Bench
from prejoin.proof.constants import value_of
from prejoin.proof.inputs import Given
from prejoin.proof.reference import Found, Reference
from prejoin.table import Get, NotServed, begins_with, between, contains, exists, one_of
from prejoin.workload.lookup import bare_name
from prejoin.workload.model import RANGES, Consistency, Direction, Input, Op, Result

_COMPARE: dict[Op, Callable[[Any, Any], Any]] = {Op.EQ: eq, Op.NE: ne, Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}
_NO_VALUES = frozenset({Op.EXISTS, Op.NOT_EXISTS})


class Asking:
    """A read as calls of the client: what does not depend on values is found out once."""

    def __init__(self, bench: Bench, asked: Reference) -> None:
        read = asked.read
        found = keys.plan(bench.facets, ask_of(read, bench.workload))
        if isinstance(found, keys.Refusal):
            raise NotServed(found)
        self.bench = bench
        self.asked = asked
        self.plan = found
        self.first = asked.entities[0]
        python = bench.built.names[self.first]
        self.names = {i: python.get(asked.bound[i].get(self.first, ""), "") for i in read.inputs}
        self.order = self._order()
        self.many = next((i for i in read.inputs if i.many), None)
        self.single = len(asked.entities) == 1
        wanted = {bare_name(n) for n in read.needs}
        self.needs = wanted & {a.name for a in bench.entity(self.first).attributes} if self.single else set()
        self.into = bench.view(self.first, sorted(self.needs)) if self.needs else None

    @property
    def limit(self) -> int | None:
        return self.asked.read.limit or self.asked.read.page

    def shown(self, expected: Found) -> Found:
        """Expected items as they are given back: of a projection, with the attributes that are wanted."""
        if not self.needs:
            return expected
        return [(name, {k: v for k, v in values.items() if k in self.needs}) for name, values in expected]

    def as_pattern(self, given: Given, one: bool) -> Found:
        """The pattern, just as it is meant: a get where there is `one` item to find, else a query of one page."""
        if self.many is not None:
            return self._each(given)
        if one and self._gettable:
            return self._get(given)
        return self.page(given, self.limit)[0]

    @property
    def _gettable(self) -> bool:
        read = self.asked.read
        return self.single and read.result is Result.ONE and not read.sort and all(self._plain(i) for i in read.inputs)

    def _plain(self, one: Input) -> bool:
        return one.op is Op.EQ and not one.filter and not one.optional

    def _get(self, given: Given) -> Found:
        equal = {name: self._values(i, given)[0] for i, name in self.names.items()}
        cls = self.bench.built.classes[self.first]
        if self.asked.read.consistency is Consistency.TRANSACTIONAL:
            found = self.bench.client.get_together(Get(cls, into=self.into, **equal))[0]
        else:
            found = self.bench.client.get(cls, consistent=self.plan.lookup.consistent, into=self.into, **equal)
        return [] if found is None else [(self.first, self.bench.values_as(self.first, found))]

    def _each(self, given: Given) -> Found:
        """A list of ids: one batch where these are keys of the table, else one query after the other."""
        assert self.many is not None
        values = given.get(self.many.attribute, ())
        if self.plan.operation != "GetItem":
            pages = [self.page({**given, self.many.attribute: value}, self.limit)[0] for value in values]
            return [item for page in pages for item in page]
        asked = [{**given, self.many.attribute: value} for value in values]
        equal = [{name: self._values(i, one)[0] for i, name in self.names.items()} for one in asked]
        cls = self.bench.built.classes[self.first]
        found: Sequence[Any]
        if self.asked.read.consistency is Consistency.TRANSACTIONAL:
            found = self.bench.client.get_together(*(Get(cls, into=self.into, **one) for one in equal))
        else:
            consistent = self.plan.lookup.consistent
            found = self.bench.client.get_many(cls, equal, consistent=consistent, into=self.into)
        return [(self.first, self.bench.values_as(self.first, one)) for one in found if one is not None]

    def count(self, given: Given) -> int:
        equal, where, test_ = self._parts(given)
        cls = self.bench.built.classes[self.first]
        consistent = self.plan.lookup.consistent
        return self.bench.client.count(cls, where, filter=test_, consistent=consistent, now=self.bench.now, **equal)

    def page(
        self, given: Given, limit: int | None, after: str | None = None, reverse: bool = False
    ) -> tuple[Found, str | None]:
        """Items from a cursor on, and the cursor to go on from."""
        bench = self.bench
        equal, where, test_ = self._parts(given)
        options: dict[str, Any] = {
            "order": self.order,
            "reverse": reverse,
            "limit": limit,
            "after": after,
            "consistent": self.plan.lookup.consistent,
            "now": bench.now,
        }
        if not self.single:
            classes = tuple(bench.built.classes[name] for name in self.asked.entities)
            collection = bench.client.collect(classes, where, roles=self._roles(), **options, **equal)
            return [bench.values(record) for record in collection.items], collection.cursor
        cls = bench.built.classes[self.first]
        page = bench.client.query(cls, where, filter=test_, into=self.into, **options, **equal)
        return [(self.first, bench.values_as(self.first, record)) for record in page.items], page.cursor

    def _parts(self, given: Given) -> tuple[dict[str, Any], Callable[[Any], Any] | None, Callable[[Any], Any] | None]:
        """What goes where: equalities as keywords, ranges into the condition, the rest into the filter."""
        known = [i for i in self.names if i.values or i.attribute in given or i.op in _NO_VALUES]
        keyed = [i for i in known if not is_filtered(i, self.plan)]
        equal = {self.names[i]: self._values(i, given)[0] for i in keyed if i.op is Op.EQ}
        ranges = [i for i in keyed if i.op in RANGES]
        return equal, self._condition(ranges, given), self._condition([i for i in known if i not in keyed], given)

    def _values(self, one: Input, given: Given) -> Sequence[Any]:
        if one.values:
            entity, name = next(iter(self.asked.bound[one].items()))
            attribute = self.bench.entity(entity).attribute(name)
            assert attribute is not None  # bound
            return [value_of(v, attribute, self.bench.now) for v in one.values]
        value = given.get(one.attribute)
        return value if isinstance(value, tuple | list) and one.op in {Op.BETWEEN, Op.IN} else [value]

    def _condition(self, inputs: list[Input], given: Given) -> Callable[[Any], Any] | None:
        if not inputs:
            return None
        tests = [(i.op, self.names[i], self._values(i, given)) for i in inputs]
        return lambda record: reduce(and_, (test(op, getattr(record, name), values) for op, name, values in tests))

    def _order(self) -> list[keys.Order]:
        """The order as the client takes it; of one entity among several where only that has the attribute."""
        order = []
        for bound, direction in self.asked.sorts:
            entity, attribute = next(iter(bound.items()))
            item = self.bench.design.item(entity)
            only = item.tag if item and len(bound) < len(self.asked.entities) else ""
            name = self.bench.built.names[entity][attribute]
            order.append(keys.Order(name, direction is Direction.DESC, only))
        return order

    def _roles(self) -> dict[type[Any], dict[str, str]]:
        roles: dict[type[Any], dict[str, str]] = {}
        for one, called in self.names.items():
            if one.op is Op.EQ and not is_filtered(one, self.plan):
                for entity, attribute in self.asked.bound[one].items():
                    python = self.bench.built.names[entity][attribute]
                    if python != called:
                        roles.setdefault(self.bench.built.classes[entity], {})[called] = python
        return roles


def test(op: Op, attribute: Any, values: Sequence[Any]) -> Any:
    """A comparison as the client's conditions have it."""
    match op:
        case Op.BETWEEN:
            return between(attribute, values[0], values[1])
        case Op.BEGINS_WITH:
            return begins_with(attribute, values[0])
        case Op.CONTAINS:
            return contains(attribute, values[0])
        case Op.IN:
            return one_of(attribute, list(values))
        case Op.EXISTS:
            return exists(attribute)
        case Op.NOT_EXISTS:
            return ~exists(attribute)
        case _:
            return _COMPARE[op](attribute, values[0])
