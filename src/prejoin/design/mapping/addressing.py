"""How a write addresses its items: which they are, what the caller gives, and what has to be read first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from prejoin import keys
from prejoin.design.mapping.facets import ending, held_by
from prejoin.design.model import Design, Facet, Item, When
from prejoin.keys import Lookup, Plan, fields_of
from prejoin.workload.lookup import chain, changes, gives_object, identified, means, root, target
from prejoin.workload.model import (
    Action,
    Change,
    ChangeOp,
    Check,
    CheckKind,
    Entity,
    Op,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.tenants import own_id

NEW = frozenset({Verb.CREATE, Verb.PUT})
"""Verbs with whole items as input."""


def actions_of(workload: Workload, write: Write) -> tuple[Action, ...]:
    """The actions of a write, each item once, because a DynamoDB transaction takes an item only once.

    Two updates of one entity mean two items if two inputs name them (follower and followed). Otherwise they mean one
    item and become one update.
    """
    found: list[Action] = []
    for action in write.actions:
        twins = [a for a in write.actions if _again(a, action)]
        if len(twins) < 2:
            found.append(action)
        elif names := _named_by(workload, write, action, len(twins)):
            found.append(replace(action, by=_whole_id(workload, action, names[_position(twins, action)])))
        elif twins[0] is action:
            found.append(replace(action, changes=tuple(dict.fromkeys(c for a in twins for c in a.changes))))
    return tuple(found)


def _whole_id(workload: Workload, action: Action, name: str) -> tuple[str, ...]:
    """The inputs that hold the id of an action's item, if one of them holds all of it but the tenant."""
    entity = workload.entity(action.entity)
    if entity is None or workload.tenant is None:
        return (name,)
    return tuple(workload.tenant.attribute if a not in own_id(workload, entity) else name for a in entity.id)


def _again(one: Action, other: Action) -> bool:
    """Whether two actions update the same entity, and neither names its item."""
    same = one.entity == other.entity and one.verb is other.verb and one.updates
    return same and not (one.by or other.by or one.many or other.many)


def _position(actions: list[Action], action: Action) -> int:
    return next(at for at, one in enumerate(actions) if one is action)


def _named_by(workload: Workload, write: Write, action: Action, count: int) -> list[str]:
    """The inputs that each name another item of the action's entity, if there are exactly `count`."""
    entity = workload.entity(action.entity)
    own = own_id(workload, entity) if entity else ()
    if entity is None or len(own) != 1 or own[0].name in _inputs(write):
        return []
    names = [name for name, places in _places(workload, write).items() if _identity(workload, entity) in places]
    return names if len(names) == count else []


def known(workload: Workload, write: Write, action: Action) -> frozenset[str]:
    """The attributes of an action's items whose values before the write are known to the caller."""
    if workload.pattern(write.id) is not write:
        return _known(workload, write, action)
    key = ("known", write.id, action)
    if key not in workload.memo:
        workload.memo[key] = _known(workload, write, action)
    found: frozenset[str] = workload.memo[key]
    return found


def _known(workload: Workload, write: Write, action: Action) -> frozenset[str]:
    entity = workload.entity(action.entity)
    if entity is None:
        return frozenset()
    given = _inputs(write)
    if action.verb in NEW or gives_object(write, entity):
        return frozenset(a.name for a in entity.attributes)
    ids = {a.name for a in entity.id}
    changed = _changed(write, action, entity)
    own = [a for a in entity.attributes if a.name in given and a.name not in changed]
    names = {a.name for a in own if means(workload, write, entity, a)}
    if action.by:
        names = (names - ids) | (ids if len(action.by) == len(ids) else set())
    else:
        places = {place for found in _places(workload, write).values() for place in found}
        names |= {name for name in ids if (entity.name, name) in places}
        own_ids = own_id(workload, entity)
        if len(own_ids) == 1 and _identity(workload, entity) in places:
            names |= {own_ids[0].name}
    names |= {a.name for a in entity.attributes if len(a.type.values) == 1}
    return frozenset(names | set(said_equal(write, entity)))


def _changed(write: Write, action: Action, entity: Entity) -> set[str]:
    """The attributes whose input is a new value, not the current one.

    An upsert gives the value that an immutable attribute of an existing item has already.
    """
    fixed = {a.name for a in entity.attributes if a.id or (action.verb is Verb.UPSERT and a.mutable is False)}
    return {change.attribute for change in changes(write, action, entity)} - fixed


