"""The highest and the lowest: of an attribute of an item's children, kept in the item by the writes that reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec.structs import replace

from prejoin.patterns.child import Belonging
from prejoin.patterns.parents import Parent, check_parent_stays
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, both
from prejoin.table.errors import ConditionFailed, SchemaError, TableError, VersionConflict
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.actions import item_name
from prejoin.table.write.model import Write
from prejoin.types import NUMERIC, Kind

from .contribution import RECOUNTING, Kept, Share, When, known_after
from .extremes import Extreme, Extremes

ORDERED = NUMERIC | {Kind.DATE, Kind.DATETIME}
"""Kinds of values that are ordered in the table as they are in Python."""


@dataclass(frozen=True)
class Highest(Pattern):
    """An attribute of a parent that holds the highest value that an attribute `of` these items ever had.

    Ever: what is inserted, put or updated raises it, in the same transaction; what is deleted or lowered, or ends by
    its time, leaves it. The highest of those that are there is asked for, by a key that sorts: `order="-total",
    limit=1`. `recount` makes it that once. Numbers, dates and datetimes have a highest; the attribute of the parent is
    optional, for until the first there is none. It may be part of the parent's keys in indexes: a leaderboard.

    Parent, `by`, `when` and `create` are as for `Counted`. A parent that is not there is a NotFound; it may be deleted,
    unless `Counted` or `Child` says otherwise. Nobody else can write the attribute. An update of what decides has to
    know the rest of it, and one by an amount (`order.total += 5`) the old amount; a put need not know what it replaces.
    A transaction with a token of its own is refused.

    Cost: an insert, or an update that raises the value, is 4 write units where it was 1 (two items up to 1 KB, each
    twice in a transaction), and one request: the parent is checked to have as much. A new record is two requests: the
    first fails and tells what the parent has, and is paid as well, so 8 units. Deletes, updates that lower it, and
    others, cost nothing. With `Counted` on the same parent none more, but for records.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Client, Entity, Key, Schema
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     largest_order: int | None = None
    >>> @dataclass
    ... class Order:
    ...     user_id: str
    ...     order_id: str
    ...     total: int
    >>> largest = Highest(User, "largest_order", of="total")
    >>> schema = Schema(
    ...     Entity(User, Key("USER#{user_id}", "USER")),
    ...     Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"), patterns=[largest]),
    ... )
    >>> db = Client(schema, "shop", Embedded())
    >>> db.create_table()
    >>> _ = db.insert(User("42")), db.insert(Order("42", "a", 30)), db.insert(Order("42", "b", 12))
    >>> db.get(User, user_id="42")
    User(user_id='42', largest_order=30)
    >>> db.delete(Order, user_id="42", order_id="a")
    >>> db.get(User, user_id="42")
    User(user_id='42', largest_order=30)
    """

    parent: type[Any]
    attribute: str
    of: str
    when: When = None
    by: Mapping[str, str] = field(default_factory=dict)
    create: bool = False

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        return Reached(">=", self.create, entity, self.parent, self.attribute, self.of, self.when, self.by)


@dataclass(frozen=True)
class Lowest(Pattern):
    """An attribute of a parent that holds the lowest value that an attribute `of` these items ever had.

    All that is said of `Highest` is true of it, the other way round.
    """

    parent: type[Any]
    attribute: str
    of: str
    when: When = None
    by: Mapping[str, str] = field(default_factory=dict)
    create: bool = False

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        return Reached("<=", self.create, entity, self.parent, self.attribute, self.of, self.when, self.by)


class Reached(Kept):
    """`Highest` and `Lowest` at work."""

    nothing = None
    lasts = True
    stays = False

    def __init__(self, op: Literal[">=", "<="], *args: Any) -> None:
        super().__init__(*args)
        self.op: Literal[">=", "<="] = op
        self.what = f"{self.cls.__name__}.{self.attribute}, which it may reach,"

    # --- What it is -------------------------------------------------------------------------------------------------

    def kind(self, said: str) -> Kind:
        of = self.entity.codec.attribute(self.of).type
        if of.kind not in ORDERED:
            raise SchemaError(
                f"{said}: {self.entity.tag}.{self.of} is a {of}; numbers, dates and datetimes have a highest and a "
                "lowest"
            )
        return of.kind

    def check_place(self, said: str) -> None:
        entity, name = self.parent.entity, self.attribute
        if name in entity.base.attributes:
            raise SchemaError(f"{said}: {name} is part of the key of {entity.tag}, which never changes")
        if not entity.codec.attribute(name).optional:
            raise SchemaError(
                f"{said}: before the first {self.entity.tag} there is none, so {entity.tag}.{name} has to be optional: "
                f"{name}: … | None = None"
            )

    def owner(self) -> BoundPattern:
        return _Holder(self.entity, self.parent, self.attribute)

    def check(self, schema: Schema) -> None:
        said = f"{self.cls.__name__}.{self.attribute}"
        for entity in schema.entities:
            for pattern in entity.patterns:
                if not isinstance(pattern, Kept) or (pattern.cls, pattern.attribute) != (self.cls, self.attribute):
                    continue
                if not isinstance(pattern, Reached) or pattern.op != self.op:
                    raise SchemaError(f"{said} is to hold two things: the highest, a lowest, a count or a sum is one")
        for pattern in schema.entity(self.cls).patterns:
            # What they do is decided before it is known whether this attribute changes.
            decides = isinstance(pattern, Kept) and self.attribute in pattern.needed
            if decides or (isinstance(pattern, Belonging) and self.attribute in pattern.parent.names.values()):
                raise SchemaError(
                    f"{said} is kept by each {self.entity.tag}, and cannot decide what a {self.cls.__name__} counts "
                    f"for elsewhere: declare that with {self.entity.tag}, too"
                )

    def share(self, values: Mapping[str, Any]) -> Share | None:
        key = self.parent.key(values)
        if key is None or values[self.of] is None or not self.included(values):
            return None
        return key, values[self.of]

    def joined(self, found: Any, amount: Any) -> Any:
        return amount if self._beyond(amount, found) else found

    def json(self, value: Any) -> Json:
        return self.parent.entity.codec.encode_value(self.attribute, value)

    def is_wrong(self, stored: Any, counted: Any) -> bool:
        # What was reached once stays.
        return counted is not None and self._beyond(counted, stored)

    def _beyond(self, value: Any, other: Any) -> bool:
        return other is None or bool(value > other if self.op == ">=" else value < other)

    # --- How a write changes it -------------------------------------------------------------------------------------

    def rewrite(self, write: Write) -> Write:
        return write

    def depends(self, write: Write) -> tuple[str, ...]:
        match write.verb:
            case "put" if write.was is not None:
                return self.needed
            case "update" if self._rises(write):
                return self.needed if write.was is not None else self._unsaid(write)
            case "upsert":
                return tuple(name for name in self._unsaid(write) if name not in write.entity.base.attributes)
            case _:
                return ()

    def shares(self, write: Write) -> Iterator[Share]:
        """The values that parents may have to be set to."""
        after = self._after(write)
        new = None if after is None else self.share(after)
        if new is None:
            return
        before = write.was if write.verb in ("put", "update") else None
        old = None if before is None else self.share(before)
        if old is None or old[0] != new[0] or self._beyond(new[1], old[1]):
            yield new

    def also(self, schema: Schema, write: Write) -> Iterator[Write]:
        for key, value in self.shares(write):
            # Written also where it sets nothing, which costs what a check would: so a recount notices.
            changes = Changes(removes=frozenset({RECOUNTING}))
            decision = Extremes({self.attribute: Extreme(self.op, value)})
            verb: Literal["upsert", "update"] = "upsert" if self.create else "update"
            yield Write(verb, schema.entity(self.cls), key, changes=changes, decision=decision)

    def _after(self, write: Write) -> Mapping[str, Any] | None:
        """What the item is after a write, in what decides; None, if it cannot have become a record."""
        match write.verb:
            case "insert" | "put":
                return write.values
            case "upsert":
                return known_after(write)
            case "update" if self._rises(write):
                after, amount = known_after(write), self._amount(write)
                if amount is not None and write.becomes is None:
                    after = {**after, self.of: (write.before[self.of] or 0) + amount}
                write.need(self.needed, after, self.what)
                return after
            case _:
                return None

    def _rises(self, write: Write) -> bool:
        """Whether an update may make a record."""
        if not self._touched(write):
            return False
        if write.changes.sets.get(self.entity.deletion_mark) is not None:
            return False
        amount = self._amount(write)
        return amount is None or self._beyond(amount, 0)

    def _unsaid(self, write: Write) -> tuple[str, ...]:
        """What decides, and an update does not set to a value."""
        said = write.changes.whole - write.changes.unknown
        return tuple(name for name in self.needed if name not in said)


class _Holder(BoundPattern):
    """The part of the parent: what is kept in it nobody else writes."""

    def __init__(self, child: Bound[Any], parent: Parent, kept: str) -> None:
        self.child, self.parent, self.kept = child, parent, kept

    def check(self, schema: Schema) -> None:
        check_parent_stays(self.parent.entity, self.child)

    def rewrite(self, write: Write) -> Write:
        its = f"{self.kept} of {self.parent.entity.tag} is kept by each {self.child.tag}"
        match write.verb:
            case "insert" if write.values[self.kept] is not None:
                raise TableError(
                    f"{its}: a new {write.entity.tag} has none, so leave it None. Data that is carried over is written "
                    "through a schema without this pattern"
                )
            case "put":
                return replace(write, where=both(write.where, _is(self.kept, write.values[self.kept])))
            case "update" | "upsert" if self.kept in write.changes.names:
                raise TableError(f"{its}: do not change it; `recount` makes it that of those there are")
            case _:
                return write

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        if write.verb != "put" or not item:
            return None
        attribute = self.parent.entity.codec.attribute(self.kept)
        json = item.get(attribute.wire)
        found = None if json is None else attribute.value.decode(json)
        if found == write.values[self.kept]:
            return None
        return VersionConflict(
            f"{item_name(write)} has {self.kept} {found} by now, not {write.values[self.kept]}: a {self.child.tag} was "
            "written meanwhile; read it again, or update only what is to change"
        )


def _is(name: str, value: Any) -> Condition:
    return Exists((name,), present=False) if value is None else Compare((name,), "=", value)
