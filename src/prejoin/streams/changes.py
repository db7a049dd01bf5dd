"""Typed changes: the records of a stream as objects of the schema's classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

import msgspec

from prejoin.keys import TABLE, KeyValueError
from prejoin.protocol.values import equal
from prejoin.table.codec.values import Json
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.schema import Schema

from .records import Event, StreamRecord, read_records

E = TypeVar("E")

ChangeKind = Literal["insert", "update", "delete"]
_KINDS: Mapping[str, ChangeKind] = {"INSERT": "insert", "MODIFY": "update", "REMOVE": "delete"}


class StreamChange(msgspec.Struct, Generic[E], frozen=True):
    """A change of one object.

    The images are those of the stream's view type: with NEW_AND_OLD_IMAGES both, with NEW_IMAGE no `old`.
    """

    entity: type[E]
    kind: ChangeKind
    old: E | None
    """The object before the change; None for a new one, or if the stream does not have it."""
    new: E | None
    """The object after the change; None for a deleted one, or if the stream does not have it."""
    changed: frozenset[str]
    """The attributes that differ between `old` and `new`; all attributes with a value, if there is only one of them."""
    key: Json
    """The key in the table, in DynamoDB JSON."""
    id: str
    """Identifies the change, also if it is delivered twice: `once(db, change.id)` applies it once."""
    sequence: str
    """The sequence number in its stream."""
    at: datetime | None
    """About when it happened."""
    expired: bool
    """Whether DynamoDB deleted the item, because its time to live ended."""


def read_changes(schema: Schema, event: Event) -> Iterator[StreamChange[Any]]:
    """Return the changes of entities in the records of a stream, in order.

    `event` is the event of a Lambda function, of DynamoDB Streams or Kinesis, or a list of records as from GetRecords,
    EventBridge Pipes or `Embedded.changes()`. Items that patterns maintain, such as copies and the guards of unique
    values, and items of other software are left out. An item that does not fit its class raises CodecError.

    >>> from dataclasses import dataclass
    >>> from prejoin import Client, Embedded, Entity, Key
    >>> @dataclass
    ... class Order:
    ...     order_id: str
    ...     status: str
    >>> schema = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER")))
    >>> engine = Embedded()
    >>> db = Client(schema, "shop", engine)
    >>> db.create_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    >>> stream = engine.changes("shop")
    >>> order = db.insert(Order("7", "PAID"))
    >>> with db.update(Order, order_id="7") as draft:
    ...     draft.status = "SHIPPED"
    >>> for change in read_changes(schema, stream):
    ...     print(change.kind, change.new, sorted(change.changed))
    insert Order(order_id='7', status='PAID') ['order_id', 'status']
    update Order(order_id='7', status='SHIPPED') ['status']
    """
    for record in read_records(event):
        change = change_of(schema, record)
        if change is not None:
            yield change


def change_of(schema: Schema, record: StreamRecord) -> StreamChange[Any] | None:
    """Return the change of a record; None if the item is not one of an entity."""
    bound = _entity(schema, record)
    if bound is None:
        return None
    old, new = (_object(bound, image, record.keys) for image in (record.old, record.new))
    return StreamChange(
        bound.codec.cls,
        _KINDS[record.event],
        old,
        new,
        _differences(bound, record.old or {}, record.new or {}),
        record.keys,
        record.id,
        record.sequence,
        record.at,
        record.expired,
    )


def _entity(schema: Schema, record: StreamRecord) -> BoundEntity[Any] | None:
    """Return the entity of an item: by its type attribute, or by its key in a stream of keys only."""
    image = record.new or record.old or {}
    tag = image.get(schema.type_attribute, {}).get("S")
    if tag is not None:
        return schema.by_tag.get(tag)
    names = schema.keys(TABLE).names
    # A copy or a guard has a key that no entity's own item has, and is left out.
    try:
        cls, _ = schema.read_key(*(next(iter(record.keys[name].values())) for name in names))
    except (KeyValueError, KeyError):
        return None
    return schema.entity(cls)


def _object(bound: BoundEntity[Any], image: Json | None, key: Json) -> Any:
    return None if image is None else bound.codec.read(image, bound.tag, key)


def _differences(bound: BoundEntity[Any], old: Json, new: Json) -> frozenset[str]:
    attributes = bound.codec.attributes.values()
    return frozenset(
        attribute.name for attribute in attributes if not _same(old.get(attribute.wire), new.get(attribute.wire))
    )


def _same(first: Json | None, second: Json | None) -> bool:
    return first is second if first is None or second is None else equal(first, second)
