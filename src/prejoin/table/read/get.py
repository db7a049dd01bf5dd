"""GetItem: one object by its key. A cold start loads this module, so it imports nothing for queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from prejoin.table.conversation import Request, Steps
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .plan import ReadPlan, key_of


def get_item(schema: Schema, table: str, plan: ReadPlan, values: Mapping[str, Any]) -> Steps[Any]:
    """Read the object with this key, or None."""
    decoder = plan.decoder
    body = get_body(schema, table, plan, values, () if plan.into is None else decoder.wires)
    key = ItemKey(body["Key"])
    read = decoder.item if plan.into is None else partial(decoder.item, key=body["Key"])
    return decoder.require_match((yield Request("GetItem", body, key, read)), key)


def item_exists(schema: Schema, table: str, plan: ReadPlan, values: Mapping[str, Any]) -> Steps[bool]:
    """Return whether an item with this key exists and is visible. Only its type tag is transferred."""
    decoder = plan.decoder
    body = get_body(schema, table, plan, values, {schema.type_attribute, *decoder.tested_wires})
    item = (yield Request("GetItem", body, ItemKey(body["Key"]))).get("Item")
    return item is not None and not decoder.hides(item)


class ItemKey(msgspec.Struct, frozen=True):
    """The key of an item. Its text is made only when an error or an observer needs it."""

    key: dict[str, dict[str, str]]

    def __str__(self) -> str:
        return key_text(self.key)


def get_body(
    schema: Schema, table: str, plan: ReadPlan, values: Mapping[str, Any], wires: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the parameters of a GetItem. If `wires` are given, only these attributes are returned."""
    body: dict[str, Any] = {"TableName": table, "Key": key_of(schema, plan, values)}
    if plan.plan.lookup.consistent:
        body["ConsistentRead"] = True
    if wires:
        body.update(projection(wires))
    return body


def projection(wires: Iterable[str]) -> dict[str, Any]:
    """Return the parameters that limit a read to some attributes."""
    # Any name may be one of DynamoDB's 573 reserved words, so all are placeholders.
    names = {f"#{number}": name for number, name in enumerate(sorted(wires))}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
