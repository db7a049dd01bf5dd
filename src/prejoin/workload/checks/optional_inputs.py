"""Checks of optional inputs of writes: what is left out must be a change, not an id, a condition or an amount."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import params_of
from prejoin.workload.lookup import can_be_input, changes, unaddressed
from prejoin.workload.model import (
    Action,
    ChangeOp,
    Entity,
    Input,
    Verb,
    Write,
)
from prejoin.workload.optional_inputs import is_optional, optional_changes, source_of, with_optional_inputs


def check_optional_inputs(r: Reporter) -> None:
    for path, pattern in r.patterns():
        if not isinstance(pattern, Write):
            continue
        write = with_optional_inputs(pattern)
        for input_ in (input_ for input_ in write.inputs if input_.optional):
            for message, fix in dict.fromkeys(_problems(r, write, input_)):
                full_message = f"`{input_.attribute}` may be left out, {message}"
                r.say(codes.CONTRADICTION, (*path, "inputs"), full_message, fix, input_.attribute)


def _problems(r: Reporter, write: Write, input_: Input) -> Iterator[tuple[str, str]]:
    name = input_.attribute
    required_fix = f"take the `?` away: `{name}`"
    if input_.many:
        yield "and it is a list", f"write `{name}[]`: a list may be empty"
    if any(name in params_of(check) for check in write.checks):
        yield "and a condition compares with it", required_fix
    if not input_.many and not _is_change(r, write, name):
        yield "and no change takes its value", f"{required_fix}, or write two patterns"
    yield from _of_new_item(r, write, name)
    without_input = replace(write, inputs=tuple(i for i in write.inputs if i is not input_))
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None:
            continue
        if not action.is_new and (name in action.by or _is_needed_for_id(r, write, without_input, action, entity)):
            yield f"and the {entity.name} is found by it", required_fix
        yield from _changes(write, action, entity, name, required_fix)


def _of_new_item(r: Reporter, write: Write, name: str) -> Iterator[tuple[str, str]]:
    """An input that is also an attribute of a new item is always given, with the object."""
    owners = []
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        attribute = entity.attribute(name) if entity and action.is_new else None
        if entity and attribute and can_be_input(r.workload, write, entity, attribute):
            owners.append(entity)
    for _, _, change in optional_changes(r.workload, write):
        if owners and source_of(change) == name:
            own_name = f"new{name[0].upper()}{name[1:]}"
            message = f"and the new {owners[0].name} has it, whose value would always be written"
            fix = f"give the change its own input: `({change.attribute} = {own_name})`, with the input `{own_name}?`"
            yield message, fix


def _is_change(r: Reporter, write: Write, name: str) -> bool:
    """Whether an input is the new value of an attribute, or an attribute of a new object."""
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None:
            continue
        if action.is_new and entity.attribute(name):
            return True
        if any(source_of(change) == name for change in changes(write, action, entity)):
            return True
    return False


def _is_needed_for_id(r: Reporter, write: Write, without_input: Write, action: Action, entity: Entity) -> bool:
    """Whether the id of an item is not known without an input."""
    missing = unaddressed(r.workload, without_input, action, entity)
    return set(missing) != set(unaddressed(r.workload, write, action, entity))


def _changes(write: Write, action: Action, entity: Entity, name: str, required_fix: str) -> Iterator[tuple[str, str]]:
    for change in changes(write, action, entity):
        if source_of(change) != name or not is_optional(write, change):
            continue
        attribute = entity.attribute(change.attribute)
        if action.is_new and change.value is not None:
            yield f"and `{change.attribute}` of a new {entity.name} is set to it", required_fix
        elif change.op is not ChangeOp.SET:
            yield f"and `{change.attribute}` is changed by it", f"{required_fix}, or write two patterns"
        elif action.verb is Verb.UPSERT and attribute and not attribute.optional and attribute.default is None:
            new = f"and a new {entity.name} needs `{attribute.name}`"
            yield new, f"{required_fix}, or mark the attribute optional, or give it a default"
