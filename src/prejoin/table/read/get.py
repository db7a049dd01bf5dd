"""One object, by what identifies it: GetItem; or where that is the key of an index, a Query. Written to load little."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import TooMany
from prejoin.table.lazy import Lazy
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .decode import split
from .plan import Asked, planned, query_of

if TYPE_CHECKING:
    from prejoin.table.condition import key_remainder as comparing
    from prejoin.table.condition import render
    from prejoin.table.condition.record import Condition

    from . import execute as reads
else:
    comparing = Lazy("prejoin.table.condition.key_remainder")
    reads = Lazy("prejoin.table.read.execute")
    render = Lazy("prejoin.table.condition.render")


def get(
    schema: Schema, table: str, cls: type[Any], equal: Mapping[str, Any], consistent: bool, into: type | None = None
) -> Steps[Any]:
    """One object, or None."""
    entity = schema.entity(cls)
    asked, values = planned(schema, (entity,), equal, consistent=consistent, into=into)
    if asked.plan.operation == "GetItem":
        return (yield from get_item(schema, table, asked, values))
    query = query_of(schema, table, asked, values, entity.codec)
    found, *_ = split((yield from reads.read(query, 2, None))[0])
    if len(found) > 1:
        raise TooMany(f"more than one {entity.tag} by {', '.join(equal)}: use query")
    return found[0] if found else None


def exists(schema: Schema, table: str, cls: type[Any], equal: Mapping[str, Any], consistent: bool) -> Steps[bool]:
    """Whether there is such an item. Nothing of it is sent back but its tag, or its number."""
    entity = schema.entity(cls)
    asked, values = planned(schema, (entity,), equal, consistent=consistent, needs=frozenset())
    if asked.plan.operation == "GetItem":
        return (yield from item_is_there(schema, table, asked, values))
    return (yield from reads.there_is(query_of(schema, table, asked, values, entity.codec)))


def item_is_there(
    schema: Schema, table: str, asked: Asked, values: Mapping[str, Any], where: Condition | None = None
) -> Steps[bool]:
    """Whether there is an item under a key of the table, that is as wanted."""
    reading, codec = asked.reading, schema.by_tag[asked.plan.facets[0].entity].codec
    test = comparing.condition(asked.plan, values, where) if asked.plan.compared else where
    tested = () if test is None else comparing.wires(asked.plan, codec)
    body = get_body(schema, table, asked, values, {schema.type_attribute, *reading.tested, *tested})
    item = (yield Request("GetItem", body, Address(body["Key"]))).get("Item")
    if item is None or (test is not None and not comparing.holds(test, codec, item)):
        return False
    return not reading.hides(item)


def get_item(
    schema: Schema, table: str, asked: Asked, values: Mapping[str, Any], where: Condition | None = None
) -> Steps[Any]:
    """The object under a key of the table, or None; also if it is not as wanted."""
    if where is not None or asked.plan.compared:
        return (yield from _get_compared(schema, table, asked, values, where))
    reading = asked.reading
    body = get_body(schema, table, asked, values, () if asked.into is None else reading.wires)
    key = Address(body["Key"])
    read = reading.item if asked.into is None else partial(reading.item, key=body["Key"])
    return reading.matched((yield Request("GetItem", body, key, read)), key)


def _get_compared(
    schema: Schema, table: str, asked: Asked, values: Mapping[str, Any], where: Condition | None
) -> Steps[Any]:
    reading, codec = asked.reading, schema.by_tag[asked.plan.facets[0].entity].codec
    test = comparing.condition(asked.plan, values, where)
    assert test is not None
    wires = () if asked.into is None else reading.wires | comparing.wires(asked.plan, codec)
    body = get_body(schema, table, asked, values, wires)
    key = Address(body["Key"])
    item = (yield Request("GetItem", body, key)).get("Item")
    if item is None or not comparing.holds(test, codec, item):
        return None
    return reading.matched(reading.shown({**body["Key"], **item}), key)


class Address(msgspec.Struct, frozen=True):
    """The key of an item; written out, as people read it. Few look."""

    key: dict[str, dict[str, str]]

    def __str__(self) -> str:
        return key_text(self.key)


def get_body(
    schema: Schema, table: str, asked: Asked, values: Mapping[str, Any], wires: Iterable[str] = ()
) -> dict[str, Any]:
    """The parameters of a GetItem. `wires` are all that is wanted, if they are given."""
    body: dict[str, Any] = {"TableName": table, "Key": key_of(schema, asked, values)}
    if asked.plan.ask.consistent:
        body["ConsistentRead"] = True
    if wires:
        body.update(projection(wires))
    return body


def key_of(schema: Schema, asked: Asked, values: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The key of the item that a question names."""
    facet, ask = asked.plan.facets[0], asked.plan.ask
    if ask.roles:
        values = {ask.attribute(facet.entity, name): value for name, value in values.items()}
    return schema.written(facet, values)


def projection(wires: Iterable[str]) -> dict[str, Any]:
    """The parameters that ask for some attributes only."""
    to = render.Placeholders()
    return {"ProjectionExpression": ", ".join(map(to.name, sorted(wires))), **to.parameters()}
