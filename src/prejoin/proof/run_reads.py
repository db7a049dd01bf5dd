"""Reads run for real: inputs taken from the data, the question asked through the client, the answer compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne
from typing import Any

from prejoin import keys
from prejoin.design.map_reads import ask_of, is_filtered, plain
from prejoin.proof.answer import Answer
from prejoin.proof.bench import Bench
from prejoin.proof.constants import value_of
from prejoin.proof.data import Values
from prejoin.proof.reference import reference
from prejoin.proof.run_joins import follow
from prejoin.table import TableError, begins_with, between, contains, exists, one_of
from prejoin.workload.lookup import bindings
from prejoin.workload.model import RANGES, Combine, Direction, Input, Op, Read

_COMPARE: dict[Op, Callable[[Any, Any], Any]] = {Op.EQ: eq, Op.NE: ne, Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}
Found = list[tuple[str, Values]]


def run_read(bench: Bench, read: Read) -> Answer:
    """One read, with the inputs for which most is found."""
    operation = bench.design.operation(read.id)
    if operation is None or not operation.served:
        problem, remedy = (operation.problem, operation.remedy) if operation else ("it is out of scope", "")
        return Answer(read.id, read.description, problem=problem, remedy=remedy)
    given = inputs_for(bench, read)
    expected = reference(read, bench.workload, bench.items, given, bench.now)
    try:
        with bench.watched() as calls:
            found = _ask(bench, read, given)
            others, named = follow(bench, read, found) if read.combine is Combine.JOIN else ([], [])
    except TableError as problem:
        return Answer(read.id, read.description, given=given, problem=str(problem))
    wrong = _difference(read, found, expected)
    if not wrong and others != named:
        wrong = f"{len(others)} of the {len(named)} items that they name"
    return Answer(read.id, read.description, tuple(calls), len(found) + len(others), given, wrong)


def inputs_for(bench: Bench, read: Read) -> dict[str, Any]:
    """Values for what the caller gives, taken from the item for which the read finds most."""
    candidates = [_inputs_from(bench, read, item) for item in bench.items.get(read.entities[0], [])] or [{}]
    return max(candidates, key=lambda given: len(reference(read, bench.workload, bench.items, given, bench.now)))


def _inputs_from(bench: Bench, read: Read, item: Values) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for one in read.inputs:
        name = bindings(bench.workload, read.entities, one.attribute).get(read.entities[0])
        if one.values or one.op in {Op.EXISTS, Op.NOT_EXISTS} or name is None or item.get(name) is None:
            continue
        value = item[name]
        all_values = sorted({v[name] for v in bench.items[read.entities[0]] if v.get(name) is not None}, key=str)
        if one.many:
            given[one.attribute] = [value, *(v for v in all_values if v != value)][:3]
        elif one.op is Op.BETWEEN:
            given[one.attribute] = (min(v for v in all_values), value)
        elif one.op is Op.BEGINS_WITH:
            given[one.attribute] = str(value)[:4]
        elif one.op is Op.CONTAINS:
            given[one.attribute] = next(iter(value), "")
        else:
            given[one.attribute] = [value] if one.op is Op.IN else value
    return given


def _ask(bench: Bench, read: Read, given: dict[str, Any]) -> Found:
    many = next((i for i in read.inputs if i.many), None)
    if many is None:
        return _once(bench, read, given)
    found: Found = []
    for value in given.get(many.attribute, ()):
        found += _once(bench, read, {**given, many.attribute: value})
    return found


def _once(bench: Bench, read: Read, given: dict[str, Any]) -> Found:
    entities = read.entities[:1] if read.combine is Combine.JOIN else read.entities
    plan = keys.plan(bench.facets, ask_of(read, bench.workload))
    assert isinstance(plan, keys.Plan)  # the operation is served
    first, *others = entities
    python = bench.built.names[first]
    names = {i: python.get(bindings(bench.workload, entities, i.attribute).get(first, ""), "") for i in read.inputs}
    known = [i for i in read.inputs if i.values or i.attribute in given or i.op in {Op.EXISTS, Op.NOT_EXISTS}]
    keyed = [i for i in known if not is_filtered(i, plan)]
    equal = {names[i]: _values(bench, read, i, given)[0] for i in keyed if i.op is Op.EQ}
    ranges = [i for i in keyed if i.op in RANGES]
    order = _order(bench, read, entities)
    limit = read.limit or read.page
    where = _condition(bench, read, ranges, names, given)
    if others:
        roles = _roles(bench, entities, [i for i in keyed if i.op is Op.EQ], names)
        classes = tuple(bench.built.classes[name] for name in entities)
        collection = bench.client.collect(classes, where, roles=roles, order=order, limit=limit, now=bench.now, **equal)
        return [bench.values(record) for record in collection.items]
    filters = [i for i in known if is_filtered(i, plan)]
    page = bench.client.query(
        bench.built.classes[first],
        where,
        order=order,
        limit=limit,
        filter=_condition(bench, read, filters, names, given),
        consistent=plan.ask.consistent,
        now=bench.now,
        **equal,
    )
    return [bench.values(record) for record in page.items]


def _values(bench: Bench, read: Read, one: Input, given: dict[str, Any]) -> Sequence[Any]:
    if one.values:
        entity = bench.entity(read.entities[0])
        attribute = entity.attribute(bindings(bench.workload, read.entities, one.attribute)[entity.name])
        assert attribute is not None  # bound
        return [value_of(v, attribute, bench.now) for v in one.values]
    value = given.get(one.attribute)
    return value if isinstance(value, tuple | list) and one.op in {Op.BETWEEN, Op.IN} else [value]


def _order(bench: Bench, read: Read, entities: tuple[str, ...]) -> list[keys.Order]:
    """The order as the client takes it; of one entity among several where only that has the attribute."""
    order = []
    for sort in read.sort:
        bound = bindings(bench.workload, entities, sort.attribute)
        entity, attribute = next(iter(bound.items()))
        item = bench.design.item(entity)
        only = item.tag if item and len(bound) < len(entities) else ""
        order.append(keys.Order(bench.built.names[entity][attribute], sort.direction is Direction.DESC, only))
    return order


def _roles(
    bench: Bench, entities: tuple[str, ...], equal: list[Input], names: dict[Input, str]
) -> dict[type[Any], dict[str, str]]:
    roles: dict[type[Any], dict[str, str]] = {}
    for one in equal:
        for entity, attribute in bindings(bench.workload, entities, one.attribute).items():
            python = bench.built.names[entity][attribute]
            if python != names[one]:
                roles.setdefault(bench.built.classes[entity], {})[names[one]] = python
    return roles


def _condition(
    bench: Bench, read: Read, inputs: list[Input], names: dict[Input, str], given: dict[str, Any]
) -> Callable[[Any], Any] | None:
    if not inputs:
        return None

    def condition(record: Any) -> Any:
        return reduce(and_, (test(i.op, getattr(record, names[i]), _values(bench, read, i, given)) for i in inputs))

    return condition


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


def _difference(read: Read, found: Found, expected: Found) -> str:
    """What is wrong with an answer; empty where it is right. Of a page, any items that come first are right."""
    limit = read.limit or read.page or len(expected)
    if len(found) != min(len(expected), limit):
        return f"{len(found)} items instead of {min(len(expected), limit)}"
    strange = [item for item in found if item not in expected]
    if strange:
        return f"an item that was not asked for: {strange[0]}"
    if read.sort and len(read.entities) == 1:
        names = [plain(s.attribute) for s in read.sort]
        order = [tuple(values.get(n) for n in names) for _, values in found]
        if order != [tuple(values.get(n) for n in names) for _, values in expected[: len(found)]]:
            return "the items are not in the order asked for"
    return ""
