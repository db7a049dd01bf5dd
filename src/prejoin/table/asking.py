"""From a call's arguments to a planned query: keywords and a recorded condition become an ask and its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from prejoin.keys import Ask, Bounds, Order, Plan, Role, Within, conditions
from prejoin.keys.encoding import plain

from .bind import Bound
from .errors import TableError
from .expressions import Between, Compare, Condition, Function, conjuncts
from .reads import Query
from .schema import Schema

Roles = Mapping[type, Mapping[str, str]]


def planned(
    schema: Schema,
    entities: tuple[Bound[Any], ...],
    equal: Mapping[str, Any],
    where: Condition | None = None,
    *,
    order: Iterable[str | Order] = (),
    consistent: bool = False,
    roles: tuple[Role, ...] = (),
) -> tuple[Plan, dict[str, Any]]:
    """The plan for what is asked, and the values for it."""
    values = dict(equal)
    # A question of the same names was planned before: only what its values are is new.
    shape = (tuple(entity.tag for entity in entities), tuple(values), tuple(order), consistent, roles)
    if where is None and (known := schema.shapes.get(shape)) and None not in values.values():
        return known, values
    within, bounds = _split(where, values)
    names = {(role.entity, role.name): role.attribute for role in roles}
    for entity in entities:
        for name in [*values, *([within.attribute] if within else [])]:
            entity.codec.attribute(names.get((entity.tag, name), name))
    for name, value in values.items():
        if value is None:
            raise TableError(f"{name} is None: what has no {name} is in no key, and cannot be asked for by it")
    # Only values on which membership in a sparse index depends are part of the ask; so plans can be kept.
    fixed = {
        name
        for entity in entities
        for name in values
        if (entity.tag, names.get((entity.tag, name), name)) in schema.conditional
    }
    ask = Ask.of(
        *(entity.tag for entity in entities),
        equal=[name for name in values if name not in fixed],
        constants=[(name, plain(values[name])) for name in fixed],
        within=within,
        order=shape[2],
        consistent=consistent,
        roles=roles,
    )
    if within:
        values[within.attribute] = bounds
    plan = schema.plan(ask)
    if where is None and not fixed:
        schema.shapes[shape] = plan
    return plan, values


def query_of(
    schema: Schema,
    table: str,
    plan: Plan,
    values: Mapping[str, Any],
    codec: Any,
    *,
    reverse: bool = False,
    where: Condition | None = None,
    now: datetime | None = None,
) -> Query:
    """The query of a plan. `reverse` turns the order of the keys, or the order asked for, round."""
    found = conditions(plan, values, now=now)
    backwards = plan.reverse != reverse
    if backwards != plan.reverse and plan.bucket:
        # Buckets are listed in the order of reading; shards within them stay as they are.
        width = plan.shards
        found = tuple(c for i in range(len(found) - width, -1, -width) for c in found[i : i + width])
    return Query(schema, table, plan, found, codec, backwards, plan.ask.consistent, where)


def _split(where: Condition | None, values: dict[str, Any]) -> tuple[Within | None, Bounds | None]:
    """Takes a condition apart: equalities go to `values`, what is left is a range over one attribute."""
    attribute = ""
    bounds: Bounds | None = None
    for condition in conjuncts(where):
        match condition:
            case Compare((name,), "=", value):
                if name in values:
                    raise TableError(f"{name} is given twice")
                values[name] = value
                continue
            case Compare((name,), "<" | "<=" | ">" | ">=" as op, value):
                new = Bounds.of(op, value)
            case Between((name,), low, high):
                new = Bounds(low, high)
            case Function("begins_with", (name,), value):
                new = Bounds.of("begins_with", value)
            case _:
                raise TableError(f"no key can test {condition}; if what does not match is few, use filter=")
        if attribute not in ("", name):
            raise TableError(f"a query has a range over one attribute, not over {attribute} and {name}; use filter=")
        attribute, bounds = name, new if bounds is None else _both(name, bounds, new)
    if bounds is None:
        return None, None
    if attribute in values:
        raise TableError(f"{attribute} is given as a value and as a range")
    return Within(attribute, _op(bounds)), bounds


def _both(name: str, one: Bounds, other: Bounds) -> Bounds:
    low, high = (one, other) if one.high is None else (other, one)
    if low.beginning or high.beginning or low.low is None or low.high is not None or high.low is not None:
        raise TableError(f"the conditions on {name} are not one range, from one value to another")
    return Bounds(low.low, high.high, low.low_open, high.high_open)


def _op(bounds: Bounds) -> str:
    if bounds.beginning:
        return "begins_with"
    if bounds.low is not None and bounds.high is not None:
        return "between"
    if bounds.low is not None:
        return ">" if bounds.low_open else ">="
    return "<" if bounds.high_open else "<="
