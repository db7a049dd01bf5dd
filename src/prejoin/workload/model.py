"""The workload of an application, as frozen data: entities, access patterns, decisions and context.

`None` means "not said". The code that reads a workload states its own assumption.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, assert_never

import msgspec

from prejoin.types import STRING, Type


class Model(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """The base of all parts of a workload and a design."""


class AttributeName(NamedTuple):
    """The name of an attribute with its entity: `User.name`. Without a dot it is an entity, or an attribute alone."""

    entity: str
    attribute: str

    @classmethod
    def parse(cls, text: str) -> AttributeName:
        """
        >>> AttributeName.parse("User.name"), AttributeName.parse("User")
        (AttributeName(entity='User', attribute='name'), AttributeName(entity='User', attribute=''))
        """
        entity, _, attribute = text.partition(".")
        return cls(entity, attribute)

    def __str__(self) -> str:
        return f"{self.entity}.{self.attribute}" if self.attribute else self.entity


# --- What is stored -------------------------------------------------------------------------------------------------


class Follows(Model, frozen=True):
    """`follows User.name via authorId within 10 seconds`: the source of an attribute that is kept equal to it."""

    source: str
    """The attribute of another entity, `User.name`."""
    via: str = ""
    """The attribute that holds the id of the other item, if there are several."""
    within: int | None = None
    """Seconds after which a change of the source has arrived, by a stream; None if the application refreshes it."""


class Attribute(Model, frozen=True):
    name: str
    type: Type = STRING
    id: bool = False
    """Whether it is part of the id."""
    generated: bool | None = None
    """Whether the application generates it, so that it never repeats; False for a natural id, which two writers may
    choose.
    """
    optional: bool = False
    mutable: bool | None = None
    """None is not False: an attribute that is not marked mutable may still change."""
    unique: bool = False
    ttl: bool = False
    references: str = ""
    """The entity whose id it holds: `User`, or `User.userId` if that entity has several."""
    copy_of: str = ""
    """The attribute of another entity that it repeats, `Session.serverId`. Some write must keep it current."""
    snapshot_of: str = ""
    """The attribute of another entity whose value it records at one time, such as a price. Never updated."""
    size: int | None = None
    """Bytes of a typical value."""
    text: str = ""
    default: str | None = None
    """The value for items that were written without the attribute, as text."""
    min: int | None = None
    """The smallest allowed number; 0 if only `max` is given."""
    max: int | None = None
    """The largest allowed number. Sort keys pad it to as many digits."""
    references_or: tuple[str, ...] = ()
    """More entities whose id it may hold instead: `→ User | Organization`. Their ids are one kind of value."""
    follows: Follows | None = None
    """The attribute of another entity that it is kept equal to, by the client."""
    renamed_from: str = ""
    """Its name in the design before this one. `prejoin evolve` keeps the values."""
    renamed_members: tuple[tuple[str, str], ...] = ()
    """Members of the enum with their names in the design before this one: `PAID renamed from DONE`."""

    @property
    def repeats(self) -> tuple[str, ...]:
        """The attributes of other entities that it repeats: as a copy, as a snapshot, or because it follows them."""
        return tuple(filter(None, (self.copy_of, self.snapshot_of, self.follows.source if self.follows else "")))

    @property
    def referenced_entity(self) -> str:
        """The entity whose id it holds; empty if it is no reference."""
        return AttributeName.parse(self.references).entity

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """The smallest and the largest allowed number, None without a bound."""
        return (0 if self.min is None and self.max is not None else self.min), self.max


class RelationshipKind(StrEnum):
    ONE_TO_ONE = "1:1"
    ONE_TO_MANY = "1:N"
    MANY_TO_MANY = "N:N"
    HIERARCHY = "hierarchy"


class Relationship(Model, frozen=True):
    """`left` has one or many `right`. A hierarchy has the same entity on both sides."""

    left: str
    kind: RelationshipKind
    right: str
    via: tuple[str, ...] = ()
    """The attributes that hold the other side's id, or the entity between the two of an N:N."""
    role: str = ""
    text: str = ""


class Cardinality(Model, frozen=True):
    """The number of items, in total or for each item of another entity. No count means unbounded."""

    count: int | float | None = None
    """A fraction is an average: 1.5 policies per holder."""
    per: str = ""
    """An entity, or an attribute with the id of something outside; empty for the total."""
    low: int | None = None
    """The lower end of a span."""
    at_most: bool = False
    """Whether the count is a limit that the application enforces, not an estimate."""


