"""Maps reads to requests by asking the planner. A read without a key gets a problem, and the key that would serve
it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import combinations
from typing import assert_never

import msgspec

from prejoin import keys
from prejoin.design.cost.assumptions import is_value_count_known, per_second
from prejoin.design.cost.excess import Excess, excess
from prejoin.design.counters import wants
from prejoin.design.mapping.facets import counter_templates
from prejoin.design.model import Call, Design, Operation, Request, Units
from prejoin.keys import Facet, Lookup, Order, Plan, Refusal, When
from prejoin.protocol.limits import MB
from prejoin.protocol.prices import MONTH_SECONDS, dollars
from prejoin.workload.constants import constant_or_text
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.values import write_comparison
from prejoin.workload.lookup import alternatives, bare_name, bindings, equalities, foreign_parts, root, targets
from prejoin.workload.model import (
    RANGES,
    Accept,
    Attribute,
    Combine,
    Consistency,
    Direction,
    Entity,
    Input,
    Op,
    Read,
    Result,
    Workload,
)
from prejoin.workload.tenants import tenant_of

_NONE: frozenset[str] = frozenset()


def map_read(read: Read, workload: Workload, facets: Sequence[Facet]) -> Operation:
    """The operation of a read with the facets of a table."""
    try:
        _, joined = _asked_and_joined(read)
        others = [_fetch(read, workload, facets, name) for name in joined]
        found = _planned(read, workload, facets)
        if (tested := [i for i in read.inputs if is_membership(i) and is_filtered(i, found)]) and (
            over := excess(read, workload, tested)
        ):
            raise ExcessError(read, workload, over)
        _batchable(found, read)
        _separable(found, read)
        _testable(found, read)
        requests = [_request(found, read), *others]
    except ExcessError as problem:
        return Operation(read.id, problem=str(problem), remedy=problem.remedy, units=Units(problem.excess.units))
    except NotServedError as problem:
        return Operation(read.id, problem=str(problem), remedy=problem.remedy)
    except ValueError as problem:
        return Operation(read.id, problem=str(problem))
    return Operation(read.id, tuple(requests))


def _asked_and_joined(read: Read) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The entities that the inputs of a read find, and those that it follows from the items found."""
    match read.combine:
        case Combine.JOIN:
            return read.entities[:1], read.entities[1:]
        case Combine.COLLECTION | None:
            return read.entities, ()
        case _:
            assert_never(read.combine)


def _is_counted(read: Read) -> bool:
    """Whether a read returns the number of the items, without attributes and order."""
    match read.result:
        case Result.COUNT:
            return True
        case Result.ONE | Result.MANY | None:
            return False
        case _:
            assert_never(read.result)


def with_sums(operation: Operation, read: Read, workload: Workload, design: Design) -> Operation:
    """The operation with the requests that sum the sharded counters of the items it returns."""
    if _is_counted(read) or not operation.served:
        return operation
    sums = []
    for counter in design.counters:
        entity = workload.entity(counter.entity)
        summed = any(wants(read, name) for name in counter.attributes)
        if entity and summed and entity.name in operation.requests[0].entities:
            pk, sk = counter_templates(design, entity)
            consistent = operation.requests[0].consistent
            sums.append(
                Request(
                    Call.BATCH_GET,
                    entities=(entity.name,),
                    pk=pk.text,
                    sk=f"= {sk.text}",
                    shards=counter.shards,
                    consistent=consistent,
                    counter=counter.name,
                )
            )
    return msgspec.structs.replace(operation, requests=(*operation.requests, *sums))


