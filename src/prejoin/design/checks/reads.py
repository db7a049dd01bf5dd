"""Checks reads: a key serves each one in its order, and the operation in the design does what the pattern asks."""

from __future__ import annotations

import re

from msgspec.structs import replace

from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.key_answers import KeyAnswer, answer, obstacles
from prejoin.design.checks.report import Report
from prejoin.design.cost.assumptions import count_by, count_of, count_said, kept_by_all, size_of
from prejoin.design.cost.bill import pattern_cost
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.map_reads import NotServedError, ask_of, filter_text, is_membership, is_tested
from prejoin.design.model import TABLE, Call, Request, Units
from prejoin.keys import KeyForm, KeyText, Lookup, Plan, Template, disjoint, remedy
from prejoin.keys.template.shape import ANYTHING, literal, meet
from prejoin.protocol import limits
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.lookup import alternatives, bare_name
from prejoin.workload.model import Accept, Entity, Input, Op, Read, Result, Workload

MOST_REQUESTS = 10
"""The most parallel requests that are not reported."""
_FIXES = {
    codes.FINDS_MORE.id: "leave them out when reading, or give them another place",
    codes.ABSENT.id: "write `{attribute?}`, which gives a missing value a place in the order",
    codes.READS_OTHERS.id: "begin the sort key of each type with its own word",
}
_PAST = re.compile(r"(?i)overdue|expired|past.?due|elapsed|(?<![a-z])late(?![a-z])")
_FUTURE = re.compile(r"(?i)upcoming|future|not yet due")


def check_reads(r: Report) -> None:
    accepted = {d.pin.pattern for d in r.workload.decisions if isinstance(d.pin, Accept)}
    for read in r.reads:
        found = r.answers.get(read.id)
        if found is None:
            if read.id not in accepted:
                _not_served(r, read)
        else:
            if found.code:
                r.say(found.code, f"{read.id} {found.more}", _FIXES[found.code.id], read.id)
            _several(r, read, found)
            _pages(r, read, found)
            _filters(r, read, found)
            _unasked(r, read)
        _as_written(r, read, found)
        _side(r, read)
        _expired(r, read)


def _not_served(r: Report, read: Read) -> None:
    ask = r.asks.get(read.id)
    if ask is None:
        try:
            ask_of(read, r.workload)
        except NotServedError as problem:
            r.say(codes.NOT_SERVED, f"{read.id}: {problem}", problem.remedy, read.id)
        return
    for found in obstacles(r.keys, ask):
        where = f" by {found.slot}" if found.slot else ""
        fix = _remedies(found.slot).get(found.code.id) or remedy(ask, f" of {' and '.join(ask.entities)}")
        r.say(found.code, f"{read.id}, {ask}, is not answered{where}: {found.why}", fix, read.id)


def _remedies(slot: str) -> dict[str, str]:
    """The remedies if a key almost serves the read."""
    return {
        codes.STRONG_INDEX.id: "write `Eventual` under Consistency, or keep a copy of it in the table under that key",
        codes.NOT_HELD.id: f"let {slot} hold all attributes, or ask for those that it holds",
    }


# --- The operation that is written down -------------------------------------------------------------------------------


def _as_written(r: Report, read: Read, found: KeyAnswer | None) -> None:
    operation = r.design.operation(read.id)
    ask = r.asks.get(read.id)
    if operation is None or not operation.requests or ask is None:
        return
    request = operation.requests[0]
    if request.consistent and not _local(r, request.slot) and found:
        fix = "read the table, or accept an eventual read"
        r.say(codes.STRONG_INDEX, f"{read.id} reads {request.slot} consistently", fix, read.id)
    if request.call in (Call.GET, Call.BATCH_GET, Call.TRANSACT_GET):
        _whole_key(r, read, ask, request, found)
    elif request.call is Call.QUERY:
        if found:
            _query(r, read, ask, request, found)
        _prefix(r, read, ask, request)


def _local(r: Report, name: str) -> bool:
    slot = r.design.slot(name)
    return name == TABLE or slot is None or slot.local


def _whole_key(r: Report, read: Read, ask: Lookup, request: Request, found: KeyAnswer | None) -> None:
    lacking: list[set[str]] = []
    for key in r.keys:
        if key.slot == TABLE and key.item.entity in ask.entities:
            names = {ask.name(key.item.entity, a) for a in key.form.attributes}
            constant = {n for n in names if (a := key.entity.attribute(n)) and len(a.type.values) == 1}
            lacking.append(names - ask.given - constant)
    if not lacking or not all(lacking):
        return
    least = min((sorted(names) for names in lacking), key=len)
    instead = f"; {found.plan.operation} of {found.plan.slot} needs less" if found else ""
    r.say(
        codes.NOT_AS_ASKED,
        f"{read.id} is a {request.call}, which needs the whole key, and {name_list(least)} is not given",
        f"give {name_list(least)} too{instead}",
        read.id,
    )


