"""Highest and Lowest: an attribute of a parent that holds the extreme value of its children."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec.structs import replace

from prejoin.patterns.child import ChildPattern
from prejoin.patterns.parents import Parent, check_parent_stays
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, both
from prejoin.table.errors import ConditionFailed, SchemaError, TableError, VersionConflict
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.actions import item_name
from prejoin.table.write.model import Write
from prejoin.types import NUMERIC, Kind

from .contribution import RECOUNTING, CountCondition, ParentAggregate, Share, known_after
from .extremes import Extreme, Extremes

ORDERED_KINDS = NUMERIC | {Kind.DATE, Kind.DATETIME}
"""Kinds of values that have the same order in the table as in Python."""


@dataclass(frozen=True)
class Highest(Pattern):
    """An attribute of a parent that holds the highest value that an attribute `of` its children ever had.

    Inserts, puts and updates raise it, in the same transaction. Deletes, lower values and expired items do not change
    it: for the highest value of the current children, query a key that sorts them (`order="-total", limit=1`), or use
    `recount`. The value is a number, date or datetime, and the attribute of the parent is optional. It may be part of
    the parent's index keys, for a leaderboard.

    `parent`, `by`, `when` and `create` are as for `Counted`. A missing parent raises NotFound. Only this pattern can
    write the attribute. An update of an attribute that decides needs the current value of the others, and one by an
    amount (`order.total += 5`) the current amount. A transaction with a token is refused.

    Cost: an insert, or an update that raises the value, costs 4 write units instead of 1 (two items of up to 1 KB in a
    transaction). A new record needs a second request, after the first has failed and returned the parent: 8 units.
    Deletes and other updates cost nothing more. With `Counted` on the same parent, only records cost more.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
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
    when: CountCondition = None
    by: Mapping[str, str] = field(default_factory=dict)
    create: bool = False

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        return Extremum(">=", self.create, entity, self.parent, self.attribute, self.of, self.when, self.by)


@dataclass(frozen=True)
class Lowest(Pattern):
    """An attribute of a parent that holds the lowest value that an attribute `of` its children ever had.

    It works as `Highest`, with the lowest value.
    """

    parent: type[Any]
    attribute: str
    of: str
    when: CountCondition = None
    by: Mapping[str, str] = field(default_factory=dict)
    create: bool = False

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        return Extremum("<=", self.create, entity, self.parent, self.attribute, self.of, self.when, self.by)


