"""Bystanders of a case: items that a call must not touch, though they are much like those that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.items import Values, has_values, names_item, remove_item
from prejoin.cases.slots import Slot
from prejoin.workload.lookup import target, unique_groups
from prejoin.workload.model import Attribute, Entity
from prejoin.workload.tenants import common_tenant


def add_bystanders(case: WriteCase) -> None:
    """Adds items to a case before it is run.

    For each item that exists before the call: one of other parents with equal values; for an item of a list one for
    each attribute that says which items are meant, with another value of it; one of another tenant with the same id.
    """
    # One item of each action is enough: those of a list are alike.
    positions: set[int] = set()
    for slot in case.model.slots:
        if slot.before is None or not slot.is_stored or slot.entity.singleton or slot.place[0] in positions:
            continue
        positions.add(slot.place[0])
        bystanders = _Bystanders(case, slot, slot.before)
        bystanders.add_cousin()
        bystanders.add_neighbours()
        bystanders.add_twin()


@dataclass(frozen=True, slots=True)
class _Bystanders:
    """The items beside one item of a case, and what they have in common with it."""

    case: WriteCase
    slot: Slot
    before: Values

    @property
    def entity(self) -> Entity:
        return self.slot.entity

    @property
    def _tenant(self) -> str:
        """The attribute that holds the tenant of the item; empty if it belongs to none."""
        return next(iter(common_tenant(self.case.sample.workload, self.entity.name)), "")

    @property
    def _list_names(self) -> set[str]:
        """The attributes that say which items a list means; none for a single item."""
        belonging = self.case.model.lists.get(self.slot.place[0])
        return set(belonging.own_names) if belonging else set()

    @property
    def _is_found_first(self) -> bool:
        """Whether the call finds the item by what the caller knows of it, so that no other may have the same."""
        return self.entity.name in self.case.operation.found_first and not self.slot.action.many

    def _unused_value(self, attribute: Attribute) -> Any:
        return self.case.sample.generator.unused_value(attribute, {repr(self.before.get(attribute.name))})

    # --- An item of another parent ----------------------------------------------------------------------------------

    def add_cousin(self) -> None:
        """Adds an item of another parent, otherwise with equal values."""
        cousin = self._cousin()
        if cousin is None:
            return
        known_values = {name: self.before.get(name) for name in self.slot.step.known}
        if not self._is_found_first or not has_values(cousin, known_values):
            self._add(cousin)

    def _cousin(self) -> Values | None:
        values = self._values_to_share()
        cousin = self.case.sample.generator.another(self.entity, values)
        if cousin is None:
            return None
        # A cousin that happens to have the same parents is of the list, and not beside it.
        list_names = self._list_names - values.keys()
        parents = [a for a in self.entity.attributes if a.references and a.name in list_names]
        shared_parents = [a for a in parents if cousin.get(a.name) == self.before.get(a.name)]
        if not shared_parents:
            return cousin
        for attribute in shared_parents:  # there may be no other one yet: it gets one that does not exist
            values[attribute.name] = self._unused_value(attribute)
        return self.case.sample.generator.another(self.entity, values)

    def _values_to_share(self) -> Values:
        """The values of the item that another may have, too, and that say nothing of its parents but the tenant."""
        list_names = self._list_names
        values: Values = {}
        for attribute in self.entity.attributes if not self._is_found_first else ():
            name = attribute.name
            is_own = names_item(self.entity, name) or name in list_names
            if not is_own and name in self.before and target(self.case.sample.workload, attribute) is None:
                values[name] = self.before[name]
        if self._tenant in self.before:
            values[self._tenant] = self.before[self._tenant]
        return values

    # --- Items that are nearly of the list --------------------------------------------------------------------------

    def add_neighbours(self) -> None:
        """Adds items that differ in a single attribute of those that say which items the list means."""
        list_names = self._list_names
        for name in sorted(list_names) if len(list_names) > 1 else ():
            attribute = self.entity.attribute(name)
            is_tenant = name == self.case.sample.tenant_name
            if attribute is not None and name in self.before and not is_tenant:
                self._add_neighbour(attribute, list_names)

    def _add_neighbour(self, attribute: Attribute, list_names: set[str]) -> None:
        values: Values = {}
        for name in (other.name for other in self.entity.attributes):
            if name in self.before and (name in list_names or not names_item(self.entity, name)):
                values[name] = self.before[name]
        values[attribute.name] = self._unused_value(attribute)
        if values[attribute.name] != self.before[attribute.name]:
            self._add(self.case.sample.generator.another(self.entity, values))

    # --- An item of another tenant ----------------------------------------------------------------------------------

    def add_twin(self) -> None:
        """Adds the item of another tenant with the same id and values."""
        attribute = self.entity.attribute(self._tenant)
        if attribute is None:
            return
        name = attribute.name
        tenants = [item[name] for item in self.case.sample.all_items if name in item]
        other = next((value for value in tenants if value != self.before[name]), None)
        if other is None:
            other = self.case.sample.generator.unused_value(attribute, set(map(repr, tenants)))
        if other is not None:
            self._add({**self.before, name: other})

    # --- Adding -----------------------------------------------------------------------------------------------------

    def _add(self, item: Values | None) -> None:
        """Adds an item to the case, unless it would change what the call does."""
        sample = self.case.sample
        if item is None or sample.generator.is_taken(self.entity, item):
            return  # a type with few values
        if any(_has_unique_value_of(self.entity, item, step) for step in self.case.steps):
            return  # the write would be refused
        sample.generator.keep(self.entity, item)
        if self.case.is_of_list(item):
            remove_item(sample.items[self.entity.name], item)  # a reference that was drawn leads to the case's items
        else:
            self.case.missing.append((self.entity, item))


def _has_unique_value_of(entity: Entity, item: Values, step: WriteStep) -> bool:
    """Whether an item has a unique value that a step gives to another one: its constant, or the time of the call."""
    after = step.after
    if after is None or step.entity is not entity:
        return False
    return any(all(item.get(name) == after.get(name) is not None for name in group) for group in unique_groups(entity))
