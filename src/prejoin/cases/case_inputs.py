"""The inputs of a case that no constraint decides: new values of an update, and inputs that no item has."""

from __future__ import annotations

from typing import Any, assert_never

from prejoin.cases.case import WriteCase
from prejoin.cases.constraints import Variable
from prejoin.cases.items import Values, has_values, is_linked
from prejoin.cases.slots import Slot, input_variable
from prejoin.cases.write_model import like_attribute
from prejoin.workload.lookup import changes, foreign_parts, gives_object, member_of, target
from prejoin.workload.model import Attribute, Change, ChangeOp, Entity


def choose_inputs(case: WriteCase) -> None:
    """Gives every input a value that has none yet."""
    model = case.model
    for slot in model.slots:
        if slot.action.updates and not slot.is_checked:
            _choose_other_parents(case, slot)
            for change in changes(model.write, slot.action, slot.entity):
                _choose_new_value(case, slot, change)
    for name in _input_names(case):
        case.inputs[name] = _choose_input(case, name)


def _input_names(case: WriteCase) -> list[str]:
    """The inputs that are no objects."""
    model = case.model
    names = [source.attribute for source in model.write.inputs] + case.values.input_names
    entities = [model.sample.entity(action.entity) for action in model.actions]
    # The objects themselves are in the slots.
    objects = {entity.name for entity in entities if gives_object(model.write, entity)}
    return [name for name in dict.fromkeys(names) if name not in objects]


def _choose_input(case: WriteCase, name: str) -> Any:
    variable = input_variable(name)
    if name not in case.model.resolved_write.list_inputs:
        return case.values.choose(variable)
    if case.value(variable) is not None:  # a condition compares with the whole list
        return case.value(variable)
    return [case.values.choose(input_variable(name, index)) for index in range(case.variation.count)]


# --- New values of updates ------------------------------------------------------------------------------------------


def _choose_other_parents(case: WriteCase, slot: Slot) -> None:
    """Moves an item to other parents of the data, as far as the update sets the attributes that refer to them."""
    new_variables: dict[str, Variable] = {}
    for change in changes(case.write, slot.action, slot.entity):
        if change.op is ChangeOp.SET and (change.value is None or change.value.param is not None):
            new_variables[change.attribute] = case.model.new_value(slot, change)
    for attribute in slot.entity.attributes:
        target_key = target(case.sample.workload, attribute)
        if attribute.name in new_variables and target_key is not None:
            parent, part = target_key
            foreign_names = foreign_parts(case.sample.workload, slot.entity, parent, attribute)
            links = {attribute.name: part.name, **{own.name: part.name for part, own in foreign_names}}
            _choose_other_parent(case, slot, parent, links, new_variables)


def _choose_other_parent(
    case: WriteCase, slot: Slot, parent: Entity, links: dict[str, str], new_variables: dict[str, Variable]
) -> None:
    """Gives all attributes that refer to a parent, and that are set, the values of one parent of the data.

    It is another one than before, if there is one that has the values which are decided already.
    """
    before = slot.before or {}
    required_values: Values = {}
    for own, part in links.items():
        if own not in new_variables:
            required_values[part] = before.get(own)
        elif case.values.has_value(new_variables[own]):
            required_values[part] = case.value(new_variables[own])
    owners = [owner for owner in case.sample.items.get(parent.name, []) if has_values(owner, required_values)]
    if not owners:
        return
    # False sorts before True: a parent that it is not linked to comes first.
    owner = min(owners, key=lambda owner: is_linked(before, owner, links))
    for own, part in links.items():
        if own in new_variables:
            case.values.set_default(new_variables[own], owner.get(part))


def _choose_new_value(case: WriteCase, slot: Slot, change: Change) -> None:
    """Decides the value that a change sets, adds or appends, if the caller gives it."""
    attribute = slot.entity.attribute(change.attribute)
    if attribute is None or (change.value is not None and change.value.param is None):
        return
    match change.op:
        case ChangeOp.SET:
            _draw_new_value(case, slot, change, attribute, like_attribute(slot.entity, attribute))
        case ChangeOp.APPEND:
            # An input is one member; without one, the caller gives the list of them.
            like = like_attribute(slot.entity, attribute) if change.value is None else member_of(attribute)
            _draw_new_value(case, slot, change, attribute, like)
        case ChangeOp.ADD | ChangeOp.SUBTRACT:
            if change.value is not None:
                case.values.set_default(case.model.new_value(slot, change), 1)
        case ChangeOp.REMOVE:
            pass
        case _:
            assert_never(change.op)


def _draw_new_value(case: WriteCase, slot: Slot, change: Change, attribute: Attribute, like: Attribute) -> None:
    """Draws a value that the item does not have yet, if the type has one."""
    variable = case.model.new_value(slot, change)
    if case.values.has_value(variable):
        return
    old = (slot.before or {}).get(attribute.name)
    candidates = (case.values.draw(like) for _ in range(20))
    case.values.set_default(variable, next((value for value in candidates if value != old), old))
