"""Plan a read: from attributes and their values to a key or index, and a decoder for the items there.

A plan depends on the names of the attributes, not on their values, so it is cached in the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from prejoin.keys import TABLE, AttributeRole, Bounds, Lookup, Order, Plan, When, Within
from prejoin.keys.template.encoding import plain
from prejoin.table.errors import TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.schema import Schema

from .decode import ItemDecoder, is_partial

Roles = Mapping[type, Mapping[str, str]]

MOST_PLANS = 10_000
"""How many plans are cached. More come only from sparse indexes whose conditions name many values."""


class ReadPlan(msgspec.Struct, frozen=True):
    """How to answer a read with any values: the key or index, and the decoder of its items."""

    plan: Plan
    decoder: ItemDecoder
    into: type | None = None

    @property
    def is_get(self) -> bool:
        """Whether a GetItem answers it, and nothing has to be compared afterwards."""
        return self.plan.operation == "GetItem" and not self.plan.compared

    def keeping(self) -> ReadPlan:
        """Return the same plan, with a decoder that returns unreadable items instead of raising."""
        return ReadPlan(self.plan, self.decoder.keeping, self.into)


def plan_read(
    schema: Schema,
    entities: tuple[BoundEntity[Any], ...],
    equal: Mapping[str, Any],
    within: Within | None = None,
    bounds: Bounds | None = None,
    *,
    order: Iterable[str | Order] = (),
    consistent: bool = False,
    roles: tuple[AttributeRole, ...] = (),
    into: type | None = None,
    needs: frozenset[str] | None = None,
    filter_names: frozenset[str] = frozenset(),
    only: frozenset[When] = frozenset(),
) -> tuple[ReadPlan, dict[str, Any]]:
    """Return the plan for a read, and the values to run it with. Raise NotServed if no key or index serves it.

    `needs` are the attributes to return; by default those of `into`, or else all. `filtered` are the attributes that
    a filter tests, and `only` the conditions that a sparse index has to meet.
    """
    if schema.fence is not None:
        schema.fence.check_range(within.attribute if within else "", roles)
    values = dict(schema.with_tenant(equal, *entities))
    # Values that decide about membership in a sparse index are part of the plan. All others are not.
    constants = _constants(schema, entities, values, roles) if schema.conditional else ()
    tags = tuple([entity.tag for entity in entities])
    shape = tags, tuple(values), within, constants, tuple(order), consistent, roles, into, needs, filter_names, only
    # A value of None is refused, and that takes a look at the values: it must not be answered from the cache.
    read_plan: ReadPlan | None = schema.read_plans.get(shape)
    if read_plan is None or None in values.values():
        if len(schema.read_plans) > MOST_PLANS:
            schema.read_plans.clear()
        read_plan = _plan(
            schema, entities, values, within, constants, shape[4], consistent, roles, into, needs, filter_names, only
        )
        schema.read_plans[shape] = read_plan
    if within:
        values[within.attribute] = bounds
    return read_plan, values


def _plan(
    schema: Schema,
    entities: tuple[BoundEntity[Any], ...],
    values: Mapping[str, Any],
    within: Within | None,
    constants: tuple[tuple[str, object], ...],
    order: tuple[str | Order, ...],
    consistent: bool,
    roles: tuple[AttributeRole, ...],
    into: type | None,
    needs: Iterable[str] | None,
    filter_names: frozenset[str],
    only: frozenset[When],
) -> ReadPlan:
    names = {(role.entity, role.name): role.attribute for role in roles}
    for entity in entities:
        for name in [*values, *([within.attribute] if within else [])]:
            entity.codec.attribute(names.get((entity.tag, name), name))
    for name, value in values.items():
        if value is None:
            raise TableError(f"{name} is None. Items without {name} are in no key, so they cannot be queried by it")
    constant_names = dict(constants)
    if into is not None:
        needs = entities[0].codec.view(into).attributes
    filter_names = filter_names.union(*(entity.tested_names for entity in entities if entity.patterns))
    lookup = Lookup.of(
        *(entity.tag for entity in entities),
        equal=[name for name in values if name not in constant_names],
        constants=constants,
        within=within,
        order=order,
        consistent=consistent,
        needs=None if needs is None else filter_names.union(needs),
        roles=roles,
        only=only,
    )
    plan = schema.plan(lookup)
    _check_filter(schema, plan, filter_names)
    return ReadPlan(plan, ItemDecoder(schema, plan.facets, into), into)


def _check_filter(schema: Schema, plan: Plan, filter_names: frozenset[str]) -> None:
    for facet in plan.facets:
        if not is_partial(schema, facet):
            continue
        codec = schema.by_tag[facet.entity].codec
        natural = {*schema.keys(TABLE).names, *schema.keys(facet.slot).names}
        held_names = facet.holds or frozenset()
        missing = [name for name in filter_names - held_names if codec.attribute(name).wire not in natural]
        if missing:
            raise TableError(
                f"{facet.slot} holds {', '.join(sorted(missing))} only as part of its keys, and DynamoDB cannot filter "
                "by that. Filter the objects yourself, or project the attribute into the index"
            )


def _constants(
    schema: Schema, entities: tuple[BoundEntity[Any], ...], values: Mapping[str, Any], roles: tuple[AttributeRole, ...]
) -> tuple[tuple[str, object], ...]:
    names = {(role.entity, role.name): role.attribute for role in roles}
    constants = []
    for name, value in values.items():
        for entity in entities:
            attribute = names.get((entity.tag, name), name)
            if (entity.tag, attribute) in schema.conditional and value is not None:
                entity.codec.encode_value(attribute, value)  # raises an error that names the attribute
                constants.append((name, plain(value)))
                break
    return tuple(constants)


def key_of(schema: Schema, plan: ReadPlan, values: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the key of the item that a GetItem reads."""
    facet, lookup = plan.plan.facets[0], plan.plan.lookup
    if lookup.roles:
        values = {lookup.attribute(facet.entity, name): value for name, value in values.items()}
    return schema.facet_key(facet, values)


def check_only_key(plan: ReadPlan, method: str) -> None:
    """Refuse attributes beside the key, for reads of several keys at once."""
    if plan.plan.compared:
        names = ", ".join(sorted(plan.plan.compared))
        raise TableError(
            f"{names} is not part of the key of {plan.plan.lookup.entities[0]}, and {method} reads by key only. Leave "
            "it out, and compare the objects yourself"
        )