class NotServedError(ValueError):
    """No key serves the read; `remedy` says which key would, or what to ask for instead."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


class ExcessError(NotServedError):
    """A key would find the items, but a call would read too much."""

    def __init__(self, read: Read, workload: Workload, found: Excess) -> None:
        self.excess = found
        cost = dollars(reads=found.units * per_second(read.rate) * MONTH_SECONDS)
        problem = f"a call reads {found.size / MB:,.1f} MB and returns {'a number' if found.count else 'a small part'}"
        if not found.filters and not found.count:
            problem = f"a call reads {found.size / MB:,.1f} MB, more than a page of 1 MB"
        accept = "filter" if found.filters else "read several pages"
        super().__init__(
            f"{problem}: {found.units:,.0f} read units, and ${cost:,.2f} a month",
            f"{_less(read, workload, found)}; or accept it, `{read.id} may {accept}`",
        )


def _less(read: Read, workload: Workload, found: Excess) -> str:
    """The change that makes a read smaller."""
    if found.count and (ranged := [i.attribute for i in read.inputs if i.op in RANGES]):
        return f"keep a counter for each value of `{ranged[0]}`, or for each span, and add up those in the range"
    if found.count:
        return "keep the number in an item that the writes change, a counter"
    if not found.filters:
        some = next((i for i in read.inputs if _holds_some(i)), None)
        fewer = f"; say how many there are, `{write_inputs((some,))} (keeps 1%)`" if some else ""
        if guessed := _guessed(read, workload):
            fewer = f"; say how many there are, `~5 per {guessed[1]}` under Cardinality of {guessed[0]}"
        return f"write `Yes` under Paginated, or give a limit{fewer}"
    optional = [i.attribute for i in read.inputs if i.optional and i.op is Op.EQ]
    names = " or ".join(f"`{name}`" for name in optional)
    need = f"require {names}, and leave less to filters" if optional else "ask for less by another input"
    if any(i.op is Op.CONTAINS for i in read.inputs):
        need = "keep an item for each word, and find it by that"
    return f"{need}; say how much a filter keeps, `(keeps 50%)`; or search in an index made for it, such as OpenSearch"


def _holds_some(one: Input) -> bool:
    """Whether an input is a condition of a sparse index, and the document does not say how many items meet it."""
    constant = bool(one.values) and one.op in (Op.EQ, Op.IN)
    return one.keeps is None and (constant or one.op in (Op.EXISTS, Op.NOT_EXISTS))


def _guessed(read: Read, workload: Workload) -> tuple[str, str] | None:
    """The first entity, and an input of which the document does not say how many of its items have the same value."""
    entity = workload.entity(read.entities[0])
    given = [i.attribute for i in read.inputs if i.op is Op.EQ and not (i.values or i.filter or i.optional)]
    unknown = [name for name in given if entity and not is_value_count_known(workload, entity, name, given)]
    return (read.entities[0], unknown[0]) if unknown else None


def plan_read(read: Read, workload: Workload, facets: Sequence[Facet]) -> Plan | Refusal:
    """The plan of a read. It holds whichever of the optional inputs are given: these are more of the same key, or
    filters. Raises a ValueError if no key could serve the read.
    """
    ask = ask_of(read, workload)
    found = keys.plan(facets, ask)
    optional = {bare_name(i.attribute) for i in read.inputs if i.optional and i.op is Op.EQ} & ask.equal
    if isinstance(found, Refusal) or found.filtered >= optional:
        return found
    alone = keys.plan(facets, _giving(ask, optional, ()))
    if isinstance(alone, Refusal):
        return alone
    some = (
        given for size in range(len(optional) + 1) for given in combinations(sorted(optional - found.filtered), size)
    )
    if all(_same_key(alone, keys.plan(facets, _giving(ask, optional, given))) for given in some):
        return found
    return msgspec.structs.replace(alone, lookup=ask, filtered=alone.filtered | optional)


def _giving(ask: Lookup, optional: Set[str], given: Sequence[str]) -> Lookup:
    """The lookup with some of the optional inputs."""
    return msgspec.structs.replace(
        ask, equal=(ask.equal - optional).union(given), filtered=(ask.filtered - optional).union(given)
    )


def _same_key(one: Plan, other: Plan | Refusal) -> bool:
    if isinstance(other, Refusal) or other.filtered - one.filtered:
        return False
    return (one.operation, one.slot, one.facets) == (other.operation, other.slot, other.facets)


def _planned(read: Read, workload: Workload, facets: Sequence[Facet]) -> Plan:
    found = plan_read(read, workload, facets)
    if isinstance(found, Refusal):
        raise NotServedError(f"no key serves {found.lookup}", found.remedy)
    return found


def _batchable(found: Plan, read: Read) -> None:
    """Refuse further conditions on a list of keys: BatchGetItem has none."""
    if found.operation == "GetItem" and any(i.many for i in read.inputs):
        beside = [i.attribute for i in read.inputs if bare_name(i.attribute) not in found.facets[0].attributes]
        if beside:
            raise NotServedError(
                "a list of keys is one BatchGetItem, which tests nothing else",
                f"leave {' and '.join(beside)} out, and look at the items",
            )


def _separable(found: Plan, read: Read) -> None:
    """Refuse inputs that would become filters on several types of items, and are not declared as such."""
    tested = [i.attribute for i in read.inputs if is_filtered(i, found) and not is_tested(i)]
    if len(found.lookup.entities) > 1 and tested:
        raise NotServedError(
            f"{' and '.join(tested)} would be a filter on several kinds of items",
            f"say so, `filter {tested[0]}`, or ask for each kind by itself",
        )


def _testable(found: Plan, read: Read) -> None:
    """Refuse filters by attributes that are the key of the index as they are: DynamoDB does."""
    keyed = {
        i.attribute
        for i in read.inputs
        if is_filtered(i, found)
        for facet in found.facets
        if found.lookup.attribute(facet.entity, bare_name(i.attribute)) in facet.key_attributes
    }
    if keyed:
        raise NotServedError(
            f"{' and '.join(sorted(keyed))} would be a filter, and DynamoDB does not filter by a key of {found.slot}",
            "let its keys be texts: `composite index keys`",
        )


def ask_of(read: Read, workload: Workload) -> Lookup:
    """The read as a question to the planner. A list of ids is one id at a time; optional inputs may become filters."""
    if workload.pattern(read.id) is not read:
        return _ask_of(read, workload)
    key = ("ask_of", read.id)  # the solver asks thousands of times
    if key not in workload.memo:
        workload.memo[key] = _ask_of(read, workload)
    found: Lookup = workload.memo[key]
    return found


def _ask_of(read: Read, workload: Workload) -> Lookup:
    entities, joined = _asked_and_joined(read)
    for other in joined:
        _links(read, workload, other)  # without a reference there is nothing to follow, whatever the keys are
    names: dict[str, str] = {}
    roles: list[tuple[str, str, str]] = []
    for one in (*(i.attribute for i in read.inputs), *(s.attribute for s in read.sort)):
        name = bare_name(one)
        names[one] = name
        for entity, attribute in bindings(workload, entities, one).items():
            if attribute != name and (entity, name, attribute) not in roles:
                roles.append((entity, name, attribute))
    counted = _is_counted(read)
    given = [i for i in read.inputs if i.op is Op.EQ and not i.filter]
    ranges = [i for i in read.inputs if i.op in RANGES and not i.filter and not i.optional]
    if len(ranges) > 1:
        raise NotServedError(
            f"{' and '.join(i.attribute for i in ranges)} are two ranges; a key serves one, the other is a filter",
            f"write `filter {write_inputs((ranges[-1],))}`; or for places on a map, ask by the prefix of a geohash",
        )
    if len(entities) > 1 and (tested := [i.attribute for i in read.inputs if is_membership(i)]):
        raise NotServedError(
            f"{' and '.join(tested)} would decide which items an index holds, and a read of several kinds of items has "
            "no such index",
            "write `filter` before it, or ask for each kind by itself",
        )
    if len(entities) > 1 and (lists := [i.attribute for i in read.inputs if i.many]):
        raise NotServedError(
            f"{' and '.join(lists)} is a list, and several kinds of items are read under one key at a time",
            f"ask for one, `{bare_name(lists[0])}`, and call it for each",
        )
    if found := excess(read, workload):
        raise ExcessError(read, workload, found)
    accepted = [d.pin.how for d in workload.decisions if isinstance(d.pin, Accept) and d.pin.pattern == read.id]
    may_filter = any(how != "several pages" for how in accepted)
    only = [_membership(i, workload, entities) for i in read.inputs if is_membership(i)]
    return Lookup.of(
        *entities,
        equal=[names[i.attribute] for i in given if not i.values],
        constants=[(names[i.attribute], _constant(i, workload, entities)) for i in given if i.values],
        within=(names[ranges[0].attribute], ranges[0].op.value) if ranges else None,
        # A count has no order.
        order=[_order(s.attribute, s.direction, names, workload, entities) for s in read.sort if not counted],
        consistent=read.is_consistent,
        filtered=[names[i.attribute] for i in given if i.optional or may_filter] + [one.attribute for one in only],
        needs=_needs(read, workload, entities),
        roles=roles,
        only=only,
    )


def is_membership(one: Input) -> bool:
    """Whether an input can decide about the membership in a sparse index: `exists`, `not exists`, `in (A, B)`."""
    constants = one.op is Op.IN and bool(one.values) and all(value.const is not None for value in one.values)
    return not one.filter and not one.optional and (one.op in (Op.EXISTS, Op.NOT_EXISTS) or constants)


def _membership(one: Input, workload: Workload, entities: tuple[str, ...]) -> When:
    (entity, name), *_ = bindings(workload, entities, one.attribute).items() or [("", bare_name(one.attribute))]
    described = workload.entity(entity)
    attribute = described.attribute(name) if described else None
    texts = [value.const for value in one.values if value.const is not None]
    values = frozenset(constant_or_text(text, attribute.type) if attribute else text for text in texts)
    return When(name, values if one.op is Op.IN else None, absent=one.op is Op.NOT_EXISTS)


def _constant(one: Input, workload: Workload, entities: tuple[str, ...]) -> object:
    """The constant of an input, with the type of its attribute."""
    text = one.values[0].const
    for entity, name in bindings(workload, entities, one.attribute).items():
        described = workload.entity(entity)
        attribute = described.attribute(name) if described else None
        if attribute is not None and text is not None:
            return constant_or_text(text, attribute.type)
    return text


def _needs(read: Read, workload: Workload, entities: tuple[str, ...]) -> list[str] | None:
    """The attributes that the slot must hold: the wanted ones, those of filters, and those that a join follows.

    None for all attributes. A count wants none, but that of several entities collects their items.
    """
    if not read.needs and (not _is_counted(read) or len(entities) > 1):
        return None
    wanted = [*wanted_of(read, workload, entities)]
    # An optional input may become a filter, depending on the keys.
    wanted += [bare_name(i.attribute) for i in read.inputs if i.filter or i.optional or i.op not in {Op.EQ, *RANGES}]
    _, joined = _asked_and_joined(read)
    wanted += [link.own.name for name in joined for link in followed(read, workload, name)]
    return list(dict.fromkeys(wanted))


def wanted_of(read: Read, workload: Workload, entities: tuple[str, ...]) -> tuple[str, ...]:
    """The wanted attributes of some entities of a read; empty if it wants all or none."""
    having = [e for e in map(workload.entity, entities) if e]
    return tuple(n for n in map(bare_name, read.needs) if any(e.attribute(n) for e in having))


class JoinLink(msgspec.Struct, frozen=True):
    """An attribute of a join's first entity and the attribute of the other entity whose value it holds."""

    own: Attribute
    other: Attribute
    given: bool
    """Whether the read gives its value, so that all items found share it."""


