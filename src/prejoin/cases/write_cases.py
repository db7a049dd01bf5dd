"""Cases of a write: each is built from scratch, with items of its own. The sample data stay beside them.

What the document says of a write becomes a model of equalities and constraints (`build_model`). A search finds values
for the constraints (`constraints`), and items are generated with these values. So a case exists unless the conditions
contradict each other, at any time and whatever the other data are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_other

from msgspec.structs import replace

from prejoin.cases.amounts import has_bounded_sum
from prejoin.cases.build_model import build_model
from prejoin.cases.case import CheckedValues, WriteCase, WriteStep
from prejoin.cases.case_inputs import choose_inputs
from prejoin.cases.case_steps import slot_steps
from prejoin.cases.case_variation import Break, Place, Variation
from prejoin.cases.constraints import ContradictionError, Variable
from prejoin.cases.data import entities_in_order
from prejoin.cases.items import Values, has_same_unique_values, has_values, identities, is_among, remove_item
from prejoin.cases.sample_data import SampleData
from prejoin.cases.slots import Slot, given_variable, input_variable, stored_variable
from prejoin.cases.write_model import WriteModel
from prejoin.constructs.registry import initial_values
from prejoin.design.model import Operation
from prejoin.types import Kind
from prejoin.workload.lookup import target
from prejoin.workload.model import Attribute, Entity, Write

_ATTEMPTS = 8
"""How often a case is built anew, if a random reference makes one of its items belong to another."""


class _UnluckyError(Exception):
    """An item belongs to a list of the write, because a reference that was drawn leads there."""


class NothingFitsError(Exception):
    """No items fit the write: its conditions contradict each other, or a type has too few values."""


def build_case(sample: SampleData, write: Write, operation: Operation, variation: Variation | None = None) -> WriteCase:
    """Builds a case. Its items are in the sample data, and in `missing`: they are still to be written to the table.

    It raises `NothingFitsError` if there is no such case.
    """
    variation = variation or Variation()
    try:
        return _build_case(sample, write, operation, variation)
    except NothingFitsError:
        is_condition = variation.kind in (Break.CONDITION, Break.ATTRIBUTE)
        if not is_condition or not has_bounded_sum(sample.workload, write):
            raise
        return _build_case(sample, write, operation, with_other(variation, may_exceed_bounds=True))


def _build_case(sample: SampleData, write: Write, operation: Operation, variation: Variation) -> WriteCase:
    for _ in range(_ATTEMPTS):
        # Each attempt draws other references, because the generator goes on from where it was.
        builder = _CaseBuilder(build_model(sample, write, operation, variation))
        try:
            return builder.build()
        except _UnluckyError:
            builder.undo()
        except ContradictionError as error:
            builder.undo()
            raise NothingFitsError(str(error)) from None
        except NothingFitsError:
            builder.undo()
            raise
    raise NothingFitsError("all items that could be generated belong to the lists of the write")


class _CaseBuilder:
    def __init__(self, model: WriteModel) -> None:
        self.model = model
        self.case = WriteCase(model)
        self.values = self.case.values
        self.sample = model.sample
        self.generator = model.sample.generator

    def undo(self) -> None:
        """Removes the items of a case that is not run from the data."""
        for entity, item in self.case.missing:
            remove_item(self.sample.items[entity.name], item)
        for entity, item in self.case.obsolete:
            self.sample.items[entity.name].append(item)
            self.generator.reserve(entity, item)

    def build(self) -> WriteCase:
        self.values.solve()
        for slot in self._slots_in_order():
            self._fill_slot(slot)
        self._remove_others()
        choose_inputs(self.case)
        self._remove_rivals()
        steps: list[WriteStep] = []
        for slot in self.model.slots:
            steps += slot_steps(self.case, slot)
            if slot.is_checked and slot.checks:
                self.case.checked.append(CheckedValues(slot.entity, slot.before or {}, slot.is_stored))
        # `delete Slot[]; create Slot[]`: what is deleted is gone before something of the same key is created.
        self.case.steps = sorted(steps, key=lambda step: step.after is not None)
        if self.model.variation.kind is Break.UNIQUE:
            self._add_rival()
        return self.case

    def _slots_in_order(self) -> list[Slot]:
        """The items, each after those that it may refer to."""
        ranks = {entity.name: at for at, entity in enumerate(entities_in_order(self.sample.workload))}
        return sorted(self.model.slots, key=lambda slot: (ranks[slot.entity.name], slot.action.many, slot.place))

    # --- Items ------------------------------------------------------------------------------------------------------

    def _fill_slot(self, slot: Slot) -> None:
        """Generates the items of a slot: the stored one, and the object that the caller gives."""
        if slot.is_stored or not slot.is_new:
            slot.before = self._item(slot, stored_variable, keep=slot.is_stored)
        if slot.is_new:
            slot.record = self._item(slot, given_variable, keep=False)

    def _item(self, slot: Slot, variable_of: Callable[[Place, str], Variable], keep: bool) -> Values:
        required_values: Values = {}
        required_names: set[str] = set()
        is_given = variable_of is given_variable
        for attribute in slot.entity.attributes:
            variable = variable_of(slot.place, attribute.name)
            if self.values.has_value(variable):
                required_values[attribute.name] = self.values.value(variable)
            elif self.values.has_equal_variables(variable) or (is_given and self._must_be_large(attribute)):
                required_names.add(attribute.name)
        # A value that another variable has, too, cannot be left out of one item only.
        entity = _with_required(slot.entity, required_names)
        if slot.entity.singleton:
            item = self._only_item(slot, required_values, keep)
        # An object that meets a stored item has that item's id, which is not free.
        elif is_given and (slot.is_stored or slot.replaces is not None):
            item = self.generator.make(entity, required_values, fresh=True)
        else:
            item = self._item_with_free_id(entity, required_values)
            self.generator.reserve(slot.entity, item)
            if keep:
                self._keep(slot.entity, item)
        for name, value in item.items():
            self.values.set_default(variable_of(slot.place, name), value)
        return item

    def _must_be_large(self, attribute: Attribute) -> bool:
        """Whether the case is about a content, which an object may otherwise lack."""
        return self.model.variation.has_large_contents and attribute.type.kind is Kind.CONTENT

    def _keep(self, entity: Entity, item: Values) -> None:
        self.generator.keep(entity, item)
        self.case.missing.append((entity, item))

    def _delete(self, entity: Entity, item: Values) -> None:
        """Marks an item of the data as one that must not exist."""
        self.case.obsolete.append((entity, item))
        remove_item(self.sample.items[entity.name], item)
        self.generator.release(entity, item)

    def _only_item(self, slot: Slot, required_values: Values, keep: bool) -> Values:
        """The only item of its entity, as it is if it fits; else another replaces it."""
        present_items = list(self.sample.items.get(slot.entity.name, []))
        if keep and present_items:
            present = present_items[0]
            # Another item in place of one with a version would have the version after it.
            if has_values(present, required_values) or initial_values(slot.entity):
                for name, value in present.items():
                    self.values.by_root[self.values.root(stored_variable(slot.place, name))] = value
                return present
        item = self.generator.make(slot.entity, required_values)
        if keep:
            for other in present_items:
                self._delete(slot.entity, other)
            self._keep(slot.entity, item)
        return item

    def _item_with_free_id(self, entity: Entity, required_values: Values) -> Values:
        """A new item, even if all ids have been used, as with a type of few values.

        It has an id that nothing has any more, or that of an item which is deleted before.
        """
        item = (
            self.generator.another(entity, required_values)
            or self._item_of_new_parent(entity, required_values)
            or self._item_with_released_id(entity, required_values)
            or self._item_with_id_of_another(entity, required_values)
        )
        if item is None:
            raise NothingFitsError(f"there is no room for another {entity.name}: all values of its id are taken")
        return item

    def _item_of_new_parent(self, entity: Entity, required_values: Values) -> Values | None:
        """A new item of a new parent, for the ids of the existing parents may all be taken."""
        for attribute in entity.attributes:
            target_key = target(self.sample.workload, attribute)
            if target_key is None or attribute.name in required_values or target_key[0].name == entity.name:
                continue
            parent = self.generator.another(target_key[0])
            if parent is None:
                continue
            self._keep(target_key[0], parent)
            item = self.generator.another(entity, {**required_values, attribute.name: parent[target_key[1].name]})
            if item is not None:
                return item
        return None

    def _item_with_released_id(self, entity: Entity, required_values: Values) -> Values | None:
        """A new item with an id that a deleted item had."""
        used_identities: set[object] = set()
        for present in (*self.sample.items.get(entity.name, []), *self._own_items(entity)):
            used_identities.update(identities(entity, present))
        for _ in range(30):
            item = self.generator.make(entity, required_values, fresh=True)
            if used_identities.isdisjoint(identities(entity, item)):
                return item
        return None

    def _item_with_id_of_another(self, entity: Entity, required_values: Values) -> Values | None:
        """A new item with the id of one that is not of the case, and that is deleted."""
        id_names = [attribute.name for attribute in entity.id]
        required_id = {name: required_values[name] for name in id_names if name in required_values}
        required_identities = set(identities(entity, required_values))
        own = [*self._own_items(entity), *(item for _, item in self.case.missing)]
        for item in self.sample.items.get(entity.name, []):
            fits = has_values(item, required_id) and required_identities.issubset(identities(entity, item))
            if fits and not is_among(item, own):
                self._delete(entity, item)
                return self.generator.make(
                    entity, {**required_values, **{name: item[name] for name in id_names}}, fresh=True
                )
        return None

    def _own_items(self, entity: Entity) -> list[Values]:
        """The items of an entity that the case has already."""
        slots = [slot for slot in self.model.slots if slot.entity.name == entity.name]
        return [item for slot in slots for item in (slot.before, slot.record) if item]

    # --- Items that the case must not find --------------------------------------------------------------------------

    def _remove_others(self) -> None:
        """Deletes items of the data that the call would mean as well."""
        for at in self.model.lists:
            self._remove_list_items(at)
        for slot in self.model.slots:
            if not slot.is_new and not slot.action.many and slot.entity.name in self.model.operation.found_first:
                self._remove_like(slot)

    def _remove_list_items(self, at: int) -> None:
        """Deletes the items that a list means beside those of the case: it is of all that belong to the row's items."""
        for source in self.model.lists[at].inputs.values():
            self.values.choose(input_variable(source))  # of an empty list nothing has decided it
        own = [slot.before for slot in self.model.slots if slot.place[0] == at]
        other_items = [slot.before for slot in self.model.slots if slot.place[0] != at]
        entity = self.sample.entity(self.model.actions[at].entity)
        for item in self.case.list_items(at):
            if is_among(item, other_items):
                raise _UnluckyError(entity.name)
            if not is_among(item, own):
                self._delete(entity, item)

    def _remove_like(self, slot: Slot) -> None:
        """Deletes the items that the call would find by what the caller knows: the item must be the only one."""
        before = slot.before or {}
        known_values = {name: before.get(name) for name in slot.step.known}
        own = [other.before for other in self.model.slots]
        for item in list(self.sample.items.get(slot.entity.name, [])):
            if has_values(item, known_values) and not is_among(item, own):
                self._delete(slot.entity, item)

    def _remove_rivals(self) -> None:
        """Deletes items that have the unique values of an item of the case, before or after the write.

        The document may fix such a value, in a change or in a condition. Then the items of all cases have it.
        """
        for slot in self.model.slots:
            if slot.before is not None and slot.is_stored:
                self._remove_rivals_of(slot.entity, slot.before)
            for step in slot_steps(self.case, slot):
                if step.after is not None:
                    self._remove_rivals_of(slot.entity, step.after)

    def _remove_rivals_of(self, entity: Entity, unique_values: Values) -> None:
        own = [slot.before for slot in self.model.slots]
        for item in list(self.sample.items.get(entity.name, [])):
            if not is_among(item, own) and has_same_unique_values(entity, item, unique_values):
                self._delete(entity, item)

    def _add_rival(self) -> None:
        """Adds another item that has the unique values which a step gives to its item."""
        slot = self.model.slot(self.model.variation.place)
        step = next(slot_steps(self.case, slot))
        unique_values = {name: (step.after or {}).get(name) for name in self.model.variation.names}
        if None in unique_values.values():
            raise NothingFitsError("the item has no such unique values")
        own_id = {attribute.name: step.item.get(attribute.name) for attribute in slot.entity.id}
        for _ in range(10):
            rival = self.generator.make(slot.entity, unique_values, fresh=True)
            # With the same id it would be the item itself, and the insert of another's id would be refused.
            if has_values(rival, own_id) or self._is_identity_taken(slot.entity, rival):
                continue
            self._keep(slot.entity, rival)
            if self.case.is_of_list(rival):
                raise _UnluckyError(slot.entity.name)
            return
        raise NothingFitsError(f"there is no room for another {slot.entity.name}")

    def _is_identity_taken(self, entity: Entity, item: Values) -> bool:
        """Whether an item of the data has the id or a unique value of another."""
        own = set(identities(entity, item))
        return any(not own.isdisjoint(identities(entity, other)) for other in self.sample.items[entity.name])


def _with_required(entity: Entity, names: set[str]) -> Entity:
    """The entity, with some attributes that are not optional: the case gives them a value."""
    if not any(a.optional for a in entity.attributes if a.name in names):
        return entity
    attributes = tuple(replace(a, optional=False) if a.name in names else a for a in entity.attributes)
    return replace(entity, attributes=attributes)
