"""Writes that read first: from what is there it is computed what to write, and that holds only while it is so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from prejoin.keys import TABLE
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.condition.visibility import is_hidden, is_vacant
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import CodecError, ConditionFailed, NotFound, TableError
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .actions import depends, expression, lacking, named, unknown, unmet
from .model import Write
from .upsert import fresh


def read_first(schema: Schema, table: str, writes: Sequence[Write]) -> Steps[list[Write | None]]:
    """The writes, those that ask for it with what was read of their items. None is for one that has nothing to do."""
    asking = [write for write in writes if write.read]
    requests = [get_request(schema, table, write) for write in asking]
    answers = (yield tuple(requests)) if len(requests) > 1 else ((yield requests[0]),)
    found = iter([informed(schema, write, answer.get("Item")) for write, answer in zip(asking, answers, strict=True)])
    return [next(found) if write.read else write for write in writes]


def get_request(schema: Schema, table: str, write: Write) -> Request:
    key = schema.written(write.entity.base, write.values)
    return Request("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}, key_text(key))


def informed(schema: Schema, write: Write, item: Json | None) -> Write | None:
    """A write that knows the item there is, or that there is none. None: there is nothing to do."""
    if item is None:
        return _without(write)
    entity = write.entity
    tag = item.get(schema.type_attribute, {}).get("S")
    if tag not in (None, entity.tag):
        raise CodecError(f"the item of {named(write)} is a {tag}, not a {entity.tag}")
    if write.seen and write.verb != "put" and is_hidden(entity, item):
        if is_vacant(entity, item):
            return _without(write)
        raise unmet(write, item)
    key = {name: item[name] for name in schema.keys(TABLE).names}
    was = entity.codec.values(entity.codec.read(item, entity.tag, key))
    if write.verb not in ("update", "upsert"):
        found = replace(write, was=was, item=item)
        if write.verb == "put" and entity.unknown == "refuse" and (lost := unknown(schema, found)):
            raise TableError(
                f"{named(write)} has {', '.join(sorted(lost))}, which {entity.tag} does not know, and a put would "
                "delete it: update the item instead"
            )
        return found
    if wrong := lacking(write, item):
        raise wrong
    becomes = entity.codec.values(entity.codec.read(_updated(write, item), entity.tag, key))
    return replace(write, verb="update", was=was, item=item, becomes=becomes)


def _without(write: Write) -> Write | None:
    match write.verb:
        case "put":
            return replace(write, verb="insert")
        case "upsert":
            return replace(write, verb="insert", values=fresh(write))
        case "delete" if not write.asserted and write.where is None:
            return None
        case _:
            raise NotFound(f"there is no {named(write)}")


def _updated(write: Write, item: Json) -> Json:
    """What the item is after the changes, computed as DynamoDB does."""
    from prejoin.protocol.expressions import Substitutions, apply, bind_update  # few writes need it

    to = Placeholders()
    text = expression(write, write.changes, to, [], [])
    said = to.parameters()
    names, values = said.get("ExpressionAttributeNames"), said.get("ExpressionAttributeValues")
    return apply(bind_update(text, Substitutions(names, values)), item)


def overtaken(failure: ConditionFailed) -> bool:
    """Whether somebody else changed, made or deleted the item after it was read, so that it has to be read again."""
    write, item = failure.write, failure.item
    if not isinstance(write, Write) or not write.read or failure.elsewhere:
        return False
    if write.was is None or write.item is None:
        return item is not None
    return is_other(write, item)


def is_other(write: Write, item: Mapping[str, Any] | None) -> bool:
    """Whether an item is another than the one that was read, in what the write relies on."""
    if write.item is None or item is None:
        return write.item is not item
    wires = [write.entity.codec.attribute(name).wire for name in depends(write)]
    return any(item.get(wire) != write.item.get(wire) for wire in wires)


def refuse_token(token: str | None) -> None:
    if token is not None:
        raise TableError(
            "a token makes a transaction safe to repeat because it is the same each time; one with read=True is made "
            "of what is there, and may differ: leave out either"
        )
