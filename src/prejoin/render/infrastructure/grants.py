"""Grants: the least permissions that an access pattern needs, by its requests.

DynamoDB asks for permission by action. A transaction needs those of its parts, a condition has one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from prejoin.design.model import TABLE, Call, Design, Did, ItemAction, Operation, ProjectionKind, Request, Slot
from prejoin.keys import fields_of
from prejoin.workload.model import Model, Write
from prejoin.workload.targets import NEW, is_resumable

READS = frozenset({"GetItem", "Query", "BatchGetItem", "ConditionCheckItem"})
"""Actions that change nothing."""
RETURNING = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
"""Actions that can answer with the item: `ReturnValues`."""
ANY: frozenset[str] = frozenset()
"""Partitions or attributes that are not limited."""
_FIELD = re.compile(r"\{[^{}]+\}")


class Grant(Model, frozen=True):
    """Permission for one action in one place."""

    action: str
    place: str = TABLE
    """The table, or an index."""
    keys: frozenset[str] = ANY
    """Patterns of partition keys, `USER#*`; empty: all."""
    attributes: frozenset[str] = ANY
    """The attributes that may be read; empty: all."""
    counts: bool = False
    """Whether items may only be counted."""


def grants_of(operation: Operation, design: Design) -> Iterator[Grant]:
    """The grants that an operation needs."""
    for request in operation.requests:
        slot = design.slot(request.slot)
        match request.call:
            case Call.GET | Call.TRANSACT_GET | Call.QUERY | Call.BATCH_GET:
                if slot is not None:
                    yield _reading(operation, request, slot, design)
            case Call.BATCH_WRITE:
                # All items of a batch are asked for together.
                yield Grant("BatchWriteItem", keys=_together(leading_keys(a.pk) for a in request.actions))
            case Call.PUT | Call.UPDATE | Call.DELETE | Call.TRANSACT_WRITE:
                for action in request.actions:
                    yield Grant(_write_action(action.action), keys=_limits(leading_keys(action.pk)))
                for action in _moved_by_puts(request, design):
                    yield Grant("DeleteItem", keys=_limits(leading_keys(action.pk)))
                for versions, items in _versioned(request, design):
                    # An item that has the id of a deleted one gets the number after the last version of that one.
                    yield Grant("Query", keys=versions)
                    yield Grant("GetItem", keys=items)
                    yield Grant("UpdateItem", keys=items)
            case _:
                assert_never(request.call)


def _write_action(effect: Did) -> str:
    """The action that IAM allows or denies for a write of one item, also in a transaction."""
    match effect:
        case Did.PUT:
            return "PutItem"
        case Did.UPDATE:
            return "UpdateItem"
        case Did.DELETE:
            return "DeleteItem"
        case Did.CHECK:
            return "ConditionCheckItem"
        case _:
            assert_never(effect)


def _moved_by_puts(request: Request, design: Design) -> Iterator[ItemAction]:
    """The guards and copies of items that a request may replace. Where their keys change, the old ones are deleted."""
    new = f"attribute_not_exists({design.partition_key})"
    replaced = {
        action.item for action in request.actions if action.action is Did.PUT and new not in action.conditions
    } & {item.entity for item in design.items}
    for action in request.actions:
        target = action.target
        if action.action is Did.PUT and target.entity in replaced and (target.guard or target.copy):
            yield action


def checking_grants(write: Write, operation: Operation) -> Iterator[Grant]:
    """The grants to check the single items of a write that also changes or deletes a list.

    Without a transaction the method checks them first, so that a refused call has written nothing. If the list is found
    in an index, the method may be called with `again=True`, and checks them instead of writing them. Who writes an item
    may test conditions on it anyway.
    """
    changes_list = any(action.many and action.verb not in NEW for action in write.actions)
    may_repeat = changes_list and any(find.slot != TABLE for find in operation.finds)
    if not is_resumable(write) and not may_repeat:
        return
    for request in operation.requests:
        for action in request.actions:
            if not action.many:
                yield Grant("ConditionCheckItem", keys=_limits(leading_keys(action.pk)))


def restoring_grants(operation: Operation, design: Design) -> Iterator[Grant]:
    """The grants to read and compare the versions that an operation writes, and to restore one."""
    for request in operation.requests:
        for versions, items in _versioned(request, design):
            yield Grant("GetItem", keys=versions)
            yield Grant("PutItem", keys=items)


def _versioned(request: Request, design: Design) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """The partitions of the versions that a request writes, each with those of the items themselves."""
    for action in request.actions:
        item = design.item(action.target.entity)
        if action.target.history and item is not None:
            yield _limits(leading_keys(action.pk)), _limits(leading_keys(item.facets[0].pk[0]))


def merged(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Merges grants: one for each action, place and set of attributes, and none that another contains.

    What an action may reach is put together: whether AWS looks at the items of a transaction one by one, it does not
    say.

    >>> user, order = Grant("Query", keys=frozenset({"USER#*"})), Grant("Query", keys=frozenset({"ORDER#*"}))
    >>> [sorted(grant.keys) for grant in merged([user, order])]
    [['ORDER#*', 'USER#*']]
    """
    found: dict[tuple[str, str, frozenset[str], bool], frozenset[str]] = {}
    for grant in grants:
        same = (grant.action, grant.place, grant.attributes, grant.counts)
        found[same] = _together((found[same], grant.keys)) if same in found else grant.keys
    whole = [
        Grant(action, place, keys, attributes, counts) for (action, place, attributes, counts), keys in found.items()
    ]
    return tuple(one for one in whole if not any(_within(one, other) for other in whole))


