"""The requests that store large contents, before the item that refers to them is written."""

from __future__ import annotations

from prejoin.constructs.construct import ContentPieces
from prejoin.constructs.registry import added_constructs, keeps_contents
from prejoin.design.model import TABLE, Call, Design, Did, ItemAction, ItemName, Operation, Request, Slot
from prejoin.design.requests.literal import ObjectRequest, PartRequest, key_parts
from prejoin.workload.lookup import gives_object
from prejoin.workload.model import ChangeOp, Verb, Workload, Write
from prejoin.workload.program.resolved_write import Step, resolve_write
from prejoin.workload.tenants import has_tenant_folder


def content_requests(
    operation: Operation, workload: Workload, design: Design
) -> dict[int, list[PartRequest | ObjectRequest]]:
    """The requests that store contents, by the number of the request of the operation that they precede."""
    write = workload.pattern(operation.pattern)
    requests: dict[int, list[PartRequest | ObjectRequest]] = {}
    if not isinstance(write, Write):
        return requests
    for step in resolve_write(workload, write).steps:
        position = _position(operation, step)
        if position is None:
            continue
        number, action = position
        for bound in added_constructs(step.entity, design):
            for pieces in bound.prepare(given_attributes(step), design):
                requests.setdefault(number, []).append(_request(pieces, step, action, workload, design))
    return requests


def given_attributes(step: Step) -> frozenset[str]:
    """The attributes to which a step gives values."""
    set_ = frozenset(change.attribute for change in step.changes if change.op is ChangeOp.SET)
    if not step.is_new:
        return set_
    if gives_object(step.write, step.entity):
        return frozenset(step.entity.types)
    return set_ | frozenset(step.sources)


def left_contents(operation: Operation, workload: Workload, design: Design) -> tuple[str, ...]:
    """The contents that an operation replaces or whose items it deletes, and that it leaves: `Document.body`."""
    write = workload.pattern(operation.pattern)
    names: dict[str, None] = {}
    for step in resolve_write(workload, write).steps if isinstance(write, Write) else ():
        if keeps_contents(step.entity):
            continue
        is_whole = step.verb in (Verb.PUT, Verb.DELETE)
        lost_names = frozenset(step.entity.types) if is_whole else step.changed
        for bound in added_constructs(step.entity, design) if step.verb is not Verb.CREATE else ():
            names.update((pieces.content, None) for pieces in bound.prepare(lost_names, design))
    return tuple(names)


def _position(operation: Operation, step: Step) -> tuple[int, ItemAction] | None:
    """The first request for the items of a step and its action on them; None if no request writes one.

    The client stores the contents before it reads items that a write needs to know.
    """
    for number, request in enumerate(operation.requests):
        action = _write_of(request, step)
        if action is None:
            continue
        while number > 0 and _reads_item_of(request, operation.requests[number - 1]):
            number -= 1
        return number, action
    return None


def _write_of(request: Request, step: Step) -> ItemAction | None:
    """The action of a request that stores an item of a step."""
    own = ItemName(step.entity.name)
    for action in request.actions:
        if action.action in (Did.PUT, Did.UPDATE) and action.item == own:
            return action
    return None


def _reads_item_of(write: Request, read: Request) -> bool:
    """Whether a request reads an item that a write needs to know."""
    written_entities = {action.item.entity for action in write.actions}
    return read.call is Call.GET and read.consistent and written_entities.issuperset(read.entities)


def _request(
    pieces: ContentPieces, step: Step, action: ItemAction, workload: Workload, design: Design
) -> PartRequest | ObjectRequest:
    extent = (pieces.content, pieces.inline, pieces.size, step.is_list)
    if pieces.folder:
        tenant = workload.tenant if has_tenant_folder(workload, step.entity) else None
        own_folder = f"{{{tenant.attribute}}}!/" if tenant else ""
        return ObjectRequest(*extent, pieces.folder, f"{own_folder}{{key of the item}}/{{upload}}/{{part}}")
    own = design.item(step.entity.name)
    assert own is not None  # its item is written
    slot = design.slot(TABLE) or Slot(TABLE, ())
    return PartRequest(*extent, key_parts(slot, action.pk, pieces.sk), f"{own.tag} {pieces.tag}")
