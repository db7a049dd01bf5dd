"""The steps of a case: what a write does to each item, computed from the document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, assert_never

from prejoin.cases.case import StepChanges, WriteCase, WriteStep
from prejoin.cases.conditions import value_of
from prejoin.cases.items import Values
from prejoin.cases.slots import Slot
from prejoin.types import Kind
from prejoin.workload.constants import constant
from prejoin.workload.lookup import changes, member_of
from prejoin.workload.model import Attribute, Change, ChangeOp, Value, Verb


def slot_steps(case: WriteCase, slot: Slot) -> Iterator[WriteStep]:
    """The step of an item; none if the call does nothing to it."""
    if slot.is_checked or case.model.is_done(slot) or case.model.is_passed_over(slot):
        return
    if slot.is_new:
        yield _new_item_step(case, slot)
    elif slot.action.verb is not Verb.DELETE:
        yield _update_step(case, slot)
    elif slot.is_stored:
        yield WriteStep(slot.action, slot.entity, slot.before, None)


def _new_item_step(case: WriteCase, slot: Slot) -> WriteStep:
    """The object of the caller, with the attributes that the document sets. The object may lack optional ones."""
    after = dict(slot.record or {})
    for change in case.model.document_changes(slot):
        attribute = slot.entity.attribute(change.attribute)
        if attribute and change.value:
            after[attribute.name] = _document_value(case, slot, change.value, attribute)
    before = slot.before if slot.is_stored and slot.action.verb is Verb.PUT else None
    present_values = {name: value for name, value in after.items() if value is not None}
    return WriteStep(slot.action, slot.entity, before, present_values)


def _update_step(case: WriteCase, slot: Slot) -> WriteStep:
    """The step of an update or upsert."""
    item = _UpdatedItem(case, slot, _values_before(slot))
    for change in changes(case.write, slot.action, slot.entity):
        attribute = slot.entity.attribute(change.attribute)
        if attribute is not None:
            item.apply(change, attribute)
    step_changes = StepChanges(item.sets, item.adds, frozenset(item.removes))
    return WriteStep(slot.action, slot.entity, slot.before if slot.is_stored else None, item.values, step_changes)


def _values_before(slot: Slot) -> Values:
    """The values that an update begins with. An upsert that creates the item begins with its id and the defaults."""
    before = dict(slot.before or {})
    if slot.is_stored:
        return before
    defaults = {a.name: constant(a.default, a.type) for a in slot.entity.attributes if a.default is not None}
    for name in (*(attribute.name for attribute in slot.entity.id), *slot.step.sources):
        if name in before:
            defaults[name] = before[name]
    return defaults


def _document_value(case: WriteCase, slot: Slot, value: Value, attribute: Attribute) -> Any:
    """A value that the document gives: an input, another attribute of the new item, a constant or the time."""
    if value.param is not None:
        return case.values.choose(case.model.value_variable(slot, value.param))
    if value.attribute is not None:
        return (slot.record or {}).get(value.attribute)
    return value_of(value, attribute, case.sample.now)


@dataclass(slots=True)
class _UpdatedItem:
    """An item to which the changes of an update are applied one by one."""

    case: WriteCase
    slot: Slot
    values: Values
    sets: Values = field(default_factory=dict)
    adds: Values = field(default_factory=dict)
    removes: set[str] = field(default_factory=set)

    def apply(self, change: Change, attribute: Attribute) -> None:
        match change.op:
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                self._add(change, attribute)
            case ChangeOp.REMOVE:
                self.removes.add(attribute.name)
                self.values.pop(attribute.name, None)
            case ChangeOp.APPEND:
                self._append(change, attribute)
            case ChangeOp.SET:
                self._set(attribute.name, self._value(change, attribute))
            case _:
                assert_never(change.op)

    def _value(self, change: Change, attribute: Attribute) -> Any:
        """The value of a change; of one that names none, that of the input with the attribute's name."""
        if change.value is not None:
            return _document_value(self.case, self.slot, change.value, attribute)
        return self.case.value(self.case.model.new_value(self.slot, change))

    def _set(self, name: str, value: Any) -> None:
        self.sets[name] = self.values[name] = value

    def _add(self, change: Change, attribute: Attribute) -> None:
        amount = 1 if change.value is None else self._value(change, attribute)
        if change.op is ChangeOp.SUBTRACT:
            amount = -amount
        self.adds[attribute.name] = amount
        self.values[attribute.name] = self.values.get(attribute.name, 0) + amount

    def _append(self, change: Change, attribute: Attribute) -> None:
        value = self._value(change, member_of(attribute))
        # An input is one member, and without one the caller gives the list of them.
        members = value if change.value is None else [value]
        old = self.values.get(attribute.name, set() if attribute.type.kind is Kind.SET else [])
        self._set(attribute.name, old | set(members) if isinstance(old, set) else [*old, *members])