def followed(read: Read, workload: Workload, name: str) -> tuple[JoinLink, ...]:
    """The attributes that lead from a join's first entity to another; empty if none does.

    `via` names one of them; otherwise it is the first reference to the other entity, if possible one that is not an
    input. If it holds a part of that entity's id, the attributes with the other parts follow, in the order of the id.
    """
    first, other = workload.entity(read.entities[0]), workload.entity(name)
    if first is None or other is None:
        return ()
    asked = {bindings(workload, read.entities[:1], one).get(first.name) for one in equalities(read)}
    lists = {bindings(workload, read.entities[:1], i.attribute).get(first.name) for i in read.inputs if i.many}
    leading = [a for a in first.attributes if any(e is other for e, _ in targets(workload, a))]
    said = first.attribute(bare_name(read.via)) if read.via else None
    lead = said or next((a for a in leading if a.name not in asked), None)
    lead = lead or next((a for a in leading if a.name != tenant_of(workload, read)), None)
    held = next((one for one in targets(workload, lead) if one[0] is other), None) if lead else None
    if lead is None or held is None:
        return ()
    parts = {held[1].name: lead}
    if held[1].id:
        parts |= {part.name: a for part, a in foreign_parts(workload, first, other, lead)}
    return tuple(
        JoinLink(own, theirs, own.name in asked - lists)
        for theirs in (other.id if held[1].id else (held[1],))
        if (own := parts.get(theirs.name))
    )


