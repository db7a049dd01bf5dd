"""The least and the greatest value of a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any, ClassVar

from msgspec.structs import replace

from prejoin.table.codec.paths import Steps
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, Or, both
from prejoin.table.errors import CodecError, ConditionFailed, SchemaError, TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_hidden
from prejoin.table.update.computed import First, Sum
from prejoin.table.write.actions import item_name
from prejoin.table.write.model import Write
from prejoin.types import Kind

Number = int | float | Decimal

# DynamoDB keeps 38 digits. A bound minus an amount may have more; then it is rounded into the bounds, and no stored
# number is between the exact and the rounded value.
_DOWN = Context(prec=38, rounding=ROUND_FLOOR)
_UP = Context(prec=38, rounding=ROUND_CEILING)
_EXACT = Context(prec=400)


class Bounds(Pattern):
    """The least value of a number, its greatest value, or both.

    A value that is not within them is refused before anything is sent, with a CodecError: in an object that is
    inserted, put or loaded, and in a value that an update sets. The result of `+=`, `-=` and `add()` is checked by a
    condition on the stored value: ConditionFailed is raised, and nothing is written. An absent number counts as 0.

    Cost: nothing more. A write that fails costs as much as one that succeeds.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> @dataclass
    ... class Batch:
    ...     batch_id: str
    ...     stock: int
    >>> schema = Schema(Entity(Batch, Key("BATCH#{batch_id}", "BATCH"), patterns=[Bounds("stock", min=0, max=100)]))
    >>> db = Client(schema, "pharmacy", Embedded())
    >>> db.create_table()
    >>> db.insert(Batch("1", 101))
    Traceback (most recent call last):
    prejoin.CodecError: Batch.stock is 101, and its greatest value is 100
    >>> _ = db.insert(Batch("1", 3))
    >>> with db.update(Batch, batch_id="1") as batch:
    ...     batch.stock -= 5
    Traceback (most recent call last):
    prejoin.ConditionFailed: Batch batch_id='1' has stock 3, which cannot change by -5: its least value is 0
    """

    def __init__(
        self,
        attribute: str,
        *,
        min: Number | None = None,  # noqa: A002 - the words for it
        max: Number | None = None,  # noqa: A002
    ) -> None:
        self.attribute = attribute
        self.least = min
        self.greatest = max

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        name = f"{entity.tag}.{self.attribute}"
        kind = entity.codec.attribute(self.attribute).type.kind
        if kind not in _CONVERTERS:
            raise SchemaError(f"{name} has bounds, and must be an int, a Decimal or a float")
        if self.least is None and self.greatest is None:
            raise SchemaError(f"{name}: give its bounds, min= or max= or both")
        try:
            smallest = None if self.least is None else _CONVERTERS[kind](self.least)
            greatest = None if self.greatest is None else _CONVERTERS[kind](self.greatest)
        except (TypeError, ValueError, InvalidOperation):
            raise SchemaError(f"{name}: the bounds {self.least!r} and {self.greatest!r} must be numbers") from None
        if smallest is not None and greatest is not None and smallest > greatest:
            raise SchemaError(f"{name}: its least value is {smallest}, which is more than its greatest, {greatest}")
        return BoundsPattern(name, self.attribute, smallest, greatest)

    def __repr__(self) -> str:
        text = repr(self.attribute)
        if self.least is not None:
            text += f", min={self.least!r}"
        if self.greatest is not None:
            text += f", max={self.greatest!r}"
        return f"Bounds({text})"


def _integer(bound: Number) -> int:
    if bound != int(bound):
        raise ValueError
    return int(bound)


_CONVERTERS: Mapping[Kind, Any] = {
    Kind.INTEGER: _integer,
    Kind.DECIMAL: lambda bound: Decimal(str(bound)),
    Kind.NUMBER: float,
}
"""Bounds as numbers of the attribute's type, because Python does not subtract a float from a Decimal."""


@dataclass(frozen=True)
class _Addition:
    """A change by an amount."""

    amount: Any
    source: Steps
    """The path of the number to which the amount is added; usually the attribute that gets the sum."""
    from_zero: bool
    """Whether an absent number counts as 0."""


