"""Queries: arguments planned, run, and returned as pages, collections, counts or one object."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import reduce
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec.structs import replace

from prejoin.keys import AttributeRole, KeyCondition, KeyValueError, Plan, conditions
from prejoin.table.codec.codec import Codec
from prejoin.table.condition.evaluate import holds
from prejoin.table.condition.record import Compare, Condition, Where, both, recorded
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import CursorError, TableError, TooMany
from prejoin.table.schema.bind import BoundEntity, facet_tag
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import VisibleItems, visible_items

from .arguments import QueryArguments
from .cursor import Position
from .decode import split
from .execute import Query, any_item, count_items, read
from .get import ItemKey, get_body, get_item, item_exists
from .page import Collection, Page
from .plan import ReadPlan, Roles, plan_read

Filters: TypeAlias = Mapping[type[Any], Where[Any] | None]
"""Filters of a read of several classes, by class."""


def query(schema: Schema, table: str, cls: type[Any], arguments: QueryArguments) -> Steps[Page[Any]]:
    """Read objects of one class."""
    entity = schema.entity(cls)
    test, filter_names = arguments.recorded_filter(entity.codec)
    plan, values = _plan(schema, entity, arguments, None, filter_names)
    if plan.plan.operation == "GetItem" and arguments.after is None and not arguments.hidden:
        result = yield from _get(schema, table, plan, values, test)
        objects, unmatched_items, unreadable = split(() if result is None else (result,))
        return Page(objects, None, unmatched_items, unreadable)
    start = arguments.start
    bound_query = query_of(
        schema,
        table,
        plan,
        values,
        entity.codec,
        reverse=arguments.reverse,
        condition=test,
        now=arguments.now,
        start=start,
        include_hidden=arguments.hidden,
    )
    results, cursor = yield from read(bound_query, arguments.limit, start, arguments.cursors)
    objects, unmatched_items, unreadable = split(results)
    return Page(objects, cursor, unmatched_items, unreadable)


def count(schema: Schema, table: str, cls: type[Any], arguments: QueryArguments) -> Steps[int]:
    """Count the objects that a query would return."""
    entity = schema.entity(cls)
    test, filter_names = arguments.recorded_filter(entity.codec)
    plan, values = _plan(schema, entity, arguments, frozenset(), filter_names)
    if plan.plan.operation == "GetItem":
        return int((yield from _exists(schema, table, plan, values, test)))
    bound_query = query_of(schema, table, plan, values, entity.codec, condition=test, now=arguments.now)
    return (yield from count_items(bound_query))


def collect(
    schema: Schema,
    table: str,
    classes: tuple[type[Any], ...],
    arguments: QueryArguments,
    roles: Roles | None,
    filters: Filters | None = None,
) -> Steps[Collection]:
    """Read objects of several classes that share a partition, with one query."""
    entities: tuple[BoundEntity[Any], ...] = tuple(schema.entity(cls) for cls in classes)
    key_values = arguments.key_values(entities[0].codec)
    if key_values.only:
        raise TableError(f"no key can test that {next(iter(key_values.only))}, of several classes. Look at the objects")
    plan, values = plan_read(
        schema,
        entities,
        key_values.equal,
        key_values.within,
        key_values.bounds,
        order=arguments.sorted_by,
        consistent=arguments.consistent,
        roles=tuple(
            AttributeRole(schema.entity(cls).tag, name, attribute)
            for cls, names in (roles or {}).items()
            for name, attribute in names.items()
        ),
    )
    if arguments.keep:
        plan = plan.keeping()
    start = arguments.start
    bound_query = query_of(
        schema,
        table,
        plan,
        values,
        entities[0].codec,
        reverse=arguments.reverse,
        now=arguments.now,
        start=start,
        filters=_record_filters(schema, classes, filters or {}),
    )
    results, cursor = yield from read(bound_query, arguments.limit, start, arguments.cursors)
    objects, unmatched_items, unreadable = split(results)
    return Collection(objects, cursor, unmatched_items, unreadable)


def _record_filters(schema: Schema, classes: tuple[type[Any], ...], filters: Filters) -> dict[str, Condition]:
    """Return the filters of a collection by the tag of their entity."""
    filters_by_tag: dict[str, Condition] = {}
    for cls, test in filters.items():
        if cls not in classes:
            raise TableError(f"there is a filter of {cls.__name__}, which is not read. Name one of the classes")
        entity = schema.entity(cls)
        if (condition := recorded(test, entity.codec)) is not None:
            filters_by_tag[entity.tag] = condition
    return filters_by_tag


def get_one(schema: Schema, table: str, plan: ReadPlan, values: Mapping[str, Any]) -> Steps[Any]:
    """Read one object that its table key alone does not identify; raise TooMany if there are several."""
    if plan.plan.operation == "GetItem":
        return (yield from _get(schema, table, plan, values, None))
    bound_query = query_of(schema, table, plan, values, schema.by_tag[plan.plan.facets[0].entity].codec)
    objects, *_ = split((yield from read(bound_query, 2, None))[0])
    if len(objects) > 1:
        names = ", ".join(values)
        raise TooMany(f"there is more than one {plan.plan.lookup.entities[0]} with this {names}. Use query")
    return objects[0] if objects else None


def any_exists(schema: Schema, table: str, plan: ReadPlan, values: Mapping[str, Any]) -> Steps[bool]:
    """Return whether there is an item that its table key alone does not identify."""
    if plan.plan.operation == "GetItem":
        return (yield from _exists(schema, table, plan, values, None))
    codec = schema.by_tag[plan.plan.facets[0].entity].codec
    return (yield from any_item(query_of(schema, table, plan, values, codec)))


def _plan(
    schema: Schema,
    entity: BoundEntity[Any],
    arguments: QueryArguments,
    needs: frozenset[str] | None,
    filter_names: frozenset[str],
) -> tuple[ReadPlan, dict[str, Any]]:
    key_values = arguments.key_values(entity.codec)
    key_values.check_only(schema, entity)
    plan, values = plan_read(
        schema,
        (entity,),
        key_values.equal,
        key_values.within,
        key_values.bounds,
        only=key_values.only,
        order=arguments.sorted_by,
        consistent=arguments.consistent,
        into=arguments.into,
        needs=needs,
        filter_names=filter_names,
    )
    return plan.keeping() if arguments.keep else plan, values


# --- One item by its key, and more attributes -------------------------------------------------------------------------
# If a read gives the whole key and further attributes, the item is read by its key and then compared. That is not a
# filter: nothing else is read.


def _get(
    schema: Schema, table: str, plan: ReadPlan, values: Mapping[str, Any], condition: Condition | None
) -> Steps[Any]:
    """Read the object with this key; None if it does not fulfil the condition."""
    test = _comparison(plan.plan, values, condition)
    if test is None:
        return (yield from get_item(schema, table, plan, values))
    decoder, codec = plan.decoder, schema.by_tag[plan.plan.facets[0].entity].codec
    wires = () if plan.into is None else decoder.wires | _compared_wires(plan.plan, codec)
    body = get_body(schema, table, plan, values, wires)
    key = ItemKey(body["Key"])
    item = (yield Request("GetItem", body, key)).get("Item")
    if item is None or not holds(test, codec, item):
        return None
    return decoder.require_match(decoder.decode_visible({**body["Key"], **item}), key)


def _exists(
    schema: Schema, table: str, plan: ReadPlan, values: Mapping[str, Any], condition: Condition | None
) -> Steps[bool]:
    """Return whether an item with this key exists and fulfils the condition."""
    test = _comparison(plan.plan, values, condition)
    if test is None:
        return (yield from item_exists(schema, table, plan, values))
    decoder, codec = plan.decoder, schema.by_tag[plan.plan.facets[0].entity].codec
    wires = {schema.type_attribute, *decoder.tested_wires, *_compared_wires(plan.plan, codec)}
    body = get_body(schema, table, plan, values, wires)
    item = (yield Request("GetItem", body, ItemKey(body["Key"]))).get("Item")
    return item is not None and holds(test, codec, item) and not decoder.hides(item)


def _comparison(plan: Plan, values: Mapping[str, Any], condition: Condition | None) -> Condition | None:
    """Return the condition for the attributes that are not part of the key, and the one given."""
    entity = plan.facets[0].entity
    equalities: list[Condition] = [
        Compare((plan.lookup.attribute(entity, name),), "=", values[name]) for name in sorted(plan.compared)
    ]
    return reduce(both, equalities, condition)


def _compared_wires(plan: Plan, codec: Codec[Any]) -> set[str]:
    """Return the attributes that are returned or compared, by their names in the table."""
    entity = plan.facets[0].entity
    names = plan.compared | (plan.lookup.needs or frozenset())
    return {codec.attribute(plan.lookup.attribute(entity, name)).wire for name in names}


# --- From a plan to a query -------------------------------------------------------------------------------------------


def query_of(
    schema: Schema,
    table: str,
    read_plan: ReadPlan,
    values: Mapping[str, Any],
    codec: Codec[Any],
    *,
    reverse: bool = False,
    condition: Condition | None = None,
    now: datetime | None = None,
    start: Position | None = None,
    filters: Mapping[str, Condition] = MappingProxyType({}),
    include_hidden: bool = False,
) -> Query:
    """Return the query of a plan with its values. `reverse` reverses the order of the plan.

    An open range over time buckets ends at `now`. Later pages end at the time of the first page, which their position
    `start` holds.
    """
    plan = read_plan.plan
    until = now if start is None else start.until or now
    is_open = _is_open(plan, values)
    if is_open:
        until = until or datetime.now(UTC)
    key_conditions, words = _key_conditions(schema, plan, values, until if is_open else None, start)
    is_descending = plan.reverse != reverse
    if is_descending != plan.reverse and plan.bucket:
        key_conditions = _reverse_buckets(key_conditions, plan.shards * words)
    # An index that does not project all attributes has some only in its keys, and cannot be asked for them.
    has_projection = read_plan.into is not None and not read_plan.decoder.partial
    if plan.compared:
        condition = _comparison(plan, values, condition)
    visible = () if include_hidden else visible_items(schema.by_tag, plan.facets)
    return Query(
        schema,
        table,
        plan,
        key_conditions,
        codec,
        read_plan.decoder,
        is_descending,
        plan.lookup.consistent,
        condition,
        has_projection,
        until,
        visible,
        _filters_of(schema, plan, filters) if filters else (),
        words,
    )


def _key_conditions(
    schema: Schema, plan: Plan, values: Mapping[str, Any], end: datetime | None, start: Position | None
) -> tuple[tuple[KeyCondition, ...], int]:
    """Return the key conditions of a plan, and how many there are for each shard. `end` ends an open range."""
    try:
        key_conditions = conditions(plan, values, now=end)
    except KeyValueError:
        if end is None or start is None or start.until is None:
            raise
        raise CursorError("the cursor is of a time before the range of this query") from None
    if not schema.has_other_words:
        return key_conditions, 1
    return _for_each_word(schema, plan, values, end, key_conditions)


def _reverse_buckets(key_conditions: tuple[KeyCondition, ...], width: int) -> tuple[KeyCondition, ...]:
    """Return the conditions with the last bucket first. The `width` conditions of a bucket stay in their order."""
    ends = range(len(key_conditions), 0, -width)
    return tuple(condition for end in ends for condition in key_conditions[end - width : end])


def _filters_of(schema: Schema, plan: Plan, filters: Mapping[str, Condition]) -> tuple[VisibleItems, ...]:
    """Return the caller's filters of entities, for the facets that the plan reads."""
    facets = [facet for facet in plan.facets if facet.entity in filters]
    return tuple(
        VisibleItems(facet_tag(facet), schema.by_tag[facet.entity].codec, [filters[facet.entity]]) for facet in facets
    )


