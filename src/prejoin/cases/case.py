"""A case of a write: one call, with the items before and after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from prejoin.cases.belonging import Belonging
from prejoin.cases.case_values import CaseValues
from prejoin.cases.case_variation import Break, Variation
from prejoin.cases.constraints import Variable
from prejoin.cases.items import Values, has_values, is_linked
from prejoin.cases.sample_data import SampleData
from prejoin.cases.slots import Slot, input_variable, stored_variable
from prejoin.cases.write_model import WriteModel
from prejoin.design.model import Operation
from prejoin.workload.model import NEW, Action, Entity, Write


@dataclass(frozen=True, slots=True)
class StepChanges:
    """The attributes that an update changes, with their values."""

    sets: Values = field(default_factory=dict)
    adds: Values = field(default_factory=dict)
    removes: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.sets, *self.adds, *self.removes))


@dataclass(frozen=True, slots=True)
class WriteStep:
    """One item of a write, before and after; None where it does not exist."""

    action: Action
    entity: Entity
    before: Values | None
    after: Values | None
    changed: StepChanges = field(default_factory=StepChanges)

    @property
    def item(self) -> Values:
        """The item that has the keys: the existing one, or the new one."""
        return self.before if self.before is not None else self.after or {}


@dataclass(frozen=True, slots=True)
class CheckedValues:
    """An item that a case checks and does not write."""

    entity: Entity
    values: Values
    exists: bool


@dataclass(slots=True)
class WriteCase:
    """One call of a write: its items before and after, and its inputs."""

    model: WriteModel
    inputs: Values = field(default_factory=dict)
    """The values of the inputs by their names; of an input that is a list, a list."""
    steps: list[WriteStep] = field(default_factory=list)
    checked: list[CheckedValues] = field(default_factory=list)
    missing: list[tuple[Entity, Values]] = field(default_factory=list)
    """Items that the case needs; they are written before the call."""
    obsolete: list[tuple[Entity, Values]] = field(default_factory=list)
    """Items of the data that must not exist; they are deleted before the call."""
    values: CaseValues = field(init=False)

    def __post_init__(self) -> None:
        self.values = CaseValues(self.model)

    @property
    def sample(self) -> SampleData:
        return self.model.sample

    @property
    def write(self) -> Write:
        return self.model.write

    @property
    def operation(self) -> Operation:
        return self.model.operation

    @property
    def variation(self) -> Variation:
        return self.model.variation

    def root(self, variable: Variable) -> Variable:
        """The variable that stands for all that have the same value as this one."""
        return self.values.root(variable)

    def value(self, variable: Variable) -> Any:
        return self.values.value(variable)

    def list_items(self, at: int) -> list[Values]:
        """The items of the data that a list means, by a search through all of them."""
        belonging = self.model.lists[at]
        if belonging.is_given:
            return []
        required_values = self._required_values(belonging)
        owners = self._list_owners(belonging)
        items: list[Values] = []
        for item in self.sample.items.get(self.model.actions[at].entity, []):
            is_owned = any(is_linked(item, owner, belonging.over_attributes) for owner in owners)
            if is_owned and has_values(item, required_values):
                items.append(item)
        return items

    def is_of_list(self, item: Values) -> bool:
        """Whether an item of the data is one that a list of the write means."""
        return any(item is list_item for at in self.model.lists for list_item in self.list_items(at))

    def _required_values(self, belonging: Belonging) -> Values:
        """The values that the items of a list have from inputs and from single items of the write."""
        values = {name: self.value(input_variable(source)) for name, source in belonging.inputs.items()}
        for name, (position, part) in belonging.parents.items():
            # A new parent is known by its object, a stored one by its values before the call.
            parent = self.model.slot((position, 0))
            values[name] = (parent.record or parent.before or {}).get(part)
        return values

    def _list_owners(self, belonging: Belonging) -> list[Values]:
        """The items of another list that a list belongs to; an empty one for a list that belongs to none."""
        if belonging.between:
            values = {name: self.value(input_variable(source)) for name, source in belonging.between_inputs.items()}
            return [item for item in self.sample.items.get(belonging.between, []) if has_values(item, values)]
        if belonging.over is None:
            return [{}]
        if not self.model.lists[belonging.over].is_given:
            return self.list_items(belonging.over)
        # The caller gives these: they are not searched for in the data.
        slots = [slot for slot in self.model.slots if slot.place[0] == belonging.over]
        return [slot.before for slot in slots if slot.before is not None]

    def object_slots(self, entity: str, many: bool, number: int) -> list[Slot]:
        """The items whose objects the caller gives as the argument of this number, among those of an entity."""
        positions: list[int] = []
        new_positions: list[int] = []
        for position, action in enumerate(self.model.actions):
            if action.entity == entity and action.many is many:
                positions.append(position)
                if action.verb in NEW:
                    new_positions.append(position)
        place = (new_positions or positions)[number]
        return [slot for slot in self.model.slots if slot.place[0] == place and not slot.is_checked]

    def object_values(self, slot: Slot) -> Values:
        """The values of an object that the caller gives: without optional ones that the document sets."""
        if slot.record is None:
            return slot.before or {}
        if self.variation.kind is Break.AGREEMENT:
            return slot.record
        # The method has to set these itself. A disagreement is tried with an object that has them.
        optional = {attribute.name for attribute in slot.entity.attributes if attribute.optional}
        left_out = optional & {change.attribute for change in self.model.document_changes(slot)}
        return {name: value for name, value in slot.record.items() if name not in left_out}

    def new_value(self, entity: str, attribute: str) -> Any:
        """The value that an update sets, if it is no input."""
        sets = [step.changed.sets for step in self.steps if step.entity.name == entity]
        return next((values[attribute] for values in sets if attribute in values), None)

    def known_values(self, entity: str, attribute: str) -> list[tuple[Variable, Any]]:
        """The values of an attribute that the caller has to know of the stored items, each with its variable."""
        slots = [slot for slot in self.model.slots if slot.entity.name == entity and not slot.is_new]
        return [(stored_variable(slot.place, attribute), (slot.before or {}).get(attribute)) for slot in slots]

    @property
    def tenant(self) -> Any:
        """The tenant for whom the write is done; None if the table has none."""
        return self.inputs.get(self.sample.tenant_name)
