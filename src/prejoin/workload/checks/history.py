"""Checks of entities with a history: their version, and the writes that would lose one."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import facts, leaves, values_of
from prejoin.workload.grammar.values import HISTORY_FIX
from prejoin.workload.lookup import changes
from prejoin.workload.model import (
    VERSION,
    Comparison,
    Entity,
    Op,
    Read,
    Verb,
    Write,
)


def check_histories(r: Reporter) -> None:
    histories = {entity.name: entity for entity in r.workload.entities if entity.history}
    for index, entity in enumerate(r.workload.entities):
        for problem in _unfit(entity) if entity.history else ():
            r.say(codes.HISTORY, ("entities", index, "history"), *problem)
    for path, pattern in r.patterns():
        if isinstance(pattern, Read):
            continue
        for name in _uncounted(r, pattern, histories):
            message = f"{pattern.id} compares `{name}.{VERSION}` and does not change it: a second writer is not noticed"
            fix = f"write `update {name} (…, {VERSION} += 1)`, or give {name} a **History**, which counts it"
            r.say(codes.VERSION_STAYS, (*path, "checks"), message, fix, VERSION)
        if histories:
            for column, message, fix in _unknown_version(pattern, histories):
                r.say(codes.HISTORY, (*path, column), message, fix)


def _uncounted(r: Reporter, write: Write, histories: dict[str, Entity]) -> Iterator[str]:
    """The entities without a history whose version an update compares with one that was read, and leaves as it is."""
    compared = {
        check.entity or write.first_entity
        for check in facts(write)
        if isinstance(check, Comparison) and check.attribute == VERSION and check.op is Op.EQ and check.values[0].param
    }
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None or entity.name not in compared - histories.keys() or action.verb is not Verb.UPDATE:
            continue
        if all(change.attribute != VERSION for change in changes(write, action, entity)):
            yield entity.name


def _unfit(entity: Entity) -> Iterator[tuple[str, str]]:
    """What is wrong with an entity that has a history, and the fix."""
    version = entity.attribute(VERSION)
    if entity.history and 0 in (entity.history.versions, entity.history.seconds):
        yield f"the history of `{entity.name}` keeps nothing", HISTORY_FIX
    if version is None or version.type.kind is not Kind.INTEGER:
        message = f"`{entity.name}` has a history, and no whole number `{VERSION}` that tells its versions apart"
        yield message, f"add the attribute `` `{VERSION}` (integer, mutable) ``"
    elif version.id or version.unique or version.optional or version.ttl or version.repeats:
        yield f"`{VERSION}` of `{entity.name}` is counted by each write", f"write `` `{VERSION}` (integer, mutable) ``"
    if followed := next((a.name for a in entity.attributes if a.follows), ""):
        message = f"`{followed}` follows another attribute, and each refresh would add a version of `{entity.name}`"
        yield message, "remove `follows`, or the history"


def _unknown_version(write: Write, histories: dict[str, Entity]) -> Iterator[tuple[str, str, str]]:
    """The parts of a write that set a version, or do not know the one that they replace: column, message and fix."""
    for action in write.actions:
        if action.entity not in histories:
            continue
        if action.verb in (Verb.PUT, Verb.UPSERT):
            message = f"{write.id} does not know the version of `{action.entity}` that it replaces"
            yield "actions", message, f"write `create {action.entity}`, or `update {action.entity} (…)`"
        if any(change.attribute == VERSION for change in action.changes):
            message = f"{write.id} sets `{action.entity}.{VERSION}`, which is counted by each write"
            yield "actions", message, f"leave it out; to check it, add the condition `{VERSION} = {VERSION}`"
    for check in write.checks:
        for leaf in leaves(check):
            if (leaf.entity or write.first_entity) not in histories or leaf.attribute != VERSION:
                continue
            is_equality = check is leaf and isinstance(leaf, Comparison) and leaf.op is Op.EQ
            if not is_equality or values_of(leaf)[0].param is None:
                message = f"{write.id} compares a `{VERSION}` otherwise than with one that the caller has read"
                yield "checks", message, f"give it as an input: `{VERSION} = {VERSION}`"
