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
from prejoin.workload.model import Change, ChangeOp, Entity, Verb
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
    usable_facets = [facet for facet in facets if facet.entity != entity.name or _finds(facet, ask, entity)]
    plan = keys.plan(usable_facets, ask)
    return plan if isinstance(plan, Plan) else None


def _finds(facet: keys.Facet, ask: Lookup, entity: Entity) -> bool:
    """Whether a key alone finds the items, or all of them under a key that identifies the item."""
    plan = keys.plan((facet,), ask)
    if not isinstance(plan, Plan):
        return False
    if not plan.filtered:
        return True
    # A part that is made of a value, such as its shard, does not tell the value.
    whole_fields = [field for field in facet.pk.fields if not field.encoding.derived]
    names = {*plan.prefix, *(field.attribute for field in whole_fields)}
    # A generated part of an id is unique by itself.
    generated_names = {attribute.name for attribute in entity.id if attribute.generated}
    return identified(entity, names) or not names.isdisjoint(generated_names)


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

    An example is `update Order (status)` with the input `orderId`, and an index with the key `STATUS#{status}` /
    `{placedAt}#{orderId}`: the new key needs `placedAt`, which the caller does not give.
    """
    item = design.item(step.entity.name)
    if item is None:
        return set()
    required_names: set[str] = set()
    needed_names: set[str] = set()
    for bound in all_constructs(step.entity, design):
        required_names |= bound.depends(step.action)
        needed_names |= bound.located_by(step.action, step.changed, design)
    base_names = item.facets[0].fields
    match step.verb:
        case Verb.PUT:
            names = frozenset()
            needed_names |= places_of_copies(step.entity, design)
        case Verb.DELETE:
            needed_names |= places_of_copies(step.entity, design)
        case Verb.UPDATE | Verb.UPSERT:
            # An upsert sets parts of its key to the same. An increment needs the current value, whatever it was when
            # the item was found.
            names -= step.changed - base_names - settled_names(step)
            needed_names |= _needed_by_changes(step, item, design)
        case Verb.CREATE | Verb.EXPIRE:
            pass
        case _:
            assert_never(step.verb)
    return required_names | (needed_names - names - base_names)


def copies_of(entity: Entity, design: Design) -> list[Item]:
    return [item for item in design.copies if item.entity == entity.name]


def places_of_copies(entity: Entity, design: Design) -> set[str]:
    """The attributes that decide where the copies of an item are."""
    names: set[str] = set()
    for copy in copies_of(entity, design):
        names |= placing(copy.facets[0])
    return names


def settled_names(step: Step) -> set[str]:
    """The attributes whose new values do not depend on the old ones."""
    return {change.attribute for change in step.changes if change.op in (ChangeOp.SET, ChangeOp.REMOVE)}


def _optional_names(step: Step) -> set[str]:
    """The attributes whose new values the caller may leave out."""
    return {change.attribute for change in step.changes if is_optional(step.write, change)}


def _needed_by_changes(step: Step, item: Item, design: Design) -> set[str]:
    """The attributes that the index keys and copies of an item need when it changes."""
    changed_names = step.changed - item.facets[0].fields
    names: set[str] = set()
    for facet in item.facets[1:]:
        names |= _needed_by_index(step, facet, design, changed_names)
    new_names = settled_names(step) - _optional_names(step)
    for copy in copies_of(step.entity, design):
        names |= _of_copy(copy, design, step.entity, changed_names, new_names)
    return names


def _needed_by_index(step: Step, facet: Facet, design: Design, changed_names: Set[str]) -> set[str]:
    """The attributes that an update needs of an index key, beside the new values that it sets."""
    optional_names = _optional_names(step)
    sure_changes = [change for change in step.changes if change.attribute not in optional_names]
    # A change that may be left out leaves the current value, unless the key depends on nothing else that changes: then
    # the key stays, too.
    is_only_change = len(changed_names & placing(facet)) == 1
    new_names = settled_names(step) if is_only_change else settled_names(step) - optional_names
    needed_names: set[str] = set()
    if not leaves(facet, sure_changes):
        needed_names |= rewritten(facet, design, step.entity, changed_names)
    if step.verb is Verb.UPSERT and _enters(facet, step.entity, changed_names):
        needed_names |= placing(facet)  # an item that exists may be there or not
    return needed_names - new_names


def leaves(facet: Facet, changes: Iterable[Change]) -> bool:
    """Whether a change takes an item out of a sparse facet, whatever the item was: then its key need not be known."""
    for change in changes:
        for when in facet.when:
            if when.attribute == change.attribute and _contradicts(change, when):
                return True
    return False


def creates_outside(facet: Facet, step: Step) -> bool:
    """Whether a constant keeps a new item out of a sparse facet, and it replaces no item that was in it."""
    others = [action for action in step.write.actions if action.entity == step.entity.name]
    may_replace = Verb.DELETE in [action.verb for action in others]
    return step.verb is Verb.CREATE and not may_replace and leaves(facet, step.changes)


def _contradicts(change: Change, when: When) -> bool:
    """Whether a condition of a sparse facet is never true after a change of its attribute."""
    if when.absent:
        return change.op is ChangeOp.SET
    if change.op is ChangeOp.REMOVE:
        return True
    const = change.value.const if change.value and change.op is ChangeOp.SET else None
    return const is not None and bool(when.values) and const not in when.values


def _enters(facet: Facet, entity: Entity, changed_names: Set[str]) -> bool:
    """Whether an item that an upsert creates may be in a sparse facet: by the defaults, or by what the upsert sets."""
    unchanged_conditions = [when for when in facet.when if when.attribute not in changed_names]
    return bool(facet.when) and all(_holds_by_default(when, entity) for when in unchanged_conditions)


def _holds_by_default(when: When, entity: Entity) -> bool:
    attribute = entity.attribute(when.attribute)
    default = attribute.default if attribute else None
    if when.absent or default is None:
        return when.absent and default is None
    return not when.values or default in when.values


def _of_copy(copy: Item, design: Design, entity: Entity, changed_names: Set[str], new_names: Set[str]) -> set[str]:
    """The attributes that an update needs of a copy: its key; or all of it, if it moves."""
    held_names = held(copy, design, entity)
    if changed_names & placing(copy.facets[0]):
        return set(held_names)
    if not changed_names & held_names:
        return set()
    names = placing(copy.facets[0])
    for facet in copy.facets[1:]:
        names |= rewritten(facet, design, entity, changed_names) - new_names
    return names


def rewritten(facet: Facet, design: Design, entity: Entity, changed_names: Set[str]) -> set[str]:
    """The attributes of the index keys that a change rewrites, and of their sparse conditions."""
    if facet.when or may_lack(facet, entity):
        return placing(facet) if changed_names & placing(facet) else set()
    slot = design.slot(facet.slot)
    names: set[str] = set()
    for attribute, text in zip(slot.key_names if slot else (), facet.templates, strict=False):
        fields = fields_of(text)
        is_natural = text == f"{{{attribute}}}"  # an attribute that is itself a key is not a template
        if not is_natural and not changed_names.isdisjoint(fields):
            names.update(fields)
    return names


def may_lack(facet: Facet, entity: Entity) -> bool:
    """Whether items without an optional attribute are missing from a facet: `{name?}` would keep them there."""
    return not required_by(facet).isdisjoint(a.name for a in entity.attributes if a.optional)


def required_by(facet: Facet) -> set[str]:
    """The attributes without which an item is not in a facet: those in its keys that are not optional there."""
    return set(re.findall(r"\{([^{}:?]+)(?=[:}])", " ".join(facet.templates)))


def placing(facet: Facet) -> set[str]:
    """The attributes that decide where an item is in a facet, and whether it is there."""
    return {*facet.fields, *(when.attribute for when in facet.when)}


def held(copy: Item, design: Design, entity: Entity) -> frozenset[str]:
    """The attributes of a copy."""
    names = held_by(design, entity, copy)
    return frozenset(entity.types) if names is None else names


def key_of(facet: Facet) -> tuple[str, str]:
    """The templates of the key of an item in the table; the second one is empty if the table has no sort key."""
    return facet.pk[0], facet.sk[0] if facet.sk else ""
