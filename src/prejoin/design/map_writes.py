"""Writes mapped to requests: each item that a pattern touches, with copies, guards, index keys and conditions."""

from __future__ import annotations

from prejoin.design.facets import types_of
from prejoin.design.model import Call, Design, Did, Facet, Guard, Item, ItemAction, Operation, Request, Slot
from prejoin.keys import fields_of, guard_key
from prejoin.workload.grammar.values import write_comparison, write_value
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Change, ChangeOp, Check, CheckKind, Entity, Verb, Workload, Write

_DID = {
    Verb.CREATE: Did.PUT,
    Verb.PUT: Did.PUT,
    Verb.UPDATE: Did.UPDATE,
    Verb.DELETE: Did.DELETE,
    Verb.EXPIRE: Did.DELETE,
}
_CALL = {Did.PUT: Call.PUT, Did.UPDATE: Call.UPDATE, Did.DELETE: Call.DELETE}


def map_write(write: Write, workload: Workload, design: Design) -> Operation:
    """The operation of a write or delete."""
    actions: list[ItemAction] = []
    checks = list(write.checks)
    for action in write.actions:
        entity = workload.entity(action.entity)
        item = design.item(action.entity)
        if entity is None or item is None:
            problem = f"{action.entity} has no key in the design"
            return Operation(write.id, problem=problem, remedy=f"give {action.entity} a key in the table")
        own = [c for c in checks if _about(c, action, write, entity) and c.kind is not CheckKind.UNIQUE]
        checks = [c for c in checks if c not in own]
        actions += _actions(write, action, entity, item, design, tuple(own))
    for check in checks:
        if check.kind is not CheckKind.UNIQUE and check.entity and (item := design.item(check.entity)):
            pk, sk = _key(item.facets[0])
            actions.append(ItemAction(Did.CHECK, item.entity, pk, sk, conditions=(_condition(check, write, design),)))
    if not actions:
        return Operation(
            write.id, problem="it does not say what it writes", remedy="name the items under Items Written"
        )
    return Operation(write.id, (_request(write, actions),))


def _request(write: Write, actions: list[ItemAction]) -> Request:
    entities = tuple(a.entity for a in write.actions)
    single = len(actions) == 1 and not actions[0].many
    if single and actions[0].action is not Did.CHECK:
        return Request(
            _CALL[actions[0].action], entities=entities, pk=actions[0].pk, sk=_eq(actions[0].sk), actions=tuple(actions)
        )
    guarded = any("!" in a.item or "/" in a.item for a in actions)
    batch = write.atomic is False and not guarded and all(a.action in {Did.PUT, Did.DELETE} for a in actions)
    return Request(Call.BATCH_WRITE if batch else Call.TRANSACT_WRITE, entities=entities, actions=tuple(actions))


def _actions(
    write: Write, action: Action, entity: Entity, item: Item, design: Design, checks: tuple[Check, ...]
) -> list[ItemAction]:
    did = _DID[action.verb]
    changed = changes(write, action, entity)
    base = item.facets[0]
    pk, sk = _key(base)
    name = design.slots[0].pk[0].name if design.slots else "pk"
    exists = {Verb.CREATE: f"attribute_not_exists({name})", Verb.UPDATE: f"attribute_exists({name})"}.get(action.verb)
    conditions = tuple(dict.fromkeys(([exists] if exists else []) + [_condition(c, write, design) for c in checks]))
    written = tuple(_change(c, write) for c in changed) + tuple(_index_keys(changed, item, design))
    found = [ItemAction(did, entity.name, pk, sk, action.many, written, conditions)]
    for copy in (i for i in design.items if i.entity == entity.name and i.copy):
        copy_pk, copy_sk = _key(copy.facets[0])
        held = tuple(_change(c, write) for c in changed if not copy.attributes or c.attribute in copy.attributes)
        found.append(ItemAction(did, f"{entity.name}/{copy.copy}", copy_pk, copy_sk, action.many, held))
    for guard in (g for g in design.guards if g.entity == entity.name):
        found += _guard(guard, action, changed, entity, design)
    return found


def _guard(
    guard: Guard, action: Action, changed: tuple[Change, ...], entity: Entity, design: Design
) -> list[ItemAction]:
    """The guard follows its item: put with a new one, deleted with it, and exchanged where the value changes."""
    own = design.item(entity.name)
    tag = own.tag if own else entity.name
    templates = guard_key(tag, guard.attributes, types_of(entity), design.separator, bool(design.slots[0].sk))
    pk, sk = (template.text if template else "" for template in templates)
    name = design.slots[0].pk[0].name
    item = f"{guard.entity}!{'+'.join(guard.attributes)}"
    put = ItemAction(Did.PUT, item, pk, sk, action.many, conditions=(f"attribute_not_exists({name})",))
    if action.verb is Verb.CREATE:
        return [put]
    if action.verb is Verb.DELETE:
        return [ItemAction(Did.DELETE, item, pk, sk, action.many)]
    if action.verb is Verb.UPDATE and {c.attribute for c in changed} & set(guard.attributes):
        return [ItemAction(Did.DELETE, item, pk, sk, action.many), put]
    return []


def _about(check: Check, action: Action, write: Write, entity: Entity) -> bool:
    if check.entity:
        return check.entity == action.entity
    if not check.attribute:
        first = write.entities[0] if write.entities else write.actions[0].entity
        return action.entity == first
    return entity.attribute(check.attribute) is not None


def _condition(check: Check, write: Write, design: Design) -> str:
    inputs = frozenset(i.attribute for i in write.inputs)
    name = check.attribute or (design.slots[0].pk[0].name if design.slots else "pk")
    if check.kind is CheckKind.COMPARE and check.op:
        return f"{name} {write_comparison(check.op, check.values, inputs)}"
    return f"{'attribute_exists' if check.kind is CheckKind.EXISTS else 'attribute_not_exists'}({name})"


def _change(change: Change, write: Write) -> str:
    inputs = frozenset(i.attribute for i in write.inputs)
    value = write_value(change.value, inputs) if change.value else f"{{{change.attribute}}}"
    if change.op is ChangeOp.REMOVE:
        return f"REMOVE {change.attribute}"
    if change.op is ChangeOp.SET:
        return f"SET {change.attribute} = {value}"
    if change.op is ChangeOp.APPEND:
        return f"SET {change.attribute} = list_append({change.attribute}, {value})"
    return f"ADD {change.attribute} {'-' if change.op is ChangeOp.SUBTRACT else ''}{value}"


def _index_keys(changed: tuple[Change, ...], item: Item, design: Design) -> list[str]:
    """The index keys that a change rewrites."""
    names = {c.attribute for c in changed}
    found = []
    for facet in item.facets[1:]:
        slot = design.slot(facet.slot)
        for attribute, text in _parts(slot, facet) if slot else ():
            sparse = {w.attribute for w in facet.when}
            if names & (set(fields_of(text)) | sparse):
                found.append(f"SET {attribute} = {text}")
    return found


def _parts(slot: Slot, facet: Facet) -> list[tuple[str, str]]:
    attributes = [k.name for k in (*slot.pk, *slot.sk)]
    return list(zip(attributes, (*facet.pk, *facet.sk), strict=False))


def _key(facet: Facet) -> tuple[str, str]:
    return facet.pk[0], facet.sk[0] if facet.sk else ""


def _eq(sk: str) -> str:
    return f"= {sk}" if sk else ""