def leading_keys(template: str) -> str:
    """The partition keys of a template as an IAM pattern: `*` for values.

    >>> leading_keys("USER#{userId}"), leading_keys("ALL#ORDER#{placedAt:day}#{orderId:shard(8)}"), leading_keys("{id}")
    ('USER#*', 'ALL#ORDER#*#*', '*')
    """
    return "*".join(escaped(literal) for literal in _FIELD.split(template))


def escaped(text: str) -> str:
    """Text with `*`, `?` and `$` escaped for IAM's StringLike.

    >>> escaped("a*b?c$d")
    'a${*}b${?}c${$}d'
    """
    return re.sub(r"[*?$]", lambda found: f"${{{found[0]}}}", text)


def _reading(operation: Operation, request: Request, slot: Slot, design: Design) -> Grant:
    # Attributes as they stand begin with no word of ours; and what IAM makes of numbers AWS does not say.
    natural = request.pk == " + ".join(key.name for key in slot.pk)
    keys = ANY if natural else _limits(leading_keys(request.pk))
    alone = len(request.entities) == 1
    counts = request.count and alone
    attributes = ANY if counts else _attributes(operation, request, slot, design)
    # IAM allows a read in a transaction as GetItem.
    action = Call.GET if request.call is Call.TRANSACT_GET else request.call
    return Grant(action.value, request.slot, keys, attributes, counts)


def _attributes(operation: Operation, request: Request, slot: Slot, design: Design) -> frozenset[str]:
    """The attributes that a read with a projection names: these, keys, filters, and references to a second read."""
    # A place that holds a part of the items is a limit of its own, and is read as it is.
    copies = [item for item in design.copies if f"{item.entity}/{item.copy}" in request.copies]
    partial = slot.projection.kind is not ProjectionKind.ALL or any(item.attributes for item in copies)
    if not request.attributes or partial:
        return ANY
    base = design.slots[0]
    named = [name.rpartition(".")[2] for name in request.attributes]
    named += request.filtered
    for other in operation.requests:
        if other is not request and other.each:
            named += [other.each, *fields_of(other.pk), *fields_of(other.sk)]
    named += [key.name for key in (*base.pk, *base.sk, *slot.pk, *slot.sk)]
    return frozenset(filter(None, (*named, design.type_attribute, design.ttl_attribute)))


def _limits(pattern: str) -> frozenset[str]:
    return ANY if set(pattern) == {"*"} else frozenset({pattern})


def _together(keys: Iterable[str | frozenset[str]]) -> frozenset[str]:
    """The union of limits; none if one of them is unlimited."""
    found = [_limits(one) if isinstance(one, str) else one for one in keys]
    return frozenset().union(*found) if all(found) else ANY


def _within(one: Grant, other: Grant) -> bool:
    """Whether another grant allows all that this one does."""
    same = (one.action, one.place) == (other.action, other.place) and one != other
    limited = bool(other.attributes or other.counts)
    return same and not limited and (not other.keys or (bool(one.keys) and one.keys <= other.keys))