class Extremum(ParentAggregate):
    """`Highest` or `Lowest`, bound to an entity."""

    zero = None
    lasts = True
    stays = False

    def __init__(self, op: Literal[">=", "<="], *args: Any) -> None:
        super().__init__(*args)
        self.op: Literal[">=", "<="] = op
        self.label = f"{self.cls.__name__}.{self.attribute}"

    # --- Declaration -------------------------------------------------------------------------------------------------

    def kind(self, context: str) -> Kind:
        source_type = self.entity.codec.attribute(self.of).type
        if source_type.kind not in ORDERED_KINDS:
            raise SchemaError(
                f"{context}: {self.entity.tag}.{self.of} is a {source_type}. It must be a number, date or datetime"
            )
        return source_type.kind

    def check_place(self, context: str) -> None:
        entity, name = self.parent.entity, self.attribute
        if name in entity.base.attributes:
            raise SchemaError(f"{context}: {name} is part of the key of {entity.tag}, which cannot change")
        if not entity.codec.attribute(name).optional:
            raise SchemaError(
                f"{context}: {entity.tag}.{name} must be optional, because it has no value before the first "
                f"{self.entity.tag}: {name}: … | None = None"
            )

    def owner(self) -> BoundPattern:
        return _Holder(self.entity, self.parent, self.attribute)

    def check(self, schema: Schema) -> None:
        label = f"{self.cls.__name__}.{self.attribute}"
        for entity in schema.entities:
            for pattern in entity.patterns:
                if not isinstance(pattern, ParentAggregate):
                    continue
                if pattern.cls is not self.cls or pattern.attribute != self.attribute:
                    continue
                # Several entities may have the same parent and raise the same value.
                if not isinstance(pattern, Extremum) or pattern.op != self.op:
                    raise SchemaError(f"{label} is declared twice. It can hold one highest, lowest, count or sum")
        for pattern in schema.entity(self.cls).patterns:
            # These patterns act before it is known whether this attribute changes.
            decides = isinstance(pattern, ParentAggregate) and self.attribute in pattern.deciding_names
            if decides or (isinstance(pattern, ChildPattern) and self.attribute in pattern.parent.names.values()):
                raise SchemaError(
                    f"{label} is maintained by each {self.entity.tag}, so it cannot decide how a {self.cls.__name__} "
                    f"counts elsewhere. Declare that for {self.entity.tag}"
                )

    def share(self, values: Mapping[str, Any]) -> Share | None:
        key = self.parent.key(values)
        if key is None or values[self.of] is None or not self.fulfils_condition(values):
            return None
        return key, values[self.of]

    def combine(self, total: Any, amount: Any) -> Any:
        return amount if self._is_beyond(amount, total) else total

    def json(self, value: Any) -> Json:
        return self.parent.entity.codec.encode_value(self.attribute, value)

    def is_wrong(self, stored_total: Any, counted_total: Any) -> bool:
        # A value that was reached once stays.
        return counted_total is not None and self._is_beyond(counted_total, stored_total)

    def _is_beyond(self, value: Any, other: Any) -> bool:
        return other is None or bool(value > other if self.op == ">=" else value < other)

    # --- Writes -------------------------------------------------------------------------------------

    def rewrite(self, write: Write) -> Write:
        return write

    def depends(self, write: Write) -> tuple[str, ...]:
        match write.verb:
            case "put" if write.stored is not None:
                return self.deciding_names
            case "update" if self._may_raise(write):
                return self.deciding_names if write.stored is not None else self._undecided_names(write)
            case "upsert":
                return tuple(name for name in self._undecided_names(write) if name not in write.entity.base.attributes)
            case _:
                return ()

    def shares(self, write: Write) -> Iterator[Share]:
        """Yield the parents, and the values that they reach by a write."""
        after = self._values_after(write)
        new_share = None if after is None else self.share(after)
        if new_share is None:
            return
        before = write.stored.values if write.stored and write.verb in ("put", "update") else None
        old_share = None if before is None else self.share(before)
        if old_share is None or old_share[0] != new_share[0] or self._is_beyond(new_share[1], old_share[1]):
            yield new_share

    def also(self, schema: Schema, write: Write) -> Iterator[Write]:
        for key, value in self.shares(write):
            # The parent is written even if nothing is set, so that a recount notices. A check would cost the same.
            changes = Changes(removes=frozenset({RECOUNTING}))
            decision = Extremes({self.attribute: Extreme(self.op, value)})
            verb: Literal["upsert", "update"] = "upsert" if self.create else "update"
            yield Write(verb, schema.entity(self.cls), key, changes=changes, decision=decision)

    def _values_after(self, write: Write) -> Mapping[str, Any] | None:
        """Return the attributes that decide after a write; None if it cannot be a new record."""
        match write.verb:
            case "insert" | "put":
                return write.values
            case "upsert":
                return known_after(write)
            case "update" if self._may_raise(write):
                after, amount = known_after(write), self._amount(write)
                if amount is not None and write.read_after is None:
                    after = {**after, self.of: (write.before[self.of] or 0) + amount}
                write.need(self.deciding_names, after, self.label)
                return after
            case _:
                return None

    def _may_raise(self, write: Write) -> bool:
        """Return whether an update may be a new record."""
        if not self._changes_share(write):
            return False
        if write.changes.sets.get(self.entity.deletion_mark) is not None:
            return False
        amount = self._amount(write)
        return amount is None or self._is_beyond(amount, 0)

    def _undecided_names(self, write: Write) -> tuple[str, ...]:
        """Return the attributes that decide, and that an update does not set to a value."""
        set_names = write.changes.replaced - write.changes.unknown
        return tuple(name for name in self.deciding_names if name not in set_names)


class _Holder(BoundPattern):
    """The pattern of the parent: it refuses other writes of the attribute."""

    def __init__(self, child: BoundEntity[Any], parent: Parent, attribute: str) -> None:
        self.child, self.parent, self.attribute = child, parent, attribute

    def check(self, schema: Schema) -> None:
        check_parent_stays(self.parent.entity, self.child)

    def rewrite(self, write: Write) -> Write:
        prefix = f"{self.parent.entity.tag}.{self.attribute} is maintained by each {self.child.tag}"
        match write.verb:
            case "insert" if write.values[self.attribute] is not None:
                raise TableError(
                    f"{prefix}, so it must be None for a new {write.entity.tag}. To import data, use a schema without "
                    "this pattern"
                )
            case "put":
                # The object of a put was read before: its value is written back, so it must still be the stored one.
                is_unchanged = _has_value(self.attribute, write.values[self.attribute])
                return replace(write, where=both(write.where, is_unchanged))
            case "update" | "upsert" if self.attribute in write.changes.names:
                raise TableError(f"{prefix} and cannot be changed. `recount` corrects it")
            case _:
                return write

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        if write.verb != "put" or not item:
            return None
        attribute = self.parent.entity.codec.attribute(self.attribute)
        json = item.get(attribute.wire)
        stored_value = None if json is None else attribute.value.decode(json)
        if stored_value == write.values[self.attribute]:
            return None
        return VersionConflict(
            f"{item_name(write)} has {self.attribute} {stored_value}, not {write.values[self.attribute]}: a "
            f"{self.child.tag} was written since. Read it again, or use update"
        )


def _has_value(name: str, value: Any) -> Condition:
    return Exists((name,), present=False) if value is None else Compare((name,), "=", value)