@dataclass(frozen=True)
class BoundsPattern(BoundPattern):
    name: str
    """The entity and the attribute, for messages: `Batch.stock`."""
    attribute: str
    least: Any
    greatest: Any
    only_checks: ClassVar[bool] = True

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "insert" | "put":
                self._check(write.values.get(self.attribute))
            case "update" | "upsert":
                if write.verb == "upsert":
                    self._check_default(write)
                changes = write.changes
                if self.attribute in changes.sets:
                    value = changes.sets[self.attribute]
                    if isinstance(value, Sum):
                        return self._with_condition(write)
                    self._check(value.value if isinstance(value, First) else value)
                elif self.attribute in changes.adds:
                    return self._with_condition(write)
            case _:
                pass
        return write

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        addition = _addition(write, self.attribute)
        if addition is None or addition.source != (self.attribute,):
            return None
        name, amount = self.attribute, addition.amount
        if item is None:
            # An update of a missing item fails because the item is missing, whatever its bounds are.
            excess = "" if write.verb == "update" else self._bound_exceeded(amount)
            if not excess:
                return None
            return ConditionFailed(f"a new {item_name(write)} would have {name} {amount}: {excess}")
        if write.visible and is_hidden(write.entity, item):
            return None
        attribute = write.entity.codec.attribute(name)
        json = item.get(attribute.wire)
        if json is None:
            excess = self._bound_exceeded(amount) if addition.from_zero else ""
            if not excess:
                return None
            return ConditionFailed(f"{item_name(write)} has no {name}, which would become {amount}: {excess}")
        stored_value = attribute.value.decode(json)
        # Python's default context rounds to 28 digits, and DynamoDB keeps 38.
        is_exact = isinstance(stored_value, Decimal) and isinstance(amount, int | Decimal)
        total = _EXACT.add(stored_value, amount) if is_exact else stored_value + amount
        excess = self._bound_exceeded(total)
        if not excess:
            return None
        return ConditionFailed(
            f"{item_name(write)} has {name} {stored_value}, which cannot change by {amount}: {excess}"
        )

    def also(self, schema: Schema, write: Write) -> tuple[()]:
        """Check the result of an update that has read its item, before its keys are made of it."""
        item = write.read_item
        if item is not None and (error := self.failed(write, item)):
            raise error
        return ()

    def check_spread(self) -> None:
        """Refuse a greatest value of a sharded counter, whose sum no item has."""
        if self.greatest is not None:
            raise SchemaError(
                f"{self.name} is a sharded counter, and its greatest value {self.greatest} cannot be checked: no item "
                "has the sum of its shards"
            )

    def refuse_spread(self, amount: Any) -> None:
        """Refuse an amount for a shard of a counter that could take the sum below its least value."""
        if self.least is not None and amount < 0:
            raise TableError(
                f"{self.name} is a sharded counter, whose least value {self.least} cannot be checked when {-amount} is "
                "taken away: no item has the sum. Only add to it, or take away the bound"
            )

    def _check(self, value: Any) -> None:
        """Refuse a value that is not within the bounds. A value of another type is left to the codec."""
        if value is not None and (excess := self._bound_exceeded(value)):
            error = CodecError(f"{self.name} is {value}, and {excess}")
            error.attribute = self.attribute
            raise error

    def _check_default(self, write: Write) -> None:
        """Check the default of the class, which an upsert gives to a new item."""
        if self.attribute not in write.changes.names and self.attribute not in write.values:
            default = write.entity.codec.attribute(self.attribute).absent
            if default is not None:
                self._check(default())

    def _bound_exceeded(self, value: Any) -> str:
        """Return the bound that a value is beyond, for a message; empty if it is within them."""
        try:
            if self.least is not None and value < self.least:
                return f"its least value is {self.least}"
            if self.greatest is not None and value > self.greatest:
                return f"its greatest value is {self.greatest}"
        except (TypeError, InvalidOperation):  # not a number: the codec refuses it
            pass
        return ""

    def _with_condition(self, write: Write) -> Write:
        try:
            addition = _addition(write, self.attribute)
            conditions = list(self._conditions(addition)) if addition else []
        except (TypeError, InvalidOperation):  # not a number: the codec refuses it
            return write
        condition_of_write = write.where
        for condition in conditions:
            condition_of_write = both(condition_of_write, condition)
        return replace(write, where=condition_of_write)

    def _conditions(self, addition: _Addition) -> Iterator[Condition]:
        """Yield the conditions on the stored value under which the sum is within the bounds.

        The stored number is within its own bounds, so what is added to it can only exceed the greatest value, and what
        is taken away can only go below the least. That is not so for the sum of another attribute.
        """
        amount, path = addition.amount, addition.source
        is_of_other_attribute = path != (self.attribute,)
        tests: list[Condition] = []
        if self.greatest is not None and (amount > 0 or is_of_other_attribute):
            tests.append(Compare(path, "<=", _difference(self.greatest, amount, _DOWN)))
        if self.least is not None and (amount < 0 or is_of_other_attribute):
            tests.append(Compare(path, ">=", _difference(self.least, amount, _UP)))
        if not addition.from_zero:
            yield from tests
        elif self._bound_exceeded(amount):
            # An absent number would become the amount. Comparisons with an absent attribute are false.
            yield from tests or [Exists(path)]
        else:
            absent = Exists(path, present=False)
            for test in tests:
                yield Or((absent, test))


def _addition(write: Write, attribute: str) -> _Addition | None:
    """Return the change of an attribute by an amount, if it is one."""
    changes = write.changes
    if attribute in changes.adds:
        return _Addition(changes.adds[attribute], (attribute,), from_zero=True)
    value = changes.sets.get(attribute)
    if isinstance(value, Sum):
        return _Addition(value.amount if value.sign == "+" else -value.amount, value.path, value.from_zero)
    return None


def _difference(bound: Any, amount: Any, context: Context) -> Any:
    if isinstance(bound, Decimal) and isinstance(amount, int | Decimal):
        return context.subtract(bound, Decimal(amount))
    return bound - amount
