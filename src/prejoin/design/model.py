"""The design: one table for a workload, as plain frozen data. Everything shown, written, proven or run is made from it.

Shards and time buckets stand in the key templates, `{orderId:shard(8)}` and `{placedAt:day}`, and nowhere else.
"""

from __future__ import annotations

from enum import StrEnum

from prejoin.workload.model import Model

TABLE = "table"
"""The slot that is the table itself; the others are its indexes."""


class KeyAttribute(Model, frozen=True):
    """A physical attribute that is part of a key."""

    name: str
    type: str = "S"
    """`S`, `N` or `B`."""


class ProjectionKind(StrEnum):
    ALL = "ALL"
    KEYS_ONLY = "KEYS_ONLY"
    INCLUDE = "INCLUDE"


class Projection(Model, frozen=True):
    kind: ProjectionKind = ProjectionKind.ALL
    attributes: tuple[str, ...] = ()


class Slot(Model, frozen=True):
    """A place with a key of its own: the table, or a secondary index. One attribute a key, or up to four."""

    name: str
    pk: tuple[KeyAttribute, ...]
    sk: tuple[KeyAttribute, ...] = ()
    projection: Projection = Projection()
    purpose: str = ""
    local: bool = False
    """A local secondary index, which has the table's partitions in another order. Ours are global."""


class When(Model, frozen=True):
    """An item is in a sparse facet when the attribute is there; or, with values, when it is one of these."""

    attribute: str
    values: tuple[str, ...] = ()


class Facet(Model, frozen=True):
    """How an item is keyed in a slot: a template for each attribute of the slot's key."""

    slot: str
    pk: tuple[str, ...]
    sk: tuple[str, ...] = ()
    when: tuple[When, ...] = ()
    """All of these hold for the items that are there. Empty: every item is."""


class Item(Model, frozen=True):
    """What is stored for an entity: the entity's own item, or a copy of it under another key."""

    entity: str
    tag: str
    """The value of the type attribute."""
    facets: tuple[Facet, ...]
    """The first is the one in the table."""
    copy: str = ""
    """The name of the copy; empty for the entity's own item."""
    attributes: tuple[str, ...] = ()
    """What the copy holds; empty for everything."""
    known: tuple[str, ...] = ()
    """Of the entity's own item: the attributes that it had when the design was written. Empty: not recorded."""

    def facet(self, slot: str) -> Facet | None:
        return next((f for f in self.facets if f.slot == slot), None)


class Guard(Model, frozen=True):
    """An item whose key makes a value unique, written in the same transaction as the item that has the value.

    The key follows from the entity's tag and the attributes, for all tables alike (`keys.guard_key`).
    """

    entity: str
    attributes: tuple[str, ...]


# --- What each access pattern becomes -------------------------------------------------------------------------------


class Call(StrEnum):
    """DynamoDB's operations."""

    GET = "GetItem"
    QUERY = "Query"
    BATCH_GET = "BatchGetItem"
    PUT = "PutItem"
    UPDATE = "UpdateItem"
    DELETE = "DeleteItem"
    BATCH_WRITE = "BatchWriteItem"
    TRANSACT_WRITE = "TransactWriteItems"
    TRANSACT_GET = "TransactGetItems"


class Did(StrEnum):
    PUT = "Put"
    UPDATE = "Update"
    DELETE = "Delete"
    CHECK = "ConditionCheck"


class ItemAction(Model, frozen=True):
    """What a write does to one item."""

    action: Did
    item: str
    """The entity; with a copy, `Order/lookup`; of a guard, `User!email`."""
    pk: str
    sk: str = ""
    many: bool = False
    changes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()


class Request(Model, frozen=True):
    """One request to DynamoDB, with placeholders where values go."""

    call: Call
    slot: str = TABLE
    entities: tuple[str, ...] = ()
    pk: str = ""
    sk: str = ""
    """The condition on the sort key, `begins_with ORDER#`; empty for the whole partition."""
    shards: int = 1
    """How many of these are sent side by side."""
    bucket: str = ""
    """One for each of these units of time."""
    reverse: bool = False
    limit: int | None = None
    consistent: bool = False
    count: bool = False
    filters: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    actions: tuple[ItemAction, ...] = ()
    each: str = ""
    """One for each value of this attribute: of an input that is a list, or of the items that were found before."""
    copies: tuple[str, ...] = ()
    """Those of the items read that are copies: `Order/lookup`."""


class Units(Model, frozen=True):
    read: float = 0
    write: float = 0


class Operation(Model, frozen=True):
    """What a pattern becomes. One that no key serves has a problem, and never goes missing."""

    pattern: str
    requests: tuple[Request, ...] = ()
    problem: str = ""
    remedy: str = ""
    units: Units | None = None
    """Predicted, for one call."""
    assumes: tuple[str, ...] = ()
    """What the caller has to know beside what the document says it gives."""

    @property
    def served(self) -> bool:
        return not self.problem

    @property
    def finds(self) -> tuple[Request, ...]:
        """The reads by which a write finds its items, where it is not given their own key."""
        return tuple(r for r in self.requests if r.call in (Call.QUERY, Call.GET) and not r.consistent)

    @property
    def found_first(self) -> frozenset[str]:
        """The entities whose items a write finds by another key than their own."""
        return frozenset(name for request in self.finds for name in request.entities)

    @property
    def read_first(self) -> frozenset[str]:
        """The entities whose items a write reads by their own key first, always consistently."""
        reads = [r for r in self.requests if r.call is Call.GET and r.consistent]
        return frozenset(name for request in reads for name in request.entities)


class Choice(Model, frozen=True):
    """A decision of the design: what, why, and what else there was."""

    about: str
    text: str
    alternatives: tuple[str, ...] = ()


class Billing(StrEnum):
    ON_DEMAND = "PAY_PER_REQUEST"
    PROVISIONED = "PROVISIONED"


class Design(Model, frozen=True):
    table: str
    """Its name."""
    slots: tuple[Slot, ...] = ()
    """The table first."""
    items: tuple[Item, ...] = ()
    guards: tuple[Guard, ...] = ()
    type_attribute: str = "entityType"
    separator: str = "#"
    raw_keys: bool = False
    """Values stand in keys as they are, as in a table that others filled."""
    ttl_attribute: str = ""
    billing: Billing = Billing.ON_DEMAND
    """How the table is paid for; predicted prices are those of on-demand."""
    operations: tuple[Operation, ...] = ()
    decisions: tuple[Choice, ...] = ()

    def slot(self, name: str) -> Slot | None:
        return next((s for s in self.slots if s.name == name), None)

    def item(self, entity: str, copy: str = "") -> Item | None:
        return next((i for i in self.items if i.entity == entity and i.copy == copy), None)

    def operation(self, pattern: str) -> Operation | None:
        return next((o for o in self.operations if o.pattern == pattern), None)

    @property
    def indexes(self) -> tuple[Slot, ...]:
        return tuple(s for s in self.slots if s.name != TABLE)

    @property
    def copies(self) -> tuple[Item, ...]:
        return tuple(i for i in self.items if i.copy)
