"""Patterns with other values: the one traversal of what inputs, changes and conditions compare with or set."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from prejoin.workload.conditions import with_leaves, with_values
from prejoin.workload.model import Action, Change, Leaf, Read, Value, Workload, Write


class ValuePlace(NamedTuple):
    """The attribute that a value is compared with, or that becomes the value."""

    attribute: str
    entity: str = ""
    """Empty in a read, and in a condition that names none."""
    by: str = ""
    """The input that holds the id of the item, if the condition names one."""


MapValue = Callable[[Value, ValuePlace], Value]


def map_patterns(workload: Workload, map_read: Callable[[Read], Read], map_write: Callable[[Write], Write]) -> Workload:
    """The workload with other patterns; deletes are writes, too."""
    return replace(
        workload,
        reads=tuple(map(map_read, workload.reads)),
        writes=tuple(map(map_write, workload.writes)),
        deletes=tuple(map(map_write, workload.deletes)),
    )


def map_values_of_read(read: Read, map_value: MapValue) -> Read:
    inputs = []
    for input_ in read.inputs:
        place = ValuePlace(input_.attribute)
        values = tuple(map_value(value, place) for value in input_.values)
        inputs.append(replace(input_, values=values))
    return replace(read, inputs=tuple(inputs))


def map_values_of_write(write: Write, map_value: MapValue) -> Write:
    actions = tuple(map_values_of_action(action, map_value) for action in write.actions)
    checks = tuple(with_leaves(check, lambda leaf: map_values_of_leaf(leaf, map_value)) for check in write.checks)
    return replace(write, actions=actions, checks=checks)


def map_values_of_action(action: Action, map_value: MapValue) -> Action:
    def map_change(change: Change) -> Change:
        if change.value is None:
            return change
        return replace(change, value=map_value(change.value, ValuePlace(change.attribute, action.entity)))

    return replace(action, changes=tuple(map(map_change, action.changes)))


def map_values_of_leaf(leaf: Leaf, map_value: MapValue) -> Leaf:
    place = ValuePlace(leaf.attribute, leaf.entity, leaf.by)
    return with_values(leaf, lambda value: map_value(value, place))