def _order(
    name: str, direction: Direction, names: dict[str, str], workload: Workload, entities: tuple[str, ...]
) -> Order:
    """The order for the planner: of one entity, if only that one has the attribute."""
    having = bindings(workload, entities, name)
    entity = next(iter(having)) if len(having) == 1 and len(entities) > 1 else ""
    return Order(names[name], direction is Direction.DESC, entity)


def _request(found: Plan, read: Read) -> Request:
    facet = found.facets[0]
    many = next((bare_name(i.attribute) for i in read.inputs if i.many), "")
    return Request(
        call=_call(found, read, bool(many)),
        slot=found.slot,
        entities=found.lookup.entities,
        copies=tuple(f"{f.entity}/{f.copy}" for f in found.facets if f.copy),
        pk=facet.pk.text,
        sk=sort_condition(found),
        shards=found.shards,
        bucket=found.bucket.bucket if found.bucket else "",
        each=many,
        reverse=found.reverse,
        limit=read.limit or read.page,
        consistent=found.lookup.consistent,
        count=_is_counted(read),
        filters=tuple(
            group_text(group)
            for group in alternatives(read.inputs)
            if any(is_filtered(one, found) or is_compared(one, found) for one in group)
        ),
        attributes=read.needs,
    )


def _call(found: Plan, read: Read, many: bool) -> Call:
    call = Call(found.operation)
    match read.consistency:
        case Consistency.TRANSACTIONAL:
            if call is Call.GET:
                return Call.TRANSACT_GET
            raise NotServedError(
                "a transaction reads items by their keys, not a range of them",
                "read it strongly, or by the ids of the items",
            )
        case Consistency.EVENTUAL | Consistency.STRONG | None:
            return Call.BATCH_GET if many and call is Call.GET else call
        case _:
            assert_never(read.consistency)


