"""The type of an input of a write: that of an attribute which it is, is compared with, or is added to."""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.workload.conditions import all_leaves, leaves, params_of, values_of
from prejoin.workload.lookup import changes
from prejoin.workload.model import Attribute, Workload, Write
from prejoin.workload.program.resolved_write import resolve_write


def attribute_of_input(workload: Workload, write: Write, name: str) -> Attribute | None:
    """An attribute that has the type of an input: one of its name, or one that it is compared with or added to.

    An amount and a compared value have the type of the attribute, and not its bounds.
    """
    if attribute := _named_attribute(workload, write, name):
        return attribute
    # `amount <= most` compares two inputs: each has the type of the other.
    for test in resolve_write(workload, write).input_conditions:
        for leaf in leaves(test):
            names = [leaf.attribute, *(value.param for value in values_of(leaf) if value.param)]
            for other_name in names if name in names else ():
                attribute = _named_attribute(workload, write, other_name) if other_name != name else None
                if attribute is not None:
                    return _without_bounds(attribute)
    return None


def _named_attribute(workload: Workload, write: Write, name: str) -> Attribute | None:
    """The attribute of the name of an input, or one that the row sets to it, adds it to, or compares with it."""
    for entity in resolve_write(workload, write).entities:
        if attribute := entity.attribute(name):
            return attribute
    for action in write.actions:
        entity_of_action = workload.entity(action.entity)
        for change in changes(write, action, entity_of_action) if entity_of_action else ():
            if entity_of_action and change.value and change.value.param == name:
                attribute = entity_of_action.attribute(change.attribute)
                return _without_bounds(attribute) if change.is_sum else attribute
    for leaf in all_leaves(write):
        entity_of_leaf = workload.entity(leaf.entity)
        if entity_of_leaf and name in params_of(leaf):
            return _without_bounds(entity_of_leaf.attribute(leaf.attribute))
    return None


def _without_bounds(attribute: Attribute | None) -> Attribute | None:
    return replace(attribute, min=None, max=None) if attribute else None
