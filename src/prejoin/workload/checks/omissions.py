"""Hints about things people often forget, while they are still cheap to add."""

from __future__ import annotations

import re

from prejoin.constructs.registry import ending_of
from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.lookup import equalities, foreign_key, root
from prejoin.workload.model import Attribute, Entity, Level, Rate, Result
from prejoin.workload.phrases import name_list
from prejoin.workload.program.resolved_read import resolve_read
from prejoin.workload.read_result import Path
from prejoin.workload.tenants import common_tenant, own_id

AttributeNames = frozenset[tuple[str, str]]
_OPERATORS = re.compile(
    r"\b(admin|back.?office|report|audit|search|export|import|moderat|support|all users|over all|analytics|operator)",
    re.IGNORECASE,
)
_PASSING = re.compile(r"session|token|log|event|metric|notification|message|cart|job|lock|otp", re.IGNORECASE)


def check_forgotten(r: Reporter) -> None:
    workload = r.workload
    if not workload.entities or not workload.reads:
        return
    _lists(r)
    asked_attributes = _read_pairs(r)
    for index, entity in enumerate(workload.entities):
        path: Path = ("entities", index)
        _unique_values(r, path, entity, asked_attributes)
        _other_side(r, path, entity, asked_attributes)
        _state(r, path, entity, asked_attributes)
        _growth(r, path, entity)
    _counts(r)
    texts = [workload.notes]
    for pattern in workload.patterns:
        texts += [pattern.description, pattern.name]
    if not any(map(_OPERATORS.search, texts)):
        message = "no pattern is for those who run the application"
        r.say(codes.ADMIN, (), message, "think of search, moderation, exports, audit and bulk import")


def _counts(r: Reporter) -> None:
    has_counter = any(change.is_sum for write in r.workload.changing for change in write.changes)
    if has_counter or any(read.result is Result.COUNT for read in r.workload.reads):
        return
    child_names = [entity.name for entity in r.workload.entities if any(f.per for f in entity.cardinality)]
    if child_names:
        message = f"nothing counts {name_list(child_names)}"
        r.say(codes.COUNTS, (), message, "if a number of them is shown, add a `Count` or a counter")


def _lists(r: Reporter) -> None:
    """Entities that refer to no other one, and of which no read lists all."""
    tenant = frozenset(filter(None, [r.workload.tenant_attribute]))
    listed_names: set[str] = set()
    for read in r.workload.reads:
        if tenant.issuperset(equalities(read)):
            listed_names.update(read.entities)
    missing = []
    for entity in r.workload.entities:
        has_parent = any(attribute.references for attribute in entity.attributes if attribute.name not in tenant)
        is_root = own_id(r.workload, entity) and not has_parent and not entity.singleton
        if is_root and entity.name not in listed_names:
            missing.append(entity.name)
    if missing:
        message = f"nothing lists all of {name_list(missing)}"
        r.say(codes.LIST_ALL, (), message, "if that is needed, add it: inputs `-`, paginated")


def _read_pairs(r: Reporter) -> AttributeNames:
    """The attributes by which some read finds items, with their entities."""
    pairs: set[tuple[str, str]] = set()
    for read in r.workload.reads:
        for clause in resolve_read(r.workload, read).clauses:
            pairs.update((entity, attribute.name) for entity, attribute in clause.bound.items())
    return frozenset(pairs)


def _unique_values(r: Reporter, path: Path, entity: Entity, asked_attributes: AttributeNames) -> None:
    for index, attribute in enumerate(entity.attributes):
        if attribute.unique and not attribute.id and (entity.name, attribute.name) not in asked_attributes:
            message = f"nothing finds an item of `{entity.name}` by its unique `{attribute.name}`"
            r.say(codes.OTHER_SIDE, (*path, "attributes", index), message, "if that is asked, add the read")


def _other_side(r: Reporter, path: Path, entity: Entity, asked_attributes: AttributeNames) -> None:
    """An entity between two others, `Membership` of a user and a group, that is asked only by one of them."""
    tenant = common_tenant(r.workload, entity.name)
    holders = [a for a in entity.attributes if a.references and a.name not in tenant]
    sides = {root(r.workload, entity, holder): holder for holder in holders}
    asked_sides = [side.name for side in sides.values() if (entity.name, side.name) in asked_attributes]
    if not asked_sides or len(holders) < 2:
        return
    for holder in holders:
        if (entity.name, holder.name) in asked_attributes:
            continue
        by = " + ".join(f"`{name}`" for name in _held_id(r, entity, holder))
        message = f"`{entity.name}` is asked by `{asked_sides[0]}` and never by {by}"
        r.say(codes.OTHER_SIDE, path, message, "if the other side is asked too, add the read")


def _held_id(r: Reporter, entity: Entity, attribute: Attribute) -> list[str]:
    """The attributes that hold the id of which one is a part, without the tenant."""
    parent = r.workload.entity(attribute.referenced_entity)
    key = foreign_key(r.workload, entity, parent) if parent else None
    names = (key or frozenset()) - {*common_tenant(r.workload, entity.name)}
    return [name for name in entity.types if name in names] if attribute.name in names else [attribute.name]


def _state(r: Reporter, path: Path, entity: Entity, asked_attributes: AttributeNames) -> None:
    for attribute in entity.attributes:
        is_state = (
            attribute.type.kind is Kind.ENUM
            and attribute.mutable
            and re.search("stat(e|us)", attribute.name, re.IGNORECASE)
        )
        if is_state and (entity.name, attribute.name) not in asked_attributes:
            message = f"nothing asks for `{entity.name}` by `{attribute.name}`"
            r.say(codes.LIFECYCLE, path, message, "if someone works through those in one state, add the read")


def _growth(r: Reporter, path: Path, entity: Entity) -> None:
    actions = r.workload.actions_on(entity.name)
    rates = [write.rate for write, action in actions if action.is_new]
    is_removed = any(action.verb.removes for _, action in actions) or ending_of(entity) is not None
    if not rates or is_removed:
        return
    if _PASSING.search(entity.name) or any(rate and _is_hot(rate) for rate in rates):
        message = f"`{entity.name}` is created and never removed"
        fix = "if old ones may go, add an attribute `(datetime, ttl)`"
        if entity.retention:
            message = f"`{entity.name}` is kept for {write_span(entity.retention)}, and nothing removes it then"
            fix = "add an attribute `(datetime, ttl)`, or the delete"
        r.say(codes.EXPIRY, path, message, fix)


def _is_hot(rate: Rate) -> bool:
    return rate.level is Level.HOT or (rate.value or 0) / rate.per.seconds > 100