def _fetch(read: Read, workload: Workload, facets: Sequence[Facet], name: str) -> Request:
    """The second request of a join: the items by their keys, up to a hundred in one request."""
    links, other = _links(read, workload, name)
    wanted = wanted_of(read, workload, (name,)) if read.needs else ()
    given = [link.other.name for link in links]
    ask = Lookup.of(name, equal=given, consistent=read.is_consistent, needs=wanted or None)
    found = keys.plan(facets, ask)
    missing = [a.name for a in other.id if a.name not in ask.equal] if links[0].other.id else []
    # A generated part of an id is unique by itself, so an index by it is enough.
    if missing and (isinstance(found, Refusal) or not any(link.other.generated for link in links)):
        held = " and ".join(f"`{link.own.name}`" for link in links)
        raise NotServedError(
            f"{held} of {read.entities[0]} is not the whole id of {name}",
            f"give {read.entities[0]} the rest of it: an attribute with `→ {name}.{missing[0]}`",
        )
    if isinstance(found, Refusal):
        raise NotServedError(f"no key serves {ask}", found.remedy)
    facet = found.facets[0]
    names = {n: n for n in facet.attributes} | {link.other.name: link.own.name for link in links}
    return Request(
        call=_call(found, read, many=True),
        slot=found.slot,
        entities=(name,),
        copies=(f"{name}/{facet.copy}",) if facet.copy else (),
        pk=keys.renamed(facet.pk.text, names),
        sk=keys.renamed(sort_condition(found), names),
        shards=found.shards,
        each=varying(links)[-1].own.name,
        consistent=read.is_consistent,
        attributes=wanted,
    )


