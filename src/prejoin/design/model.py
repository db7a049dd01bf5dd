"""The design of one table for a workload, as frozen data. Documents, code, proof and bill all derive from it.

Shards and time buckets are part of key templates, `{orderId:shard(8)}` and `{placedAt:day}`, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

import msgspec

from prejoin.keys.planner.placeholders import SortCondition
from prejoin.keys.template.template import fields_of
from prejoin.workload.model import Absence, ChangeOp, Input, Model, Test, Value

TABLE = "table"
"""The slot of the table itself; the others are its indexes."""


class KeyAttribute(Model, frozen=True):
    """A physical attribute in a key."""

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
    """The table or a secondary index, with its own key. A key has one attribute, in an index up to four."""

    name: str
    pk: tuple[KeyAttribute, ...]
    sk: tuple[KeyAttribute, ...] = ()
    projection: Projection = Projection()
    purpose: str = ""
    local: bool = False
    """Whether this is a local secondary index: the table's partitions in another order. The designer makes global
    ones.
    """

    @property
    def key_attributes(self) -> tuple[KeyAttribute, ...]:
        """The attributes of the partition key, then those of the sort key."""
        return (*self.pk, *self.sk)

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple([attribute.name for attribute in self.key_attributes])


class When(Model, frozen=True):
    """A condition for an item to be in a sparse facet: the attribute exists, has one of some values, or is absent."""

    attribute: str
    values: tuple[str, ...] = ()
    absent: bool = False

    def __str__(self) -> str:
        if self.absent:
            return f"{self.attribute} is absent"
        return f"{self.attribute} is {' or '.join(self.values) or 'there'}"


class ItemName(Model, frozen=True):
    """The name of an item: an entity's own item, a copy of it, a guard, a sharded counter, or an item of a construct.

    >>> [str(ItemName.parse(text)) for text in ("Order", "Order/lookup", "User!tenantId+email", "Page~views+likes")]
    ['Order', 'Order/lookup', 'User!tenantId+email', 'Page~views+likes']
    >>> ItemName.parse("Article@history").construct
    'history'
    >>> str(ItemName("Document", content="body"))
    'Document.body'
    >>> ItemName.parse("User!tenantId+email").guard
    ('tenantId', 'email')
    """

    entity: str
    copy: str = ""
    guard: tuple[str, ...] = ()
    """The attributes that the guard makes unique."""
    counter: tuple[str, ...] = ()
    """The numbers whose shards these are."""
    construct: str = ""
    """The construct whose item it is: `history` of an earlier version."""
    content: str = ""
    """The attribute whose content it is a part of. No action names one."""

    @property
    def is_own(self) -> bool:
        """Whether it is the entity's own item."""
        return not (self.copy or self.guard or self.counter or self.construct or self.content)

    @classmethod
    @lru_cache(maxsize=4096)  # the solver prices thousands of designs of the same few items
    def parse(cls, text: str) -> ItemName:
        own, _, construct = text.partition("@")
        rest, _, counter = own.partition("~")
        owner, _, guard = rest.partition("!")
        entity, _, copy = owner.partition("/")
        guarded, counted = (tuple(names.split("+")) if names else () for names in (guard, counter))
        return cls(entity, copy, guarded, counted, construct)

    @property
    def apart(self) -> bool:
        """Whether it is in a partition of its own, which no other item is in: a guard, a shard, or of a construct."""
        return bool(self.guard or self.counter or self.construct)

    def __str__(self) -> str:
        if self.construct:
            return f"{self.entity}@{self.construct}"
        if self.content:
            return f"{self.entity}.{self.content}"
        owner = f"{self.entity}/{self.copy}" if self.copy else self.entity
        owner = f"{owner}!{'+'.join(self.guard)}" if self.guard else owner
        return f"{owner}~{'+'.join(self.counter)}" if self.counter else owner


class Facet(Model, frozen=True):
    """The key of an item in a slot: a template for each attribute of the slot's key."""

    slot: str
    pk: tuple[str, ...]
    sk: tuple[str, ...] = ()
    when: tuple[When, ...] = ()
    """The conditions for an item to be here, all of them; empty if every item is."""
    write_only: bool = False
    """Whether writes keep it and no read uses it: for the time between two designs."""

    @property
    def templates(self) -> tuple[str, ...]:
        """The templates of the partition key, then those of the sort key, in the order of `Slot.key_attributes`."""
        return (*self.pk, *self.sk)

    @property
    def fields(self) -> frozenset[str]:
        """The attributes of the item in its key."""
        return frozenset([name for text in self.templates for name in fields_of(text)])


