"""Writes that can be repeated with `again=True`, and the requests of such a call.

An index may lack items that were written a moment ago, so a list that is found there may miss some, and DynamoDB has no
way to read it consistently. Called again later, the method does only what belongs to the list. It checks that the items
that it has deleted or changed the first time are still so.
"""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.constructs.registry import client_verb
from prejoin.design.mapping.addressing import key_of
from prejoin.design.mapping.map_writes import transaction
from prejoin.design.model import TABLE, Design, Did, ItemAction, Operation, Request
from prejoin.workload.model import Absence, Change, ChangeOp, Comparison, Op, Presence, Test, Verb, Workload, Write
from prejoin.workload.program.resolved_write import CheckedItem, ResolvedWrite, Step, resolve_write


def stale_lists(write: ResolvedWrite, operation: Operation) -> tuple[str, ...]:
    """The entities whose lists are found in an index, and may be found without their latest items."""
    index_entities: set[str] = set()
    for request in operation.finds:
        if request.slot != TABLE:
            index_entities.update(request.entities)
    lists = [step for step in write.written_steps if step.is_existing_list and not must_find_all(step)]
    names = dict.fromkeys(step.entity.name for step in lists)
    return tuple(name for name in names if name in index_entities)


def must_find_all(step: Step) -> bool:
    """Whether a given id that is not found refuses the write."""
    return step.list_source.is_given and not passes_over_missing(step)


def passes_over_missing(step: Step) -> bool:
    """Whether an item of a list that is not there, or that belongs to another parent, is no error.

    A delete without a transaction can be repeated: what is not found may be deleted already.
    """
    is_deleted = step.is_existing_list and client_verb(step.entity, step.action) is Verb.DELETE
    return is_deleted and step.of.is_resumable


def can_repeat(write: ResolvedWrite, operation: Operation, design: Design) -> bool:
    """Whether the effect of the single actions can be checked, and the lists are set to constants or deleted."""
    has_single = any(not step.is_list for step in write.written_steps)
    if not has_single or not stale_lists(write, operation):
        return False
    return all(_is_repeatable(step, operation, design) for step in write.written_steps)


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
    return not item.facets[0].fields <= step.known


def is_check_found_first(item: CheckedItem, operation: Operation, design: Design) -> bool:
    """Whether an item that is only checked is found by another key first."""
    own = design.item(item.entity.name)
    if own is None or item.entity.name not in operation.found_first:
        return False
    return not own.facets[0].fields <= item.known


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
    steps = resolved_write.written_steps
    checks = [_check_of_result(step, design) for step in steps if not step.is_list and not step.is_new]
    requests: list[Request] = []
    for request in operation.requests:
        if not request.actions:
            requests += [request] if _reads_list(request, operation, resolved_write) else []
            continue
        actions = [action for action in request.actions if action.many]
        if not resolved_write.is_resumable:
            requests.append(transaction([*checks, *actions]))
            continue
        if checks:
            # They come before the first write, in a transaction of their own.
            requests.append(transaction(checks))
            checks = []
        if actions:
            requests.append(replace(request, actions=tuple(actions)))
    return replace(operation, requests=tuple(requests))


def _reads_list(read: Request, operation: Operation, write: ResolvedWrite) -> bool:
    """Whether a request finds items, or reads those of a list."""
    lists = {step.entity.name for step in write.written_steps if step.is_list}
    return read in operation.finds or not lists.isdisjoint(read.entities)


def _check_of_result(step: Step, design: Design) -> ItemAction:
    """The check that an item is as its step has left it."""
    item = design.item(step.entity.name)
    assert item is not None  # it is written
    conditions: list[Test] = [Absence() if step.verb is Verb.DELETE else Presence()]
    if step.verb is not Verb.DELETE:
        conditions += map(_result_of, settled_changes(step))
    pk, sk = key_of(item.facets[0])
    return ItemAction(Did.CHECK, item.item_name, pk, sk, conditions=tuple(dict.fromkeys(conditions)))


def _result_of(change: Change) -> Test:
    """What is true of an attribute after a change to a constant."""
    if change.op is ChangeOp.REMOVE or change.value is None:
        return Absence(attribute=change.attribute)
    return Comparison(attribute=change.attribute, op=Op.EQ, values=(change.value,))
