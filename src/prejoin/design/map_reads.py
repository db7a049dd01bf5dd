"""Reads mapped to requests: each read becomes what the planner says, or a problem with the key that would serve it."""

from __future__ import annotations

from collections.abc import Sequence

from prejoin import keys
from prejoin.design.model import Call, Operation, Request
from prejoin.keys import Ask, Facet, Plan, Refusal
from prejoin.keys import Order as KeyOrder
from prejoin.workload.grammar.values import write_comparison
from prejoin.workload.lookup import bindings
from prejoin.workload.model import (
    RANGES,
    Accept,
    Combine,
    Consistency,
    Direction,
    Input,
    Op,
    Read,
    Result,
    Workload,
)

_NONE: frozenset[str] = frozenset()


def map_read(read: Read, workload: Workload, facets: Sequence[Facet]) -> Operation:
    """The operation of a read, with the facets of the table."""
    try:
        ask = ask_of(read, workload)
    except ValueError as problem:
        return Operation(read.id, problem=str(problem))
    found = keys.plan(facets, ask)
    if isinstance(found, Refusal):
        return Operation(read.id, problem=f"no key serves {ask}", remedy=found.remedy)
    requests = [_request(found, read)]
    if read.combine is Combine.JOIN:
        requests.append(Request(Call.BATCH_GET, entities=read.entities[1:]))
    return Operation(read.id, tuple(requests))


def ask_of(read: Read, workload: Workload) -> Ask:
    """What a read asks of the keys. A list of ids is asked one by one; optional inputs may become filters."""
    entities = read.entities[:1] if read.combine is Combine.JOIN else read.entities
    names: dict[str, str] = {}
    roles: list[tuple[str, str, str]] = []
    for one in (*(i.attribute for i in read.inputs), *(s.attribute for s in read.sort)):
        name = plain(one)
        names[one] = name
        for entity, attribute in bindings(workload, entities, one).items():
            if attribute != name and (entity, name, attribute) not in roles:
                roles.append((entity, name, attribute))
    given = [i for i in read.inputs if i.op is Op.EQ and not i.filter]
    ranges = [i for i in read.inputs if i.op in RANGES and not i.filter and not i.optional]
    if len(ranges) > 1:
        raise ValueError(
            f"{' and '.join(i.attribute for i in ranges)} are two ranges; a key serves one, the other is a filter"
        )
    may_filter = any(isinstance(d.pin, Accept) and d.pin.pattern == read.id for d in workload.decisions)
    return Ask.of(
        *entities,
        equal=[names[i.attribute] for i in given if not i.values],
        constants=[(names[i.attribute], i.values[0].const) for i in given if i.values],
        within=(names[ranges[0].attribute], ranges[0].op.value) if ranges else None,
        order=[_order(s.attribute, s.direction, names, workload, entities) for s in read.sort],
        consistent=read.consistency in {Consistency.STRONG, Consistency.TRANSACTIONAL},
        filtered=[names[i.attribute] for i in given if i.optional or may_filter],
        needs=[plain(n) for n in read.needs] or None,
        roles=roles,
    )


def plain(name: str) -> str:
    """A name without the entity that it may be qualified with."""
    return name.rpartition(".")[2]


def _order(
    name: str, direction: Direction, names: dict[str, str], workload: Workload, entities: tuple[str, ...]
) -> KeyOrder:
    """The order as the planner knows it: of the entity that has the attribute, where not all have it."""
    having = bindings(workload, entities, name)
    entity = next(iter(having)) if len(having) == 1 and len(entities) > 1 else ""
    return KeyOrder(names[name], direction is Direction.DESC, entity)


def _request(found: Plan, read: Read) -> Request:
    facet = found.facets[0]
    many = any(i.many for i in read.inputs)
    call = Call(found.operation)
    return Request(
        call=Call.BATCH_GET if many and call is Call.GET else call,
        slot=found.slot,
        entities=found.ask.entities,
        pk=facet.pk.text,
        sk=sort_condition(found),
        shards=found.shards,
        bucket=found.bucket.bucket if found.bucket else "",
        reverse=found.reverse,
        limit=read.limit or read.page,
        consistent=found.ask.consistent,
        count=read.result is Result.COUNT,
        filters=tuple(filter_text(i) for i in read.inputs if is_filtered(i, found)),
        attributes=read.needs,
    )


def is_filtered(one: Input, found: Plan) -> bool:
    """Whether an input is left to a filter: said so by the author, or of a kind that no key answers."""
    keyed = one.op is Op.EQ or one.op in RANGES
    return one.filter or not keyed or plain(one.attribute) in found.filtered or (one.optional and one.op is not Op.EQ)


def filter_text(one: Input) -> str:
    return f"{plain(one.attribute)} {write_comparison(one.op, one.values, _NONE)}"


def sort_condition(found: Plan) -> str:
    """What a plan asks of the sort key, with placeholders: `begins_with ORDER#`."""
    sk, region = found.facets[0].sk, found.region
    if sk is None or region.kind == "whole":
        return ""
    head = _text(sk, region.depth)
    match region.kind:
        case "exact":
            return f"= {head}"
        case "prefix":
            return f"begins_with {head}"
        case "span":
            return f"between {head}{region.low} and {head}{region.high}"
        case _:
            within = found.within
            return f"{within.op} {head}{{{within.attribute}}}" if within else f"begins_with {head}"


def _text(template: keys.KeyForm, depth: int) -> str:
    return "".join(p.text if isinstance(p, keys.Literal) else f"{{{p.name}}}" for p in template.parts[:depth])
