"""Sharded counters: numbers that are added to more often than one item can be written.

`views += 1` at 4,000 a second on one page is more than any key can spread, because it is one item. Four items that are
added to at random, and summed when read, take it. Which numbers need that follows from the document alone: from the
rates, and from what else is done with the number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from prejoin.constructs.registry import constructs_of
from prejoin.constructs.sharded_counter import counted_apart
from prejoin.design.cost.assumptions import count_of, hottest, peak, size_of
from prejoin.design.model import Counter, Design
from prejoin.design.pins import is_refused, least_limit, pins_of
from prejoin.protocol import limits
from prejoin.protocol.prices import write_units
from prejoin.types import Kind
from prejoin.workload.bounds import may_leave_bounds
from prejoin.workload.conditions import all_leaves, values_of
from prejoin.workload.lookup import bare_name, changes
from prejoin.workload.model import (
    Action,
    Attribute,
    ChangeOp,
    Consistency,
    CounterShards,
    Entity,
    Leaf,
    Read,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.optional_inputs import is_optional
from prejoin.workload.program.list_sources import is_movable
from prejoin.workload.program.resolved_read import resolve_read
from prejoin.workload.program.resolved_write import Step, resolve_write

MOST_SHARDS = limits.TRANSACTION_ACTIONS - 1
"""A delete deletes the item and all its shards in one transaction."""
_ADDING = (ChangeOp.ADD, ChangeOp.SUBTRACT)


def counters_of(workload: Workload) -> tuple[Counter, ...]:
    """The sharded counters that a document needs, at most one for an entity."""
    key = ("counters_of",)
    if key not in workload.memo:
        workload.memo[key] = tuple(_counters(workload))
    counters: tuple[Counter, ...] = workload.memo[key]
    return counters


def with_kept(stored_counters: Sequence[Counter], new_counters: Sequence[Counter]) -> tuple[Counter, ...]:
    """The counters of a table in use and those that are needed now. A counter never gets fewer shards, because the
    others hold a part of the number.
    """
    # Shards are never taken away: each holds a part of the number.
    counters = {counter.entity: counter for counter in stored_counters}
    for counter in new_counters:
        before = counters.get(counter.entity)
        if before:
            names = dict.fromkeys((*before.attributes, *counter.attributes))
            counter = Counter(counter.entity, tuple(names), max(before.shards, counter.shards))
        counters[counter.entity] = counter
    return tuple(counters.values())


def keeps_counters(counters: Iterable[Counter], design: Design) -> bool:
    """Whether a design has all numbers and shards of counters, so that nothing that was counted is lost."""
    for counter in counters:
        later = design.counter(counter.entity)
        if later is None or later.shards < counter.shards or not {*later.attributes} >= {*counter.attributes}:
            return False
    return True


def is_spread(counters: Sequence[Counter], step: Step) -> bool:
    """Whether a step adds to shards only, and does not write the item."""
    counter = next((counter for counter in counters if counter.entity == step.entity.name), None)
    return counter is not None and bool(step.changed) and step.changed <= counted_apart(counter, step.action)


def _counters(workload: Workload) -> Iterator[Counter]:
    for entity in workload.entities:
        shards: dict[str, int] = {}
        for attribute in entity.attributes:
            number = shards_of(workload, entity, attribute)
            if number > 1 and not obstacle(workload, entity, attribute):
                shards[attribute.name] = number
        if shards:
            yield Counter(entity.name, tuple(shards), max(shards.values()))


def shards_of(workload: Workload, entity: Entity, attribute: Attribute) -> int:
    """The number of shards that a number needs, or that is decided: 1 if one item takes all additions."""
    if is_refused(workload, "shards", entity.name):
        return 1
    pins = [pin for pin in pins_of(workload, CounterShards) if pin.entity == entity.name]
    numbers = [pin.shards for pin in pins if pin.attribute == attribute.name]
    if not numbers:
        numbers = [_sufficient_shards(workload, entity, attribute)]
    limit = least_limit(workload, "shards")
    most_shards = MOST_SHARDS if limit is None else min(limit, MOST_SHARDS)
    return max(1, min(*numbers, most_shards))


def _sufficient_shards(workload: Workload, entity: Entity, attribute: Attribute) -> int:
    """The number of shards that takes all additions to a number; 1 if the item itself does."""
    units = load(workload, entity, attribute)
    # A small item takes a unit for each addition, a larger one several: the shards hold the numbers only.
    is_hot = units * write_units(size_of(entity)) > limits.PARTITION_WRITE_UNITS
    return max(2, math.ceil(units / limits.PARTITION_WRITE_UNITS)) if is_hot else 1


def load(workload: Workload, entity: Entity, attribute: Attribute) -> float:
    """The write units a second that additions to a number of the busiest item take, if that is a small item."""
    loads: list[float] = []
    for write, action in _counting_actions(workload, entity):
        if attribute.name in _changes_by_attribute(write, action, entity):
            units = 2 if _is_transaction(write) else 1
            loads.append(peak(write.rate) * _share(workload, write, entity) * units)
    return sum(loads)


def _changes_by_attribute(write: Write, action: Action, entity: Entity) -> dict[str, ChangeOp]:
    return {change.attribute: change.op for change in changes(write, action, entity)}


def obstacle(workload: Workload, entity: Entity, attribute: Attribute) -> str:
    """Why a number cannot be a sharded counter, as a sentence with a fix; empty if it can."""
    name = attribute.name
    if attribute.id or attribute.type.kind not in (Kind.INTEGER, Kind.DECIMAL):
        return f"`{name}` is not a number that can be added up exactly"
    for bound in constructs_of(entity):
        reason = bound.counter_obstacle(name)
        if reason:
            return reason
    write_id = may_leave_bounds(workload, entity, attribute)
    if write_id:
        return f"`{name}` has bounds, which {write_id} may leave, and no item knows the sum: take the bounds away"
    for write in workload.changing:
        reason = _obstacle_in_write(workload, write, entity, name)
        if reason:
            return f"{write.id} {reason}"
    for read in workload.reads:
        reason = _obstacle_in_read(workload, read, entity, name) if entity.name in read.entities else ""
        if reason:
            return f"{read.id} {reason}"
    return ""


def _obstacle_in_write(workload: Workload, write: Write, entity: Entity, name: str) -> str:
    """The part of a write that a sharded counter does not allow."""
    if any(_is_about(leaf, name, write, entity) for leaf in all_leaves(write)):
        return f"has a condition on `{name}`, and no item knows the sum: collect its writes in a queue"
    for action in write.actions:
        reason = _obstacle_in_action(write, action, entity, name) if action.entity == entity.name else ""
        if reason:
            return reason
    for step in resolve_write(workload, write).written_steps:
        demand = _unchecked_demand(step, name) if step.entity.name == entity.name and name in step.changed else ""
        if demand:
            return f"{demand}: leave that out, or write `no shards for {entity.name}`"
    return ""


def _obstacle_in_action(write: Write, action: Action, entity: Entity, name: str) -> str:
    """The part of an action that a sharded counter does not allow."""
    ops = _changes_by_attribute(write, action, entity)
    if action.verb in (Verb.PUT, Verb.UPSERT):
        return f"may replace or create the {entity.name}: create it by itself, and update it then"
    if action.verb is Verb.DELETE and action.many:
        return f"deletes several {entity.name}, and each has shards: delete one at a time"
    if action.verb is Verb.EXPIRE:
        return f"lets a {entity.name} expire, and the shards of `{name}` would stay"
    if name in ops and ops[name] not in _ADDING:
        return f"sets `{name}`, and shards can only be added to"
    return ""


def _unchecked_demand(step: Step, name: str) -> str:
    """What a write demands of an item and a shard cannot check, because the addition does not write the item.

    A check of the item in the same transaction would be as hot as the number: it conflicts with other transactions.
    """
    numbers = {name, *(a.name for a in step.entity.attributes if shards_of(step.workload, step.entity, a) > 1)}
    other_changes = [change for change in step.changes if change.attribute not in numbers]
    if step.verb is not Verb.UPDATE or any(not is_optional(step.write, change) for change in other_changes):
        return ""  # the item is written as well
    if other_changes:
        optional = other_changes[0].attribute
        return f"writes the {step.entity.name} only if `{optional}` is given, and else a shard of `{name}` alone"
    if step.conditions:
        return f"has a condition on the {step.entity.name}, and adds to a shard of `{name}` without looking at it"
    for tie in _ties(step):
        return f"compares `{tie}` of the {step.entity.name}, and adds to a shard of `{name}` without looking at it"
    return ""


def _ties(step: Step) -> Iterator[str]:
    """The attributes beside the id that the items of an update must have as an input says."""
    tenant = step.workload.tenant.attribute if step.workload.tenant else ""
    is_found = step.is_existing_list and not step.list_source.is_given
    for name, source in step.sources.items():
        attribute = step.entity.attribute(name)
        if attribute is None or attribute.id or name == tenant or source in step.of.list_inputs:
            continue
        if not is_found or is_movable(step.entity, name, set()):
            yield name


def _obstacle_in_read(workload: Workload, read: Read, entity: Entity, name: str) -> str:
    """Why a read cannot have the sum."""
    resolved_read = resolve_read(workload, read)
    bounds = [clause.bound for clause in resolved_read.clauses] + [sort.bound for sort in resolved_read.order]
    if entity.attribute(name) in [bound.get(entity.name) for bound in bounds]:
        return (
            f"asks for `{name}` in a key or a filter, and no item knows the sum: copy it to another attribute now and "
            "then, and ask for that"
        )
    if not wants(read, name):
        return ""
    if any(join.entity is entity for join in resolved_read.joins):
        return f"gets the {entity.name} in a second request, and the sum would be a third"
    if read.consistency is Consistency.TRANSACTIONAL:
        return "reads in a transaction, and a sum of shards is not read in one"
    if read.needs and not {a.name for a in entity.id} <= set(map(bare_name, read.needs)):
        return f"returns `{name}` without the id of the {entity.name}, by which its shards are found"
    return ""


def wants(read: Read, name: str) -> bool:
    """Whether a read returns an attribute."""
    return not read.needs or name in map(bare_name, read.needs)


def _is_about(leaf: Leaf, name: str, write: Write, entity: Entity) -> bool:
    names = {leaf.attribute, *(value.attribute for value in values_of(leaf))}
    return name in names and (leaf.entity or write.first_entity) == entity.name


def _counting_actions(workload: Workload, entity: Entity) -> Iterator[tuple[Write, Action]]:
    """The writes that only add to numbers of an item, without a condition on the item."""
    for write in workload.writes:
        tested_names = {leaf.entity or write.first_entity for leaf in all_leaves(write)}
        if entity.name in tested_names:
            continue
        for action in write.actions:
            if action.entity == entity.name and action.verb is Verb.UPDATE and not action.many:
                ops = {change.op for change in changes(write, action, entity)}
                if ops and ops.issubset(_ADDING):
                    yield write, action


def _share(workload: Workload, write: Write, entity: Entity) -> float:
    """The fraction of the calls of a write for the busiest item."""
    declared_share = hottest(workload, entity, [a.name for a in entity.id], write.rate)
    return declared_share or 1 / max(1, count_of(workload, entity))


def _is_transaction(write: Write) -> bool:
    return write.atomic is not False and len(write.actions) > 1
