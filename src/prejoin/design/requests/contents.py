"""The requests for large contents: those that store them, before the item that refers to them is written, and those
that read them, for an item that was read."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.constructs.construct import ContentPieces
from prejoin.constructs.registry import added_constructs, keeps_contents
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Did,
    ItemAction,
    ItemName,
    Operation,
    ProjectionKind,
    Request,
    Slot,
)
from prejoin.design.requests.literal import ContentReading, ObjectRequest, PartRequest, ReadRequest, key_parts
from prejoin.design.requests.placeholders import KeySource, Placeholders
from prejoin.protocol.expressions.nodes import And, Between, Compare
from prejoin.workload.contents import contents_of
from prejoin.workload.lookup import gives_object
from prejoin.workload.model import ChangeOp, Entity, Verb, Workload, Write
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


def content_readings(operation: Operation, workload: Workload, design: Design) -> Iterator[ContentReading]:
    """How the contents in the results of an operation are read afterwards."""
    for entity in workload.entities:
        names = frozenset(returned_contents(operation, entity, design))
        if not names or not design.item(entity.name):
            continue
        for bound in added_constructs(entity, design):
            for pieces in bound.prepare(names, design):
                yield _reading(pieces, entity, workload, design)


def returned_contents(operation: Operation | None, entity: Entity, design: Design) -> Iterator[str]:
    """The large attributes of an entity in the results of a read."""
    for request in operation.requests if operation else ():
        if request.actions or entity.name not in request.entities or request.count or request.counter:
            continue
        names = [attribute.name for attribute in contents_of(entity)]
        # A request without attributes returns all that the table or the index has.
        if request.attributes:
            requested_names = {name.rpartition(".")[2] for name in request.attributes}
            names = [name for name in names if name in requested_names]
        slot = design.slot(request.slot)
        if slot is not None and slot.projection.kind is not ProjectionKind.ALL:
            names = [name for name in names if name in slot.projection.attributes]
        yield from names


def _reading(pieces: ContentPieces, entity: Entity, workload: Workload, design: Design) -> ContentReading:
    """The reads of the pieces, and of the item again, if its content was replaced meanwhile."""
    own = design.item(entity.name)
    assert own is not None  # it was read
    slot = design.slot(TABLE) or Slot(TABLE, ())
    pk, sk = own.facets[0].pk[0], own.facets[0].sk[0] if own.facets[0].sk else ""
    replaced = f"each {pieces.content} that was replaced meanwhile"
    again = ReadRequest(Call.GET, TABLE, key=key_parts(slot, pk, sk), is_consistent=True, repeated=replaced)
    if pieces.folder:
        key = f"{pieces.folder}{_object_key(entity, workload)}"
        return ContentReading(pieces.content, (again,), pieces.size, key)
    (pk_part, sk_part), to = key_parts(slot, pk, pieces.sk), Placeholders(entity)
    first, last = (pieces.sk.replace("{part}", f"{{{end} part}}") for end in ("first", "last"))
    low, high = (to.value(KeySource(end), name) for end, name in ((first, "first"), (last, "last")))
    partition = Compare("=", to.path(pk_part.attribute), to.value(KeySource(pk), pk_part.attribute))
    condition = And((partition, Between(to.path(sk_part.attribute), low, high)))
    parts = f"the parts of {pieces.content}, a page at a time"
    query = ReadRequest(Call.QUERY, TABLE, key_condition=condition, placeholders=to, repeated=parts)
    return ContentReading(pieces.content, (query, again))


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
        return ObjectRequest(*extent, pieces.folder, _object_key(step.entity, workload))
    own = design.item(step.entity.name)
    assert own is not None  # its item is written
    slot = design.slot(TABLE) or Slot(TABLE, ())
    return PartRequest(*extent, key_parts(slot, action.pk, pieces.sk), f"{own.tag} {pieces.tag}")


def _object_key(entity: Entity, workload: Workload) -> str:
    tenant = workload.tenant if has_tenant_folder(workload, entity) else None
    own_folder = f"{{{tenant.attribute}}}!/" if tenant else ""
    return f"{own_folder}{{key of the item}}/{{upload}}/{{part}}"
