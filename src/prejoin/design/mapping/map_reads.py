"""Maps reads to requests by asking the planner. A read without a key gets a problem, and the key that would serve
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import assert_never

import msgspec

from prejoin import keys
from prejoin.constructs.registry import added_in, held_attributes, hidden_filters
from prejoin.design.cost.assumptions import is_value_count_known, per_second
from prejoin.design.cost.excess import Excess, excess
from prejoin.design.counters import wants
from prejoin.design.model import Call, Design, InputGroup, ItemName, Operation, Request, Units
from prejoin.keys import Facet, Lookup, Plan, Refusal
from prejoin.keys.planner.placeholders import sort_condition
from prejoin.protocol.limits import MB
from prejoin.protocol.prices import MONTH_SECONDS, dollars
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.lookup import root
from prejoin.workload.model import RANGES, Consistency, Entity, Input, Op, Read, Workload
from prejoin.workload.program.resolved_read import Clause, Join, ResolvedRead, Role, resolve_read


def map_read(read: Read, workload: Workload, facets: Sequence[Facet]) -> Operation:
    """The operation of a read with the facets of a table."""
    resolved_read = resolve_read(workload, read)
    try:
        join_requests = [_fetch(resolved_read, facets, join) for join in resolved_read.joins]
        plan = plan_read(read, workload, facets)
        if isinstance(plan, Refusal):
            raise NotServedError(f"no key serves {plan.lookup}", plan.remedy)
        sparse_filters = [clause for clause in resolved_read.having(Role.MEMBERSHIP) if _is_filtered(clause, plan)]
        if sparse_filters and (over := excess(resolved_read, sparse_filters)):
            raise ExcessError(resolved_read, over)
        _must_be_batchable(plan, resolved_read)
        _must_be_separable(plan, resolved_read)
        _must_be_testable(plan, resolved_read)
        requests = [_request(plan, resolved_read), *join_requests]
    except ExcessError as problem:
        return Operation(read.id, problem=str(problem), remedy=problem.remedy, units=Units(problem.excess.units))
    except NotServedError as problem:
        return Operation(read.id, problem=str(problem), remedy=problem.remedy)
    except ValueError as problem:
        return Operation(read.id, problem=str(problem))
    return Operation(read.id, tuple(requests))


def with_sums(operation: Operation, read: Read, workload: Workload, design: Design) -> Operation:
    """The operation with the requests for what the items of constructs hold of its result: sums of counters."""
    if resolve_read(workload, read).counts or not operation.served:
        return operation
    sums: list[Request] = []
    first = operation.requests[0]
    for bound in added_in(workload, design):
        if bound.entity.name in first.entities:
            sums += bound.complete(partial(wants, read), first.consistent, design)
    return msgspec.structs.replace(operation, requests=(*operation.requests, *sums))


class NotServedError(ValueError):
    """No key serves the read; `remedy` says which key would, or what to ask for instead."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


class ExcessError(NotServedError):
    """A key would find the items, but a call would read too much."""

    def __init__(self, resolved_read: ResolvedRead, cost_excess: Excess) -> None:
        self.excess = cost_excess
        read = resolved_read.read
        cost = dollars(reads=cost_excess.units * per_second(read.rate) * MONTH_SECONDS)
        result = "a number" if cost_excess.count else "a small part"
        problem = f"a call reads {cost_excess.size / MB:,.1f} MB and returns {result}"
        if not cost_excess.filters and not cost_excess.count:
            problem = f"a call reads {cost_excess.size / MB:,.1f} MB, more than a page of 1 MB"
        accept = "filter" if cost_excess.filters else "read several pages"
        super().__init__(
            f"{problem}: {cost_excess.units:,.0f} read units, and ${cost:,.2f} a month",
            f"{_less(resolved_read, cost_excess)}; or accept it, `{read.id} may {accept}`",
        )


def _less(resolved_read: ResolvedRead, cost_excess: Excess) -> str:
    """The change that makes a read smaller."""
    if cost_excess.count:
        ranges = [condition for condition in resolved_read.read.inputs if condition.op in RANGES]
        if not ranges:
            return "keep the number in an item that the writes change, a counter"
        name = ranges[0].attribute
        return f"keep a counter for each value of `{name}`, or for each span, and add up those in the range"
    if not cost_excess.filters:
        return f"write `Yes` under Paginated, or give a limit{_how_many(resolved_read)}"
    return "; ".join(_ways_without_filters(resolved_read))


