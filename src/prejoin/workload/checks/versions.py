"""Checks of versions that nothing counts: a condition on one then never notices a second writer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from prejoin.constructs.history import VERSION
from prejoin.constructs.registry import maintained
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import facts
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Change, ChangeOp, Comparison, Entity, Op, Read, Verb, Write


def check_versions(r: Reporter) -> None:
    for path, pattern in r.patterns():
        if isinstance(pattern, Read):
            continue
        for name in _entities_without_new_version(r, pattern):
            message = f"{pattern.id} compares `{name}.{VERSION}` and does not change it: a second writer is not noticed"
            fix = f"write `update {name} (…, {VERSION} += 1)`, or give {name} a **History**, which counts it"
            r.say(codes.VERSION_STAYS, (*path, "checks"), message, fix, VERSION)


def _entities_without_new_version(r: Reporter, write: Write) -> Iterator[str]:
    """The entities whose version a write compares with one that was read, and leaves as it was."""
    compared_inputs = {
        (check.entity or write.first_entity): check.values[0].param
        for check in facts(write)
        if isinstance(check, Comparison) and check.attribute == VERSION and check.op is Op.EQ and check.values[0].param
    }
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None or entity.name not in compared_inputs or VERSION in maintained(entity):
            continue
        if _leaves_version(write, action, entity, compared_inputs[entity.name]):
            yield entity.name


def _leaves_version(write: Write, action: Action, entity: Entity, compared_input: str) -> bool:
    """Whether an item has the compared version after the action, too."""
    versions = [change for change in changes(write, action, entity) if change.attribute == VERSION]
    match action.verb:
        case Verb.UPDATE | Verb.UPSERT:
            return all(_sets_to(change, compared_input) for change in versions)
        case Verb.PUT:
            # Without a value of its own, the new item has the version of the object that is given.
            return all(_sets_to(change, compared_input) for change in versions or [Change(VERSION)])
        case Verb.CREATE | Verb.DELETE | Verb.EXPIRE:
            return False
        case _:
            assert_never(action.verb)


def _sets_to(change: Change, name: str) -> bool:
    """Whether a change sets its attribute to the input of a name."""
    if change.op is not ChangeOp.SET:
        return False
    return (change.value.param if change.value else change.attribute) == name