def looked_at(workload: Workload, checks: Iterable[Check]) -> list[tuple[Entity, list[Check]]]:
    """Conditions on whole items, by entity."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        if check.entity and check.kind is not CheckKind.UNIQUE:
            found.setdefault(check.entity, []).append(check)
    return [(entity, own) for name, own in found.items() if (entity := workload.entity(name))]


def is_absence(checks: Iterable[Check]) -> bool:
    """Whether the conditions say that an item must not exist."""
    return any(check.kind is CheckKind.NOT_EXISTS and not check.attribute for check in checks)


def known_of_checked(workload: Workload, write: Write, entity: Entity) -> frozenset[str]:
    """The attributes of a condition's item that the caller gives, or that a new item refers to."""
    names = set(known(workload, write, Action(Verb.UPDATE, entity.name)))
    for action in write.actions:
        new = workload.entity(action.entity) if action.verb in NEW and not action.many else None
        held = [target(workload, attribute) for attribute in new.attributes] if new else []
        names |= {one[1].name for one in held if one and one[0] is entity}
    return frozenset(names)


def links(workload: Workload, write: Write, action: Action, entity: Entity) -> dict[str, str]:
    """The attributes of an action's items that come from an input, with the input."""
    inputs = _inputs(write)
    if action.verb in NEW:
        return {a.name: a.name for a in entity.attributes if a.name in inputs}
    named = known(workload, write, action)
    # A condition gives the current value of an attribute under another name, or as a constant.
    said = {name for name, check in said_equal(write, entity).items() if check.values[0].param != name}
    own = named - _changed(write, action, entity) - said
    found = {a.name: a.name for a in entity.attributes if a.name in inputs and a.name in own}
    if action.by:
        return found | dict(zip((a.name for a in entity.id), action.by, strict=False))
    touched = dict.fromkeys((*write.entities, *(a.entity for a in write.actions)))
    for name in inputs:
        for other in filter(None, map(workload.entity, touched)):
            attribute = other.attribute(name)
            for id_ in entity.id if attribute is not None and other is not entity else ():
                places = chain(workload, other, attribute) if attribute else []
                same = (entity.name, id_.name) in places
                if same or (own_id(workload, entity) == (id_,) and root(workload, entity, id_) in places):
                    found.setdefault(id_.name, name)
    return found


def said_equal(write: Write, entity: Entity) -> dict[str, Check]:
    """The conditions that fix an attribute's value: a write with `status = DRAFT` knows the status."""
    return {
        check.attribute: check
        for check in write.checks
        if check.kind is CheckKind.COMPARE and check.op is Op.EQ and check.entity in {"", entity.name}
        if entity.attribute(check.attribute) and (check.entity or write.first_entity == entity.name)
    }


def _inputs(write: Write) -> dict[str, None]:
    return dict.fromkeys(i.attribute for i in write.inputs)


def _identity(workload: Workload, entity: Entity) -> tuple[str, str]:
    """The origin of an entity's only id: the id of a user's counters is the user's."""
    return root(workload, entity, own_id(workload, entity)[0])


def _places(workload: Workload, write: Write) -> dict[str, list[tuple[str, str]]]:
    """The attributes whose values each input holds, along the references of the entities of the write."""
    found: dict[str, list[tuple[str, str]]] = {}
    touched = dict.fromkeys((*write.entities, *(a.entity for a in write.actions)))
    for name in _inputs(write):
        for entity in filter(None, map(workload.entity, touched)):
            attribute = entity.attribute(name)
            if attribute is not None:
                found.setdefault(name, []).extend(chain(workload, entity, attribute))
    return found


# --- What has to be found or read before ----------------------------------------------------------------------------


def finding(facets: Iterable[keys.Facet], entity: Entity, names: frozenset[str]) -> Plan | None:
    """The plan that finds the items with these attributes, by the table's key or an index.

    A filter tests only what is known of an identified item: otherwise it would read many items to find one.
    """
    if not names:
        return None
    ask = Lookup.of(entity.name, equal=names, filtered=names)
    # Keys of other entities may lie between those of this one.
    found = keys.plan([f for f in facets if f.entity != entity.name or _finds(keys.plan((f,), ask), entity)], ask)
    return found if isinstance(found, Plan) else None


def _finds(found: Plan | keys.Refusal, entity: Entity) -> bool:
    if not isinstance(found, Plan) or not found.filtered:
        return isinstance(found, Plan)
    given = {field.attribute for field in found.facets[0].pk.fields} | {*found.prefix}
    return identified(entity, given) or any(a.generated and a.name in given for a in entity.id)


def sought(write: Write, facets: Sequence[keys.Facet], entity: Entity, names: frozenset[str]) -> frozenset[str]:
    """The attributes by which an item is found, of those that are known.

    What only a condition says is no filter if the others identify the item: the write checks it, and an index may not
    have the newest value yet.
    """
    found = finding(facets, entity, names)
    rest = names - (found.filtered & said_equal(write, entity).keys()) if found else names
    return rest if identified(entity, rest) and finding(facets, entity, rest) else names


