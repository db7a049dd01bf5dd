"""Literal requests: what is sent, with templates for keys and placeholders for values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prejoin.constructs.construct import PutAttribute
from prejoin.design.model import Call, Design, Did, ItemName, Operation, Slot
from prejoin.design.requests.placeholders import KeySource, Placeholders
from prejoin.protocol.expressions.nodes import (
    And,
    Compare,
    Condition,
    Operand,
    Placeholder,
    Update,
)
from prejoin.workload.model import Pattern, Workload


@dataclass(frozen=True, slots=True)
class OperationRequests:
    """What the literal requests of one operation are made of."""

    operation: Operation
    workload: Workload
    design: Design

    @property
    def pattern(self) -> Pattern | None:
        return self.workload.pattern(self.operation.pattern)


@dataclass(frozen=True, slots=True)
class KeyPart:
    """An attribute of a key, and the template of its value."""

    attribute: str
    template: str
    is_optional: bool = False
    """Whether an item may be without it, because it is not in the index."""


@dataclass(frozen=True, slots=True)
class ItemRequest:
    """The write or check of one item: a request of its own, or a part of a transaction or batch."""

    action: Did
    item: ItemName
    is_list: bool
    key: tuple[KeyPart, ...]
    type_tag: str = ""
    """For a put, the value of the type attribute."""
    index_keys: tuple[KeyPart, ...] = ()
    """For a put, the keys of indexes."""
    update: Update | None = None
    condition: Condition | None = None
    placeholders: Placeholders = field(default_factory=Placeholders)
    optional: frozenset[str] = frozenset()
    """The attributes that are left out of the update if the caller gives no value."""
    removable: frozenset[str] = frozenset()
    """The attributes that are removed instead, if the value is absent or the item is not in the index."""
    nullable: frozenset[str] = frozenset()
    """The attributes in the condition that may be absent: then it is `attribute_not_exists`."""
    is_optional: bool = False
    """Whether it is left out, because there is no such item or nothing to do."""
    defaults: Mapping[str, Operand] = field(default_factory=dict)
    """For attributes that the caller may leave out of an upsert, what they are set to then."""
    sometimes: tuple[tuple[str, Condition], ...] = ()
    """Conditions that are added in some cases, with the case: `quantity > 0`."""
    otherwise: ItemRequest | None = None
    """What is sent instead, in another case."""
    otherwise_when: str = ""
    times: int = 1
    """How many such items are written: one for each shard."""
    attributes: tuple[PutAttribute, ...] = ()
    """For a put of an item of a construct, what it has beside its key and its type."""
    is_passed_over: bool = False
    """Whether it is no error that there is no such item."""

    @property
    def partition(self) -> str:
        """The template of the partition key; of several attributes, of the first."""
        return self.key[0].template


@dataclass(frozen=True, slots=True)
class WriteRequest:
    call: Call
    items: tuple[ItemRequest, ...]


@dataclass(frozen=True, slots=True)
class ReadRequest:
    call: Call
    slot: str
    key: tuple[KeyPart, ...] = ()
    """For reads by a key."""
    key_condition: Condition | None = None
    filter: Condition | None = None
    """For reads by a key, which have no filter, what the item is compared with afterwards."""
    projection: tuple[str, ...] = ()
    placeholders: Placeholders = field(default_factory=Placeholders)
    limit: int | None = None
    is_limit_of_unfiltered: bool = False
    """Whether the limit is sent only if the caller gives none of the optional values that are filters."""
    is_backward: bool = False
    is_consistent: bool = False
    is_count: bool = False
    repeated: str = ""
    """What the request is repeated for: `each shard of 8`, `each day`; empty if it is sent once."""
    optional: frozenset[str] = frozenset()
    """The attributes of filters that are left out if the caller gives no value."""

    @property
    def partition(self) -> str:
        """The template of the partition key; of several attributes, of the first."""
        if self.key_condition is None:
            return self.key[0].template
        # The partition comes first in a key condition.
        first = self.key_condition.parts[0] if isinstance(self.key_condition, And) else self.key_condition
        assert isinstance(first, Compare)
        assert isinstance(first.right, Placeholder)
        source = self.placeholders.values[first.right.name]
        assert isinstance(source, KeySource)
        return source.template


@dataclass(frozen=True, slots=True)
class PartRequest:
    """A PutItem for each part of a content that is too large for its item."""

    content: str
    """`Document.body`."""
    inline: int
    """The bytes up to which a content has no parts."""
    size: int
    """The bytes of each part."""
    is_list: bool
    """Whether the content is that of each item of a list."""
    key: tuple[KeyPart, ...]
    type_tag: str

    @property
    def partition(self) -> str:
        """The template of the partition key."""
        return self.key[0].template


@dataclass(frozen=True, slots=True)
class ObjectRequest:
    """A PutObject to the store for each part of a content that is too large for its item."""

    content: str
    """`Document.body`."""
    inline: int
    """The bytes up to which a content has no objects."""
    size: int
    """The bytes of each object."""
    is_list: bool
    """Whether the content is that of each item of a list."""
    folder: str
    """The folder of the objects, in that of the table."""
    key: str
    """The template of the key of an object, in that folder."""


@dataclass(frozen=True, slots=True)
class ContentReading:
    """What `read_large` sends for a large content of an item that a read returned. No method calls it."""

    content: str
    """`Document.body`."""
    reads: tuple[ReadRequest, ...]
    """Reads of the parts, if they are in the table, and of the item."""
    size: int = 0
    """The bytes of each object in the store."""
    key: str = ""
    """The template of the key of an object, in the folder of the table; empty if there are no objects."""


LiteralRequest = ReadRequest | WriteRequest | PartRequest | ObjectRequest


def partition_parts(slot: Slot, pk: str) -> tuple[KeyPart, ...]:
    """The attributes of the partition key, each with its template.

    A key of attributes as they are has several, and reads name them: `country + city`.
    """
    names = [part.name for part in slot.pk]
    if pk == " + ".join(names):
        return tuple(KeyPart(name, f"{{{name}}}") for name in names)
    return tuple(KeyPart(name, pk) for name in names[:1])


def key_parts(slot: Slot, pk: str, sk: str) -> tuple[KeyPart, ...]:
    parts = [*partition_parts(slot, pk)]
    if slot.sk and sk:
        parts.append(KeyPart(slot.sk[0].name, sk))
    return tuple(parts)
