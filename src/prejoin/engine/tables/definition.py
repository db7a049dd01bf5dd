"""The definition of a table: its keys, indexes and settings as stored, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import msgspec

from prejoin.engine.store.key_layout import EntryKey, ItemKey, entry_key, item_key
from prejoin.protocol.decoders import json_decoder
from prejoin.protocol.values import Item, Value

LOCAL = "local:000000000000"
"""The region and account of tables, unless others are given."""


@dataclass(frozen=True, slots=True)
class KeyElement:
    """One attribute of a key, with its type: S, N or B."""

    name: str
    type: str


@dataclass(frozen=True)
class KeySchema:
    """A key schema. A table has one partition attribute and at most one sort attribute, a GSI up to four of each."""

    partition: tuple[KeyElement, ...]
    sort: tuple[KeyElement, ...] = ()

    @cached_property
    def attributes(self) -> tuple[KeyElement, ...]:
        return self.partition + self.sort

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)


@dataclass(frozen=True, slots=True)
class ThroughputChanges:
    """When the provisioned throughput was last raised and lowered, and how often it was lowered on that day."""

    increased: float | None = None
    decreased: float | None = None
    decreases: int = 0


NO_CHANGES = ThroughputChanges()
OnDemandLimits = tuple[int | None, int | None]
"""MaxReadRequestUnits and MaxWriteRequestUnits; None is no limit."""


@dataclass(frozen=True)
class IndexDefinition:
    """A secondary index. Its number is unique within the table and part of the keys of its entries."""

    number: int
    name: str
    keys: KeySchema
    is_global: bool
    projection: str
    included: tuple[str, ...] = ()
    throughput: tuple[int, int] | None = None
    changes: ThroughputChanges = NO_CHANGES
    on_demand: OnDemandLimits = (None, None)
    warm: tuple[int, int] | None = None


@dataclass(frozen=True)
class StreamDefinition:
    """A stream of a table, enabled or disabled. Its shards follow from its sequence numbers."""

    label: str
    view: str
    created: float
    first: int
    """The sequence number of its first record."""
    shard_records: int = 0
    """The number of records after which a shard is closed and has a child; 0 for never."""
    ended: float | None = None
    last: int | None = None
    """The sequence number of its last record, once it is disabled."""

    @cached_property
    def has_new_image(self) -> bool:
        return self.view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")

    @cached_property
    def has_old_image(self) -> bool:
        return self.view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")


@dataclass(frozen=True, slots=True)
class Restored:
    """From what a table was restored: a moment of another table, or a backup of it."""

    moment: float
    table_arn: str
    backup_arn: str | None


@dataclass(frozen=True)
class TableDefinition:
    """A table with its indexes. Everything derived is computed once and cached."""

    id: int
    name: str
    uuid: str
    created: float
    keys: KeySchema
    attributes: tuple[KeyElement, ...]
    indexes: tuple[IndexDefinition, ...] = ()
    throughput: tuple[int, int] | None = None
    """Read and write units; None for on demand."""
    ttl: str | None = None
    protected: bool = False
    table_class: str | None = None
    on_demand_since: float | None = None
    """When the table last became on demand. Its description shows this from then on."""
    encryption_key: str | None = None
    """The ARN of the key that the table claims to be encrypted with."""
    changes: ThroughputChanges = NO_CHANGES
    on_demand: OnDemandLimits = (None, None)
    warm: tuple[int, int] | None = None
    """Reads and writes per second that were asked for; None for the default."""
    tags: tuple[tuple[str, str], ...] = ()
    policy: tuple[str, str] | None = None
    """The resource policy and its revision. It is kept, and nobody enforces it."""
    recovery: tuple[float, int] | None = None
    """Since when point-in-time recovery is on, and for how many days."""
    insights: tuple[tuple[str, str, float], ...] = ()
    """Where contributor insights are on: the index ("" for the table), the mode, and since when."""

    restored: Restored | None = None
    place: str = LOCAL
    """The region and account in its ARN."""
    streams: tuple[StreamDefinition, ...] = ()
    """The newest last. At most that one is enabled."""

    @cached_property
    def stream(self) -> StreamDefinition | None:
        """The enabled stream."""
        return self.streams[-1] if self.streams and self.streams[-1].ended is None else None

    @cached_property
    def is_recorded(self) -> bool:
        """Whether writes are recorded, for a stream or for point-in-time recovery."""
        return self.stream is not None or self.recovery is not None

    def stream_arn(self, stream: StreamDefinition) -> str:
        return f"{self.arn}/stream/{stream.label}"

    @cached_property
    def prefix(self) -> bytes:
        """The first bytes of the keys of all items."""
        return id_bytes(self.id)

    def index_prefix(self, index: IndexDefinition) -> bytes:
        """The first bytes of the keys of all entries of an index."""
        return self.prefix + id_bytes(index.number)

    @cached_property
    def item_key(self) -> ItemKey:
        """A fast function from an item to its key bytes. It returns None for unusual keys."""
        return item_key(self.prefix, _pairs(self.keys.partition), _pairs(self.keys.sort))

    @cached_property
    def entry_keys(self) -> dict[int, EntryKey]:
        """For each index number, the function from an item to the key of its entry."""
        return {
            index.number: entry_key(
                self.index_prefix(index),
                _pairs(index.keys.partition),
                _pairs(index.keys.sort),
                _pairs(self.keys.attributes),
            )
            for index in self.indexes
        }

    @cached_property
    def decode_indexed(self) -> Callable[[bytes], Item]:
        """Decodes from an item's JSON only the attributes that indexes need."""
        names = set(self.index_names) | set(self.keys.names)
        for index in self.indexes:
            names.update(self.projected_attributes(index) or ())
        # msgspec may miss members of a TypedDict whose names are not ASCII.
        if not "".join(names).isascii():
            return json_decoder(Item).decode
        make_typed_dict: Any = TypedDict
        return json_decoder(make_typed_dict("Indexed", dict.fromkeys(names, Value), total=False)).decode

    @cached_property
    def by_name(self) -> dict[str, IndexDefinition]:
        return {index.name: index for index in self.indexes}

    @cached_property
    def index_attributes(self) -> tuple[tuple[KeyElement, IndexDefinition], ...]:
        """Every index key attribute that is not a key of the table, with its index."""
        return tuple(
            (attribute, index)
            for index in self.indexes
            for attribute in index.keys.attributes
            if attribute.name not in self.keys.names
        )

    @cached_property
    def narrowed_keys(self) -> tuple[KeyElement, ...]:
        """The table's key attributes that may be too long for their position in an index key."""
        return tuple(
            attribute
            for attribute in self.keys.attributes
            if any(
                attribute in index.keys.sort or (attribute in index.keys.partition and len(index.keys.partition) > 1)
                for index in self.indexes
            )
        )

    @cached_property
    def index_names(self) -> frozenset[str]:
        """The names of attributes that are index keys but not table keys."""
        return frozenset(attribute.name for attribute, _ in self.index_attributes)

    @cached_property
    def indexes_every_item(self) -> bool:
        """Whether some index uses only table keys, so that it contains every item."""
        return any(set(index.keys.names) <= set(self.keys.names) for index in self.indexes)

    @cached_property
    def has_local_indexes(self) -> bool:
        return any(not index.is_global for index in self.indexes)

    def projected_attributes(self, index: IndexDefinition) -> frozenset[str] | None:
        """The attributes an index holds; None for all."""
        if index.projection == "ALL":
            return None
        return self._projections[index.number]

    @cached_property
    def _projections(self) -> dict[int, frozenset[str]]:
        return {
            index.number: frozenset((*self.keys.names, *index.keys.names, *index.included)) for index in self.indexes
        }

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.place}:table/{self.name}"

    def position_names(self, index: IndexDefinition | None) -> tuple[str, ...]:
        """The attributes of a LastEvaluatedKey: the table's keys and, if an index is read, the index's keys."""
        if index is None:
            return self.keys.names
        return tuple(dict.fromkeys((*self.keys.names, *index.keys.names)))

    def to_bytes(self) -> bytes:
        return _encoder.encode(self)

    @classmethod
    def from_bytes(cls, identity: int, content: bytes) -> TableDefinition:
        return replace(_decoder.decode(content), id=identity)


def _pairs(attributes: tuple[KeyElement, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((attribute.name, attribute.type) for attribute in attributes)


_ID = 4
"""The length of a table's or an index's id in key bytes."""


def id_bytes(number: int) -> bytes:
    """The id of a table, or the number of an index, in key bytes."""
    return number.to_bytes(_ID)


def table_id(key: bytes) -> int:
    """The id of the table whose item is stored under these key bytes."""
    return int.from_bytes(key[:_ID])


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(TableDefinition)