def _for_each_word(
    schema: Schema,
    plan: Plan,
    values: Mapping[str, Any],
    until: datetime | None,
    first_word: tuple[KeyCondition, ...],
) -> tuple[tuple[KeyCondition, ...], int]:
    """Return the conditions for all words of members of enums in the key, and how many there are for each shard.

    Each group of shards is followed by the same group with another word.
    """
    entity, lookup = plan.facets[0].entity, plan.lookup
    codec = schema.by_tag[entity].codec
    alternatives = [first_word]
    choices: list[tuple[Plan, Mapping[str, Any]]] = [(plan, values)]
    for name, value in values.items():
        word = codec.other_word(lookup.attribute(entity, name), value)
        if word is None:
            continue
        for before, choice_values in list(choices):
            constants = tuple(
                (constant_name, word if constant_name == name else constant)
                for constant_name, constant in before.lookup.constants
            )
            other_plan = replace(before, lookup=replace(before.lookup, constants=constants))
            with_word = {**choice_values, name: word}
            alternative = conditions(other_plan, with_word, now=until)
            if alternative not in alternatives:  # else it is not part of the key
                alternatives.append(alternative)
                choices.append((other_plan, with_word))
    width = plan.shards
    all_conditions: list[KeyCondition] = []
    for start in range(0, len(first_word), width):
        for alternative in alternatives:
            all_conditions += alternative[start : start + width]
    return tuple(all_conditions), len(alternatives)


def _is_open(plan: Plan, values: Mapping[str, Any]) -> bool:
    """Return whether a range over time buckets has no end."""
    return plan.bucket is not None and plan.within is not None and values[plan.within.attribute].high is None