class History(Model, frozen=True):
    """`20 versions, 90 days`: how many earlier versions of an item are kept, and for how long; None for all."""

    versions: int | None = None
    seconds: int | None = None


class SoftDelete(Model, frozen=True):
    """`deletedAt, kept 30 days`: a delete sets its time in an attribute instead of deleting the item."""

    attribute: str
    seconds: int | None = None
    """The seconds after which DynamoDB deletes the item; None if it stays."""
    releases: bool = False
    """Whether others may take its unique values."""


class Entity(Model, frozen=True, dict=True):
    name: str
    description: str = ""
    attributes: tuple[Attribute, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    cardinality: tuple[Cardinality, ...] = ()
    singleton: bool = False
    """Whether there is only one item, without an id."""
    size: int | None = None
    """Bytes of a typical item."""
    retention: int | None = None
    """Seconds that an item is kept before it expires or is deleted."""
    unique: tuple[tuple[str, ...], ...] = ()
    """Groups of attributes that are unique together."""
    history: History | None = None
    """How many earlier versions of an item are kept; None if it has no history."""
    soft_delete: SoftDelete | None = None
    """How a delete hides an item; None if it deletes it."""
    excludes: tuple[str, ...] = ()
    """Entities that never exist beside this one under the same parent."""
    owner: str = ""
    lifecycle: str = ""
    renamed_from: str = ""
    """Its name in the design before this one. `prejoin evolve` knows it as the same entity."""
    notes: str = ""
    verbatim: dict[str, str] = {}
    """Text under a label that could not be read exactly."""

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {a.name: a for a in reversed(self.attributes)}

    def attribute(self, name: str) -> Attribute | None:
        return self._by_name.get(name)

    @cached_property
    def id(self) -> tuple[Attribute, ...]:
        return tuple(a for a in self.attributes if a.id)

    @cached_property
    def id_names(self) -> tuple[str, ...]:
        """The names of the attributes of the id, in order."""
        return tuple(attribute.name for attribute in self.id)

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The types of the attributes by their names."""
        return {a.name: a.type for a in self.attributes}

    @cached_property
    def memo(self) -> dict[object, Any]:
        """Results of functions of this entity alone."""
        return {}


# --- What is asked --------------------------------------------------------------------------------------------------


class Op(StrEnum):
    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    BETWEEN = "between"
    BEGINS_WITH = "begins_with"
    IN = "in"
    CONTAINS = "contains"
    EXISTS = "exists"
    NOT_EXISTS = "not exists"

    @property
    def arity(self) -> int:
        """The number of values; IN takes one or more."""
        match self:
            case Op.EXISTS | Op.NOT_EXISTS:
                return 0
            case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.BEGINS_WITH | Op.CONTAINS | Op.IN:
                return 1
            case Op.BETWEEN:
                return 2
            case _:
                assert_never(self)

    @property
    def flipped(self) -> Op | None:
        """The operator with the sides exchanged: `a < b` is `b > a`. None if they cannot be exchanged."""
        match self:
            case Op.EQ | Op.NE:
                return self
            case Op.LT:
                return Op.GT
            case Op.LE:
                return Op.GE
            case Op.GT:
                return Op.LT
            case Op.GE:
                return Op.LE
            case Op.BETWEEN | Op.BEGINS_WITH | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
                return None
            case _:
                assert_never(self)

    @property
    def is_equality(self) -> bool:
        """Whether it compares with one value, or with each of a list."""
        match self:
            case Op.EQ | Op.IN:
                return True
            case Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.BETWEEN | Op.BEGINS_WITH | Op.CONTAINS:
                return False
            case Op.EXISTS | Op.NOT_EXISTS:
                return False
            case _:
                assert_never(self)

    @property
    def is_range(self) -> bool:
        """Whether it selects a part of an order, which a sort key can answer."""
        match self:
            case Op.LT | Op.LE | Op.GT | Op.GE | Op.BETWEEN | Op.BEGINS_WITH:
                return True
            case Op.EQ | Op.NE | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
                return False
            case _:
                assert_never(self)

    @property
    def is_relation(self) -> bool:
        """Whether it compares two values of one type, so that both may be attributes."""
        match self:
            case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE:
                return True
            case Op.BETWEEN | Op.BEGINS_WITH | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
                return False
            case _:
                assert_never(self)

    @property
    def tests_presence(self) -> bool:
        """Whether it only asks if there is a value."""
        return self.arity == 0


RANGES = frozenset(op for op in Op if op.is_range)
"""Operators that a sort key can answer."""


class Value(Model, frozen=True):
    """A constant (as text), an input, a time relative to now, or an attribute of the same item."""

    const: str | None = None
    param: str | None = None
    now: int | None = None
    """Seconds from now: -604800 is a week ago."""
    attribute: str | None = None
    """Another attribute of the item that is compared: `paid < total`."""


class Input(Model, frozen=True):
    """A condition on an attribute. Without values the caller gives them."""

    attribute: str
    op: Op = Op.EQ
    values: tuple[Value, ...] = ()
    optional: bool = False
    many: bool = False
    """Whether it is a list of values, each an equality: the items of ten ids."""
    filter: bool = False
    """Whether the author accepts that items are read and then discarded."""
    keeps: float | None = None
    """Per cent of the items that pass the condition."""
    either: bool = False
    """Whether this condition or the next input is enough: `status = OPEN or priority = HIGH`. Both are filters."""

    @property
    def constant(self) -> bool:
        return bool(self.values)


class Direction(StrEnum):
    ASC = "ASC"
    DESC = "DESC"


class Sort(Model, frozen=True):
    attribute: str
    direction: Direction = Direction.ASC


class Result(StrEnum):
    ONE = "Single"
    MANY = "Collection"
    COUNT = "Count"


class Consistency(StrEnum):
    EVENTUAL = "Eventual"
    STRONG = "Strong"
    TRANSACTIONAL = "Transactional"


class Combine(StrEnum):
    """How a read combines several entities."""

    COLLECTION = "Collection"
    """They share an id and are read together: a user and their orders."""
    JOIN = "Join"
    """The first refers to the second: followers, each with their profile."""


class Level(StrEnum):
    HOT = "Hot"
    WARM = "Warm"
    COLD = "Cold"


class Per(StrEnum):
    SECOND = "s"
    MINUTE = "min"
    HOUR = "h"
    DAY = "day"
    MONTH = "month"

    @property
    def seconds(self) -> int:
        match self:
            case Per.SECOND:
                return 1
            case Per.MINUTE:
                return 60
            case Per.HOUR:
                return 3600
            case Per.DAY:
                return 86_400
            case Per.MONTH:
                return 2_592_000
            case _:
                assert_never(self)


class Rate(Model, frozen=True):
    """A level, a figure, or a weight relative to the other patterns."""

    level: Level | None = None
    value: float | None = None
    per: Per = Per.SECOND
    peak: float | None = None
    """Calls a second at the peak."""
    weight: float | None = None
    hottest: float | None = None
    """Per cent of the calls for the busiest key."""
    hottest_of: str = ""
    """The attribute whose busiest value that is; empty for the partition, whatever it is made of."""


class PatternHead(Model, frozen=True, dict=True):
    """What reads and writes have in common."""

    id: str
    name: str = ""
    entities: tuple[str, ...] = ()
    """The entities of the column Entity."""
    description: str = ""
    inputs: tuple[Input, ...] = ()

    @cached_property
    def input_names(self) -> frozenset[str]:
        return frozenset(input_.attribute for input_ in self.inputs)

    @cached_property
    def list_inputs(self) -> frozenset[str]:
        """The names of the inputs that are lists of values."""
        return frozenset(input_.attribute for input_ in self.inputs if input_.many)


class Read(PatternHead, frozen=True):
    result: Result | None = None
    needs: tuple[str, ...] = ()
    """The wanted attributes; empty for all."""
    limit: int | None = None
    sort: tuple[Sort, ...] = ()
    paginated: bool | None = None
    page: int | None = None
    """Items on a page."""
    rate: Rate | None = None
    consistency: Consistency | None = None
    combine: Combine | None = None
    via: str = ""
    """The attribute that a join follows, if there are several."""
    verbatim: dict[str, str] = {}
    """Text in a column that could not be read exactly, or in a column of the author's own."""

    @property
    def entity_names(self) -> tuple[str, ...]:
        """All entities that the pattern is about."""
        return self.entities

    @property
    def is_consistent(self) -> bool:
        """Whether it has to see all earlier writes, which an index and a copy of an item do not promise."""
        match self.consistency:
            case Consistency.STRONG | Consistency.TRANSACTIONAL:
                return True
            case Consistency.EVENTUAL | None:
                return False
            case _:
                assert_never(self.consistency)


class Verb(StrEnum):
    CREATE = "create"
    """A new item; refused if it exists."""
    PUT = "put"
    """Created or replaced."""
    UPDATE = "update"
    """A change of an existing item; refused if there is none."""
    UPSERT = "upsert"
    """Updated, or created with what the update sets."""
    DELETE = "delete"
    EXPIRE = "expire"
    """Removed by DynamoDB after its TTL, without a request."""

    @property
    def is_new(self) -> bool:
        """Whether the caller gives whole items, which are created or replaced."""
        match self:
            case Verb.CREATE | Verb.PUT:
                return True
            case Verb.UPDATE | Verb.UPSERT | Verb.DELETE | Verb.EXPIRE:
                return False
            case _:
                assert_never(self)

    @property
    def may_create(self) -> bool:
        """Whether there may be one more item after it."""
        match self:
            case Verb.CREATE | Verb.PUT | Verb.UPSERT:
                return True
            case Verb.UPDATE | Verb.DELETE | Verb.EXPIRE:
                return False
            case _:
                assert_never(self)

    @property
    def removes(self) -> bool:
        """Whether there is no item after it."""
        match self:
            case Verb.DELETE | Verb.EXPIRE:
                return True
            case Verb.CREATE | Verb.PUT | Verb.UPDATE | Verb.UPSERT:
                return False
            case _:
                assert_never(self)


NEW = frozenset(verb for verb in Verb if verb.is_new)
"""Verbs with whole items as input."""


class ChangeOp(StrEnum):
    SET = "="
    ADD = "+="
    SUBTRACT = "-="
    REMOVE = "remove"
    APPEND = "append"


class Change(Model, frozen=True):
    """A change of one attribute. A set without a value takes the input of that name."""

    attribute: str
    op: ChangeOp = ChangeOp.SET
    value: Value | None = None
    optional: bool = False
    """Whether it is left out if the caller does not give the input of its name: `name?`."""

    @property
    def is_sum(self) -> bool:
        """Whether the new value depends on the old one: `stock -= quantity`."""
        match self.op:
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                return True
            case ChangeOp.SET | ChangeOp.REMOVE | ChangeOp.APPEND:
                return False
            case _:
                assert_never(self.op)

    @property
    def takes_own_input(self) -> bool:
        """Whether the caller gives the value as the input of the attribute's name: `status`, `append tags`."""
        match self.op:
            case ChangeOp.SET | ChangeOp.APPEND:
                return self.value is None
            case ChangeOp.ADD | ChangeOp.SUBTRACT | ChangeOp.REMOVE:
                return False
            case _:
                assert_never(self.op)

    @property
    def is_settled(self) -> bool:
        """Whether the new value does not depend on the old one."""
        match self.op:
            case ChangeOp.SET | ChangeOp.REMOVE:
                return True
            case ChangeOp.ADD | ChangeOp.SUBTRACT | ChangeOp.APPEND:
                return False
            case _:
                assert_never(self.op)


class Action(Model, frozen=True):
    verb: Verb
    entity: str
    many: bool = False
    """Whether it applies to several items, such as the lines of an order."""
    changes: tuple[Change, ...] = ()
    by: tuple[str, ...] = ()
    """The inputs that hold its id, if their names do not say so: the followed one of two users."""

    @property
    def is_new(self) -> bool:
        """Whether the caller gives whole items, which are created or replaced."""
        return self.verb.is_new

    @property
    def is_existing_list(self) -> bool:
        """Whether it is about several items that exist."""
        return self.many and not self.verb.is_new

    @property
    def updates(self) -> bool:
        """Whether it changes an item in part: an update, or an upsert."""
        match self.verb:
            case Verb.UPDATE | Verb.UPSERT:
                return True
            case Verb.CREATE | Verb.PUT | Verb.DELETE | Verb.EXPIRE:
                return False
            case _:
                assert_never(self.verb)


class ItemTest(Model, frozen=True, kw_only=True):
    """The base of conditions on one item, or on an attribute of it."""

    entity: str = ""
    """Empty for the pattern's first entity."""
    attribute: str = ""
    """Empty for the item as a whole."""
    implied: bool = False
    """Whether the document leaves the entity out."""
    by: str = ""
    """The input that holds the id of the item, `fromAccountId.balance >= amount`, if the write names several items of
    the entity; empty for each of them.
    """


class Presence(ItemTest, frozen=True, tag_field="kind", tag="exists"):
    """`User exists`, `note exists`: the item or the attribute is there."""


class Absence(ItemTest, frozen=True, tag_field="kind", tag="not exists"):
    """`Order not exists`, `usedAt not exists`: the item or the attribute is not there."""


class Comparison(ItemTest, frozen=True, kw_only=True, tag_field="kind", tag="compare"):
    """`stock >= quantity`: an attribute, or an input that is no attribute, compared with values."""

    op: Op
    values: tuple[Value, ...] = ()


class AnyOf(Model, frozen=True, tag_field="kind", tag="any"):
    """`status = FREE or heldUntil < now`: at least one part is true."""

    parts: tuple[Test, ...]


class AllOf(Model, frozen=True, tag_field="kind", tag="all"):
    """`status = HELD and heldUntil < now`, as a part of another condition: all parts are true."""

    parts: tuple[Test, ...]


class Negation(Model, frozen=True, tag_field="kind", tag="not"):
    """`not (status = SOLD)`: the part is false."""

    part: Test


class Uniqueness(Model, frozen=True, tag_field="kind", tag="unique"):
    """`email unique`: no other item of the entity has the value."""

    entity: str = ""
    attribute: str = ""


Leaf = Presence | Absence | Comparison
"""A condition without parts."""
Test = Leaf | AnyOf | AllOf | Negation
"""A condition that is true or false of one item, or of the inputs."""
Condition = Test | Uniqueness
"""A condition for a write."""


class Write(PatternHead, frozen=True):
    """A pattern that changes items; deletes are writes, too."""

    actions: tuple[Action, ...] = ()
    atomic: bool | None = None
    checks: tuple[Condition, ...] = ()
    """The conditions, all of which have to be true."""
    rate: Rate | None = None
    verbatim: dict[str, str] = {}

    @cached_property
    def entity_names(self) -> tuple[str, ...]:
        """All entities that the pattern is about: those of the column Entity, then those of the actions."""
        return tuple(dict.fromkeys((*self.entities, *(action.entity for action in self.actions))))

    @cached_property
    def created_names(self) -> frozenset[str]:
        """The entities of which it creates or replaces whole items."""
        return frozenset(action.entity for action in self.actions if action.is_new)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changes that the actions name."""
        return tuple(change for action in self.actions for change in action.changes)

    @property
    def first_entity(self) -> str:
        """The entity of conditions that name none."""
        return self.entity_names[0] if self.entity_names else ""


Pattern = Read | Write


# --- What is decided ------------------------------------------------------------------------------------------------


class Under(Model, frozen=True, tag_field="pin", tag="under"):
    """The entity belongs to its parent's item collection."""

    entity: str
    parent: str


class AtMost(Model, frozen=True, tag_field="pin", tag="at most"):
    what: str
    """`GSIs`, `copies`, `shards` or `structures`; `buckets` only with 0."""
    count: int


class Without(Model, frozen=True, tag_field="pin", tag="without"):
    what: str
    """`GSIs`, `copies`, `structures`, `shards` or `buckets`."""
    entity: str


class Spread(Model, frozen=True, tag_field="pin", tag="spread"):
    """The entity's partitions are split by time, or into a number of shards."""

    entity: str
    bucket: str = ""
    """`hour`, `day`, `month` or `year`."""
    shards: int = 0


class CounterShards(Model, frozen=True, tag_field="pin", tag="counter"):
    """A number of an entity is added to in one of several items, and summed when it is read."""

    entity: str
    attribute: str
    shards: int


class ContentPlace(Model, frozen=True, tag_field="pin", tag="content"):
    """Whether a large content is in an object store, or in parts in the table."""

    entity: str
    attribute: str
    store: bool


class FixedKey(Model, frozen=True, tag_field="pin", tag="key"):
    """A key in production, or a wanted one."""

    entity: str
    pk: str
    sk: str = ""
    index: str = ""


class Minimise(Model, frozen=True, tag_field="pin", tag="minimise"):
    what: str
    """`structures` or `money`."""


class IndexKeyForm(StrEnum):
    NATURAL = "natural"
    COMPOSITE = "composite"


class IndexKeys(Model, frozen=True, tag_field="pin", tag="index keys"):
    """The form of index keys: attributes as they are, wherever that is possible, or texts."""

    form: IndexKeyForm


class Accept(Model, frozen=True, tag_field="pin", tag="accept"):
    """A pattern may be answered with more than a single key lookup."""

    pattern: str
    how: str
    """`filter`, `several pages`, `second request` or `scan`."""


class OutOfScope(Model, frozen=True, tag_field="pin", tag="out of scope"):
    """Something other than this table answers the pattern."""

    pattern: str


class Unproven(Model, frozen=True, tag_field="pin", tag="unproven"):
    """The pattern is built even if the proof cannot run it. A wrong result is an error nevertheless."""

    pattern: str


class NamedPart(StrEnum):
    """What of a table has a name that a decision may give."""

    TABLE = "table"
    PARTITION_KEY = "partition key"
    SORT_KEY = "sort key"
    TYPE_ATTRIBUTE = "type attribute"
    SEPARATOR = "separator"

    @property
    def is_stored(self) -> bool:
        """Whether each item has an attribute of this name."""
        match self:
            case NamedPart.PARTITION_KEY | NamedPart.SORT_KEY | NamedPart.TYPE_ATTRIBUTE:
                return True
            case NamedPart.TABLE | NamedPart.SEPARATOR:
                return False
            case _:
                assert_never(self)


class Naming(Model, frozen=True, tag_field="pin", tag="name"):
    what: NamedPart
    name: str


class Need(StrEnum):
    """What a table has as a whole, so that entities with a need of their own want a table of their own."""

    RESTORE = "restore"
    STREAM = "stream"
    REPLICATION = "replication"
    AUTHORISATION = "authorisation"


class OwnTable(Model, frozen=True, tag_field="pin", tag="own table"):
    """Entities that need something of their own that only a whole table has."""

    entities: tuple[str, ...]
    needs: tuple[Need, ...]


Pin = (
    Under
    | AtMost
    | Without
    | Spread
    | CounterShards
    | ContentPlace
    | FixedKey
    | Minimise
    | IndexKeys
    | Accept
    | OutOfScope
    | Unproven
    | Naming
    | OwnTable
)


class Decision(Model, frozen=True):
    """A decision. The designer obeys its pin; without one it is a note."""

    pin: Pin | None = None
    text: str = ""


class ItemCollection(Model, frozen=True):
    """Entities that are fetched together, in the author's view."""

    name: str
    entities: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    text: str = ""
    verbatim: dict[str, str] = {}


class Stage(StrEnum):
    PROTOTYPE = "prototype"
    DEVELOPMENT = "development"
    PRODUCTION = "production"


class Experience(StrEnum):
    NONE = "none"
    SOME = "some"
    GOOD = "good"


class Stability(StrEnum):
    STABLE = "stable"
    EVOLVING = "evolving"
    UNKNOWN = "unknown"


class Tenant(Model, frozen=True):
    """The tenants: customers that share the table and never see each other's items."""

    attribute: str
    """Part of the id of every entity that is not exempt."""
    entity: str = ""
    """The entity whose id it is."""
    exempt: tuple[str, ...] = ()
    """Entities without a tenant."""


class Context(Model, frozen=True):
    """Facts that decide whether a single table fits at all."""

    teams: int | None = None
    stage: Stage | None = None
    patterns: Stability | None = None
    analytics: float | None = None
    """Per cent of the queries that are analytical."""
    ad_hoc: bool | None = None
    graphql: bool | None = None
    experience: Experience | None = None
    tenant: Tenant | None = None
    verbatim: dict[str, str] = {}


class Status(StrEnum):
    DRAFT = "DRAFT"
    REVIEWED = "REVIEWED"
    APPROVED = "APPROVED"


class Section(Model, frozen=True):
    """A section of the author's own. `after` names the section before it, empty for the start."""

    title: str
    text: str = ""
    after: str = ""
    level: int = 2


class Workload(Model, frozen=True, dict=True):
    title: str = ""
    status: Status | None = None
    overview: str = ""
    context: Context | None = None
    entities: tuple[Entity, ...] = ()
    reads: tuple[Read, ...] = ()
    writes: tuple[Write, ...] = ()
    deletes: tuple[Write, ...] = ()
    collections: tuple[ItemCollection, ...] = ()
    decisions: tuple[Decision, ...] = ()
    notes: str = ""
    header: dict[str, str] = {}
    """Further header lines, `Generated on: …`."""
    prose: dict[str, str] = {}
    """Text between the parts of a known section, by section name."""
    sections: tuple[Section, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, Entity]:
        return {e.name: e for e in reversed(self.entities)}

    @cached_property
    def _by_id(self) -> dict[str, Pattern]:
        return {p.id: p for p in reversed(self.patterns)}

    @cached_property
    def changing(self) -> tuple[Write, ...]:
        """The patterns that change items: the writes, then the deletes."""
        return (*self.writes, *self.deletes)

    @cached_property
    def _actions_by_entity(self) -> dict[str, tuple[tuple[Write, Action], ...]]:
        actions: dict[str, tuple[tuple[Write, Action], ...]] = {}
        for write in self.changing:
            for action in write.actions:
                actions[action.entity] = (*actions.get(action.entity, ()), (write, action))
        return actions

    def actions_on(self, entity: str) -> tuple[tuple[Write, Action], ...]:
        """The actions on items of an entity, each with its write."""
        return self._actions_by_entity.get(entity, ())

    @cached_property
    def pins(self) -> tuple[Pin, ...]:
        """The decisions that the designer obeys."""
        return tuple(decision.pin for decision in self.decisions if decision.pin is not None)

    @cached_property
    def out_of_scope(self) -> frozenset[str]:
        """The patterns that something other than the table answers."""
        return frozenset(pin.pattern for pin in self.pins if isinstance(pin, OutOfScope))

    @cached_property
    def memo(self) -> dict[tuple[object, ...], Any]:
        """Results of functions of this workload: see `prejoin.workload.memo`."""
        return {}

    def entity(self, name: str) -> Entity | None:
        return self._by_name.get(name)

    def entities_named(self, names: Iterable[str]) -> tuple[Entity, ...]:
        """The entities of some names, in their order. Unknown names are left out."""
        entities = map(self.entity, names)
        return tuple(entity for entity in entities if entity is not None)

    @property
    def tenant(self) -> Tenant | None:
        return self.context.tenant if self.context else None

    @property
    def tenant_attribute(self) -> str:
        """The attribute that is the tenant; empty without tenants."""
        return self.tenant.attribute if self.tenant else ""

    @cached_property
    def tenant_entity(self) -> Entity | None:
        """The entity of the tenants: the named one, or the one that the id is named after."""
        if self.tenant is None or self.tenant.entity:
            return self.entity(self.tenant.entity) if self.tenant else None
        name = self.tenant.attribute.lower()
        for entity in self.entities:
            stem = entity.name.lower()
            if name in (stem, f"{stem}id", f"{stem}_id"):
                return entity
        return None

    @cached_property
    def shared_ids(self) -> dict[str, str]:
        """The entities whose ids are one kind of value, because an attribute holds an id of any of them; with its
        name, `User | Organization`.
        """
        names: dict[str, str] = {}
        for group in self._groups_of_shared_ids():
            for name in group:
                names[name] = " | ".join(group)
        return names

    def _groups_of_shared_ids(self) -> list[dict[str, None]]:
        """Groups of entities: `→ User | Team` and `→ Team | Guest` are one group of three."""
        groups: list[dict[str, None]] = []
        for entity in self.entities:
            for attribute in entity.attributes:
                if not attribute.references_or:
                    continue
                names = (attribute.references, *attribute.references_or)
                group = dict.fromkeys(name.partition(".")[0] for name in names)
                for other in [candidate for candidate in groups if candidate.keys() & group.keys()]:
                    groups.remove(other)
                    group = other | group
                groups.append(group)
        return groups

    @cached_property
    def owned(self) -> frozenset[str]:
        """The entities whose items belong to a tenant."""
        if self.tenant is None:
            return frozenset()
        return frozenset(e.name for e in self.entities if e is not self.tenant_entity) - {*self.tenant.exempt}

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        return (*self.reads, *self.changing)

    def pattern(self, id: str) -> Pattern | None:  # noqa: A002 - the domain's word
        return self._by_id.get(id)