class NextAttribute(Model, frozen=True):
    """What the next design requires of an attribute, for the time between two designs."""

    name: str
    required: bool = False
    """Whether each write writes it. The default of the attribute, if it has one, is written instead of None."""
    values: tuple[str, ...] = ()
    """The members of an enum that may still be written; empty for all."""


class MirroredAttribute(Model, frozen=True):
    """An attribute that is written with the value of another, because one is the new name of the other."""

    source: str
    target: str


class ReadMember(Model, frozen=True):
    """A word of an enum that is read as a member of it, because one is the new name of the other."""

    attribute: str
    word: str
    member: str


class Item(Model, frozen=True):
    """An item type: an entity's own item, or a copy of it under another key."""

    entity: str
    tag: str
    """The value of the type attribute."""
    facets: tuple[Facet, ...]
    """The first one is in the table."""
    copy: str = ""
    """The name of the copy; empty for the entity's own item."""
    attributes: tuple[str, ...] = ()
    """The attributes of the copy; empty for all."""
    known: tuple[str, ...] = ()
    """The attributes that the entity had when the design was written; empty if not recorded. Not for copies."""
    whole: bool = False
    """Whether each write puts the whole copy, because some items may lack it: for the time between two designs."""
    change: str = ""
    """The id of the change between two designs, if the copy is the item of the entity under its other key."""
    next_attributes: tuple[NextAttribute, ...] = ()
    """What the next design requires of attributes, for the time between two designs. Not for copies."""
    mirrored: tuple[MirroredAttribute, ...] = ()
    """Attributes with two names, for the time between two designs. Not for copies."""
    unique: tuple[tuple[str, ...], ...] = ()
    """Unique values that have guards of the copy, too: if `change` is set."""
    has_history: bool = False
    """Whether the copy has versions of its own, too: if `change` is set."""
    read_members: tuple[ReadMember, ...] = ()
    """Members of enums with two names, for the time between two designs. Not for copies."""

    @property
    def item_name(self) -> ItemName:
        return ItemName(self.entity, self.copy)

    @property
    def name(self) -> str:
        """`Order`, or `Order/lookup` for a copy."""
        return str(self.item_name)

    def facet(self, slot: str) -> Facet | None:
        return next((f for f in self.facets if f.slot == slot), None)


class Guard(Model, frozen=True):
    """An item whose key makes a value unique. It is written in the same transaction as the item with the value.

    Its key follows from the entity's tag and the attributes, in the same way in all tables (`keys.guard`).
    """

    entity: str
    attributes: tuple[str, ...]

    @property
    def item_name(self) -> ItemName:
        return ItemName(self.entity, guard=self.attributes)

    @property
    def name(self) -> str:
        """`User!email`."""
        return str(self.item_name)


class Counter(Model, frozen=True):
    """Numbers of an entity that are added to in one of several items, its shards, and summed when they are read.

    The key of a shard follows from the entity's key, in the same way in all tables (`keys.counter`).
    """

    entity: str
    attributes: tuple[str, ...]
    shards: int

    @property
    def item_name(self) -> ItemName:
        return ItemName(self.entity, counter=self.attributes)

    @property
    def name(self) -> str:
        """`Page~views`."""
        return str(self.item_name)


class ContentStore(Model, frozen=True):
    """A large content that is in an object store. Others are in parts beside their items."""

    entity: str
    attribute: str

    @property
    def name(self) -> str:
        """`Document.body`."""
        return f"{self.entity}.{self.attribute}"


# --- What each access pattern becomes -------------------------------------------------------------------------------


class Call(StrEnum):
    """An operation of the DynamoDB API."""

    GET = "GetItem"
    QUERY = "Query"
    BATCH_GET = "BatchGetItem"
    PUT = "PutItem"
    UPDATE = "UpdateItem"
    DELETE = "DeleteItem"
    BATCH_WRITE = "BatchWriteItem"
    TRANSACT_WRITE = "TransactWriteItems"
    TRANSACT_GET = "TransactGetItems"

    @property
    def is_read(self) -> bool:
        return self in (Call.GET, Call.QUERY, Call.BATCH_GET, Call.TRANSACT_GET)


class Did(StrEnum):
    PUT = "Put"
    UPDATE = "Update"
    DELETE = "Delete"
    CHECK = "ConditionCheck"


class ItemChange(Model, frozen=True):
    """The change of one attribute of an item, as DynamoDB is asked for it."""

    attribute: str
    op: ChangeOp = ChangeOp.SET
    value: Value | None = None
    """The new value, the amount or the members; None for a removal and for keys of indexes."""
    template: str = ""
    """The new key, if the attribute is a key of an index: `STATUS#{status}`."""
    is_optional: bool = False
    """Whether the caller may leave the value out, and the attribute then stays as it is."""
    is_set: bool = False
    """Whether members are appended to a set, and not to a list."""
    is_from_zero: bool = False
    """Whether an absent number counts as 0, and an absent list as empty."""
    is_removable: bool = False
    """Whether the attribute is removed instead, if the value is absent or the item is not in the index."""


