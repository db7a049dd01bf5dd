"""Hints about things people often forget, while they are still cheap to add."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from prejoin.constructs.registry import ending_of
from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter, name_list
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.lookup import equalities, foreign_key, root
from prejoin.workload.model import Attribute, Entity, Level, Rate, Result
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
    w = r.workload
    if not w.entities or not w.reads:
        return
    _lists(r)
    asked_attributes = _read_pairs(r)
    actions = [(p, a) for p in w.changing for a in p.actions]
    removed_entities = {a.entity for _, a in actions if a.verb.removes}
    creation_rates: dict[str, list[Rate | None]] = {}
    for pattern, action in actions:
        if action.is_new:
            creation_rates.setdefault(action.entity, []).append(pattern.rate)
    for index, entity in enumerate(w.entities):
        path: Path = ("entities", index)
        _other_side(r, path, entity, asked_attributes)
        _state(r, path, entity, asked_attributes)
        _growth(r, path, entity, creation_rates, removed_entities)
    if not any(p.result is Result.COUNT for p in w.reads) and not _counters(r):
        child_entities = [e.name for e in w.entities if any(c.per for c in e.cardinality)]
        if child_entities:
            r.say(
                codes.COUNTS,
                (),
                f"nothing counts {name_list(child_entities)}",
                "if a number of them is shown, add a `Count` or a counter",
            )
    texts = (*(p.description for p in w.patterns), *(p.name for p in w.patterns), w.notes)
    if not any(_OPERATORS.search(text) for text in texts):
        r.say(
            codes.ADMIN,
            (),
            "no pattern is for those who run the application",
            "think of search, moderation, exports, audit and bulk import",
        )


def _counters(r: Reporter) -> bool:
    return any(c.is_sum for p in r.workload.changing for a in p.actions for c in a.changes)


def _lists(r: Reporter) -> None:
    tenant = {r.workload.tenant.attribute} if r.workload.tenant else set()
    listed_all = {e for p in r.workload.reads if tenant.issuperset(equalities(p)) for e in p.entities}
    roots = [
        e
        for e in r.workload.entities
        if own_id(r.workload, e) and not any(a.references for a in e.attributes if a.name not in tenant)
        if not e.singleton
    ]
    missing = [e.name for e in roots if e.name not in listed_all]
    if missing:
        r.say(
            codes.LIST_ALL,
            (),
            f"nothing lists all of {name_list(missing)}",
            "if that is needed, add it: inputs `-`, paginated",
        )


def _read_pairs(r: Reporter) -> frozenset[tuple[str, str]]:
    """Whether some read finds items of the entity by the attribute."""
    return frozenset(
        (entity, attribute.name)
        for read in r.workload.reads
        for clause in resolve_read(r.workload, read).clauses
        for entity, attribute in clause.bound.items()
    )


def _other_side(r: Reporter, path: Path, entity: Entity, asked_attributes: AttributeNames) -> None:
    for index, attribute in enumerate(entity.attributes):
        if attribute.unique and not attribute.id and (entity.name, attribute.name) not in asked_attributes:
            message = f"nothing finds an item of `{entity.name}` by its unique `{attribute.name}`"
            r.say(codes.OTHER_SIDE, (*path, "attributes", index), message, "if that is asked, add the read")
    tenant = common_tenant(r.workload, entity.name)
    holders = [a for a in entity.attributes if a.references and a.name not in tenant]
    sides = {root(r.workload, entity, a): a for a in holders}
    sides_asked = [a for a in sides.values() if (entity.name, a.name) in asked_attributes]
    if sides_asked and len(holders) > 1:
        for attribute in holders:
            if attribute not in sides_asked and (entity.name, attribute.name) not in asked_attributes:
                by = " + ".join(f"`{name}`" for name in _held_id(r, entity, attribute))
                message = f"`{entity.name}` is asked by `{sides_asked[0].name}` and never by {by}"
                r.say(codes.OTHER_SIDE, path, message, "if the other side is asked too, add the read")


def _held_id(r: Reporter, entity: Entity, attribute: Attribute) -> list[str]:
    """The attributes that hold the id of which one is a part, without the tenant."""
    parent = r.workload.entity(attribute.referenced_entity)
    key = foreign_key(r.workload, entity, parent) if parent else None
    tenant = common_tenant(r.workload, entity.name)
    id_names = [a.name for a in entity.attributes if key and a.name in key and a.name not in tenant]
    return id_names if attribute.name in id_names else [attribute.name]


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


def _growth(
    r: Reporter,
    path: Path,
    entity: Entity,
    creation_rates: Mapping[str, list[Rate | None]],
    removed_entities: Collection[str],
) -> None:
    rates = creation_rates.get(entity.name)
    if not rates or entity.name in removed_entities or ending_of(entity) is not None:
        return
    if _PASSING.search(entity.name) or any(rate and _hot(rate) for rate in rates):
        message = f"`{entity.name}` is created and never removed"
        fix = "if old ones may go, add an attribute `(datetime, ttl)`"
        if entity.retention:
            message = f"`{entity.name}` is kept for {write_span(entity.retention)}, and nothing removes it then"
            fix = "add an attribute `(datetime, ttl)`, or the delete"
        r.say(codes.EXPIRY, path, message, fix)


def _hot(rate: Rate) -> bool:
    return rate.level is Level.HOT or (rate.value or 0) / rate.per.seconds > 100