def _ways_without_filters(resolved_read: ResolvedRead) -> Iterator[str]:
    """What may take the place of filters that drop too much."""
    yield _smaller_question(resolved_read)
    filters = [condition for condition in resolved_read.read.inputs if condition.filter]
    if sparse_conditions := [condition for condition in filters if _is_condition_of_index(condition)]:
        names = write_inputs(tuple(msgspec.structs.replace(condition, filter=False) for condition in sparse_conditions))
        yield f"write `{names}` without `filter`, and an index may hold only those"
    if not filters or any(condition.keeps is None for condition in filters):
        yield "say how much a filter keeps, `(keeps 50%)`"
    yield "or search in an index made for it, such as OpenSearch"


def _how_many(resolved_read: ResolvedRead) -> str:
    """The fix for a result that is smaller than assumed: the document says how many items there are."""
    name = _uncounted_input(resolved_read)
    if name:
        return f"; say how many there are, `~5 per {name}` under Cardinality of {resolved_read.entities[0].name}"
    for condition in resolved_read.read.inputs:
        if _holds_some(condition):
            return f"; say how many there are, `{write_inputs((condition,))} (keeps 1%)`"
    return ""


def _smaller_question(resolved_read: ResolvedRead) -> str:
    """What to ask for instead of a filter."""
    if any(condition.op is Op.CONTAINS for condition in resolved_read.read.inputs):
        return "keep an item for each word, and find it by that"
    optional_names = [clause.input.attribute for clause in resolved_read.having(Role.OPTIONAL)]
    if not optional_names:
        return "ask for less by another input"
    return f"require {' or '.join(f'`{name}`' for name in optional_names)}, and leave less to filters"


def _is_condition_of_index(condition: Input) -> bool:
    """Whether a filter can be the condition of a sparse index: it tests the presence, or compares with constants."""
    if condition.optional or condition.either:
        return False
    return _is_constant_condition(condition) and all(value.const is not None for value in condition.values)


def _is_constant_condition(condition: Input) -> bool:
    """Whether an input tests the presence, or the equality with values of the document."""
    if condition.op in (Op.EXISTS, Op.NOT_EXISTS):
        return True
    return condition.op in (Op.EQ, Op.IN) and bool(condition.values)


def _holds_some(condition: Input) -> bool:
    """Whether an input is a condition of a sparse index, and the document does not say how many items meet it."""
    return condition.keeps is None and _is_constant_condition(condition)


def _uncounted_input(resolved_read: ResolvedRead) -> str:
    """The first input of which the document does not say how many items have the same value; empty if it says all."""
    entity = resolved_read.entities[0]
    inputs = [clause.input for clause in resolved_read.having(Role.EQUAL)]
    names = [input_.attribute for input_ in inputs if not input_.values]
    for name in names:
        if not is_value_count_known(resolved_read.workload, entity, name, names):
            return name
    return ""


def plan_read(read: Read, workload: Workload, facets: Sequence[Facet]) -> Plan | Refusal:
    """The plan of a read. Raises a ValueError if no key could serve the read."""
    return keys.plan(facets, ask_of(read, workload))


def _must_be_batchable(plan: Plan, resolved_read: ResolvedRead) -> None:
    """Refuse further conditions on a list of keys: BatchGetItem has none."""
    if plan.operation == "GetItem" and resolved_read.in_list:
        beside = [c.input.attribute for c in resolved_read.clauses if c.name not in plan.facets[0].attributes]
        if beside:
            raise NotServedError(
                "a list of keys is one BatchGetItem, which tests nothing else",
                f"leave {' and '.join(beside)} out, and look at the items",
            )


def _filtered_clauses(plan: Plan, resolved_read: ResolvedRead) -> list[Clause]:
    return [clause for clause in resolved_read.clauses if _is_filtered(clause, plan)]


def _must_be_separable(plan: Plan, resolved_read: ResolvedRead) -> None:
    """Refuse inputs that would become filters on several types of items, and are not declared as such."""
    undeclared_filters = [clause for clause in _filtered_clauses(plan, resolved_read) if clause.role is not Role.FILTER]
    if len(resolved_read.entities) > 1 and undeclared_filters:
        text = " and ".join(clause.input.attribute for clause in undeclared_filters)
        raise NotServedError(
            f"{text} would be a filter on several kinds of items",
            f"say so, `filter {undeclared_filters[0].input.attribute}`, or ask for each kind by itself",
        )


def _must_be_testable(plan: Plan, resolved_read: ResolvedRead) -> None:
    """Refuse filters by attributes that are the key of the index as they are: DynamoDB does."""
    key_names: set[str] = set()
    for facet in plan.facets:
        for clause in _filtered_clauses(plan, resolved_read):
            if plan.lookup.attribute(facet.entity, clause.name) in facet.key_attributes:
                key_names.add(clause.input.attribute)
    if key_names:
        text = " and ".join(sorted(key_names))
        raise NotServedError(
            f"{text} would be a filter, and DynamoDB does not filter by a key of {plan.slot}",
            "let its keys be texts: `composite index keys`",
        )


