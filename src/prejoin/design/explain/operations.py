"""Describes the requests of a pattern in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard, assert_never

from prejoin.constructs.registry import construct_named
from prejoin.design.model import (
    TABLE,
    Call,
    Did,
    ItemAction,
    ItemName,
    Operation,
    Request,
)
from prejoin.design.operation_text import condition_words, filter_words
from prejoin.design.phrases import listed
from prejoin.keys.planner.placeholders import ABOVE, BELOW, SortCondition
from prejoin.workload.model import Absence, AnyOf, Test


def operation_words(operation: Operation) -> Iterator[str]:
    """One sentence for each request, and notes on it."""
    if operation.requires:
        yield f"Requires {listed(map(condition_words, operation.requires))}."
    for position, request in enumerate(operation.requests):
        if request.counter:
            yield _sum_sentence(request, request.counter)
            continue
        lead = "" if position == 0 else "Then a second request: " if position == 1 else "Then another request: "
        if position and request.each and request.call is Call.QUERY:
            lead = f"Then for each `{request.each}`: "
        if request.actions:
            yield lead + _write_sentence(request)
        else:
            yield lead + _read_sentence(request, is_later=position > 0)
            if request.filters:
                yield _filter_sentence(request)


def _read_sentence(request: Request, is_later: bool) -> str:
    place = "the table" if request.slot == TABLE else request.slot
    entities = listed(request.entities)
    condition = request.sk
    if not request.pk:
        return f"{request.call} of {entities}, by the ids from the first request."
    if request.call in (Call.GET, Call.BATCH_GET):
        sk = f" / `{condition.low}`" if condition else ""
        return f"{request.call} of {entities} with the key `{request.pk}`{sk}{_option_words(request)}."
    number = "One Query"
    if request.shards > 1:
        number = f"{request.shards} parallel Queries, one for each shard,"
    if request.each and not is_later:
        number = f"One Query for each `{request.each}`"
    if request.bucket:
        number = f"A Query for each {request.bucket}" + (" and shard" if request.shards > 1 else "")
    sk = f", sort key {_sort_condition_words(condition)}" if condition else ""
    return f"{number} on {place}: {entities} in partition `{request.pk}`{sk}{_option_words(request)}."


def _filter_sentence(request: Request) -> str:
    """The filter of a query; for reads by a key, which have none, the comparison after the item was read."""
    conditions = listed(map(filter_words, request.filters))
    if request.call is not Call.QUERY:
        return f"An item is returned only if {conditions}; this is compared after it was read and billed."
    remainder = ", and those of entities without a filter" if len(request.entities) > 1 else ""
    return f"A filter keeps the items where {conditions}{remainder}; the others are read and billed, too."


def _sum_sentence(request: Request, counter: ItemName) -> str:
    return (
        f"Then a BatchGetItem of {request.shards} shards for each {counter.entity}, to sum {listed(counter.counter)}: "
        f"`{request.pk}`{_option_words(request)}."
    )


def _sort_condition_words(condition: SortCondition) -> str:
    texts = [f"= `{value}`" for value in condition.head]
    if condition.op == "between":
        texts.append(f"between {_range_end_words(condition.low)} and {_range_end_words(condition.high)}")
    elif condition.op:
        texts.append(f"{condition.op.replace('_', ' ')} {_range_end_words(condition.low)}")
    return ", ".join(texts)


def _range_end_words(text: str) -> str:
    """One end of a range; words before the key stay outside of the code."""
    for words in (ABOVE, BELOW):
        if text.startswith(words):
            return f"{words}`{text.removeprefix(words)}`"
    return f"`{text}`"


def _option_words(request: Request) -> str:
    parts = [
        "in descending order" if request.reverse else "",
        f"{request.limit} a page" if request.limit else "",
        "with a consistent read" if request.consistent else "",
        "count only" if request.count else "",
        f"only the attributes {listed(request.attributes)}" if request.attributes else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _write_sentence(request: Request) -> str:
    actions = "; ".join(_action_words(action) for action in request.actions)
    if request.call in (Call.PUT, Call.UPDATE, Call.DELETE) and any(action.many for action in request.actions):
        return f"One {request.call} for each item: {actions}."
    if request.call is Call.TRANSACT_WRITE:
        return f"One TransactWriteItems: {actions}."
    if request.call is Call.BATCH_WRITE:
        return f"BatchWriteItem, 25 at a time: {actions}."
    return f"One {request.call}: {actions}."


def _action_words(action: ItemAction) -> str:
    item = ("each " if action.many else "") + _item_words(action)
    if action.item.guard and action.action is Did.PUT and not action.conditions:
        return f"renews {item}, which expires with the item"
    creates = [test for test in action.conditions if _is_met_by_absence(test)]
    words = [condition_words(test.parts[1] if _is_met_by_absence(test) else test) for test in action.conditions]
    conditions = f" if {listed(words)}" if words else ""
    if action.compared:
        conditions += f" (the new one has to have {listed(map(condition_words, action.compared))})"
    if action.action is Did.UPDATE and action.item.is_own and not action.conditions:
        return f"updates {item}, or creates it"
    if creates:
        return f"updates {item}{conditions}, or creates it if it does not exist"
    return f"{_verb_of(action.action)} {item}{conditions}"


def _verb_of(effect: Did) -> str:
    match effect:
        case Did.PUT:
            return "puts"
        case Did.UPDATE:
            return "updates"
        case Did.DELETE:
            return "deletes"
        case Did.CHECK:
            return "checks"
        case _:
            assert_never(effect)


def _is_met_by_absence(test: Test) -> TypeGuard[AnyOf]:
    """Whether a condition is one of an upsert: the item does not exist, or it is as the second part says."""
    return isinstance(test, AnyOf) and test.parts[0] == Absence()


def _item_words(action: ItemAction) -> str:
    name = action.item
    if name.copy:
        return f"the copy {name.copy} of {name.entity}"
    if name.construct:
        return f"{construct_named(name.construct).effect_words(action.action)} of {name.entity}"
    if name.counter:
        shards = "all shards" if action.action is Did.DELETE else "one of the shards"
        return f"{shards} of {name.entity}'s {listed(name.counter)}"
    return f"the guard of {name.entity}'s {listed(name.guard)}" if name.guard else name.entity
