"""Rewrite index keys after a change of the schema, such as another number of shards."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import msgspec

from prejoin.keys import TABLE, Facet
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import ArgumentError
from prejoin.table.read.cursor import (
    Cursors,
    Position,
    check_key,
    check_query,
    encode_cursor,
    fingerprint,
    open_cursor,
    refusal,
)
from prejoin.table.schema.bind import BoundEntity, facet_tag, is_natural
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .repair import unchanged_test

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client


class Resharded(msgspec.Struct, frozen=True):
    """The progress of a reshard."""

    read: int = 0
    moved: int = 0
    cursor: str | None = None
    """The cursor to continue after; None at the end."""


ReshardProgress = Callable[[Resharded], None]


@overload
def reshard(
    db: Client,
    cls: type[Any],
    *,
    segment: int = 0,
    segments: int = 1,
    after: str | None = None,
    progress: ReshardProgress | None = None,
) -> Resharded: ...
@overload
def reshard(
    db: AsyncClient,
    cls: type[Any],
    *,
    segment: int = 0,
    segments: int = 1,
    after: str | None = None,
    progress: ReshardProgress | None = None,
) -> Coroutine[Any, Any, Resharded]: ...
def reshard(
    db: Client | AsyncClient,
    cls: type[Any],
    *,
    segment: int = 0,
    segments: int = 1,
    after: str | None = None,
    progress: ReshardProgress | None = None,
) -> Any:
    """Rewrite the index keys of all items of a class, and of their copies, that do not match the schema.

    The table may be in use: a key is rewritten only if the attributes in it have not changed. It can be stopped at any
    time, and started again from the beginning or `after` the last cursor of `progress`. To share the work, start one
    for each `segment` from 0 of `segments`.

    Cost: a consistent Scan of the table (1 read unit for each 4 KB), and for an item that moves 1 write unit for each
    KB, and as many to leave the index and to enter it.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Index, Key, Schema
    >>> @dataclass
    ... class Order:
    ...     order_id: str
    >>> def orders(shards):
    ...     index = Key(f"ORDERS#{{order_id:shard({shards})}}", "{order_id}")
    ...     return Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), {"all": index}), indexes=[Index("all")])
    >>> engine = Embedded()
    >>> few = Client(orders("2"), "shop", engine)
    >>> few.create_table()
    >>> for number in range(8): _ = few.insert(Order(str(number)))
    >>> on_the_way = Client(orders("4 of 4"), "shop", engine)
    >>> len(on_the_way.query(Order))
    8
    >>> reshard(on_the_way, Order)
    Resharded(read=8, moved=4, cursor=None)
    >>> [order.order_id for order in Client(orders("4"), "shop", engine).query(Order)]
    ['0', '1', '2', '3', '4', '5', '6', '7']
    """
    if not 0 <= segment < segments:
        raise ArgumentError(f"segment is {segment}, and has to be from 0 to below {segments}")
    db.schema.refuse_to_tenant("reshard()")
    entity = db.schema.entity(cls)
    return db._run(_steps(db.schema, db.table, entity, segment, segments, after, progress, db._cursors))


def _steps(
    schema: Schema,
    table: str,
    entity: BoundEntity[Any],
    segment: int,
    segments: int,
    after: str | None,
    progress: ReshardProgress | None,
    cursors: Cursors | None,
) -> Steps[Resharded]:
    name = fingerprint("reshard", table, entity.tag, segment, segments)
    start = None if after is None else _start_key(schema, name, after, cursors)
    result = Resharded()
    facets_by_tag = _facets_by_tag(entity)
    while True:
        body: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
        if segments > 1:
            body |= {"Segment": segment, "TotalSegments": segments}
        if start:
            body["ExclusiveStartKey"] = start
        try:
            answer = yield Request("Scan", body, f"{table}, to put {entity.tag} where it belongs")
        except DynamoDBError as error:
            raise (after is not None and refusal(error)) or error from None
        for item in answer["Items"]:
            facets = facets_by_tag.get(item.get(schema.type_attribute, {}).get("S", ""))
            if facets is not None:
                is_moved = yield from _put_right(schema, table, entity, facets, item)
                result = Resharded(result.read + 1, result.moved + is_moved)
        start = answer.get("LastEvaluatedKey")
        cursor = encode_cursor(Position(name, 0, [start]), cursors) if start else None
        result = Resharded(result.read, result.moved, cursor)
        if progress is not None:
            progress(result)
        if not start:
            return result


def _start_key(schema: Schema, name: str, cursor: str, cursors: Cursors | None) -> Json | None:
    """Return the key after which a Scan continues. Refuse a cursor that is not of this reshard, or that was changed."""
    position = open_cursor(cursor, cursors)
    check_query(position, name, 1, 1)
    (start_key,) = position.keys
    if start_key is not None:
        table_keys = schema.keys(TABLE)
        check_key(start_key, table_keys.names, schema.key_types, table_keys, None)
    return start_key


def _facets_by_tag(entity: BoundEntity[Any]) -> dict[str, Sequence[Facet]]:
    """Return the indexes with key templates, by the type tags of an entity's items and copies."""
    facets_by_tag: dict[str, Sequence[Facet]] = {entity.tag: tuple(entity.indexes.values())}
    for facet in entity.facets:
        if facet.copy and facet.slot != TABLE and not is_natural(facet):
            facets_by_tag[facet_tag(facet)] = (*facets_by_tag.get(facet_tag(facet), ()), facet)
    return facets_by_tag


