"""Writes that can be repeated with `again=True`, and the requests of such a call.

An index may lack items that were written a moment ago, so a list that is found there may miss some, and DynamoDB has no
way to read it consistently. Called again later, the method does only what belongs to the list. It checks that the items
that it has deleted or changed the first time are still so.
"""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.design.mapping.addressing import attributes_of
from prejoin.design.model import TABLE, Call, Design, Did, ItemAction, Operation, Request
from prejoin.workload.model import Absence, Change, ChangeOp, Comparison, Op, Presence, Test, Verb, Workload, Write
from prejoin.workload.program.resolved_write import CheckedItem, ResolvedWrite, Step, resolve_write


def stale_lists(resolved: ResolvedWrite, operation: Operation) -> tuple[str, ...]:
    """The entities whose lists are found in an index, and may be found without their latest items."""
    index_entities = {name for request in operation.finds if request.slot != TABLE for name in request.entities}
    lists = [step.entity.name for step in resolved.written_steps if step.is_existing_list and not must_find_all(step)]
    return tuple(name for name in dict.fromkeys(lists) if name in index_entities)


def must_find_all(step: Step) -> bool:
    """Whether a given id that is not found refuses the write.

    A delete without a transaction can be repeated: what is not found may be deleted already.
    """
    return step.list_source.is_given and not (step.verb is Verb.DELETE and step.of.is_resumable)


def can_repeat(resolved: ResolvedWrite, operation: Operation, design: Design) -> bool:
    """Whether the effect of the single actions can be checked, and the lists are set to constants or deleted."""
    has_single = any(not step.is_list for step in resolved.written_steps)
    if not has_single or not stale_lists(resolved, operation):
        return False
    return all(_is_repeatable(step, operation, design) for step in resolved.written_steps)


def _is_repeatable(step: Step, operation: Operation, design: Design) -> bool:
    if step.is_new:
        return not step.is_list
    if step.is_list:
        return all(change.op in (ChangeOp.SET, ChangeOp.REMOVE) for change in step.changes)
    is_checkable = step.verb is Verb.DELETE or (step.verb is Verb.UPDATE and bool(settled_changes(step)))
    return is_checkable and not is_found_first(step, operation, design)


def is_found_first(step: Step, operation: Operation, design: Design) -> bool:
    """Whether the items of a step are found by another key first: their own is not known."""
    item = design.item(step.entity.name)
    if item is None or step.entity.name not in operation.found_first or step.is_new or step.is_given_whole:
        return False
    return not step.known.issuperset(attributes_of(item.facets[0]))


def is_check_found_first(item: CheckedItem, operation: Operation, design: Design) -> bool:
    """Whether an item that is only checked is found by another key first."""
    own = design.item(item.entity.name)
    if own is None or item.entity.name not in operation.found_first:
        return False
    return not item.known.issuperset(attributes_of(own.facets[0]))


def settled_changes(step: Step) -> tuple[Change, ...]:
    """The changes of an update whose result is a constant, or that the attribute is absent."""
    changes: list[Change] = []
    for change in step.action.changes:
        is_constant = change.value is not None and change.value.const is not None
        if change.op is ChangeOp.REMOVE or (change.op is ChangeOp.SET and is_constant):
            changes.append(change)
    return tuple(changes)


def repeated_operation(operation: Operation, workload: Workload, design: Design) -> Operation | None:
    """The requests of a call with `again=True`; None if the write cannot be repeated.

    It finds and writes the items of lists as the first call does. Of each single item it checks that it is as the first
    call has left it; a new one may have been changed since.
    """
    write = workload.pattern(operation.pattern)
    if not isinstance(write, Write) or not operation.served:
        return None
    resolved_write = resolve_write(workload, write)
    if not can_repeat(resolved_write, operation, design):
        return None
    checks: list[ItemAction] = []
    listed_entities: set[str] = set()
    for step in resolved_write.written_steps:
        if step.is_list:
            listed_entities.add(step.entity.name)
        elif not step.is_new:
            checks.append(_check_of_result(step, design))
    requests: list[Request] = []
    for request in operation.requests:
        if not request.actions:
            if request in operation.finds or listed_entities.intersection(request.entities):
                requests.append(request)
            continue
        actions = [action for action in request.actions if action.many]
        if not resolved_write.is_resumable:
            requests.append(_transaction([*checks, *actions]))
            continue
        if checks:
            # They come before the first write, in a transaction of their own.
            requests.append(_transaction(checks))
            checks = []
        if actions:
            requests.append(replace(request, actions=tuple(actions)))
    return replace(operation, requests=tuple(requests))


def _transaction(actions: list[ItemAction]) -> Request:
    entities = tuple(str(action.item) for action in actions)
    return Request(Call.TRANSACT_WRITE, entities=entities, actions=tuple(actions))


def _check_of_result(step: Step, design: Design) -> ItemAction:
    """The check that an item is as its step has left it."""
    item = design.item(step.entity.name)
    assert item is not None  # it is written
    facet = item.facets[0]
    conditions: list[Test] = []
    if step.verb is Verb.DELETE:
        conditions.append(Absence())
    else:
        conditions.append(Presence())
        for change in settled_changes(step):
            if change.op is ChangeOp.REMOVE or change.value is None:
                conditions.append(Absence(attribute=change.attribute))
            else:
                conditions.append(Comparison(attribute=change.attribute, op=Op.EQ, values=(change.value,)))
    return ItemAction(
        Did.CHECK, item.item_name, facet.pk[0], next(iter(facet.sk), ""), conditions=tuple(dict.fromkeys(conditions))
    )
