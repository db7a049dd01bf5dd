"""The explanation of a design as frozen data: facts for programs, and sentences made from them."""

from __future__ import annotations

from enum import StrEnum

from prejoin.design.model import Units
from prejoin.design.whatif.alternative import Alternative
from prejoin.workload.model import Model, Verb


class Because(StrEnum):
    """The reason for an attribute in a key."""

    GIVEN = "given"
    """Reads give its value."""
    RANGE = "range"
    """Reads give a range of it."""
    ORDER = "order"
    """Reads are sorted by it."""
    UNIQUE = "unique"
    """It belongs to the id and makes the key unique."""
    SPREAD = "spread"
    """It splits a partition into shards or time buckets."""
    ABOVE = "above"
    """It is the id of a parent, or part of a decided key."""


class KeyPart(Model, frozen=True):
    """An attribute in a key and one reason for it."""

    attribute: str
    because: Because
    patterns: tuple[str, ...] = ()


class AboutKey(Model, frozen=True):
    """One key of an entity's item or copy, in the table or in an index."""

    entity: str
    slot: str
    pk: str
    sk: str = ""
    copy: str = ""
    partition: tuple[KeyPart, ...] = ()
    sort: tuple[KeyPart, ...] = ()
    patterns: tuple[str, ...] = ()
    """The reads that it serves."""
    share: float = 1.0
    """The fraction of items that have it; less than one for a sparse key."""
    sparse: str = ""
    """The condition of a sparse key, in words."""
    tested: tuple[str, ...] = ()
    """The attributes that the condition of a sparse key tests."""
    text: tuple[str, ...] = ()


class WriteExplanation(Model, frozen=True):
    """The write amplification of creating or deleting one item."""

    verb: Verb
    items: int
    """Items in the table: its own, its copies and its guards."""
    entries: float
    """Index entries; a fraction where only some items are in an index."""
    units: float
    alone: float
    """The units of the item alone."""
    text: str = ""


class AboutEntity(Model, frozen=True):
    entity: str
    key: AboutKey
    size: int
    count: int
    guards: tuple[str, ...] = ()
    writes: tuple[WriteExplanation, ...] = ()
    text: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


class AboutIndex(Model, frozen=True):
    index: str
    patterns: tuple[str, ...]
    keys: tuple[AboutKey, ...]
    projection: str
    dollars: float
    """Dollars a month: writes to it and its storage."""
    text: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


class AboutCopy(Model, frozen=True):
    entity: str
    copy: str
    patterns: tuple[str, ...]
    kept_by: tuple[str, ...]
    """The patterns that also write it."""
    keys: tuple[AboutKey, ...]
    dollars: float
    text: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


class AboutPartition(Model, frozen=True):
    """The partitions of a key: their number, the largest and the busiest."""

    entity: str
    slot: str
    pk: str
    copy: str = ""
    write_units: float = 0.0
    """Write units a second, before it is split."""
    read_units: float = 0.0
    shards: int = 1
    bucket: str = ""
    enough: int = 1
    """The number of shards that is enough."""
    number: float = 1.0
    """The number of partitions; with time buckets, of one bucket."""
    items: float = 1.0
    """Items of this entity in the largest partition."""
    size: float = 0.0
    """Their bytes."""
    beside: tuple[str, ...] = ()
    """Other items in the same partition."""
    whole_items: float = 1.0
    """Items in the largest partition, with those beside."""
    whole_size: float = 0.0
    text: tuple[str, ...] = ()


class AboutPattern(Model, frozen=True):
    pattern: str
    name: str
    """The description in the document."""
    served: bool
    per_second: float
    units: Units
    """Units of one call."""
    dollars: float
    """Dollars a month."""
    slots: tuple[str, ...] = ()
    outside: bool = False
    """Whether something else answers it, by a decision."""
    text: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    """Other ways to answer it, the cheapest first."""


class Explanation(Model, frozen=True):
    table: str
    structures: int
    dollars: float
    """Dollars a month."""
    exact: bool
    """Whether it is proven that no design serves as much with less complexity."""
    text: tuple[str, ...] = ()
    entities: tuple[AboutEntity, ...] = ()
    indexes: tuple[AboutIndex, ...] = ()
    copies: tuple[AboutCopy, ...] = ()
    patterns: tuple[AboutPattern, ...] = ()
    partitions: tuple[AboutPartition, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    relaxations: tuple[Alternative, ...] = ()
    """Simpler or much cheaper designs, if something is given up: reads use a filter, or the document changes."""
    assumed: tuple[str, ...] = ()
