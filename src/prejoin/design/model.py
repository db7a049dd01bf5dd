"""The design of one table for a workload, as frozen data. Documents, code, proof and bill all derive from it.

Shards and time buckets are part of key templates, `{orderId:shard(8)}` and `{placedAt:day}`, and of nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile

import msgspec

from prejoin.workload.model import Model, Op

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


class When(Model, frozen=True):
    """A condition for an item to be in a sparse facet: the attribute exists, has one of some values, or is absent."""

    attribute: str
    values: tuple[str, ...] = ()
    absent: bool = False

    def __str__(self) -> str:
        if self.absent:
            return f"{self.attribute} is absent"
        return f"{self.attribute} is {' or '.join(self.values) or 'there'}"


_HISTORY = "@history"


class ItemName(Model, frozen=True):
    """The name of an item: an entity's own item, a copy of it, a guard, a sharded counter, or an earlier version.

    >>> [str(ItemName.parse(text)) for text in ("Order", "Order/lookup", "User!tenantId+email", "Page~views+likes")]
    ['Order', 'Order/lookup', 'User!tenantId+email', 'Page~views+likes']
    >>> ItemName.parse("Article@history")
    ItemName(entity='Article', copy='', guard=(), counter=(), history=True)
    >>> ItemName.parse("User!tenantId+email").guard
    ('tenantId', 'email')
    """

    entity: str
    copy: str = ""
    guard: tuple[str, ...] = ()
    """The attributes that the guard makes unique."""
    counter: tuple[str, ...] = ()
    """The numbers whose shards these are."""
    history: bool = False
    """Whether it is an earlier version of the entity's item."""

    @classmethod
    @lru_cache(maxsize=4096)  # the solver prices thousands of designs of the same few items
    def parse(cls, text: str) -> ItemName:
        own = text.removesuffix(_HISTORY)
        rest, _, counter = own.partition("~")
        owner, _, guard = rest.partition("!")
        entity, _, copy = owner.partition("/")
        guarded, counted = (tuple(names.split("+")) if names else () for names in (guard, counter))
        return cls(entity, copy, guarded, counted, own != text)

    @property
    def apart(self) -> bool:
        """Whether it is in a partition of its own, which no other item is in: a guard, a shard or a version."""
        return bool(self.guard or self.counter or self.history)

    def __str__(self) -> str:
        if self.history:
            return f"{self.entity}{_HISTORY}"
        owner = f"{self.entity}/{self.copy}" if self.copy else self.entity
        owner = f"{owner}!{'+'.join(self.guard)}" if self.guard else owner
        return f"{owner}~{'+'.join(self.counter)}" if self.counter else owner


_PLACEHOLDER = re.compile(r"\{([^}]*)\}")


class SortCondition(Model, frozen=True):
    """A condition on a sort key: an operator and one or two templates.

    >>> SortCondition.parse("between A#{id}#DROP and A#{id}#VARIANT").high
    'A#{id}#VARIANT'
    >>> SortCondition.parse("between THIS and THAT#{dueOn}").low
    'THIS and THAT#{dueOn}'
    """

    op: str
    low: str
    high: str = ""

    @classmethod
    def parse(cls, text: str) -> SortCondition:
        """Reads a condition. ` and ` may also be in the text of a key.

        Two ends have the same attributes: they are in the part of the key before the texts that differ. One template
        stands for both ends where the caller gives two values of its last attribute.
        """
        op, _, rest = text.partition(" ")
        words = rest.split(" and ") if op == "between" else [rest]
        ends = [(" and ".join(words[:at]), " and ".join(words[at:])) for at in range(1, len(words))]
        ends = [(low, high) for low, high in ends if _PLACEHOLDER.findall(low) == _PLACEHOLDER.findall(high)]
        if not ends:
            return cls(op, rest)
        low, high = max(ends, key=lambda end: _shared_start(*end))
        return cls(op, low, high)


