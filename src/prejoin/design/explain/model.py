"""The explanation of a design as plain frozen data: facts that a program may use, and sentences made of them."""

from __future__ import annotations

from enum import StrEnum

from prejoin.design.model import Units
from prejoin.workload.model import Model, Verb


class Because(StrEnum):
    """Why an attribute stands in a key."""

    GIVEN = "given"
    """Reads know its value."""
    RANGE = "range"
    """Reads ask for a range of it."""
    ORDER = "order"
    """Reads want the items in its order."""
    UNIQUE = "unique"
    """It belongs to the id: without it two items would have the same key."""
    SPREAD = "spread"
    """It cuts a partition into shards or units of time."""
    ABOVE = "above"
    """It is the id of what the item belongs to, or else part of a key that was asked for."""


class KeyPart(Model, frozen=True):
    """An attribute in a key, and what put it there. Of several reasons each is a part of its own."""

    attribute: str
    because: Because
    patterns: tuple[str, ...] = ()


class AboutKey(Model, frozen=True):
    """One key of an entity's items: in the table or in an index, of its own items or of a copy."""

    entity: str
    slot: str
    pk: str
    sk: str = ""
    copy: str = ""
    partition: tuple[KeyPart, ...] = ()
    sort: tuple[KeyPart, ...] = ()
    patterns: tuple[str, ...] = ()
    """The reads that it answers."""
    share: float = 1.0
    """The part of the items that is there; less than all where the key is sparse."""
    sparse: str = ""
    """Which those are, in words."""
    text: tuple[str, ...] = ()


class WriteExplanation(Model, frozen=True):
    """What creating or deleting one item becomes: write amplification."""

    verb: Verb
    items: int
    """In the table: its own, its copies and its guards."""
    entries: float
    """In the indexes; a part of one where only some items are in an index."""
    units: float
    alone: float
    """What the item without them would be."""
    text: str = ""


class Alternative(Model, frozen=True):
    """Another way, and what it would change: fewer is less than nought."""

    text: str
    structures: int = 0
    dollars: float = 0.0
    """A month."""
    unserved: tuple[str, ...] = ()
    """What would not be served any more."""


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
    """A month: what is written to it, and what it stores."""
    text: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


class AboutCopy(Model, frozen=True):
    entity: str
    copy: str
    patterns: tuple[str, ...]
    kept_by: tuple[str, ...]
    """The writes that write it too."""
    keys: tuple[AboutKey, ...]
    dollars: float
    text: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


class AboutPartition(Model, frozen=True):
    """The busiest partition of a key, and whether it bears what falls on it."""

    entity: str
    slot: str
    pk: str
    copy: str = ""
    write_units: float = 0.0
    """A second, on the busiest partition before it is cut."""
    read_units: float = 0.0
    shards: int = 1
    bucket: str = ""
    enough: int = 1
    """The number of shards that would be enough."""
    text: tuple[str, ...] = ()


class AboutPattern(Model, frozen=True):
    pattern: str
    name: str
    """What it is for, as the document says."""
    served: bool
    per_second: float
    units: Units
    """Of one call."""
    dollars: float
    """A month."""
    slots: tuple[str, ...] = ()
    outside: bool = False
    """The document says that something else answers it."""
    text: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    """Other ways to answer it; for one that is not served, the ways there are, the cheapest first."""


class Explanation(Model, frozen=True):
    table: str
    structures: int
    dollars: float
    """A month, all in all."""
    exact: bool
    """Whether it is known that no design at all serves as much with fewer indexes and copies."""
    text: tuple[str, ...] = ()
    entities: tuple[AboutEntity, ...] = ()
    indexes: tuple[AboutIndex, ...] = ()
    copies: tuple[AboutCopy, ...] = ()
    patterns: tuple[AboutPattern, ...] = ()
    partitions: tuple[AboutPartition, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    assumed: tuple[str, ...] = ()
