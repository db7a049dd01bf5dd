"""What a write has to find or read before: items whose key it does not know, and values that index keys need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from typing import assert_never

from prejoin import keys
from prejoin.constructs.registry import all_constructs
from prejoin.design.mapping.facets import held_by
from prejoin.design.model import Design, Facet, Item, When
from prejoin.keys import Lookup, Plan, fields_of
from prejoin.workload.lookup import identified
from prejoin.workload.model import (
    Change,
    ChangeOp,
    Entity,
    Verb,
)
from prejoin.workload.optional_inputs import is_optional
from prejoin.workload.program.resolved_write import Step

# --- What has to be found or read before ----------------------------------------------------------------------------


def finding(facets: Iterable[keys.Facet], entity: Entity, names: frozenset[str]) -> Plan | None:
    """The plan that finds the items with these attributes, by the table's key or an index.

    A filter tests only what is known of an identified item: otherwise it would read many items to find one.
    """
    if not names:
        return None
    ask = Lookup.of(entity.name, equal=names, filtered=names)
    # Keys of other entities may lie between those of this one.
    plan = keys.plan([f for f in facets if f.entity != entity.name or _finds(keys.plan((f,), ask), entity)], ask)
    return plan if isinstance(plan, Plan) else None


def _finds(plan: Plan | keys.Refusal, entity: Entity) -> bool:
    if not isinstance(plan, Plan) or not plan.filtered:
        return isinstance(plan, Plan)
    # A part that is made of a value, such as its shard, does not tell the value.
    pk_names = {field.attribute for field in plan.facets[0].pk.fields if not field.encoding.derived} | {*plan.prefix}
    return identified(entity, pk_names) or any(a.generated and a.name in pk_names for a in entity.id)


def sought(step: Step, facets: Sequence[keys.Facet], names: frozenset[str]) -> frozenset[str]:
    """The attributes by which an item is found, of those that are known.

    What only a condition says is no filter if the others identify the item: the write checks it, and an index may not
    have the newest value yet.
    """
    plan = finding(facets, step.entity, names)
    identifying = names - (plan.filtered & step.fixed.keys()) if plan else names
    is_enough = identified(step.entity, identifying) and finding(facets, step.entity, identifying)
    return identifying if is_enough else names


def unknown(step: Step, design: Design, names: frozenset[str]) -> set[str]:
    """The attributes of an item that must be read first: index keys, copies or items of constructs contain them.

    A put may replace an item with other values, whatever the caller gives. An index key is written anew, so only its
    new values are needed. A copy or a construct's item is addressed by its old values.
    """
    entity = step.entity
    item = design.item(entity.name)
    if item is None:
        return set()
    copies = [other for other in design.items if other.entity == entity.name and other.copy]
    always: set[str] = set()
    needed_names: set[str] = set()
    for bound in all_constructs(entity, design):
        always |= bound.depends(step.action)
        needed_names |= bound.located_by(step.action, step.changed, design)
    base_names = attributes_of(item.facets[0])
    match step.verb:
        case Verb.PUT:
            names = frozenset()
            needed_names.update(*(placing(copy.facets[0]) for copy in copies))
        case Verb.DELETE:
            needed_names.update(*(placing(copy.facets[0]) for copy in copies))
        case Verb.UPDATE | Verb.UPSERT:
            changed_names = step.changed - base_names  # an upsert sets parts of its key to the same
            # An increment needs the current value, whatever it was when the item was found.
            names -= changed_names - _settled_names(step)
            for facet in item.facets[1:]:
                needed_names |= _needed_by_index(step, facet, design, changed_names)
            optional_names = {change.attribute for change in step.changes if is_optional(step.write, change)}
            settled_names = _settled_names(step) - optional_names
            for copy in copies:
                held_names = held(copy, design, entity)
                needed_names |= _of_copy(copy, held_names, design, entity, changed_names, settled_names)
        case Verb.CREATE | Verb.EXPIRE:
            pass
        case _:
            assert_never(step.verb)
    return always | (needed_names - names - base_names)


def _settled_names(step: Step) -> set[str]:
    """The attributes whose new values do not depend on the old ones."""
    return {change.attribute for change in step.changes if change.op in (ChangeOp.SET, ChangeOp.REMOVE)}


def _needed_by_index(step: Step, facet: Facet, design: Design, changed_names: Set[str]) -> set[str]:
    """The attributes that an update needs of an index key, beside the new values that it sets."""
    optional_names = {change.attribute for change in step.changes if is_optional(step.write, change)}
    sure_changes = [change for change in step.changes if change.attribute not in optional_names]
    # A change that may be left out leaves the current value, unless the key depends on nothing else that changes: then
    # the key stays, too.
    is_only_change = len(changed_names & placing(facet)) == 1
    new_names = _settled_names(step) if is_only_change else _settled_names(step) - optional_names
    needed_names: set[str] = set()
    if not leaves(facet, sure_changes):
        needed_names |= rewritten(facet, design, step.entity, changed_names)
    if step.verb is Verb.UPSERT and _enters(facet, step.entity, changed_names):
        needed_names |= placing(facet)  # an item that exists may be there or not
    return needed_names - new_names


def leaves(facet: Facet, changes: Iterable[Change]) -> bool:
    """Whether a change takes an item out of a sparse facet, whatever the item was: then its key need not be known."""
    for change in changes:
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


def _enters(facet: Facet, entity: Entity, changed_names: Set[str]) -> bool:
    """Whether an item that an upsert creates may be in a sparse facet: by the defaults, or by what the upsert sets."""

    def holds(when: When) -> bool:
        attribute = entity.attribute(when.attribute)
        default = attribute.default if attribute else None
        return default is None if when.absent else default is not None and (not when.values or default in when.values)

    return bool(facet.when) and all(holds(when) for when in facet.when if when.attribute not in changed_names)


def _of_copy(
    copy: Item, holds: frozenset[str], design: Design, entity: Entity, changed_names: Set[str], settled_names: Set[str]
) -> set[str]:
    """The attributes that an update needs of a copy: its key; or all of it, if it moves."""
    if changed_names & placing(copy.facets[0]):
        return set(holds)
    if not changed_names & holds:
        return set()
    keys_ = (rewritten(facet, design, entity, changed_names) - settled_names for facet in copy.facets[1:])
    return placing(copy.facets[0]).union(*keys_)


def rewritten(facet: Facet, design: Design, entity: Entity, changed_names: Set[str]) -> set[str]:
    """The attributes of the index keys that a change rewrites, and of their sparse conditions."""
    if facet.when or may_lack(facet, entity):
        return placing(facet) if changed_names & placing(facet) else set()
    slot = design.slot(facet.slot)
    names = [k.name for k in (*slot.pk, *slot.sk)] if slot else []
    key_names: set[str] = set()
    for attribute, text in zip(names, (*facet.pk, *facet.sk), strict=False):
        parts = set(fields_of(text))
        if changed_names & parts and text != f"{{{attribute}}}":  # an attribute that is itself a key is not a template
            key_names |= parts
    return key_names


def may_lack(facet: Facet, entity: Entity) -> bool:
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
    held_names = held_by(design, entity, copy)
    return frozenset(a.name for a in entity.attributes) if held_names is None else held_names
