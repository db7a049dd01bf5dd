"""Reads that cost too much to be served as they are, whatever keys the table has: `excess(read)`.

The best key of a read finds the items by its required inputs and one range. What is left is a filter: optional inputs,
and comparisons that no key answers. A call then reads everything the key finds, or until its page is full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from prejoin.design.cost.assumptions import (
    KEY_SIZE,
    count_by,
    is_count_known,
    is_value_count_known,
    kept_by_all,
    share_meeting,
    share_within,
    size_of,
    span,
    value_sizes,
)
from prejoin.protocol.limits import PAGE_SIZE
from prejoin.protocol.prices import EVENTUAL, READ_UNIT_SIZE, STRONG, read_units
from prejoin.workload.lookup import identified
from prejoin.workload.model import Attribute, Entity, Model, Op, Result, Workload
from prejoin.workload.program.resolved_read import Clause, ResolvedRead, Role

FACTOR = 20
"""A read is not served if it reads more than this many times the units of its result. `filter` accepts it."""
MARGIN = 10
"""The limits are this many times higher if the estimate rests on an assumption."""
ACCEPTING = frozenset({"filter", "scan", "several pages"})
"""The decisions that accept such a read: `AP-007 may filter`."""


class Excess(Model, frozen=True):
    """An estimate of a call that reads too much."""

    size: int
    """Bytes that a call reads."""
    units: float
    returned: float
    """The read units of the result."""
    filters: tuple[str, ...] = ()
    """The attributes that are left to a filter."""
    count: bool = False


def excess(resolved_read: ResolvedRead, tested: Sequence[Clause] = ()) -> Excess | None:
    """The estimate of a read that is not served as it is; None for a reasonable one.

    `tested` are inputs that could be answered by an index that holds only their items, and are left to a filter by the
    keys that there are.

    That is one that reads more than a page of 1 MB in a call (for each value of a list), or `FACTOR` times as much as
    it returns. A decision accepts both, a `filter` in the document the second, and a stated number of items the first
    if all are returned.
    """
    read = resolved_read.read
    if resolved_read.accepted & ACCEPTING or (read.result is Result.ONE and not tested):
        return None
    filter_clauses = [*filters(resolved_read), *tested]
    estimate = _estimate(resolved_read, [clause for clause in resolved_read.clauses if clause not in filter_clauses])
    if not estimate.items or estimate.is_one_item:
        return None
    call = _estimate_call(resolved_read, estimate, kept_by_all(resolved_read, filter_clauses))
    is_assumed = estimate.is_assumed or any(_is_share_guessed(resolved_read, clause) for clause in filter_clauses)
    if not _exceeds_limits(resolved_read, call, filter_clauses, MARGIN if is_assumed else 1):
        return None
    names = tuple([clause.name for clause in filter_clauses])
    return Excess(round(call.size), call.units, call.returned_units, names, resolved_read.counts)


def _exceeds_limits(
    resolved_read: ResolvedRead, call: _CallEstimate, filter_clauses: Sequence[Clause], margin: int
) -> bool:
    """Whether a call reads more than a page, or many times as much as it returns."""
    # A limit or a page size accepts a large result, of which everything is returned.
    returns_all = not filter_clauses and bool(resolved_read.read.limit or resolved_read.read.page)
    if call.size > PAGE_SIZE * margin and not returns_all:
        return True
    # A declared filter accepts the factor, and the result of a count has no size to compare with.
    is_declared = all(clause.input.filter for clause in filter_clauses)
    return call.units > call.returned_units * FACTOR * margin and not (is_declared or resolved_read.counts)


@dataclass(frozen=True, slots=True)
class _KeyEstimate:
    """What the keys of a read find in one call, before any filter."""

    items: float
    size: float
    is_assumed: bool
    """Whether a number rests on an assumption, not on a figure of the document."""
    is_one_item: bool


@dataclass(frozen=True, slots=True)
class _CallEstimate:
    """What one call reads, and what it returns of it."""

    size: float
    units: float
    returned_units: float


def _estimate_call(resolved_read: ResolvedRead, estimate: _KeyEstimate, share_returned: float) -> _CallEstimate:
    """What a call reads. With a limit it reads until its page is full, past the items that the filter leaves out.

    A read of pages without a size ends a call after 1 MB.
    """
    read = resolved_read.read
    limit = read.limit or read.page
    share_read = min(1.0, limit / share_returned / estimate.items) if limit else 1.0
    size = estimate.size * share_read
    if read.paginated and not limit:
        size = min(size, PAGE_SIZE)
    consistency = STRONG if read.is_consistent else EVENTUAL
    returned_size = round(min(size, estimate.size * share_read * share_returned))
    units = math.ceil(size / READ_UNIT_SIZE) * consistency
    return _CallEstimate(size, units, read_units(returned_size, consistency))


def _estimate(resolved_read: ResolvedRead, key_clauses: Sequence[Clause]) -> _KeyEstimate:
    """What the best keys find by some inputs, for all entities of a read together."""
    workload = resolved_read.workload
    items = size = 0.0
    is_assumed = False
    is_one_item = True
    for entity in resolved_read.entities:
        clauses = [(clause, clause.bound[entity.name]) for clause in key_clauses if entity.name in clause.bound]
        # Two lists: values identify an item even if the document states the share that they find.
        value_names: list[str] = []
        counted_names: list[str] = []
        for clause, attribute in clauses:
            if clause.is_value:
                value_names.append(attribute.name)
                # A share that the document states replaces the count of values.
                if clause.input.keeps is None:
                    counted_names.append(attribute.name)
        # The best key has all values in it, and one range or sparse condition.
        entity_items = count_by(workload, entity, counted_names)
        for clause, attribute in clauses:
            entity_items *= _share(workload, entity, clause, attribute)
            is_assumed |= _is_share_assumed(clause)
        items += entity_items
        size += entity_items * _entry_size(resolved_read, entity)
        is_assumed |= not is_count_known(workload, entity)
        is_assumed |= not all(is_value_count_known(workload, entity, name, counted_names) for name in counted_names)
        is_one_item &= identified(entity, value_names)
    return _KeyEstimate(items, size, is_assumed, is_one_item)


def _is_share_guessed(resolved_read: ResolvedRead, clause: Clause) -> bool:
    """Whether nothing says which part of the items passes a filter."""
    return clause.input.keeps is None and not _is_share_known(resolved_read, clause)


def filters(resolved_read: ResolvedRead) -> tuple[Clause, ...]:
    """The inputs that no key answers: declared filters, optional inputs, and further ranges.

    An index can hold only the items with or without an attribute, or with one of several values, so these are none.
    """
    return resolved_read.having(Role.FILTER, Role.OPTIONAL)


def _share(workload: Workload, entity: Entity, clause: Clause, attribute: Attribute) -> float:
    """The fraction of items that an input of a key finds; 1 for a value, of which the number of items is known."""
    condition = clause.input
    if condition.keeps is not None:
        return condition.keeps / 100
    match clause.role:
        case Role.RANGE:
            return share_within(workload, entity, condition)
        case Role.MEMBERSHIP:
            constants = [value.const for value in condition.values] if condition.op is Op.IN else None
            return share_meeting(workload, entity, attribute.name, constants, condition.op is Op.NOT_EXISTS)
        case Role.EQUAL | Role.OPTIONAL | Role.FILTER:
            return 1.0
        case _:
            assert_never(clause.role)


def _is_share_assumed(clause: Clause) -> bool:
    """Whether nothing in the document says how many items are in a range, or have an attribute."""
    condition = clause.input
    if condition.keeps is not None:
        return False
    is_presence = condition.op in (Op.EXISTS, Op.NOT_EXISTS)
    return is_presence or (clause.role is Role.RANGE and span(condition) is None)


def _is_share_known(resolved_read: ResolvedRead, clause: Clause) -> bool:
    """Whether the part that passes an equality follows from the type of its attribute."""
    attribute = resolved_read.entities[0].attribute(clause.name)
    return clause.input.op is Op.EQ and bool(attribute and attribute.type.values)


def _entry_size(resolved_read: ResolvedRead, entity: Entity) -> int:
    """Bytes of an entry in the smallest index that would do: the keys, and the wanted attributes if they are named."""
    if not resolved_read.read.needs and not resolved_read.counts:
        return size_of(entity)
    wanted_names = {*resolved_read.wanted_of(entity), *(clause.name for clause in resolved_read.clauses)}
    sizes = [len(name) + size for name, size in value_sizes(entity).items() if name in wanted_names]
    return min(size_of(entity), KEY_SIZE + sum(sizes))
