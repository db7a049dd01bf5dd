"""The attributes of a stored item that a write compares with what the caller knows, or with what was read or found."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from prejoin.constructs.registry import all_constructs
from prejoin.design.counters import is_spread
from prejoin.design.mapping.addressing import (
    copies_of,
    held,
    leaves,
    places_of_copies,
    placing,
    rewritten,
    settled_names,
    unknown,
)
from prejoin.design.mapping.facets import is_natural
from prejoin.design.model import Design, Did, Facet, Item, ItemAction, ItemName, Operation
from prejoin.keys import Plan
from prejoin.workload.model import Comparison, Op, Value, Verb
from prejoin.workload.program.list_sources import is_movable
from prejoin.workload.program.resolved_write import Step


def with_preconditions(own: ItemAction, step: Step, design: Design, is_read: bool, plan: Plan | None) -> ItemAction:
    """The action on an item, with the attributes that must have the known values when it is written.

    `is_read` says whether the item is read before, by its own key; `plan` finds it by another one.
    """
    item = design.item(step.entity.name)
    assert item is not None  # it is written
    if is_spread(design.counters, step):
        return own
    base = item.facets[0].fields
    if step.verb is Verb.CREATE:
        names = _of_put(step, design) if step.is_exchanged else set()
        return replace(own, unchanged=tuple(sorted(names - base)))
    known_names = _known_names(step, design, is_read, plan, base) - base
    dependencies = _dependencies(step, item, design) if is_read else set()
    unchanged_names = dependencies - base - known_names
    # An item that was found has been selected by the inputs. Lists are compared where they are tied to their parent.
    conditions = dict.fromkeys(own.conditions)
    if plan is None and not step.is_list:
        for name, source in step.sources.items():
            if name in known_names:
                conditions[equals_input(name, source)] = None
    return replace(
        own,
        conditions=tuple(conditions),
        known=tuple(sorted(known_names)),
        unchanged=tuple(sorted(unchanged_names)),
        is_read=is_read,
    )


def equals_input(attribute: str, source: str) -> Comparison:
    """The condition that an attribute has the value of an input."""
    return Comparison(attribute=attribute, op=Op.EQ, values=(Value(param=source),))


def compared_attributes(step: Step, operation: Operation, design: Design) -> tuple[str, ...]:
    """The attributes beside the key that the write of a step's items compares, from the operation."""
    if is_spread(design.counters, step):
        return ()
    steps = [other for other in step.of.written_steps if other.entity is step.entity]
    position = [other for other in steps if not is_spread(design.counters, other)].index(step)
    item = ItemName(step.entity.name)
    actions = [action for action in operation.actions if action.item == item and action.action is not Did.CHECK]
    return actions[position].known


def _known_names(step: Step, design: Design, is_read: bool, plan: Plan | None, base: frozenset[str]) -> set[str]:
    """The attributes whose values are given with the key."""
    if step.verb in (Verb.PUT, Verb.UPSERT):
        return set()
    if plan is not None:
        names = set() if is_read else unknown(step, design, frozenset())
        if step.is_list:
            names |= {name for name in step.list_source.links if is_movable(step.entity, name, base)}
        return names
    if step.is_list and step.is_given_whole:
        return set(step.sources)
    lists = frozenset() if step.is_list else step.of.list_inputs
    return {name for name in step.known if step.sources.get(name, "") not in lists}


def _dependencies(step: Step, item: Item, design: Design) -> set[str]:
    """The attributes of an item that was read on which its keys, copies and the items of its constructs depend."""
    names: set[str] = set()
    for bound in all_constructs(step.entity, design):
        names |= bound.depends(step.action) | bound.located_by(step.action, step.changed, design)
    match step.verb:
        case Verb.PUT | Verb.DELETE:
            names |= places_of_copies(step.entity, design)
        case Verb.UPDATE | Verb.UPSERT:
            changed_names = step.changed - item.facets[0].fields
            for facet in item.facets[1:]:
                if changed_names & placing(facet) and not _is_natural(facet, design):
                    names |= placing(facet)
            for copy in copies_of(step.entity, design):
                names |= _of_copy(copy, step, design)
        case Verb.CREATE | Verb.EXPIRE:
            pass
        case _:
            assert_never(step.verb)
    return names


def _of_put(step: Step, design: Design) -> set[str]:
    """The attributes of a replaced item on which its copies and the items of its constructs depend."""
    put = replace(step.action, verb=Verb.PUT)
    names = places_of_copies(step.entity, design)
    for bound in all_constructs(step.entity, design):
        names |= bound.located_by(put, frozenset(), design)
    return names


def _of_copy(copy: Item, step: Step, design: Design) -> set[str]:
    """The attributes of a replaced item on which a copy of it depends."""
    holds = held(copy, design, step.entity)
    if copy.whole or step.changed & placing(copy.facets[0]):
        return {*holds, *placing(copy.facets[0])}
    if not step.changed & holds:
        return set()
    names = placing(copy.facets[0])
    for facet in copy.facets[1:]:
        if not leaves(facet, step.changes) and not _is_natural(facet, design):
            names |= rewritten(facet, design, step.entity, step.changed) - settled_names(step)
    return names


def _is_natural(facet: Facet, design: Design) -> bool:
    """Whether the keys of an index are attributes as they are, so that an update of these changes the keys."""
    slot = design.slot(facet.slot)
    return slot is not None and is_natural(facet.templates, slot.key_attributes)