def _links(read: Read, workload: Workload, name: str) -> tuple[tuple[JoinLink, ...], Entity]:
    """The attributes that lead to another entity of a join, and that entity."""
    links, first, other = followed(read, workload, name), workload.entity(read.entities[0]), workload.entity(name)
    if links and other:
        return links, other
    part = f".{other.id[-1].name}" if other and len(other.id) > 1 else ""
    feed = _feed(read, workload, first, other) if first and other else ""
    raise NotServedError(
        f"no attribute of {read.entities[0]} says which {name} is meant",
        f"mark the one that holds its id: `→ {name}{part}`{feed}",
    )


def _feed(read: Read, workload: Workload, first: Entity, other: Entity) -> str:
    """The fix for a read of the items of all that it finds: the posts of all whom somebody follows."""
    asked = {bare_name(i.attribute) for i in read.inputs}
    roots = {root(workload, other, a) for a in other.attributes}
    named = [
        a.name for a in first.attributes if a.references and a.name not in asked and root(workload, first, a) in roots
    ]
    if not named:
        return ""
    feed = f"write an item for each reader when a {other.name} is created"
    return f"; or if the {other.name} items of each `{named[0]}` are meant, a feed, {feed}"


def varying(links: Sequence[JoinLink]) -> tuple[JoinLink, ...]:
    """The links whose values differ between the items of a read; all, if every value is given."""
    return tuple(link for link in links if not link.given) or tuple(links)


def is_filtered(one: Input, found: Plan) -> bool:
    """Whether an input becomes a filter with this plan."""
    if is_membership(one):
        name = found.lookup.attribute(found.lookup.entities[0], bare_name(one.attribute))
        return any(name == when.attribute for when in found.tested)
    return is_tested(one) or bare_name(one.attribute) in found.filtered


def is_tested(one: Input) -> bool:
    """Whether an input is a filter with any keys: declared as one, or of a kind that no key answers."""
    if is_membership(one):
        return False
    return one.filter or (one.op is not Op.EQ and (one.optional or one.op not in RANGES))


def is_compared(one: Input, found: Plan) -> bool:
    """Whether the single item under a key is compared with an input. Nothing more is read, so the key answers it."""
    return bare_name(one.attribute) in found.compared


def filter_text(one: Input) -> str:
    """A filter in words, with a placeholder for the caller's value.

    >>> filter_text(Input("Order.status")), filter_text(Input("total", Op.GE)), filter_text(Input("note", Op.EXISTS))
    ('status = {status}', 'total >= {total}', 'note exists')
    """
    name = bare_name(one.attribute)
    said = write_comparison(one.op, one.values, _NONE).rstrip()
    return f"{name} {said}" if one.values or not one.op.arity else f"{name} {said} {{{name}}}"


def group_text(group: Sequence[Input]) -> str:
    """A filter in words; if one of several is enough, in parentheses: `(status = OPEN or priority = HIGH)`."""
    text = " or ".join(map(filter_text, group))
    return f"({text})" if len(group) > 1 else text


def sort_condition(found: Plan) -> str:
    """The sort key condition of a plan, with placeholders: `begins_with ORDER#`."""
    sk, region = found.facets[0].sk, found.scope
    if sk is None or region.kind == "whole":
        return ""
    if isinstance(sk, keys.Natural):  # one condition for each attribute
        names = [part.name for part in sk.parts[: region.depth]] + ([found.within.attribute] if found.within else [])
        return f"{found.within.op if found.within else '='} {' + '.join(f'{{{name}}}' for name in names)}"
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
    return "".join(p.text if isinstance(p, keys.KeyText) else f"{{{p.name}}}" for p in template.parts[:depth])
