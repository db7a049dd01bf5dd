"""What a write has to find or read before: items whose key it does not know, and values that index keys need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import assert_never

from prejoin import keys
from prejoin.design.mapping.facets import ending, held_by
from prejoin.design.model import Design, Facet, Item, When
from prejoin.keys import Lookup, Plan, fields_of
from prejoin.workload.lookup import changes, identified
from prejoin.workload.model import (
    Action,
    Change,
    ChangeOp,
    Entity,
    Verb,
    Write,
)
from prejoin.workload.optional_inputs import is_optional
from prejoin.workload.targets import said_equal

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


def sought(
    write: Write, action: Action, facets: Sequence[keys.Facet], entity: Entity, names: frozenset[str]
) -> frozenset[str]:
    """The attributes by which an item is found, of those that are known.

    What only a condition says is no filter if the others identify the item: the write checks it, and an index may not
    have the newest value yet.
    """
    found = finding(facets, entity, names)
    rest = names - (found.filtered & said_equal(write, action, entity).keys()) if found else names
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
            optional = {c.attribute for c in changed if is_optional(write, c)}
            sure = [c for c in changed if c.attribute not in optional]
            names -= touched - settled  # an increment needs the current value, whatever it was when the item was found
            for facet in item.facets[1:]:
                # A change that may be left out leaves the current value, unless the key depends on nothing else that
                # changes: then the key stays, too.
                alone = len(touched & placing(facet)) == 1
                new = settled if alone else settled - optional
                if not leaves(facet, sure):
                    needed |= _rewritten(facet, design, entity, touched) - new
                if action.verb is Verb.UPSERT and _enters(facet, entity, touched):
                    needed |= placing(facet) - new  # an item that exists may be there or not
            for copy in copies:
                needed |= _of_copy(copy, held(copy, design, entity), design, entity, touched, settled - optional)
            for guard in guards:
                needed |= guard | ends if touched & guard else guard if touched & ends else set()
        case Verb.CREATE | Verb.EXPIRE:
            pass
        case _:
            assert_never(action.verb)
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