class ItemAction(Model, frozen=True):
    """The effect of a write on one item."""

    action: Did
    item: ItemName
    pk: str
    sk: str = ""
    many: bool = False
    changes: tuple[ItemChange, ...] = ()
    conditions: tuple[Test, ...] = ()
    """Those that DynamoDB checks, all of which have to be true."""
    compared: tuple[Test, ...] = ()
    """Conditions on a new item, which its object has to fulfil before anything is sent."""
    known: tuple[str, ...] = ()
    """Attributes beside the key whose stored values have to be those that the caller knows, or that were found."""
    unchanged: tuple[str, ...] = ()
    """Attributes whose stored values have to be those that were read before, because keys or copies depend on them."""
    is_read: bool = False
    """Whether its item was read before, consistently. It must still exist then."""

    @property
    def changed(self) -> frozenset[str]:
        """The attributes that it changes, keys of indexes included."""
        return frozenset(change.attribute for change in self.changes)

    @property
    def requires_absence(self) -> bool:
        """Whether it is refused if the item exists."""
        return any(isinstance(test, Absence) and not test.attribute for test in self.conditions)


InputGroup = tuple[Input, ...]
"""Inputs of a read of which one is enough: `status = OPEN or priority = HIGH`; usually there is only one."""


class Request(Model, frozen=True):
    """One request to DynamoDB, with placeholders for values."""

    call: Call
    slot: str = TABLE
    entities: tuple[str, ...] = ()
    pk: str = ""
    sk: SortCondition | None = None
    """The condition on the sort key; None for the whole partition."""
    shards: int = 1
    """The number of such requests in parallel, one for each shard."""
    bucket: str = ""
    """One such request for each of these units of time."""
    reverse: bool = False
    limit: int | None = None
    consistent: bool = False
    count: bool = False
    filters: tuple[InputGroup, ...] = ()
    """Conditions on the items read, all of which have to be true. Of each group one input is enough."""
    compared: tuple[str, ...] = ()
    """The inputs among them that the single item under a key is compared with. Nothing more is read for these, so the
    key answers them.
    """
    attributes: tuple[str, ...] = ()
    actions: tuple[ItemAction, ...] = ()
    each: str = ""
    """One such request for each value of this attribute, of a list input or of the items found before."""
    copies: tuple[ItemName, ...] = ()
    """The copies among the items read: `Order/lookup`."""
    counter: ItemName | None = None
    """The sharded counter whose shards it reads, to sum them: `Page~views`."""

    @property
    def tested_inputs(self) -> tuple[Input, ...]:
        """The inputs that its items are tested with, by filters or afterwards."""
        return tuple(condition for group in self.filters for condition in group)

    @property
    def filtered(self) -> frozenset[str]:
        """The attributes that the filters test."""
        return frozenset(condition.attribute.rpartition(".")[2] for condition in self.tested_inputs)

    def is_key(self, condition: Input) -> bool:
        """Whether an input is answered by the key, or compared with the single item under it."""
        return condition.attribute in self.compared or condition not in self.tested_inputs

    def copy_of(self, entity: str) -> str:
        """The name of the copy that it reads instead of an entity's own items; empty if it reads those."""
        return next((item.copy for item in self.copies if item.entity == entity), "")


class Units(Model, frozen=True):
    read: float = 0
    write: float = 0


class Operation(Model, frozen=True):
    """The requests of a pattern. A pattern that no key serves has a problem instead."""

    pattern: str
    requests: tuple[Request, ...] = ()
    problem: str = ""
    remedy: str = ""
    units: Units | None = None
    """Predicted units of one call."""
    assumes: tuple[str, ...] = ()
    """Values that the caller must know beyond the inputs in the document."""
    requires: tuple[Test, ...] = ()
    """Conditions on inputs, which are checked before anything is sent: `n > 0`."""

    @property
    def served(self) -> bool:
        return not self.problem

    @property
    def actions(self) -> tuple[ItemAction, ...]:
        """Its writes of items, of all requests."""
        return tuple([action for request in self.requests for action in request.actions])

    @property
    def finds(self) -> tuple[Request, ...]:
        """The reads by which a write finds its items, if it is not given their key."""
        return tuple(r for r in self.requests if r.call is Call.QUERY or (r.call is Call.GET and not r.consistent))

    @property
    def found_first(self) -> frozenset[str]:
        """The entities whose items a write finds by another key."""
        return frozenset(name for request in self.finds for name in request.entities)

    @property
    def read_first(self) -> frozenset[str]:
        """The entities whose items a write first reads by their own key, consistently."""
        reads = [r for r in self.requests if r.call is Call.GET and r.consistent]
        return frozenset(name for request in reads for name in request.entities)


