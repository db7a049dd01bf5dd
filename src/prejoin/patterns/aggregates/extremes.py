"""The decision of `Highest` and `Lowest`: an attribute is set to a value, unless it has reached it already."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Literal

import msgspec

from prejoin.table.codec.values import Json
from prejoin.table.condition.evaluate import holds
from prejoin.table.condition.record import Compare, Condition, Exists, Op, Or, both
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.write.model import ItemDecision

_BEYOND: Mapping[str, Op] = {">=": "<", "<=": ">"}


class Extreme(msgspec.Struct, frozen=True):
    """A value that an attribute reaches: the attribute is at least (`>=`) or at most (`<=`) this value."""

    op: Literal[">=", "<="]
    value: Any


class Extremes(ItemDecision):
    """The values that attributes of one item reach by a write."""

    label = "may set the highest or lowest value of an attribute"

    def __init__(self, extremes: Mapping[str, Extreme]) -> None:
        self._extremes = extremes

    def assumption(self) -> Condition:
        return reduce(both, [_is_reached(name, extreme) for name, extreme in self._extremes.items()])

    def decide(self, entity: BoundEntity[Any], item: Mapping[str, Json] | None) -> tuple[Condition, Mapping[str, Any]]:
        conditions: list[Condition] = []
        sets: dict[str, Any] = {}
        for name, extreme in self._extremes.items():
            reached_condition = _is_reached(name, extreme)
            if item is not None and holds(reached_condition, entity.codec, item):
                conditions.append(reached_condition)
            else:
                beyond_condition = Compare((name,), _BEYOND[extreme.op], extreme.value)
                conditions.append(Or((Exists((name,), present=False), beyond_condition)))
                sets[name] = extreme.value
        return reduce(both, conditions), sets

    def combine(self, entity: BoundEntity[Any], other: ItemDecision) -> Extremes:
        assert isinstance(other, Extremes)
        extremes = dict(self._extremes)
        for name, extreme in other._extremes.items():
            value = _larger(entity, name, extremes[name].value, extreme) if name in extremes else extreme.value
            extremes[name] = Extreme(extreme.op, value)
        return Extremes(extremes)

    def apply(self, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: _larger(entity, name, values.get(name), extreme) for name, extreme in self._extremes.items()}


def _larger(entity: BoundEntity[Any], name: str, value: Any, extreme: Extreme) -> Any:
    """Return the larger (or smaller) of the stored and the new value, in the order of DynamoDB."""
    if value is None:
        return extreme.value
    item = {entity.codec.attribute(name).wire: entity.codec.encode_value(name, value)}
    return value if holds(_is_reached(name, extreme), entity.codec, item) else extreme.value


def _is_reached(name: str, extreme: Extreme) -> Condition:
    return Compare((name,), extreme.op, extreme.value)