def ask_of(read: Read, workload: Workload) -> Lookup:
    """The read as a question to the planner. Raises a ValueError if no key could answer it."""
    if workload.pattern(read.id) is not read:
        return _ask_of(resolve_read(workload, read))
    key = ("ask_of", read.id)  # the solver asks thousands of times
    if key not in workload.memo:
        workload.memo[key] = _ask_of(resolve_read(workload, read))
    lookup: Lookup = workload.memo[key]
    return lookup


def _ask_of(resolved_read: ResolvedRead) -> Lookup:
    if not resolved_read.read.entities:
        raise ValueError(f"{resolved_read.read.id} names no entity")
    for join in resolved_read.joins:
        _must_be_linked(resolved_read, join)  # without a reference nothing is followed, whatever the keys are
    ranges = [clause.input for clause in resolved_read.having(Role.RANGE)]
    if len(ranges) > 1:
        raise NotServedError(
            f"{' and '.join(i.attribute for i in ranges)} are two ranges; a key serves one, the other is a filter",
            f"write `filter {write_inputs((ranges[-1],))}`; or for places on a map, ask by the prefix of a geohash",
        )
    if len(resolved_read.entities) > 1:
        _must_be_collection(resolved_read)
    if cost_excess := excess(resolved_read):
        raise ExcessError(resolved_read, cost_excess)
    return resolved_read.lookup


def _must_be_collection(resolved_read: ResolvedRead) -> None:
    """Refuse inputs that a read of several kinds of items cannot have."""
    if memberships := resolved_read.having(Role.MEMBERSHIP):
        names = " and ".join(clause.input.attribute for clause in memberships)
        raise NotServedError(
            f"{names} would decide which items an index holds, and a read of several kinds of items has no such index",
            "write `filter` before it, or ask for each kind by itself",
        )
    if list_clause := resolved_read.in_list:
        raise NotServedError(
            f"{list_clause.input.attribute} is a list, and several kinds of items are read under one key at a time",
            f"ask for one, `{list_clause.name}`, and call it for each",
        )


def _request(plan: Plan, resolved_read: ResolvedRead) -> Request:
    read, facet = resolved_read.read, plan.facets[0]
    list_clause = resolved_read.in_list
    compared_clauses = [clause for clause in resolved_read.clauses if clause.is_value and clause.name in plan.compared]
    filters = _filter_groups(plan, resolved_read, compared_clauses)
    if plan.operation == "Query":  # a GetItem has no filter: the client looks at the item
        filters += hidden_filters(resolved_read.workload, plan.lookup.entities)
    return Request(
        call=_call(plan, read, list_clause is not None),
        slot=plan.slot,
        entities=plan.lookup.entities,
        copies=tuple(ItemName(f.entity, f.copy) for f in plan.facets if f.copy),
        pk=facet.pk.text,
        sk=sort_condition(plan),
        shards=plan.shards,
        bucket=plan.bucket.bucket if plan.bucket else "",
        each=list_clause.name if list_clause else "",
        reverse=plan.reverse,
        limit=read.limit or read.page,
        consistent=plan.lookup.consistent,
        # Several kinds of items are read and then counted, because some may be of other kinds.
        count=resolved_read.counts and len(resolved_read.entities) == 1,
        filters=tuple(filters),
        compared=tuple(clause.input.attribute for clause in compared_clauses),
        attributes=_projected_attributes(resolved_read),
    )


def _filter_groups(plan: Plan, resolved_read: ResolvedRead, compared_clauses: Sequence[Clause]) -> list[InputGroup]:
    """The alternatives of which a filter tests each: those with an input that the key does not answer."""

    def is_tested(clause: Clause) -> bool:
        return clause in compared_clauses or _is_filtered(clause, plan)

    groups = [group for group in resolved_read.groups if any(map(is_tested, group))]
    return [tuple(clause.input for clause in group) for group in groups]


def _projected_attributes(resolved_read: ResolvedRead) -> tuple[str, ...]:
    """The attributes that the first request names; empty for whole items, and for several kinds of items."""
    first, *other_entities = resolved_read.entities
    wanted_names = resolved_read.wanted_of(first, *(join.entity for join in resolved_read.joins))
    if other_entities or not wanted_names or resolved_read.counts:
        return ()
    links = [link.own.name for join in resolved_read.joins for link in join.links]
    return _some_of(first, (*wanted_names, *links, *sorted(held_attributes(first))))


def _some_of(entity: Entity, names: Sequence[str]) -> tuple[str, ...]:
    """The names that are attributes of an entity, each once; empty if these are all attributes."""
    projected_names = tuple(dict.fromkeys(name for name in names if entity.attribute(name)))
    return projected_names if len(projected_names) < len(entity.attributes) else ()


