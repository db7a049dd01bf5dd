"""A write as a small model: its items, the values that must be equal, and the constraints on the others.

From `update Account by fromAccountId (available -= amount)` with `fromAccountId.available >= amount` come one slot (the
account), an equality (its id is the input `fromAccountId`) and a constraint (its `available` is at least `amount`). A
variation breaks one of them. A case is built from what is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from prejoin.cases.belonging import Belonging
from prejoin.cases.case_variation import Break, Place, Variation
from prejoin.cases.conditions import is_true_of_nothing
from prejoin.cases.constraints import Constraint, Variable
from prejoin.cases.items import is_unique
from prejoin.cases.sample_data import SampleData
from prejoin.cases.slots import Equality, Slot, given_variable, input_variable, stored_variable
from prejoin.constructs.registry import client_verb
from prejoin.design.model import Operation
from prejoin.workload.conditions import all_leaves, is_of_whole_item, leaves, values_of
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.lookup import can_be_input, chain, touched_entities
from prejoin.workload.model import (
    Absence,
    Action,
    Attribute,
    Change,
    Comparison,
    Entity,
    Presence,
    Test,
    Uniqueness,
    Verb,
    Write,
)
from prejoin.workload.program.input_types import attribute_of_input
from prejoin.workload.program.resolved_write import CheckedItem, ResolvedWrite, Step, resolve_write
from prejoin.workload.tenants import own_id


@dataclass(slots=True)
class WriteModel:
    """The items, equalities and constraints of a case."""

    sample: SampleData
    write: Write
    operation: Operation
    variation: Variation
    slots: list[Slot] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    actions: tuple[Action, ...] = ()
    checked_items: tuple[CheckedItem, ...] = ()
    lists: dict[int, Belonging] = field(default_factory=dict)
    """How the items of each list are known, by the position of its action; not of new items."""
    equalities: list[Equality] = field(default_factory=list)
    broken_equalities: list[Equality] = field(default_factory=list)
    """The equalities that the variation breaks."""
    constraints: list[Constraint] = field(default_factory=list)
    attributes: dict[Variable, list[Attribute]] = field(default_factory=dict)
    values_beyond_bounds: dict[Variable, Any] = field(default_factory=dict)
    """Variables that have a value beyond their bounds."""

    def place_between(self, belonging: Belonging) -> Place:
        """The place of the item that a list belongs to, of a list that is not written."""
        owned_lists = [membership for membership in self.lists.values() if membership.between]
        return len(self.actions) + len(self.checked_items) + owned_lists.index(belonging), 0

    def is_done(self, slot: Slot) -> bool:
        """Whether the call finds an item as an earlier call has left it."""
        return self.variation.is_again and not slot.is_checked and not slot.action.many

    def passes_over(self, slot: Slot) -> bool:
        """Whether an item is deleted if it is there and belongs to the others, and else passed over."""
        is_in_steps = slot.place[0] in self.lists and self.write.atomic is False
        return is_in_steps and client_verb(slot.entity, slot.action) is Verb.DELETE

    def is_passed_over(self, slot: Slot) -> bool:
        """Whether an item is not there, or belongs to another, and is passed over."""
        is_missing = self.variation.breaks(Break.ITEM, slot.place)
        return self.passes_over(slot) and (is_missing or self.variation.breaks(Break.LINK, slot.place))

    def deleted_list(self, slot: Slot) -> int | None:
        """The position of the list that a write deletes beside the one that it creates: `delete X[]; create X[]`."""
        for at, membership in self.lists.items():
            action = self.actions[at]
            is_same = action.entity == slot.entity.name and action.verb is Verb.DELETE
            if is_same and slot.compares_new and slot.action.many and not membership.is_given:
                return at
        return None

    def slot(self, place: Place) -> Slot:
        return next(slot for slot in self.slots if slot.place == place)

    @property
    def resolved_write(self) -> ResolvedWrite:
        return resolve_write(self.sample.workload, self.write)

    @property
    def input_checks(self) -> tuple[Test, ...]:
        """The conditions on inputs that are no attributes: `n > 0`."""
        return self.resolved_write.input_conditions

    @property
    def untried_conditions(self) -> list[Test]:
        """The conditions of the document that are about no item of the model, or about fewer than it names.

        The code is made of the same resolved write. So a condition that this leaves out would be missed nowhere.
        """
        conditions: list[Test] = []
        for test in self.write.checks:
            if isinstance(test, Uniqueness):
                continue
            if all(not leaf.entity for leaf in leaves(test)):
                is_tried = test in self.input_checks
            else:
                places = {slot.place[0] for slot in self.slots if test in slot.checks}
                is_tried = len(places) >= self._least_items_of(test)
            if not is_tried:
                conditions.append(test)
        return conditions

    def _least_items_of(self, test: Test) -> int:
        """How many items a condition is about, at least: `Account exists` for a transfer is about both accounts."""
        leaf = next(leaves(test))
        entity = self.sample.entity(leaf.entity)
        own = own_id(self.sample.workload, entity)
        inputs = {source.attribute for source in self.write.inputs}
        if leaf.by:
            return 1
        written_count = sum(action.entity == entity.name for action in self.actions)
        if written_count or len(own) != 1 or own[0].name in inputs:
            return max(written_count, 1)
        return max(len(self._names_with_id_of(entity, own[0]) & inputs), 1)

    def _names_with_id_of(self, entity: Entity, part: Attribute) -> set[str]:
        """The attributes of the write's entities that hold the id of an entity, perhaps through others."""
        workload = self.sample.workload
        names: set[str] = set()
        for other in touched_entities(workload, self.write):
            for attribute in other.attributes:
                if (entity.name, part.name) in chain(workload, other, attribute):
                    names.add(attribute.name)
        return names

    @property
    def single(self) -> list[Slot]:
        return [slot for slot in self.slots if not slot.action.many]

    def own_attribute(self, slot: Slot, name: str) -> Variable:
        """The variable of an attribute that the caller knows of an item: of its object, or of the stored item."""
        return given_variable(slot.place, name) if slot.is_new else stored_variable(slot.place, name)

    def slots_with_input(self, name: str) -> list[Slot]:
        """The single new items whose attribute an input can be."""
        new = [(slot, slot.entity.attribute(name)) for slot in self.single if slot.is_new]
        return [slot for slot, own in new if own and can_be_input(self.sample.workload, self.write, slot.entity, own)]

    @property
    def inputs_with_parameter(self) -> frozenset[str]:
        """The inputs that the method has a parameter for, beside its objects."""
        return self.sample.parameters.get(self.write.id, frozenset())

    def used_params(self) -> list[str]:
        """The inputs whose values conditions compare with, and changes set or add."""
        values = [value for leaf in all_leaves(self.write) for value in values_of(leaf)]
        values += [change.value for action in self.actions for change in action.changes if change.value]
        names = [value.param for value in values if value.param]
        return list(dict.fromkeys(names))

    def _is_list(self, name: str) -> bool:
        return any(source.attribute == name and source.many for source in self.write.inputs)

    def value_variable(self, slot: Slot, name: str) -> Variable:
        """The variable of an input, as an item uses it: of a list, the element with the number of the item."""
        if self._is_list(name) and slot.action.many:
            return input_variable(name, slot.place[1])
        return input_variable(name)

    def attributes_of(self, variable: Variable) -> list[Attribute]:
        """The attributes that have the type of a variable."""
        if variable in self.attributes or variable[0] != "input":
            return self.attributes.get(variable, [])
        like = attribute_of_input(self.sample.workload, self.write, variable[1])
        return [like] if like else []

    def add_attribute(self, variable: Variable, attribute: Attribute) -> None:
        """Records that a variable has the type of an attribute."""
        self.attributes.setdefault(variable, []).append(attribute)

    def document_changes(self, slot: Slot) -> list[Change]:
        """The changes that say which value an attribute of a new item has: `create Clinic (adminCount = 1)`."""
        return [*slot.step.set_by_document] if slot.is_new else []

    def new_value(self, slot: Slot, change: Change) -> Variable:
        """The variable of the value that a change sets."""
        if change.value is not None and change.value.param is not None:
            return self.value_variable(slot, change.value.param)
        if any(source.attribute == change.attribute for source in self.write.inputs):
            return self.value_variable(slot, change.attribute)
        return ("set", slot.place[0], change.attribute)

    def text(self, check: Test) -> str:
        return write_checks((check,), frozenset(source.attribute for source in self.write.inputs))


def needs_item(check: Test) -> bool:
    """Whether a condition is false of an item that does not exist; `<>` is true of it."""
    return not is_true_of_nothing(check)


def whole_item_tests(checks: Iterable[Test]) -> tuple[bool, bool]:
    """Whether conditions say that the item exists, and that it does not."""
    whole_item_checks = [check for check in checks if is_of_whole_item(check)]
    exists = any(isinstance(check, Presence) for check in whole_item_checks)
    return exists, any(isinstance(check, Absence) for check in whole_item_checks)


def is_simple(check: Test) -> bool:
    """Whether a condition compares one attribute with inputs and constants, or says that it is there or not."""
    is_leaf = isinstance(check, Presence | Absence | Comparison)
    return is_leaf and all(value.attribute is None for leaf in leaves(check) for value in values_of(leaf))


def like_attribute(entity: Entity, attribute: Attribute) -> Attribute:
    """The attribute, as unique if it is so together with others: a value that nobody has is sure to do."""
    return replace(attribute, unique=True) if is_unique(entity, attribute.name) else attribute
