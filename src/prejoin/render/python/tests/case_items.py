"""The items and arguments of a case in its test: each is declared once, and its values are named by its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.case_variation import Place
from prejoin.cases.constraints import Variable
from prejoin.cases.slots import Slot, given_variable, input_variable, stored_variable
from prejoin.render.python.method import InputValue, KnownValue, Option, Param, RecordValue
from prejoin.render.python.tests.names import subject_of
from prejoin.render.python.tests.sample_body import SampleItem, TestBody
from prejoin.workload.field_names import identifier, snake
from prejoin.workload.model import Entity


@dataclass(slots=True)
class CaseItems:
    """The declared items of a case: objects that the caller gives, and stored items."""

    body: TestBody
    case: WriteCase
    texts: dict[Variable, str] = field(default_factory=dict)
    """Values of declared items as code."""
    stored_items: dict[int, SampleItem] = field(default_factory=dict)
    """By the identity of their values."""
    objects: dict[int, SampleItem] = field(default_factory=dict)
    """By the identity of their values, too."""

    def declare(self) -> None:
        """Declares the objects that the caller gives, and the stored items, which it inserts."""
        for slot in self.case.model.slots:
            if slot.record is not None:
                values = self.case.object_values(slot)
                item = self.objects[id(slot.record)] = self.body.item(slot.entity, values, self._name(slot))
                self._name_values(slot, item, given_variable)
        slots = {id(slot.before): slot for slot in self.case.model.slots if slot.before is not None}
        for entity, values in self.case.missing:
            slot_of_item = slots.get(id(values))
            name = f"other_{self._class_name(entity)}"
            if slot_of_item is not None:
                name = f"stored_{self._name(slot_of_item)}" if slot_of_item.is_new else self._name(slot_of_item)
            item = self.stored_items[id(values)] = self.body.item(entity, values, name)
            if slot_of_item is not None:
                self._name_values(slot_of_item, item, stored_variable)
        self.body.insert([self.stored_items[id(values)] for _, values in self.case.missing])

    def _name(self, slot: Slot) -> str:
        """The variable of an item. Two of the same entity have the names of the attributes that refer to them."""
        subject = subject_of(self.case.model, slot)
        return self._class_name(slot.entity) if subject == snake(slot.entity.name) else identifier(subject)

    def _class_name(self, entity: Entity) -> str:
        return identifier(self.body.context.names.classes[entity.name])

    def _name_values(self, slot: Slot, item: SampleItem, variable_of: Callable[[Place, str], Variable]) -> None:
        for attribute in slot.entity.attributes:
            if not attribute.optional and attribute.name in item.values:
                root = self.case.root(variable_of(slot.place, attribute.name))
                self.texts.setdefault(root, self.body.at(item, attribute.name))

    def text_of(self, variable: Variable) -> str | None:
        """The field of a declared item that has the value of a variable."""
        return self.texts.get(self.case.root(variable))

    def value(self, variable: Variable, value: object) -> str:
        """A value as code: that of a declared item, or a literal."""
        text = self.text_of(variable)
        return text if text is not None else self.body.literal(value)

    def item_of(self, slot: Slot) -> SampleItem | None:
        """The declared item of a slot: the object that the caller gives, or the stored one."""
        return self.objects.get(id(slot.record)) or self.stored_items.get(id(slot.before))

    def slot_of(self, step: WriteStep) -> Slot:
        for slot in self.case.model.slots:
            is_written = slot.action is step.action and slot.entity is step.entity and not slot.is_checked
            if is_written and (slot.before is step.before or step.before is None):
                return slot
        raise AssertionError("each step is that of an item")

    # --- Arguments --------------------------------------------------------------------------------------------------

    def argument(self, param: Param) -> str | None:
        """An argument of the call as code; None for one that is left out."""
        match param.meaning:
            case RecordValue():
                alike = [other for other in self.body.method.params if other.meaning == param.meaning]
                return self._objects(param.meaning, alike.index(param))
            case InputValue(name, _, _):
                text = self._input(name)
                return None if text == "None" and param.default else text
            case KnownValue():
                return self._known_value(param.meaning)
            case Option.NOW:
                return self.body.literal(self.case.sample.now)
            case Option():
                return None
            case _:
                assert_never(param.meaning)

    def _objects(self, meaning: RecordValue, number: int) -> str:
        slots = self.case.object_slots(meaning.entity, meaning.many, number)
        items = [self.objects.get(id(slot.record)) or self._stored_object(slot) for slot in slots]
        names = ", ".join(item.name for item in items)
        return f"[{names}]" if meaning.many else names

    def _stored_object(self, slot: Slot) -> SampleItem:
        """The stored item that the caller gives as an object."""
        if id(slot.before) not in self.stored_items:
            self.stored_items[id(slot.before)] = self.body.item(slot.entity, slot.before or {}, self._name(slot))
        return self.stored_items[id(slot.before)]

    def _input(self, name: str) -> str:
        value = self.case.inputs.get(name)
        if not isinstance(value, list) or self.case.value(input_variable(name)) is not None:
            return self.value(input_variable(name), value)
        texts = [self.value(input_variable(name, position), element) for position, element in enumerate(value)]
        return f"[{', '.join(texts)}]"

    def _known_value(self, meaning: KnownValue) -> str:
        """A value that the caller has to know, though it is no input."""
        if meaning.new:
            return self.body.literal(self.case.new_value(meaning.entity, meaning.attribute))
        known_values = self.case.known_values(meaning.entity, meaning.attribute)
        texts = [self.value(variable, value) for variable, value in known_values]
        return f"[{', '.join(texts)}]" if meaning.many else texts[0]
