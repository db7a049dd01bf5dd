"""Describes the requests of a pattern in plain sentences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import assert_never

from prejoin.design.explain.phrases import count, listed
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Did,
    ItemAction,
    ItemCondition,
    ItemName,
    Operation,
    Request,
    SortCondition,
)
from prejoin.workload.model import Op

_WRITES = frozenset({Call.PUT, Call.UPDATE, Call.DELETE, Call.BATCH_WRITE, Call.TRANSACT_WRITE})


def operation_words(operation: Operation, design: Design, inputs: Collection[str] = ()) -> Iterator[str]:
    """One sentence for each request, and notes on it. `inputs` are those of the pattern, if it is a write."""
    if operation.requires:
        yield f"Requires {listed(operation.requires)}."
    for at, request in enumerate(operation.requests):
        if request.counter:
            yield _sum(request)
            continue
        lead = "" if at == 0 else "Then a second request: " if at == 1 else "Then another request: "
        if at and request.each and request.call is Call.QUERY:
            lead = f"Then for each `{request.each}`: "
        if request.call in _WRITES:
            yield lead + _write(request, design.partition_key, inputs)
        else:
            yield lead + _read(request, later=at > 0)
            if request.filters:
                kept = listed(request.filters)
                others = ", and those of entities without a filter" if len(request.entities) > 1 else ""
                yield f"A filter keeps the items where {kept}{others}; the others are read and billed, too."


def _read(request: Request, later: bool) -> str:
    where = "the table" if request.slot == TABLE else request.slot
    what = listed(request.entities)
    condition = request.sort_condition
    if not request.pk:
        return f"{request.call} of {what}, by the ids from the first request."
    if request.call in (Call.GET, Call.BATCH_GET):
        sk = f" / `{condition.low}`" if condition else ""
        return f"{request.call} of {what} with the key `{request.pk}`{sk}{_how(request)}."
    number = "One Query"
    if request.shards > 1:
        number = f"{request.shards} parallel Queries, one for each shard,"
    if request.each and not later:
        number = f"One Query for each `{request.each}`"
    if request.bucket:
        number = f"A Query for each {request.bucket}" + (" and shard" if request.shards > 1 else "")
    sk = f", sort key {_condition(condition)}" if condition else ""
    return f"{number} on {where}: {what} in partition `{request.pk}`{sk}{_how(request)}."


def _sum(request: Request) -> str:
    target = ItemName.parse(request.counter)
    return (
        f"Then a BatchGetItem of {request.shards} shards for each {target.entity}, to sum {listed(target.counter)}: "
        f"`{request.pk}`{_how(request)}."
    )


def _condition(condition: SortCondition) -> str:
    if condition.op == "between":
        low, high = condition.low, condition.high
        return f"between `{low}` and `{high}`" if high else f"between two values of `{low}`"
    return f"{condition.op.replace('_', ' ')} `{condition.low}`"


def _how(request: Request) -> str:
    parts = [
        "in descending order" if request.reverse else "",
        f"{request.limit} a page" if request.limit else "",
        "with a consistent read" if request.consistent else "",
        "count only" if request.count else "",
        f"only the attributes {listed(request.attributes)}" if request.attributes else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _write(request: Request, key: str, inputs: Collection[str]) -> str:
    done = "; ".join(_action(action, key, inputs) for action in request.actions)
    if request.call in (Call.PUT, Call.UPDATE, Call.DELETE) and any(action.many for action in request.actions):
        return f"One {request.call} for each item: {done}."
    if request.call is Call.TRANSACT_WRITE:
        return f"One TransactWriteItems: {done}."
    if request.call is Call.BATCH_WRITE:
        return f"BatchWriteItem, 25 at a time: {done}."
    return f"One {request.call}: {done}."


def _action(action: ItemAction, key: str, inputs: Collection[str]) -> str:
    what = ("each " if action.many else "") + _named(action)
    if action.target.guard and action.action is Did.PUT and not action.conditions:
        return f"renews {what}, which expires with the item"
    words = [_plain(text, one, key, inputs) for text, one in zip(action.conditions, action.tests, strict=True)]
    conditions = f" if {listed(words)}" if words else ""
    if action.compared:
        conditions += f" (the new one has to have {listed(action.compared)})"
    if action.action is Did.UPDATE and action.item == action.target.entity and not action.conditions:
        return f"updates {what}, or creates it"
    if any(test.or_absent for test in action.tests):
        return f"updates {what}{conditions}, or creates it if it does not exist"
    return f"{_verb_of(action.action)} {what}{conditions}"


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


def _plain(text: str, condition: ItemCondition, key: str, inputs: Collection[str]) -> str:
    """A condition in words. The existence of the key attribute is that of the item; an input has braces."""
    own = condition.attribute == key
    match condition.op:
        case Op.NOT_EXISTS:
            return "it does not exist" if own else f"it has no {condition.attribute}"
        case Op.EXISTS:
            return "it exists" if own else f"it has {condition.attribute}"
        case "":
            return _plain_parts(text, key)
        case _ if condition.value in inputs:
            return f"{condition.attribute} {condition.op} {{{condition.value}}}"
        case _:
            return text.partition(" or ")[2] if condition.or_absent else text


def _plain_parts(text: str, key: str) -> str:
    """A condition with parts in words."""

    def presence(match: re.Match[str]) -> str:
        is_absent, name = bool(match[1]), match[2]
        if name == key:
            return "it does not exist" if is_absent else "it exists"
        return f"it has no {name}" if is_absent else f"it has {name}"

    return re.sub(r"attribute_(not_)?exists\(([^()]+)\)", presence, text)


def _named(action: ItemAction) -> str:
    name = action.target
    if name.copy:
        return f"the copy {name.copy} of {name.entity}"
    if name.history:
        which = "the oldest version" if action.action is Did.DELETE else "the replaced version"
        return f"{which} of {name.entity}"
    if name.counter:
        every = "all shards" if action.action is Did.DELETE else "one of the shards"
        return f"{every} of {name.entity}'s {listed(name.counter)}"
    return f"the guard of {name.entity}'s {listed(name.guard)}" if name.guard else name.entity


def shape(operation: Operation) -> str:
    """The requests in a few words: `Query gsi1`, `TransactWriteItems of 4`."""
    found = []
    for request in operation.requests:
        if request.call in _WRITES:
            many = any(action.many for action in request.actions)
            several = len(request.actions) > 1 or many
            found.append(
                f"{request.call} of {len(request.actions)}{' or more' if many else ''}" if several else request.call
            )
        else:
            times = f"{count(request.shards, 'shard')} of " if request.shards > 1 else ""
            found.append(f"{request.call} {times}{request.slot}" + (f" by {request.bucket}" if request.bucket else ""))
    return ", then ".join(found)
