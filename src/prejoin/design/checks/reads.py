"""Checks reads: a key serves each one in its order, and the operation in the design does what the pattern asks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from prejoin.constructs.registry import ending_of
from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.key_answers import KeyAnswer, answer, obstacles
from prejoin.design.checks.report import Report
from prejoin.design.cost.assumptions import count_by, count_of, count_said, kept_by_all, size_of
from prejoin.design.cost.bill import PatternCost, pattern_cost
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.map_reads import NotServedError, ask_of
from prejoin.design.model import TABLE, Call, Operation, Request, Units
from prejoin.design.operation_text import filter_words
from prejoin.design.phrases import money
from prejoin.keys import KeyForm, KeyText, Lookup, Plan, Template, disjoint, remedy
from prejoin.keys.template.shape import ANYTHING, literal, meet
from prejoin.protocol import limits
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.model import Attribute, Entity, Input, Op, Read, Result, Workload
from prejoin.workload.program.resolved_read import Clause, Role, resolve_read

MOST_REQUESTS = 10
"""The most parallel requests that are not reported."""
_FIXES = {
    codes.FINDS_MORE.id: "leave them out when reading, or give them another place",
    codes.ABSENT.id: "write `{attribute?}`, which gives a missing value a place in the order",
    codes.READS_OTHERS.id: "begin the sort key of each type with its own word",
}
_PAST = re.compile(r"(?i)overdue|expired|past.?due|elapsed|(?<![a-z])late(?![a-z])")
_FUTURE = re.compile(r"(?i)upcoming|future|not yet due")


def check_reads(report: Report) -> None:
    for read in report.reads:
        key_answer = report.answers.get(read.id)
        if key_answer is None:
            if not resolve_read(report.workload, read).accepted:
                _report_unserved(report, read)
        else:
            if key_answer.code:
                report.say(key_answer.code, f"{read.id} {key_answer.more}", _FIXES[key_answer.code.id], read.id)
            _check_shards(report, read, key_answer)
            _check_page_size(report, read, key_answer)
            _check_filters(report, read, key_answer)
            _check_undeclared_filters(report, read)
        _check_declared_request(report, read, key_answer)
        _check_direction(report, read)
        _check_expired(report, read)


def _report_unserved(report: Report, read: Read) -> None:
    if not read.entities:
        return  # a check of the document reports it
    ask = report.asks.get(read.id)
    if ask is None:
        try:
            ask_of(read, report.workload)
        except NotServedError as problem:
            report.say(codes.NOT_SERVED, f"{read.id}: {problem}", problem.remedy, read.id)
        return
    for obstacle in obstacles(report.keys, ask):
        place = f" by {obstacle.slot}" if obstacle.slot else ""
        fix = _remedies(obstacle.slot).get(obstacle.code.id) or remedy(ask, f" of {' and '.join(ask.entities)}")
        report.say(obstacle.code, f"{read.id}, {ask}, is not answered{place}: {obstacle.why}", fix, read.id)


def _remedies(slot: str) -> dict[str, str]:
    """The remedies if a key almost serves the read."""
    return {
        codes.STRONG_INDEX.id: "write `Eventual` under Consistency, or keep a copy of it in the table under that key",
        codes.NOT_HELD.id: f"let {slot} hold all attributes, or ask for those that it holds",
    }


# --- The operation that is written down -------------------------------------------------------------------------------


def _check_declared_request(report: Report, read: Read, key_answer: KeyAnswer | None) -> None:
    operation = report.design.operation(read.id)
    ask = report.asks.get(read.id)
    if operation is None or not operation.requests or ask is None:
        return
    request = operation.requests[0]
    if request.consistent and not _is_table_or_local(report, request.slot) and key_answer:
        fix = "read the table, or accept an eventual read"
        report.say(codes.STRONG_INDEX, f"{read.id} reads {request.slot} consistently", fix, read.id)
    if request.call in (Call.GET, Call.BATCH_GET, Call.TRANSACT_GET):
        _check_whole_key(report, read, ask, request, key_answer)
    elif request.call is Call.QUERY:
        if key_answer:
            _check_query(report, read, ask, request, key_answer)
        _check_prefix(report, read, ask, request)


def _is_table_or_local(report: Report, name: str) -> bool:
    slot = report.design.slot(name)
    return name == TABLE or slot is None or slot.local


def _check_whole_key(report: Report, read: Read, ask: Lookup, request: Request, key_answer: KeyAnswer | None) -> None:
    table_keys = [key for key in report.keys if key.slot == TABLE and key.item.entity in ask.entities]
    missing_names = [_missing_names(key, ask) for key in table_keys]
    if not missing_names or not all(missing_names):
        return
    fewest_names = min(missing_names, key=len)
    instead = f"; {key_answer.plan.operation} of {key_answer.plan.slot} needs less" if key_answer else ""
    report.say(
        codes.NOT_AS_ASKED,
        f"{read.id} is a {request.call}, which needs the whole key, and {name_list(fewest_names)} is not given",
        f"give {name_list(fewest_names)} too{instead}",
        read.id,
    )


def _missing_names(key: BoundKey, ask: Lookup) -> list[str]:
    """The attributes of a key that a question does not always give."""
    given_names = ask.given - ask.optional
    missing = []
    for name in {ask.name(key.item.entity, attribute) for attribute in key.form.attributes} - given_names:
        attribute = key.entity.attribute(name)
        is_constant = attribute is not None and len(attribute.type.values) == 1
        if not is_constant:
            missing.append(name)
    return sorted(missing)


def _check_query(report: Report, read: Read, ask: Lookup, request: Request, key_answer: KeyAnswer) -> None:
    slot_keys = [key for key in report.keys if key.slot == request.slot]
    slot_answer = answer(slot_keys, ask)
    if slot_answer is None:
        reasons = "; ".join(obstacle.why for obstacle in obstacles(slot_keys, ask))
        if key_answer.plan.slot != request.slot:
            report.say(
                codes.NOT_AS_ASKED,
                f"{read.id} is a Query of {request.slot}, but {reasons}",
                f"read {key_answer.plan.slot} instead",
                read.id,
            )
        return
    plan = slot_answer.plan
    if ask.order and plan.reverse != request.reverse and not _has_no_order(ask, plan):
        direction = "backwards" if plan.reverse else "forwards"
        report.say(
            codes.NOT_AS_ASKED,
            f"{read.id} wants `{read.sort[0].attribute}` {read.sort[0].direction}, and reads the other way",
            f"read {request.slot} {direction}",
            read.id,
        )
    if request.slot == TABLE and plan.operation == "GetItem" and not request.filters:
        report.say(codes.COULD_GET, f"{read.id} is a Query, and knows the whole key", "use GetItem", read.id)


def _has_no_order(ask: Lookup, plan: Plan) -> bool:
    """Whether there is one item, or nothing left to sort."""
    return plan.operation == "GetItem" or all(order.attribute in ask.given for order in ask.order)


def _check_prefix(report: Report, read: Read, ask: Lookup, request: Request) -> None:
    """A `begins_with` without a separator at the end also finds keys whose word goes on: `ORDER` and `ORDERLINE`."""
    condition = request.sk
    if condition is None or condition.op != "begins_with":
        return
    prefix = condition.low
    if "{" in prefix or prefix.endswith(report.design.separator):
        return
    keys_of_slot = [key for key in report.keys if key.slot == request.slot]
    other_names = _others_with_prefix([key for key in keys_of_slot if _begins_with(key, prefix)], ask)
    if other_names:
        report.say(
            codes.LOOSE_PREFIX,
            f"{read.id}: `begins_with {prefix}` also finds {name_list(sorted(other_names))}",
            f"write `begins_with {prefix}{report.design.separator}`",
            read.id,
        )


def _others_with_prefix(matching_keys: Sequence[BoundKey], ask: Lookup) -> set[str]:
    """The items among those with a prefix that a question does not want. Copies of the same items are others, too."""
    asked_keys = [key for key in matching_keys if key.item.entity in ask.entities]
    other_keys = [key for key in matching_keys if key not in asked_keys or key.item.copy]
    names: set[str] = set()
    for key in other_keys:
        for asked_key in asked_keys:
            is_other = key not in asked_keys or key.item.copy != asked_key.item.copy
            if is_other and not disjoint(key.form.pk, asked_key.form.pk):
                names.add(key.name)
    return names


def _begins_with(key: BoundKey, prefix: str) -> bool:
    return key.form.sk is not None and meet(key.form.sk.shape, literal(prefix) + ANYTHING)


def check_prefixes(report: Report) -> None:
    """Words of sort keys that another word begins with, without a separator at the end."""
    for key in report.keys:
        word = _leading_word(key.form.sk)
        if not word or word.endswith(report.design.separator):
            continue
        for other in report.keys:
            longer = _leading_word(other.form.sk)
            is_shadowed = other.slot == key.slot and longer != word and longer.startswith(word)
            if is_shadowed and not disjoint(key.form.pk, other.form.pk):
                report.say(
                    codes.LOOSE_PREFIX,
                    f"{key.name} begins with `{word}` in {key.slot}, and so does {other.name} (`{longer}`)",
                    f"write `{word}{report.design.separator}`",
                    key.item.entity,
                    key.slot,
                )


def _leading_word(sk: KeyForm | None) -> str:
    """The literal text at the start of a sort key, before a value."""
    parts = sk.parts if isinstance(sk, Template) else ()
    first = parts[0] if len(parts) > 1 else None
    return first.text if isinstance(first, KeyText) else ""


# --- What it means to read it -----------------------------------------------------------------------------------------


def _check_shards(report: Report, read: Read, key_answer: KeyAnswer) -> None:
    if key_answer.plan.shards > MOST_REQUESTS:
        report.say(
            codes.SEVERAL_REQUESTS,
            f"{read.id} reads {key_answer.plan.shards} shards of {key_answer.plan.slot} for one result",
            "use only as many shards as the writes need",
            read.id,
        )


def _check_filters(report: Report, read: Read, key_answer: KeyAnswer) -> None:
    """Filters that a key could serve: immutable attributes with one value, if no order depends on it."""
    entity = report.workload.entity(read.entities[0])
    form = key_answer.plan.facets[0]
    plans_of_key = [other.plan for other in report.answers.values() if form in other.plan.facets]
    if entity is None or any(_depends_on_order(plan.lookup) for plan in plans_of_key):
        return
    # A group of several clauses is an alternative, `a or b`, which no key serves.
    clauses = [group[0] for group in resolve_read(report.workload, read).groups if len(group) == 1]
    for clause in clauses:
        is_required_filter = clause.input.filter and not clause.input.optional and clause.input.op is Op.EQ
        attribute = entity.attribute(clause.name)
        if not is_required_filter or attribute is None or not _is_constant(report, entity, attribute):
            continue
        name = clause.name
        report.say(
            codes.COULD_BE_KEY,
            f"{read.id} filters by `{name}`, which never changes and could be in the sort key",
            f"if it is asked often, write `{name}` instead of `filter {name}`, and put `{{{name}}}` before what the "
            f"sort key of {entity.name} has now",
            read.id,
        )


def _is_constant(report: Report, entity: Entity, attribute: Attribute) -> bool:
    """Whether all items have an attribute, and keep its value."""
    may_vary = attribute.mutable or attribute.optional or attribute.ttl
    return not may_vary and not report.changers(entity, attribute.name)


def _check_undeclared_filters(report: Report, read: Read) -> None:
    """Inputs that no key serves and that are not declared as filters, with the cost of both."""
    operation = report.design.operation(read.id)
    resolved_read = resolve_read(report.workload, read)
    if operation is None or not operation.served or not operation.requests or resolved_read.accepted:
        return
    first, *further_requests = operation.requests
    undeclared_clauses = [
        clause for clause in resolved_read.having(Role.FILTER, Role.MEMBERSHIP) if not clause.input.filter
    ]
    tested_clauses = [clause for clause in undeclared_clauses if _is_tested(clause.input, first)]
    if not tested_clauses:
        return
    unfiltered_operation = replace(operation, requests=(replace(first, filters=()), *further_requests))
    units = predict_units(operation, report.design, report.workload).read
    matching_units = predict_units(unfiltered_operation, report.design, report.workload).read
    # A page is read until it is full, so it is paid for as many items as match.
    if not (read.limit or read.page):
        matching_units *= kept_by_all(resolved_read, tested_clauses)
    filtered_cost = _cost_with_units(report, read, operation, units)
    matching_cost = _cost_with_units(report, read, operation, matching_units)
    if filtered_cost.units.read <= matching_cost.units.read:
        return  # the items that do not match are within the same read unit
    filter_texts = " and ".join(f"`{filter_words((clause.input,))}`" for clause in tested_clauses)
    price = f"{filtered_cost.units.read:g} units ({money(filtered_cost.dollars)} a month)"
    matching_price = f"{matching_cost.units.read:g} ({money(matching_cost.dollars)})"
    report.say(
        codes.UNASKED_FILTER,
        f"{read.id} filters by {filter_texts}, because no key of the design finds it: a call reads {price}, and the "
        f"items that match are {matching_price}",
        _fix_for_filter(tested_clauses[0]),
        read.id,
    )


def _is_tested(input_: Input, request: Request) -> bool:
    """Whether a request filters by an input in each call."""
    return not input_.optional and input_ in request.tested_inputs


def _cost_with_units(report: Report, read: Read, operation: Operation, units: float) -> PatternCost:
    design = replace(report.design, operations=(replace(operation, units=Units(units)),))
    return pattern_cost(read, design)


def _fix_for_filter(clause: Clause) -> str:
    input_ = clause.input
    acceptance = f"write `{write_inputs((replace(input_, filter=True),))}` to accept it"
    if clause.role is not Role.MEMBERSHIP:
        return acceptance
    if input_.keeps is None:  # with few matches, the filter is not taken
        return f"{acceptance}; or if few items match, say so: `{write_inputs((replace(input_, keeps=1),))}`"
    return f"{acceptance}; or give an index a key that holds only the items that match"


def _depends_on_order(ask: Lookup) -> bool:
    return bool(ask.order) or ask.within is not None


def _check_page_size(report: Report, read: Read, key_answer: KeyAnswer) -> None:
    if read.result is not Result.MANY or read.limit or read.page or read.paginated:
        return
    total = 0
    for name in key_answer.plan.lookup.entities:
        entity = report.workload.entity(name)
        number = count_of_result(report.workload, entity, key_answer.plan.lookup) if entity else None
        if entity and number:
            total += number * size_of(entity)
    if total > limits.PAGE_SIZE:
        report.say(
            codes.PAGES,
            f"{read.id} has {total / limits.MB:,.1f} MB in one result, and a page has 1 MB",
            "say `Yes` under Paginated, or give a limit",
            read.id,
        )


def count_of_result(workload: Workload, entity: Entity, ask: Lookup) -> int | None:
    """The number of items of an entity that a question finds, by the document; None if it does not say."""
    attributes = {ask.attribute(entity.name, name) for name in ask.given}
    if not attributes and not ask.within:
        return count_of(workload, entity)
    if ask.within:
        return None
    return None if count_said(workload, entity, attributes) is None else round(count_by(workload, entity, attributes))


def _check_direction(report: Report, read: Read) -> None:
    text = f"{read.name} {read.description}"
    words = _PAST.search(text), _FUTURE.search(text)
    for condition in read.inputs:
        later = condition.op in (Op.GT, Op.GE)
        earlier = condition.op in (Op.LT, Op.LE)
        if (words[0] and later and not words[1]) or (words[1] and earlier and not words[0]):
            word = (words[0] or words[1])[0]  # type: ignore[index]
            report.say(
                codes.WRONG_WAY,
                f"{read.id} is about {word.lower()} items, and asks for `{condition.attribute} {condition.op}`",
                f"ask for `{condition.attribute} {'<' if later else '>'}`",
                read.id,
            )


def _check_expired(report: Report, read: Read) -> None:
    asked_names: set[tuple[str, str]] = set()
    for clause in resolve_read(report.workload, read).clauses:
        asked_names.update((name, attribute.name) for name, attribute in clause.bound.items())
    for name in read.entities:
        entity = report.workload.entity(name)
        ending = ending_of(entity) if entity else None
        if ending is not None and (name, ending.name) not in asked_names:
            report.say(
                codes.EXPIRED,
                f"{read.id} may find a {name} whose `{ending.name}` has passed, until DynamoDB deletes it",
                f"read with the generated code, which leaves it out, or add `filter {ending.name} > now`",
                read.id,
            )
