"""Grants: the least permissions that an access pattern needs, by its requests.

DynamoDB asks for permission by action. A transaction needs those of its parts, a condition has one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import assert_never

from prejoin.constructs.registry import construct_named
from prejoin.design.model import TABLE, Call, Design, Did
from prejoin.design.requests.literal import (
    ItemRequest,
    LiteralRequest,
    ObjectRequest,
    PartRequest,
    ReadRequest,
    WriteRequest,
)
from prejoin.workload.model import Model

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


def grants_of(requests: Iterable[LiteralRequest], design: Design) -> Iterator[Grant]:
    """The grants that literal requests need."""
    for request in requests:
        match request:
            case ReadRequest():
                yield _reading(request, design)
            case WriteRequest(Call.BATCH_WRITE):
                # All items of a batch are asked for together.
                yield Grant("BatchWriteItem", keys=_partitions(request.items))
            case WriteRequest():
                for item in request.items:
                    yield from _writing(item)
                    yield from _continuing(item, design)
            case PartRequest():
                yield Grant("PutItem", keys=limits(leading_keys(request.partition)))
            case ObjectRequest():
                pass  # a permission of the bucket
            case _:
                assert_never(request)


def _reading(request: ReadRequest, design: Design) -> Grant:
    counts = request.is_count and request.call is Call.QUERY
    attributes = _attributes(request, design) if request.projection else ANY
    # IAM allows a read in a transaction as GetItem.
    action = Call.GET if request.call is Call.TRANSACT_GET else request.call
    return Grant(action.value, request.slot, limits(leading_keys(request.partition)), attributes, counts)


def _attributes(request: ReadRequest, design: Design) -> frozenset[str]:
    """The attributes that a read with a projection names in its expressions.

    AWS says that the keys of the table and of the index have to be among them, or it cannot use the keys.
    """
    names = {*request.projection, *request.placeholders.names.values()}
    for slot in design.slots:
        if slot.name in (TABLE, request.slot):
            names.update(slot.key_names)
    return frozenset(names)


def _writing(item: ItemRequest) -> Iterator[Grant]:
    """The grant for an item, and that for what is sent instead in another case."""
    yield Grant(_write_action(item.action), keys=limits(leading_keys(item.partition)))
    if item.otherwise is not None:
        yield from _writing(item.otherwise)


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


def _continuing(item: ItemRequest, design: Design) -> Iterator[Grant]:
    """The grants to continue the versions of a deleted item, whose id a new one has.

    The new item gets the number after the last version of the deleted one.
    """
    for versions, items in _version_partitions(item, design):
        yield Grant("Query", keys=versions)
        yield Grant("GetItem", keys=items)
        yield Grant("UpdateItem", keys=items)


def restoring_grants(requests: Iterable[LiteralRequest], design: Design) -> Iterator[Grant]:
    """The grants to read and compare the versions that requests write, and to restore one."""
    for request in requests:
        for item in request.items if isinstance(request, WriteRequest) else ():
            for versions, items in _version_partitions(item, design):
                yield Grant("GetItem", keys=versions)
                yield Grant("PutItem", keys=items)


def _version_partitions(item: ItemRequest, design: Design) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """The partitions of a version that is written, and those of the items themselves."""
    name = item.item
    owner = design.item(name.entity)
    if owner is not None and name.construct and construct_named(name.construct).restores:
        yield limits(leading_keys(item.partition)), limits(leading_keys(owner.facets[0].pk[0]))


def merge_grants(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Merges grants: one for each action, place and set of attributes, and none that another contains.

    What an action may reach is put together: whether AWS looks at the items of a transaction one by one, it does not
    say.

    >>> user, order = Grant("Query", keys=frozenset({"USER#*"})), Grant("Query", keys=frozenset({"ORDER#*"}))
    >>> [sorted(grant.keys) for grant in merge_grants([user, order])]
    [['ORDER#*', 'USER#*']]
    """
    keys_by_target: dict[tuple[str, str, frozenset[str], bool], frozenset[str]] = {}
    for grant in grants:
        target = (grant.action, grant.place, grant.attributes, grant.counts)
        keys = keys_by_target.get(target)
        keys_by_target[target] = grant.keys if keys is None else _unite_limits((keys, grant.keys))
    merged_grants = [
        Grant(action, place, keys, attributes, counts)
        for (action, place, attributes, counts), keys in keys_by_target.items()
    ]
    return tuple(grant for grant in merged_grants if not _is_contained(grant, merged_grants))


def leading_keys(template: str) -> str:
    """The partition keys of a template as an IAM pattern: `*` for values.

    >>> leading_keys("USER#{userId}"), leading_keys("ALL#ORDER#{placedAt:day}#{orderId:shard(8)}"), leading_keys("{id}")
    ('USER#*', 'ALL#ORDER#*#*', '*')
    """
    return "*".join(map(escape_pattern, _FIELD.split(template)))


def escape_pattern(text: str) -> str:
    """Text with `*`, `?` and `$` escaped for IAM's StringLike.

    >>> escape_pattern("a*b?c$d")
    'a${*}b${?}c${$}d'
    """
    return re.sub(r"[*?$]", lambda match: f"${{{match[0]}}}", text)


def limits(pattern: str) -> frozenset[str]:
    """A pattern of partition keys as the limit of a grant. One of any key is none."""
    return ANY if set(pattern) == {"*"} else frozenset({pattern})


def _partitions(items: Iterable[ItemRequest]) -> frozenset[str]:
    """The limit of a grant for several items."""
    return _unite_limits([limits(leading_keys(item.partition)) for item in items])


def _unite_limits(key_limits: Collection[frozenset[str]]) -> frozenset[str]:
    """The union of limits; none if one of them is unlimited."""
    return frozenset().union(*key_limits) if all(key_limits) else ANY


def _is_contained(grant: Grant, grants: Iterable[Grant]) -> bool:
    """Whether another grant allows all that this one does."""
    for other in grants:
        has_same_target = (grant.action, grant.place) == (other.action, other.place) and grant != other
        if not has_same_target or other.attributes or other.counts:
            continue
        if not other.keys or (grant.keys and grant.keys <= other.keys):
            return True
    return False
