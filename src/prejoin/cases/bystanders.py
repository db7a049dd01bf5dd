"""Bystanders of a case: items that a call must not touch, though they are much like those that it is about."""

from __future__ import annotations

from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.items import Values, is_unique
from prejoin.cases.slots import Slot
from prejoin.workload.lookup import target, unique_groups
from prejoin.workload.model import Entity
from prejoin.workload.tenants import is_owned


def add_bystanders(case: WriteCase) -> None:
    """Adds items to a case before it is run.

    For each item that exists before the call: one of other parents with equal values; for an item of a list one for
    each attribute that says which items are meant, with another value of it; one of another tenant with the same id.
    """
    seen: set[int] = set()
    for slot in case.model.slots:
        if slot.before is None or not slot.is_stored or slot.entity.singleton or slot.place[0] in seen:
            continue
        seen.add(slot.place[0])
        _add_cousin(case, slot)
        _add_neighbours(case, slot)
        _add_twin(case, slot)


def _add_cousin(case: WriteCase, slot: Slot) -> None:
    """An item of another parent, otherwise with equal values."""
    before = slot.before or {}
    alike: Values = {}
    bound = _list_attributes(case, slot)
    for attribute in slot.entity.attributes:
        is_own = attribute.id or is_unique(slot.entity, attribute.name) or attribute.name in bound
        if not is_own and target(case.sample.workload, attribute) is None and attribute.name in before:
            alike[attribute.name] = before[attribute.name]
    if slot.entity.name in case.operation.found_first and not slot.action.many:
        alike = {}  # it is found by what the caller knows of it, and no other item may have the same
    tenant = case.sample.workload.tenant
    if tenant and tenant.attribute in before and is_owned(case.sample.workload, slot.entity.name):
        alike[tenant.attribute] = before[tenant.attribute]
    cousin = case.sample.generator.another(slot.entity, alike)
    if cousin is not None:
        parents = [a for a in slot.entity.attributes if a.name in bound and a.name not in alike and a.references]
        shared_parents = [parent for parent in parents if cousin.get(parent.name) == before.get(parent.name)]
        for parent in shared_parents:  # there may be no other one yet: it gets one that does not exist
            alike[parent.name] = case.sample.generator.unused_value(parent, {repr(before.get(parent.name))})
        if shared_parents:
            cousin = case.sample.generator.another(slot.entity, alike)
    if slot.entity.name in case.operation.found_first and not slot.action.many and cousin is not None:
        names = slot.step.known
        if all(cousin.get(name) == before.get(name) for name in names):
            return  # it would be found as well
    _add(case, slot.entity, cousin)


def _add_neighbours(case: WriteCase, slot: Slot) -> None:
    """Items that differ from one of a list in a single attribute of those that say which items the list means."""
    before = slot.before or {}
    bound = _list_attributes(case, slot)
    tenant = case.sample.workload.tenant
    for name in sorted(bound) if len(bound) > 1 else ():
        attribute = slot.entity.attribute(name)
        if attribute is None or name not in before or (tenant and name == tenant.attribute):
            continue
        values = {
            other: before[other]
            for other in (a.name for a in slot.entity.attributes)
            if other in before and (other in bound or not _is_own(slot.entity, other))
        }
        values[name] = case.sample.generator.unused_value(attribute, {repr(before[name])})
        if values[name] != before[name]:
            _add(case, slot.entity, case.sample.generator.another(slot.entity, values))


def _is_own(entity: Entity, name: str) -> bool:
    """Whether no other item may have the same value."""
    attribute = entity.attribute(name)
    return attribute is not None and bool(attribute.id or is_unique(entity, name))


def _list_attributes(case: WriteCase, slot: Slot) -> set[str]:
    """The attributes that say which items a list means; none for a single item."""
    belonging = case.model.lists.get(slot.place[0])
    return {*belonging.inputs, *belonging.parents, *belonging.over_attributes} if belonging else set()


def _add_twin(case: WriteCase, slot: Slot) -> None:
    """The item of another tenant with the same id and values."""
    tenant = case.sample.workload.tenant
    before = slot.before or {}
    if tenant is None or not is_owned(case.sample.workload, slot.entity.name):
        return
    items = [item for items in case.sample.items.values() for item in items]
    tenants = [item[tenant.attribute] for item in items if tenant.attribute in item]
    other = next((value for value in tenants if value != before[tenant.attribute]), None)
    attribute = slot.entity.attribute(tenant.attribute)
    if other is None and attribute is not None:
        other = case.sample.generator.unused_value(attribute, {repr(value) for value in tenants})
    if other is not None:
        _add(case, slot.entity, {**before, tenant.attribute: other})


def _add(case: WriteCase, entity: Entity, item: Values | None) -> None:
    if item is None or case.sample.generator.is_taken(entity, item):
        return  # a type with few values
    if any(_has_unique_value_of(entity, item, step) for step in case.steps):
        return  # the write would be refused
    case.sample.generator.keep(entity, item)
    if any(item is list_item for at in case.model.lists for list_item in case.list_items(at)):
        case.sample.items[entity.name].remove(item)  # a reference that was drawn leads to the items of the case
        return
    case.missing.append((entity, item))


def _has_unique_value_of(entity: Entity, item: Values, step: WriteStep) -> bool:
    """Whether an item has a unique value that a step gives to another one: its constant, or the time of the call."""
    after = step.after
    if after is None or step.entity is not entity:
        return False
    return any(all(item.get(name) == after.get(name) is not None for name in group) for group in unique_groups(entity))