def _is_filtered(clause: Clause, plan: Plan) -> bool:
    """Whether an input becomes a filter with this plan."""
    match clause.role:
        case Role.FILTER:
            return True
        case Role.MEMBERSHIP:
            name = plan.lookup.attribute(plan.lookup.entities[0], clause.name)
            return any(name == when.attribute for when in plan.tested)
        case Role.EQUAL | Role.OPTIONAL | Role.RANGE:
            return clause.name in plan.filtered
        case _:
            assert_never(clause.role)


def _call(plan: Plan, read: Read, is_list: bool) -> Call:
    call = Call(plan.operation)
    match read.consistency:
        case Consistency.TRANSACTIONAL:
            if call is Call.GET:
                return Call.TRANSACT_GET
            raise NotServedError(
                "a transaction reads items by their keys, not a range of them",
                "read it strongly, or by the ids of the items",
            )
        case Consistency.EVENTUAL | Consistency.STRONG | None:
            return Call.BATCH_GET if is_list and call is Call.GET else call
        case _:
            assert_never(read.consistency)


def _fetch(resolved_read: ResolvedRead, facets: Sequence[Facet], join: Join) -> Request:
    """The second request of a join: the items by their keys, up to a hundred in one request."""
    _must_be_linked(resolved_read, join)
    read, first, links, other = resolved_read.read, resolved_read.entities[0], join.links, join.entity
    wanted_names = resolved_read.wanted_of(other)
    link_names = [link.other.name for link in links]
    ask = Lookup.of(other.name, equal=link_names, consistent=read.is_consistent, needs=wanted_names or None)
    plan = keys.plan(facets, ask)
    missing = [part.name for part in other.id if part.name not in ask.equal] if links[0].other.id else []
    # A generated part of an id is unique by itself, so an index by it is enough.
    if missing and (isinstance(plan, Refusal) or not any(link.other.generated for link in links)):
        link_text = " and ".join(f"`{link.own.name}`" for link in links)
        raise NotServedError(
            f"{link_text} of {first.name} is not the whole id of {other.name}",
            f"give {first.name} the rest of it: an attribute with `→ {other.name}.{missing[0]}`",
        )
    if isinstance(plan, Refusal):
        raise NotServedError(f"no key serves {ask}", plan.remedy)
    attributes: tuple[str, ...] = ()
    if wanted_names:
        # Those of the id say which object is whose.
        attributes = _some_of(other, (*wanted_names, *link_names, *sorted(held_attributes(other))))
    return _join_request(plan, resolved_read, join, attributes)


def _join_request(plan: Plan, resolved_read: ResolvedRead, join: Join, attributes: tuple[str, ...]) -> Request:
    """The request of a join, with the attributes of the first entity in place of those of the other."""
    read, facet = resolved_read.read, plan.facets[0]
    names = {name: name for name in facet.attributes} | {link.other.name: link.own.name for link in join.links}
    condition = sort_condition(plan)
    return Request(
        call=_call(plan, read, is_list=True),
        slot=plan.slot,
        entities=(join.entity.name,),
        copies=(ItemName(join.entity.name, facet.copy),) if facet.copy else (),
        pk=keys.renamed(facet.pk.text, names),
        sk=condition.with_names(names) if condition else None,
        shards=plan.shards,
        each=join.key_links[-1].own.name,
        consistent=read.is_consistent,
        attributes=attributes,
    )


def _must_be_linked(resolved_read: ResolvedRead, join: Join) -> None:
    """Refuse a join of which no attribute leads to the other entity."""
    if join.links:
        return
    first, other = resolved_read.entities[0], join.entity
    part = f".{other.id[-1].name}" if len(other.id) > 1 else ""
    raise NotServedError(
        f"no attribute of {first.name} says which {other.name} is meant",
        f"mark the one that holds its id: `→ {other.name}{part}`{_feed(resolved_read, join)}",
    )


def _feed(resolved_read: ResolvedRead, join: Join) -> str:
    """The fix for a read of the items of all that it finds: the posts of all whom somebody follows."""
    workload, first, other = resolved_read.workload, resolved_read.entities[0], join.entity
    asked_names = {clause.name for clause in resolved_read.clauses}
    roots = {root(workload, other, attribute) for attribute in other.attributes}
    for attribute in first.attributes:
        is_unasked_reference = attribute.references and attribute.name not in asked_names
        if is_unasked_reference and root(workload, first, attribute) in roots:
            feed = f"write an item for each reader when a {other.name} is created"
            return f"; or if the {other.name} items of each `{attribute.name}` are meant, a feed, {feed}"
    return ""