def _shared_start(low: str, high: str) -> int:
    """The number of characters with which both texts begin."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))))


class UpdateClause(Model, frozen=True):
    """One clause of an update, as an operation has it in its `changes`.

    >>> UpdateClause.parse("SET status = {status}")
    (UpdateClause(action='SET', attribute='status', value='{status}'),)
    >>> [one.attribute for one in UpdateClause.parse("SET gsi1pk = {a}, gsi1sk = {b}")]
    ['gsi1pk', 'gsi1sk']
    """

    action: str
    """`SET`, `ADD`, `REMOVE` or `DELETE`."""
    attribute: str
    value: str = ""

    @classmethod
    def parse(cls, text: str) -> tuple[UpdateClause, ...]:
        action, _, rest = text.strip().partition(" ")
        if action == "SET":
            parts = [part.partition("=") for part in re.split(r",\s*+(?=[\w-]++\s*+=)", rest)]
        elif action == "REMOVE":
            parts = [(part, "", "") for part in rest.split(",")]
        else:
            parts = [rest.rpartition(" ")]
        return tuple(cls(action, attribute.strip(), value.strip()) for attribute, _, value in parts)

    def __str__(self) -> str:
        return f"{self.action} {self.attribute}{' = ' if self.action == 'SET' else ' '}{self.value}".rstrip()

    @property
    def needs_value(self) -> bool:
        """Whether it fails on an item without the attribute: `SET views = views + 1`."""
        own = re.escape(self.attribute)
        found = re.match(rf"{own}\s*+[+-]|list_append\(\s*+{own}\s*+,", self.value)
        return self.action == "SET" and found is not None


class ItemCondition(Model, frozen=True):
    """One condition on an item, as an operation has it in its `conditions` and `filters`.

    >>> condition = ItemCondition.parse("total >= {total}")
    >>> condition.attribute, condition.op, condition.value
    ('total', '>=', '{total}')
    >>> ItemCondition.parse("attribute_not_exists(pk)").op, ItemCondition.parse("note exists").op
    ('not exists', 'exists')
    >>> ItemCondition.parse("attribute_not_exists(pk) or spent <= {limit}").or_absent  # of an upsert
    True
    """

    attribute: str
    op: str
    """As in documents of access patterns."""
    value: str = ""
    or_absent: bool = False
    """Whether an item that does not exist fulfils it, too."""

    @classmethod
    def parse(cls, text: str) -> ItemCondition:
        if found := _OR_ABSENT.match(text.strip()):
            return msgspec.structs.replace(cls.parse(text.strip()[found.end() :]), or_absent=True)
        text = text.strip()
        if text.startswith(("(", "not (")):
            return cls(text, "")  # one with parts says nothing for sure of any attribute
        if found := re.fullmatch(r"attribute_(not_)?exists\(([^()]+)\)", text):
            return cls(found[2].strip(), "not exists" if found[1] else "exists")
        found = _CONDITION.fullmatch(text)
        return cls(found[1], found[2], found[3] or "") if found else cls(text, "")


_OPERATORS = "|".join(re.escape(op.value) for op in sorted(Op, key=len, reverse=True))
_OR_ABSENT = re.compile(r"attribute_not_exists\([^()]+\) or ")
_CONDITION = re.compile(rf"(.+?)(?<!\s)\s++({_OPERATORS})(?:\s++(.*))?", re.DOTALL)


class Facet(Model, frozen=True):
    """The key of an item in a slot: a template for each attribute of the slot's key."""

    slot: str
    pk: tuple[str, ...]
    sk: tuple[str, ...] = ()
    when: tuple[When, ...] = ()
    """The conditions for an item to be here, all of them; empty if every item is."""
    write_only: bool = False
    """Whether writes keep it and no read uses it: for the time between two designs."""


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
    def name(self) -> str:
        """`Order`, or `Order/lookup` for a copy."""
        return str(ItemName(self.entity, self.copy))

    def facet(self, slot: str) -> Facet | None:
        return next((f for f in self.facets if f.slot == slot), None)


class Guard(Model, frozen=True):
    """An item whose key makes a value unique. It is written in the same transaction as the item with the value.

    Its key follows from the entity's tag and the attributes, in the same way in all tables (`keys.guard`).
    """

    entity: str
    attributes: tuple[str, ...]

    @property
    def name(self) -> str:
        """`User!email`."""
        return str(ItemName(self.entity, guard=self.attributes))