class Choice(Model, frozen=True):
    """A decision of the design, its reason and the alternatives."""

    about: str
    text: str
    alternatives: tuple[str, ...] = ()


class Billing(StrEnum):
    ON_DEMAND = "PAY_PER_REQUEST"
    PROVISIONED = "PROVISIONED"


class Design(Model, frozen=True):
    table: str
    """The name of the table."""
    slots: tuple[Slot, ...] = ()
    """The table first."""
    items: tuple[Item, ...] = ()
    guards: tuple[Guard, ...] = ()
    counters: tuple[Counter, ...] = ()
    stores: tuple[ContentStore, ...] = ()
    type_attribute: str = "entityType"
    separator: str = "#"
    raw_keys: bool = False
    """Whether keys hold values without escaping, as in a table filled by other software."""
    ttl_attribute: str = ""
    billing: Billing = Billing.ON_DEMAND
    """The capacity mode. Predicted prices are for on-demand."""
    operations: tuple[Operation, ...] = ()
    decisions: tuple[Choice, ...] = ()

    def slot(self, name: str) -> Slot | None:
        return next((s for s in self.slots if s.name == name), None)

    def item(self, entity: str, copy: str = "") -> Item | None:
        return next((i for i in self.items if i.entity == entity and i.copy == copy), None)

    def counter(self, entity: str) -> Counter | None:
        return next((c for c in self.counters if c.entity == entity), None)

    def in_store(self, entity: str, attribute: str) -> bool:
        """Whether a large content is in an object store, and not in parts in the table."""
        return ContentStore(entity, attribute) in self.stores

    def operation(self, pattern: str) -> Operation | None:
        return next((o for o in self.operations if o.pattern == pattern), None)

    @property
    def partition_key(self) -> str:
        """The name of the table's partition key; empty in a design that does not say it."""
        base = self.slot(TABLE)
        return base.pk[0].name if base and base.pk else ""

    @property
    def table_keys(self) -> tuple[str, ...]:
        """The names of the table's key attributes; empty in a design that does not say them."""
        base = self.slot(TABLE)
        return base.key_names if base else ()

    @property
    def indexes(self) -> tuple[Slot, ...]:
        return tuple(s for s in self.slots if s.name != TABLE)

    @property
    def copies(self) -> tuple[Item, ...]:
        return tuple(i for i in self.items if i.copy)

    @property
    def structures(self) -> int:
        """The number of its indexes and copies."""
        return len(self.indexes) + len(self.copies)

    def structure_counts(self) -> dict[str, int]:
        """The number of its structures beside the table, by their kind in words: `{"index": 2, "copy": 0, …}`."""
        return {
            "index": len(self.indexes),
            "copy": len(self.copies),
            "guard": len(self.guards),
            "sharded counter": len(self.counters),
            "object store": 1 if self.stores else 0,  # all contents share one
        }

    @property
    def unserved(self) -> frozenset[str]:
        """The patterns that no key serves."""
        return frozenset(operation.pattern for operation in self.operations if not operation.served)


def design_with_names(design: Design, names: Mapping[str, str]) -> Design:
    """A design with other names of its entities. Keys and types of its items stay."""
    if not names:
        return design

    def name(entity: str) -> str:
        return names.get(entity, entity)

    return msgspec.structs.replace(
        design,
        items=tuple(msgspec.structs.replace(item, entity=name(item.entity)) for item in design.items),
        guards=tuple(msgspec.structs.replace(guard, entity=name(guard.entity)) for guard in design.guards),
        counters=tuple(msgspec.structs.replace(one, entity=name(one.entity)) for one in design.counters),
        stores=tuple(msgspec.structs.replace(store, entity=name(store.entity)) for store in design.stores),
        operations=tuple(_operation_with_names(operation, names) for operation in design.operations),
    )


def _operation_with_names(operation: Operation, names: Mapping[str, str]) -> Operation:
    def name_of(entity: str) -> str:
        return names.get(entity, entity)

    def item_name(item: ItemName) -> ItemName:
        return msgspec.structs.replace(item, entity=name_of(item.entity))

    requests = [
        msgspec.structs.replace(
            request,
            entities=tuple(map(name_of, request.entities)),
            copies=tuple(map(item_name, request.copies)),
            counter=item_name(request.counter) if request.counter else None,
            actions=tuple(msgspec.structs.replace(one, item=item_name(one.item)) for one in request.actions),
        )
        for request in operation.requests
    ]
    return msgspec.structs.replace(operation, requests=tuple(requests))
