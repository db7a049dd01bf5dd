"""Large contents: attributes that are kept beside their item, because no item is large enough for them."""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.protocol.limits import ITEM_SIZE
from prejoin.types import Kind, Type
from prejoin.workload.model import Attribute, Entity, Workload

CONTENT = Type(Kind.CONTENT)
CONTENT_SIZE = 1024 * 1024
"""Bytes of a content, where the document says nothing."""


def with_contents(workload: Workload) -> Workload:
    """The workload in which texts and binaries that are larger than an item have the type `content`.

    They are optional: an item is there before its content is.

    >>> document = Entity("Document", attributes=(Attribute("body", Type(Kind.BINARY), size=2_000_000),))
    >>> with_contents(Workload(entities=(document,))).entities[0].attributes[0].type.kind
    <Kind.CONTENT: 'content'>
    """
    return replace(workload, entities=tuple(map(_entity, workload.entities)))


def contents_of(entity: Entity) -> tuple[Attribute, ...]:
    """The attributes of an entity that are kept beside its item."""
    if "contents" not in entity.memo:
        entity.memo["contents"] = tuple(a for a in entity.attributes if a.type == CONTENT)
    contents: tuple[Attribute, ...] = entity.memo["contents"]
    return contents


def typical_size(content: Attribute) -> int:
    """The bytes of a typical content of an attribute."""
    return content.size or CONTENT_SIZE


def _entity(entity: Entity) -> Entity:
    return replace(entity, attributes=tuple(map(as_content, entity.attributes)))


def as_content(attribute: Attribute) -> Attribute:
    """The attribute with the type `content`, if it is larger than an item."""
    large = attribute.type.kind in {Kind.STRING, Kind.BINARY} and (attribute.size or 0) > ITEM_SIZE
    if large or attribute.type == CONTENT:
        return replace(attribute, type=CONTENT, optional=True)
    return attribute
