"""From a call's arguments to a planned query: keywords and a recorded condition become an ask and its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from prejoin.keys import TABLE, AttributeRole, KeyValueError, Lookup, Order, Plan, Within, conditions
from prejoin.keys.template.encoding import plain
from prejoin.table.codec.codec import Codec
from prejoin.table.errors import CursorError, TableError
from prejoin.table.lazy import Lazy
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.schema import Schema

from .decode import Reading, is_partial

if TYPE_CHECKING:
    from prejoin.table.condition import key_range as ranges
    from prejoin.table.condition import key_remainder as comparing
    from prejoin.table.condition import visibility as visible
    from prejoin.table.condition.record import Condition

    from . import execute as reads
    from .cursor import Position
    from .execute import Query
else:
    comparing = Lazy("prejoin.table.condition.key_remainder")
    ranges = Lazy("prejoin.table.condition.key_range")
    reads = Lazy("prejoin.table.read.execute")
    visible = Lazy("prejoin.table.condition.visibility")

Roles = Mapping[type, Mapping[str, str]]

MOST_SHAPES = 10_000
"""Questions whose plans are kept; more have constants of many values, and are forgotten."""


class Asked(msgspec.Struct, frozen=True):
    """How a question is answered, whatever its values: the plan, and how the answers are read."""

    plan: Plan
    reading: Reading
    into: type | None = None


def planned(
    schema: Schema,
    entities: tuple[Bound[Any], ...],
    equal: Mapping[str, Any],
    where: Condition | None = None,
    *,
    order: Iterable[str | Order] = (),
    consistent: bool = False,
    roles: tuple[AttributeRole, ...] = (),
    into: type | None = None,
    needs: frozenset[str] | None = None,
    tests: frozenset[str] = frozenset(),
) -> tuple[Asked, dict[str, Any]]:
    """How to answer what is asked, and the values for it.

    Of each object `needs` are wanted, or what `into` has, or else everything; a filter `tests` some attributes.
    """
    values = dict(equal)
    within, bounds = None, None
    if where is not None:
        within, bounds = ranges.taken_apart(where, values)
    if schema.fence is not None:
        schema.fence.narrow(within.attribute if within else "", roles)
        values = dict(schema.fence.filled(values, *entities))
    # Only values on which membership in a sparse index depends are part of the question; so its plan can be kept.
    fixed = _fixed(schema, entities, values, roles) if schema.conditional else ()
    tags = tuple([entity.tag for entity in entities])
    shape = tags, tuple(values), within, fixed, tuple(order), consistent, roles, into, needs, tests
    asked: Asked | None = schema.shapes.get(shape)
    if asked is None or None in values.values():
        if len(schema.shapes) > MOST_SHAPES:
            schema.shapes.clear()
        asked = _ask(schema, entities, values, within, fixed, shape[4], consistent, roles, into, needs, tests)
        schema.shapes[shape] = asked
    if within:
        values[within.attribute] = bounds
    return asked, values


def _ask(
    schema: Schema,
    entities: tuple[Bound[Any], ...],
    values: Mapping[str, Any],
    within: Within | None,
    fixed: tuple[tuple[str, object], ...],
    order: tuple[str | Order, ...],
    consistent: bool,
    roles: tuple[AttributeRole, ...],
    into: type | None,
    needs: Iterable[str] | None,
    tests: frozenset[str],
) -> Asked:
    names = {(role.entity, role.name): role.attribute for role in roles}
    for entity in entities:
        for name in [*values, *([within.attribute] if within else [])]:
            entity.codec.attribute(names.get((entity.tag, name), name))
    for name, value in values.items():
        if value is None:
            raise TableError(f"{name} is None: what has no {name} is in no key, and cannot be asked for by it")
    known = dict(fixed)
    if into is not None:
        needs = entities[0].codec.view(into).attributes
    tests = tests.union(*(entity.tested for entity in entities if entity.patterns))
    ask = Lookup.of(
        *(entity.tag for entity in entities),
        equal=[name for name in values if name not in known],
        constants=fixed,
        within=within,
        order=order,
        consistent=consistent,
        needs=None if needs is None else tests.union(needs),
        roles=roles,
    )
    plan = schema.plan(ask)
    _check_filter(schema, plan, tests)
    return Asked(plan, Reading(schema, plan.facets, into), into)


def _check_filter(schema: Schema, plan: Plan, tests: frozenset[str]) -> None:
    for facet in plan.facets:
        if not is_partial(schema, facet):
            continue
        codec = schema.by_tag[facet.entity].codec
        natural = {*schema.keys(TABLE).names, *schema.keys(facet.slot).names}
        missing = [name for name in tests - (facet.holds or frozenset()) if codec.attribute(name).wire not in natural]
        if missing:
            raise TableError(
                f"{facet.slot} has {', '.join(sorted(missing))} only as part of its keys, and DynamoDB cannot filter "
                "by that: filter the objects yourself, or let the index hold the attribute"
            )


def _fixed(
    schema: Schema, entities: tuple[Bound[Any], ...], values: Mapping[str, Any], roles: tuple[AttributeRole, ...]
) -> tuple[tuple[str, object], ...]:
    names = {(role.entity, role.name): role.attribute for role in roles}
    found = []
    for name, value in values.items():
        for entity in entities:
            attribute = names.get((entity.tag, name), name)
            if (entity.tag, attribute) in schema.conditional and value is not None:
                entity.codec.encode_value(attribute, value)  # what is no such value is refused by name
                found.append((name, plain(value)))
                break
    return tuple(found)


def query_of(
    schema: Schema,
    table: str,
    asked: Asked,
    values: Mapping[str, Any],
    codec: Codec[Any],
    *,
    reverse: bool = False,
    where: Condition | None = None,
    now: datetime | None = None,
    start: Position | None = None,
) -> Query:
    """The query of a question. `reverse` turns the order of the keys, or the order asked for, round.

    A range over time buckets without an end goes up to `now`; on a further page, up to the time of the first page,
    which is in the position that it starts from.
    """
    plan = asked.plan
    until = now if start is None else start.until or now
    if _endless(plan, values):
        until = until or datetime.now(UTC)
        try:
            found = conditions(plan, values, now=until)
        except KeyValueError:
            if start is None or start.until is None:
                raise
            raise CursorError("the cursor is of a time before the range of this query") from None
    else:
        found = conditions(plan, values)
    backwards = plan.reverse != reverse
    if backwards != plan.reverse and plan.bucket:
        # Buckets are listed in the order of reading; shards within them stay as they are.
        width = plan.shards
        found = tuple(c for i in range(len(found) - width, -1, -width) for c in found[i : i + width])
    # An index that holds only some attributes refuses to be asked for others, which are in its keys.
    projected = asked.into is not None and not asked.reading.partial
    consistent = plan.lookup.consistent
    if plan.compared:
        where = comparing.condition(plan, values, where)
    hidden = visible.hiding(schema, plan.facets)
    return reads.Query(
        schema, table, plan, found, codec, asked.reading, backwards, consistent, where, projected, until, hidden
    )


def _endless(plan: Plan, values: Mapping[str, Any]) -> bool:
    """Whether a range over time buckets has no end."""
    return plan.bucket is not None and plan.within is not None and values[plan.within.attribute].high is None