class Counter(Model, frozen=True):
    """Numbers of an entity that are added to in one of several items, its shards, and summed when they are read.

    The key of a shard follows from the entity's key, in the same way in all tables (`keys.counter`).
    """

    entity: str
    attributes: tuple[str, ...]
    shards: int

    @property
    def name(self) -> str:
        """`Page~views`."""
        return str(ItemName(self.entity, counter=self.attributes))


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


class Did(StrEnum):
    PUT = "Put"
    UPDATE = "Update"
    DELETE = "Delete"
    CHECK = "ConditionCheck"


class ItemAction(Model, frozen=True):
    """The effect of a write on one item."""

    action: Did
    item: str
    """The entity; for a copy `Order/lookup`, for a guard `User!email`, for a sharded counter `Page~views`, for an
    earlier version `Article@history`.
    """
    pk: str
    sk: str = ""
    many: bool = False
    changes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    """Those that DynamoDB checks."""
    compared: tuple[str, ...] = ()
    """Conditions on a new item, which its object has to fulfil before anything is sent."""

    @property
    def target(self) -> ItemName:
        """The name of the item, parsed."""
        return ItemName.parse(self.item)

    @property
    def clauses(self) -> tuple[UpdateClause, ...]:
        """The changes, parsed."""
        return tuple(clause for text in self.changes for clause in UpdateClause.parse(text))

    @property
    def tests(self) -> tuple[ItemCondition, ...]:
        """The conditions, parsed."""
        return tuple(map(ItemCondition.parse, self.conditions))


class Request(Model, frozen=True):
    """One request to DynamoDB, with placeholders for values."""

    call: Call
    slot: str = TABLE
    entities: tuple[str, ...] = ()
    pk: str = ""
    sk: str = ""
    """The sort key condition, such as `begins_with ORDER#`; empty for the whole partition."""
    shards: int = 1
    """The number of such requests in parallel, one for each shard."""
    bucket: str = ""
    """One such request for each of these units of time."""
    reverse: bool = False
    limit: int | None = None
    consistent: bool = False
    count: bool = False
    filters: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    actions: tuple[ItemAction, ...] = ()
    each: str = ""
    """One such request for each value of this attribute, of a list input or of the items found before."""
    copies: tuple[str, ...] = ()
    """The copies among the items read: `Order/lookup`."""
    counter: str = ""
    """The sharded counter whose shards it reads, to sum them: `Page~views`."""

    @property
    def sort_condition(self) -> SortCondition | None:
        """The condition on the sort key, parsed; None for the whole partition."""
        return SortCondition.parse(self.sk) if self.sk else None

    @property
    def filtered(self) -> frozenset[str]:
        """The attributes that the filters test."""
        return frozenset(ItemCondition.parse(text).attribute for text in self.filters)


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
    requires: tuple[str, ...] = ()
    """Conditions on inputs, which are checked before anything is sent: `n > 0`."""

    @property
    def served(self) -> bool:
        return not self.problem

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
    def indexes(self) -> tuple[Slot, ...]:
        return tuple(s for s in self.slots if s.name != TABLE)

    @property
    def copies(self) -> tuple[Item, ...]:
        return tuple(i for i in self.items if i.copy)


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
    def item_name(text: str) -> str:
        """`User!email` with another name of the entity."""
        parsed = ItemName.parse(text)
        return str(msgspec.structs.replace(parsed, entity=names.get(parsed.entity, parsed.entity)))

    requests = [
        msgspec.structs.replace(
            request,
            entities=tuple(names.get(name, name) for name in request.entities),
            copies=tuple(map(item_name, request.copies)),
            counter=item_name(request.counter) if request.counter else "",
            actions=tuple(msgspec.structs.replace(one, item=item_name(one.item)) for one in request.actions),
        )
        for request in operation.requests
    ]
    return msgspec.structs.replace(operation, requests=tuple(requests))
