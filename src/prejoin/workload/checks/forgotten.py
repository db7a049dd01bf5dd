"""What people forget: questions that come up later, asked while they are still cheap to answer. Hints only."""

from __future__ import annotations

import re

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter, listed
from prejoin.workload.lookup import bindings, equalities, root
from prejoin.workload.model import Attribute, Entity, Level, Rate, Result, Verb
from prejoin.workload.reading import Path

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
    for index, entity in enumerate(w.entities):
        path: Path = ("entities", index)
        _other_side(r, path, entity)
        _state(r, path, entity)
        _growth(r, path, entity)
    if not any(p.result is Result.COUNT for p in w.reads) and not _counters(r):
        many = [e.name for e in w.entities if any(c.per for c in e.cardinality)]
        if many:
            r.say(
                codes.COUNTS,
                (),
                f"nothing counts {listed(many)}",
                "if a number of them is shown, add a `Count` or a counter",
            )
    texts = (*(p.description for p in w.patterns), *(p.name for p in w.patterns), w.notes)
    if not any(_OPERATORS.search(text) for text in texts):
        r.say(
            codes.ADMIN,
            (),
            "no pattern is an operator's",
            "think of search, moderation, exports, audit and bulk import",
        )


def _counters(r: Reporter) -> bool:
    return any(
        c.op.value in {"+=", "-="}
        for p in (*r.workload.writes, *r.workload.deletes)
        for a in p.actions
        for c in a.changes
    )


def _lists(r: Reporter) -> None:
    listed_all = {e for p in r.workload.reads if not equalities(p) for e in p.entities}
    roots = [e for e in r.workload.entities if e.id and not any(a.references for a in e.attributes) and not e.singleton]
    missing = [e.name for e in roots if e.name not in listed_all]
    if missing:
        r.say(
            codes.LIST_ALL,
            (),
            f"nothing lists all of {listed(missing)}",
            "if that is needed, add it: inputs `-`, paginated",
        )


def _asked_by(r: Reporter, entity: Entity, attribute: Attribute) -> bool:
    """Whether some read finds items of the entity by the attribute."""
    return any(
        bindings(r.workload, p.entities, i.attribute).get(entity.name) == attribute.name
        for p in r.workload.reads
        if entity.name in p.entities
        for i in p.inputs
    )


def _other_side(r: Reporter, path: Path, entity: Entity) -> None:
    for index, attribute in enumerate(entity.attributes):
        if attribute.unique and not attribute.id and not _asked_by(r, entity, attribute):
            message = f"nothing finds a `{entity.name}` by its unique `{attribute.name}`"
            r.say(codes.OTHER_SIDE, (*path, "attributes", index), message, "if that is asked, add the read")
    holders = [a for a in entity.attributes if a.references]
    sides = {root(r.workload, entity, a): a for a in holders}
    asked = [a for a in sides.values() if _asked_by(r, entity, a)]
    if asked and len(holders) > 1:
        for attribute in holders:
            if attribute not in asked and not _asked_by(r, entity, attribute):
                message = f"`{entity.name}` is asked by `{asked[0].name}` and never by `{attribute.name}`"
                r.say(codes.OTHER_SIDE, path, message, "if the other side is asked too, add the read")


def _state(r: Reporter, path: Path, entity: Entity) -> None:
    for attribute in entity.attributes:
        state = (
            attribute.type.kind is Kind.ENUM
            and attribute.mutable
            and re.search("stat(e|us)", attribute.name, re.IGNORECASE)
        )
        if state and not _asked_by(r, entity, attribute):
            message = f"nothing asks for `{entity.name}` by `{attribute.name}`"
            r.say(codes.LIFECYCLE, path, message, "if someone works through those in one state, add the read")


def _growth(r: Reporter, path: Path, entity: Entity) -> None:
    writes = (*r.workload.writes, *r.workload.deletes)
    created = [
        p.rate for p in writes for a in p.actions if a.entity == entity.name and a.verb in {Verb.CREATE, Verb.PUT}
    ]
    removed = any(a.entity == entity.name and a.verb in {Verb.DELETE, Verb.EXPIRE} for p in writes for a in p.actions)
    if not created or removed or any(a.ttl for a in entity.attributes):
        return
    if _PASSING.search(entity.name) or any(rate and _hot(rate) for rate in created):
        message = f"`{entity.name}` is created and never goes"
        r.say(codes.EXPIRY, path, message, "if old ones may go, add an attribute `(datetime, ttl)`")


def _hot(rate: Rate) -> bool:
    return rate.level is Level.HOT or (rate.value or 0) / rate.per.seconds > 100