def unknown(write: Write, action: Action, entity: Entity, design: Design, names: frozenset[str]) -> set[str]:
    """The attributes of an item that must be read first, because index keys, copies or guards contain them.

    A put may replace an item with other values, whatever the caller gives. An index key is written anew, so only its
    new values are needed. A copy or a guard is addressed by its old values.
    """
    item = design.item(entity.name)
    if item is None:
        return set()
    if entity.history and action.verb in (Verb.UPDATE, Verb.DELETE):
        return {a.name for a in entity.attributes}  # the whole item becomes a version
    copies = [i for i in design.items if i.entity == entity.name and i.copy]
    guards = [set(g.attributes) for g in design.guards if g.entity == entity.name]
    # A guard expires with its item and may then belong to another: to put or exchange one needs the expiry.
    ends = {ending(design, entity)} - {""} if guards else set()
    needed: set[str] = set()
    match action.verb:
        case Verb.PUT:
            names = frozenset()
            needed = ends.union(*(placing(copy.facets[0]) for copy in copies), *guards)
        case Verb.DELETE:
            needed = set().union(*(placing(copy.facets[0]) for copy in copies), *guards)
        case Verb.UPDATE | Verb.UPSERT:
            changed = changes(write, action, entity)
            touched = {change.attribute for change in changed}
            settled = {c.attribute for c in changed if c.op in (ChangeOp.SET, ChangeOp.REMOVE)}
            names -= touched - settled  # an increment needs the current value, whatever it was when the item was found
            for facet in item.facets[1:]:
                if not leaves(facet, changed):
                    needed |= _rewritten(facet, design, entity, touched) - settled
                if action.verb is Verb.UPSERT and _enters(facet, entity, touched):
                    needed |= placing(facet) - settled  # an item that exists may be there or not
            for copy in copies:
                needed |= _of_copy(copy, held(copy, design, entity), design, entity, touched, settled)
            for guard in guards:
                needed |= guard | ends if touched & guard else guard if touched & ends else set()
        case _:
            pass
    return needed - names - attributes_of(item.facets[0])


def leaves(facet: Facet, changed: Iterable[Change]) -> bool:
    """Whether a change takes an item out of a sparse facet, whatever the item was: then its key need not be known."""
    for change in changed:
        for when in (w for w in facet.when if w.attribute == change.attribute):
            if when.absent:
                out = change.op is ChangeOp.SET
            else:
                const = change.value.const if change.value and change.op is ChangeOp.SET else None
                out = change.op is ChangeOp.REMOVE or (
                    const is not None and bool(when.values) and const not in when.values
                )
            if out:
                return True
    return False


def _enters(facet: Facet, entity: Entity, touched: set[str]) -> bool:
    """Whether an item that an upsert creates may be in a sparse facet: by the defaults, or by what the upsert sets."""

    def holds(when: When) -> bool:
        attribute = entity.attribute(when.attribute)
        default = attribute.default if attribute else None
        return default is None if when.absent else default is not None and (not when.values or default in when.values)

    return bool(facet.when) and all(holds(when) for when in facet.when if when.attribute not in touched)


def _of_copy(
    copy: Item, holds: frozenset[str], design: Design, entity: Entity, touched: set[str], settled: set[str]
) -> set[str]:
    """The attributes that an update needs of a copy: its key; or all of it, if it moves."""
    if touched & placing(copy.facets[0]):
        return set(holds)
    if not touched & holds:
        return set()
    keys_ = (_rewritten(facet, design, entity, touched) - settled for facet in copy.facets[1:])
    return placing(copy.facets[0]).union(*keys_)


def _rewritten(facet: Facet, design: Design, entity: Entity, touched: set[str]) -> set[str]:
    """The attributes of the index keys that a change rewrites, and of their sparse conditions."""
    if facet.when or _may_lack(facet, entity):
        return placing(facet) if touched & placing(facet) else set()
    slot = design.slot(facet.slot)
    names = [k.name for k in (*slot.pk, *slot.sk)] if slot else []
    found: set[str] = set()
    for attribute, text in zip(names, (*facet.pk, *facet.sk), strict=False):
        parts = set(fields_of(text))
        if touched & parts and text != f"{{{attribute}}}":  # an attribute that is itself a key is not a template
            found |= parts
    return found


def _may_lack(facet: Facet, entity: Entity) -> bool:
    """Whether items without an optional attribute are missing from a facet."""
    texts = (*facet.pk, *facet.sk)
    return any(
        a.optional and any(re.search(rf"{{{re.escape(a.name)}[:}}]", text) for text in texts) for a in entity.attributes
    )


def placing(facet: Facet) -> set[str]:
    """The attributes that decide where an item is in a facet, and whether it is there."""
    return attributes_of(facet) | {when.attribute for when in facet.when}


def attributes_of(facet: Facet) -> set[str]:
    """The attributes in the keys of a facet."""
    return {name for text in (*facet.pk, *facet.sk) for name in fields_of(text)}


def held(copy: Item, design: Design, entity: Entity) -> frozenset[str]:
    """The attributes of a copy."""
    found = held_by(design, entity, copy)
    return frozenset(a.name for a in entity.attributes) if found is None else found