def _query(r: Report, read: Read, ask: Lookup, request: Request, found: KeyAnswer) -> None:
    there = [key for key in r.keys if key.slot == request.slot]
    here = answer(there, ask)
    if here is None:
        why = "; ".join(one.why for one in obstacles(there, ask))
        if found.plan.slot != request.slot:
            r.say(
                codes.NOT_AS_ASKED,
                f"{read.id} is a Query of {request.slot}, but {why}",
                f"read {found.plan.slot} instead",
                read.id,
            )
        return
    plan = here.plan
    if ask.order and plan.reverse != request.reverse and not _any_order(ask, plan):
        way = "backwards" if plan.reverse else "forwards"
        r.say(
            codes.NOT_AS_ASKED,
            f"{read.id} wants `{read.sort[0].attribute}` {read.sort[0].direction}, and reads the other way",
            f"read {request.slot} {way}",
            read.id,
        )
    if request.slot == TABLE and plan.operation == "GetItem" and not request.filters:
        r.say(codes.COULD_GET, f"{read.id} is a Query, and knows the whole key", "use GetItem", read.id)


def _any_order(ask: Lookup, plan: Plan) -> bool:
    """Whether there is one item, or nothing left to sort."""
    return plan.operation == "GetItem" or all(order.attribute in ask.given for order in ask.order)


def _prefix(r: Report, read: Read, ask: Lookup, request: Request) -> None:
    condition = request.sort_condition
    if condition is None or condition.op != "begins_with":
        return
    prefix = condition.low
    if "{" in prefix or prefix.endswith(r.design.separator):
        return
    there = [key for key in r.keys if key.slot == request.slot]
    mine = [key for key in there if key.item.entity in ask.entities and _begins(key, prefix)]
    others = {
        key.name
        for key in there
        for own in mine
        if key not in mine or key.item.copy != own.item.copy
        if key.item.entity not in ask.entities or key.item.copy
        if key.form.sk
        and not disjoint(key.form.pk, own.form.pk)
        and meet(key.form.sk.shape, literal(prefix) + ANYTHING)
    }
    if others:
        r.say(
            codes.LOOSE_PREFIX,
            f"{read.id}: `begins_with {prefix}` also finds {name_list(sorted(others))}",
            f"write `begins_with {prefix}{r.design.separator}`",
            read.id,
        )


def _begins(key: BoundKey, prefix: str) -> bool:
    return key.form.sk is not None and meet(key.form.sk.shape, literal(prefix) + ANYTHING)


def check_prefixes(r: Report) -> None:
    """Words of sort keys that another word begins with, without a separator at the end."""
    for one in r.keys:
        word = _word(one.form.sk)
        if not word or word.endswith(r.design.separator):
            continue
        for other in r.keys:
            longer = _word(other.form.sk)
            within = other.slot == one.slot and longer != word and longer.startswith(word)
            if within and not disjoint(one.form.pk, other.form.pk):
                r.say(
                    codes.LOOSE_PREFIX,
                    f"{one.name} begins with `{word}` in {one.slot}, and so does {other.name} (`{longer}`)",
                    f"write `{word}{r.design.separator}`",
                    one.item.entity,
                    one.slot,
                )


def _word(sk: KeyForm | None) -> str:
    """The literal text at the start of a sort key, before a value."""
    parts = sk.parts if isinstance(sk, Template) else ()
    first = parts[0] if len(parts) > 1 else None
    return first.text if isinstance(first, KeyText) else ""


# --- What it means to read it -----------------------------------------------------------------------------------------


def _several(r: Report, read: Read, found: KeyAnswer) -> None:
    if found.plan.shards > MOST_REQUESTS:
        r.say(
            codes.SEVERAL_REQUESTS,
            f"{read.id} reads {found.plan.shards} shards of {found.plan.slot} for one result",
            "use only as many shards as the writes need",
            read.id,
        )


def _filters(r: Report, read: Read, found: KeyAnswer) -> None:
    """Filters that a key could serve: immutable attributes with one value, if no order depends on it."""
    entity = r.workload.entity(read.entities[0])
    form = found.plan.facets[0]
    sorting = [other for other in r.answers.values() if form in other.plan.facets if _depends(other.plan.lookup)]
    if entity is None or sorting:
        return
    for one in (group[0] for group in alternatives(read.inputs) if len(group) == 1):
        name = bare_name(one.attribute)
        attribute = entity.attribute(name)
        if not one.filter or one.optional or one.op is not Op.EQ or attribute is None:
            continue
        if attribute.mutable or attribute.optional or attribute.ttl or r.changers(entity, name):
            continue
        r.say(
            codes.COULD_BE_KEY,
            f"{read.id} filters by `{name}`, which never changes and could be in the sort key",
            f"if it is asked often, write `{name}` instead of `filter {name}`, and put `{{{name}}}` before what the "
            f"sort key of {entity.name} has now",
            read.id,
        )


