"""Checks of optional inputs of writes: what is left out must be a change, not an id, a condition or an amount."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import params_of
from prejoin.workload.lookup import changes, unaddressed
from prejoin.workload.model import (
    Action,
    ChangeOp,
    Entity,
    Input,
    Verb,
    Write,
)
from prejoin.workload.optional_inputs import is_optional, source_of, with_optional_inputs

_NEW = (Verb.CREATE, Verb.PUT)


def check_optional_inputs(r: Reporter) -> None:
    for path, pattern in r.patterns():
        if not isinstance(pattern, Write):
            continue
        write = with_optional_inputs(pattern)
        for one in (one for one in write.inputs if one.optional):
            for message, fix in dict.fromkeys(_problems(r, write, one)):
                told = f"`{one.attribute}` may be left out, {message}"
                r.say(codes.CONTRADICTION, (*path, "inputs"), told, fix, one.attribute)


def _problems(r: Reporter, write: Write, one: Input) -> Iterator[tuple[str, str]]:
    name = one.attribute
    required = f"take the `?` away: `{name}`"
    if one.many:
        yield "and it is a list", f"write `{name}[]`: a list may be empty"
    if any(name in params_of(check) for check in write.checks):
        yield "and a condition compares with it", required
    if not one.many and not _is_change(r, write, name):
        yield "and no change takes its value", f"{required}, or write two patterns"
    needed = replace(write, inputs=tuple(i for i in write.inputs if i is not one))
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None:
            continue
        if action.verb not in _NEW and (name in action.by or _is_needed(r, write, needed, action, entity)):
            yield f"and the {entity.name} is found by it", required
        yield from _changes(write, action, entity, name, required)


def _is_change(r: Reporter, write: Write, name: str) -> bool:
    """Whether an input is the new value of an attribute, or an attribute of a new object."""
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None:
            continue
        if action.verb in _NEW and entity.attribute(name):
            return True
        if any(source_of(change) == name for change in changes(write, action, entity)):
            return True
    return False


def _is_needed(r: Reporter, write: Write, needed: Write, action: Action, entity: Entity) -> bool:
    """Whether the id of an item is not known without an input."""
    missing = unaddressed(r.workload, needed, action, entity)
    return set(missing) != set(unaddressed(r.workload, write, action, entity))


def _changes(write: Write, action: Action, entity: Entity, name: str, required: str) -> Iterator[tuple[str, str]]:
    for change in changes(write, action, entity):
        if source_of(change) != name or not is_optional(write, change):
            continue
        attribute = entity.attribute(change.attribute)
        if action.verb in _NEW and change.value is not None:
            yield f"and `{change.attribute}` of a new {entity.name} is set to it", required
        elif change.op is not ChangeOp.SET:
            yield f"and `{change.attribute}` is changed by it", f"{required}, or write two patterns"
        elif action.verb is Verb.UPSERT and attribute and not attribute.optional and attribute.default is None:
            new = f"and a new {entity.name} needs `{attribute.name}`"
            yield new, f"{required}, or mark the attribute optional, or give it a default"
