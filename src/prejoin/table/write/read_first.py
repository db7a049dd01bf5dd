"""Writes that read their item first. They are applied only if the item has not changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from prejoin.protocol.expressions import Substitutions, apply, bind_update
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import both
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import CodecError, ConditionFailed, NotFound, TableError
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_hidden, is_vacant

from .actions import condition_error, dependencies, expression, item_name, missing_parent_error, unknown_attributes
from .model import StoredObject, Write
from .upsert import new_values


def read_first(schema: Schema, table: str, writes: Sequence[Write]) -> Steps[list[Write | None]]:
    """Read the items of writes with `read`, and return the writes with them. None: there is nothing to do."""
    reading = [write for write in writes if write.read_first]
    requests = [get_request(schema, table, write) for write in reading]
    answers = (yield tuple(requests)) if len(requests) > 1 else ((yield requests[0]),)
    writes_with_items = iter(
        [with_item(schema, write, answer.get("Item")) for write, answer in zip(reading, answers, strict=True)]
    )
    return [next(writes_with_items) if write.read_first else write for write in writes]


def get_request(schema: Schema, table: str, write: Write) -> Request:
    # Consistent: with an item of some moments ago, the condition of the write would fail, and need another round.
    key = schema.facet_key(write.entity.base, write.values)
    return Request("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}, key_text(key))


def with_item(schema: Schema, write: Write, item: Json | None) -> Write | None:
    """Return a write with its stored item, or for a missing item. None: there is nothing to do."""
    if item is None:
        return _write_for_missing_item(write)
    entity = write.entity
    tag = item.get(schema.type_attribute, {}).get("S")
    if tag not in (None, entity.tag):
        raise CodecError(f"the item with the key of {item_name(write)} is a {tag}, not a {entity.tag}")
    if write.visible and write.verb != "put" and is_hidden(entity, item):
        if is_vacant(entity, item):
            return _write_for_missing_item(write)
        raise condition_error(write, item)
    key = schema.item_key(item)
    previous_values = entity.codec.values(entity.codec.read(item, entity.tag, key))
    if write.verb not in ("update", "upsert"):
        if write.verb == "put" and entity.unknown == "refuse":
            _refuse_unknown_attributes(schema, write, item)
        return replace(write, stored=StoredObject(previous_values, item))
    if error := missing_parent_error(write, item):
        raise error
    after = entity.codec.values(entity.codec.read(_item_after(write, item), entity.tag, key))
    condition = write.where if write.if_stored is None else both(write.where, write.if_stored)
    return replace(
        write, verb="update", stored=StoredObject(previous_values, item, after), where=condition, if_stored=None
    )


def _refuse_unknown_attributes(schema: Schema, write: Write, item: Json) -> None:
    """Raise TableError if a put would delete attributes of the item that its class does not have."""
    names = unknown_attributes(schema, write.entity, item)
    if names:
        raise TableError(
            f"{item_name(write)} has {', '.join(sorted(names))}, which is no attribute of {write.entity.tag}, and a "
            "put would delete it. Use update"
        )


def _write_for_missing_item(write: Write) -> Write | None:
    match write.verb:
        case "put":
            return replace(write, verb="insert")
        case "upsert":
            return replace(write, verb="insert", values=new_values(write), if_stored=None)
        case "delete" if not write.asserted and (write.where is None or write.or_absent):
            return None
        case _:
            raise NotFound(f"there is no {item_name(write)}")


def _item_after(write: Write, item: Json) -> Json:
    """Return the item after the changes, computed as DynamoDB does."""
    placeholders = Placeholders()
    text = expression(write, write.changes, placeholders, [], [])
    parameters = placeholders.parameters()
    names, values = parameters.get("ExpressionAttributeNames"), parameters.get("ExpressionAttributeValues")
    return apply(bind_update(text, Substitutions(names, values)), item)


def is_stale(failure: ConditionFailed) -> bool:
    """Return whether the item was changed, created or deleted after it was read."""
    write, item = failure.write, failure.item
    if not isinstance(write, Write) or not write.read_first or failure.elsewhere:
        return False
    if write.read_item is None:
        return item is not None
    return has_changed(write, item)


def has_changed(write: Write, item: Mapping[str, Any] | None) -> bool:
    """Return whether an item differs from the one that was read, in an attribute that the write depends on."""
    previous_item = write.read_item
    if previous_item is None or item is None:
        return previous_item is not item
    wires = [write.entity.codec.attribute(name).wire for name in dependencies(write)]
    return any(item.get(wire) != previous_item.get(wire) for wire in wires)


def refuse_token(token: str | None) -> None:
    if token is not None:
        raise TableError(
            "a transaction with read=True depends on the stored items, so a repetition with the same token could "
            "differ. Leave out the token or read=True"
        )