def _unasked(r: Report, read: Read) -> None:
    """Inputs that no key serves and that are not declared as filters, with the cost of both."""
    operation = r.design.operation(read.id)
    accepted = any(isinstance(d.pin, Accept) and d.pin.pattern == read.id for d in r.workload.decisions)
    if operation is None or not operation.served or not operation.requests or accepted:
        return
    first, *rest = operation.requests
    asked = [one for one in read.inputs if (is_tested(one) or is_membership(one)) and not one.filter]
    tested = [one for one in asked if not one.optional and filter_text(one) in first.filters]
    if not tested:
        return
    unfiltered = replace(operation, requests=(replace(first, filters=()), *rest))
    only = predict_units(unfiltered, r.design, r.workload).read * (
        1 if read.limit or read.page else kept_by_all(r.workload, read, tested)
    )
    paid, less = (
        pattern_cost(read, replace(r.design, operations=(replace(operation, units=Units(units)),)))
        for units in (predict_units(operation, r.design, r.workload).read, only)
    )
    if paid.units.read <= less.units.read:
        return  # the items that do not match are within the same read unit
    names = " and ".join(f"`{filter_text(one)}`" for one in tested)
    r.say(
        codes.UNASKED_FILTER,
        f"{read.id} filters by {names}, because no key of the design finds it: a call reads {paid.units.read:g} units "
        f"(${paid.dollars:,.2f} a month), and the items that match are {less.units.read:g} (${less.dollars:,.2f})",
        _instead(tested[0]),
        read.id,
    )


def _instead(one: Input) -> str:
    accept = f"write `{write_inputs((replace(one, filter=True),))}` to accept it"
    if not is_membership(one):
        return accept
    if one.keeps is None:  # with few matches, the filter is not taken
        return f"{accept}; or if few items match, say so: `{write_inputs((replace(one, keeps=1),))}`"
    return f"{accept}; or give an index a key that holds only the items that match"


def _depends(ask: Lookup) -> bool:
    return bool(ask.order) or ask.within is not None


def _pages(r: Report, read: Read, found: KeyAnswer) -> None:
    if read.result is not Result.MANY or read.limit or read.page or read.paginated:
        return
    total = 0
    for name in found.plan.lookup.entities:
        entity = r.workload.entity(name)
        number = expected(r.workload, entity, found.plan.lookup) if entity else None
        if entity and number:
            total += number * size_of(entity)
    if total > limits.PAGE_SIZE:
        r.say(
            codes.PAGES,
            f"{read.id} has {total / limits.MB:,.1f} MB in one result, and a page has 1 MB",
            "say `Yes` under Paginated, or give a limit",
            read.id,
        )


def expected(workload: Workload, entity: Entity, ask: Lookup) -> int | None:
    """The number of items of an entity that a question finds, by the document; None if it does not say."""
    given = {ask.attribute(entity.name, name) for name in ask.given}
    if not given and not ask.within:
        return count_of(workload, entity)
    if ask.within:
        return None
    return None if count_said(workload, entity, given) is None else round(count_by(workload, entity, given))


def _side(r: Report, read: Read) -> None:
    text = f"{read.name} {read.description}"
    words = _PAST.search(text), _FUTURE.search(text)
    for one in read.inputs:
        later = one.op in (Op.GT, Op.GE)
        earlier = one.op in (Op.LT, Op.LE)
        if (words[0] and later and not words[1]) or (words[1] and earlier and not words[0]):
            word = (words[0] or words[1])[0]  # type: ignore[index]
            r.say(
                codes.WRONG_WAY,
                f"{read.id} is about {word.lower()} items, and asks for `{one.attribute} {one.op}`",
                f"ask for `{one.attribute} {'<' if later else '>'}`",
                read.id,
            )


def _expired(r: Report, read: Read) -> None:
    asked = {bare_name(i.attribute) for i in read.inputs}
    for name in read.entities:
        entity = r.workload.entity(name)
        for attribute in entity.attributes if entity else ():
            if attribute.ttl and attribute.name not in asked:
                r.say(
                    codes.EXPIRED,
                    f"{read.id} may find a {name} whose `{attribute.name}` has passed, until DynamoDB deletes it",
                    f"read with the generated code, which leaves it out, or add `filter {attribute.name} > now`",
                    read.id,
                )