def _put_right(
    schema: Schema, table: str, entity: BoundEntity[Any], facets: Sequence[Facet], item: Json | None
) -> Steps[bool]:
    """Write the keys of one item, again if it has changed. Return whether there was anything to do."""
    is_moved = False
    while item is not None and (wrong_keys := _wrong_keys(schema, entity, facets, item)):
        body = {"TableName": table, **_update(schema, entity, facets, item, wrong_keys)}
        try:
            yield Request("UpdateItem", body, key_text(body["Key"]))
        except DynamoDBError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            item = error.fields.get("Item")
        else:
            is_moved, item = True, None
    return is_moved


def _wrong_keys(
    schema: Schema, entity: BoundEntity[Any], facets: Sequence[Facet], item: Json
) -> dict[str, Json | None]:
    """Return the wrong key attributes of indexes, with their right values; None to remove one."""
    if facets and facets[0].copy:  # which may not hold all that an object needs, but all that its keys are made of
        attributes = [entity.codec.attribute(name) for facet in facets for name in facet.placing]
        values = {
            attribute.name: attribute.value.decode(item[attribute.wire])
            for attribute in attributes
            if attribute.wire in item
        }
    else:
        values = entity.codec.values(entity.codec.decode(item))
    expected_keys: dict[str, Json | None] = {}
    for facet in facets:
        facet_key = schema.facet_key(facet, values) if facet.has(values) else {}
        expected_keys |= {name: facet_key.get(name) for name in schema.template_keys(facet).names}
    return {name: value for name, value in expected_keys.items() if item.get(name) != value}


def _update(
    schema: Schema, entity: BoundEntity[Any], facets: Sequence[Facet], item: Json, wrong_keys: Mapping[str, Json | None]
) -> dict[str, Any]:
    placeholders = Placeholders()
    sets, removes = [], []
    for name, value in wrong_keys.items():
        if value is None:
            removes.append(placeholders.name(name))
        else:
            sets.append(f"{placeholders.name(name)} = {placeholders.value(value)}")
    clauses = [f"SET {', '.join(sets)}"] if sets else []
    if removes:
        clauses.append(f"REMOVE {', '.join(removes)}")
    # What was read in one piece has to be so still: the attributes that decide, and the keys as they were found.
    placing = {entity.codec.attribute(name).wire for facet in facets for name in facet.placing}
    key = schema.item_key(item)
    compared_names = sorted({*placing, *wrong_keys} - set(key))
    conditions = [unchanged_test(item, name, placeholders) for name in compared_names]
    # The item must still exist: an update would create it, and the names that are compared may all be absent.
    conditions.insert(0, f"attribute_exists({placeholders.name(next(iter(key)))})")
    return {
        "Key": key,
        "UpdateExpression": " ".join(clauses),
        "ConditionExpression": " AND ".join(conditions),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **placeholders.parameters(),
    }
