"""The two items of an entity that gets another key in the table: `decide` says what is to be done with a pair.

Between two designs an entity has an item under each key, the *leaving* one and the *coming* one. Code that knows both
designs writes both, with a mark each (`patterns/twin_mark.py`). Code that knows one design writes one of them, and does
not renew its mark. So of each item it is known whether it was written since the pair was complete:

    leaving   coming    what happened                                      what is done
    as marked as marked nothing                                            nothing
    written   absent    it was never carried over, or is new               the coming one is written
    written   as marked code of the leaving design changed it              the coming one is written
    as marked written   code of the coming design changed it               the leaving one is written
    as marked absent    code of the coming design deleted it               the leaving one is deleted
    written   written   both were changed: equal, or nobody knows          both are marked, or it is reported

and the same with both exchanged. An item is deleted only if its mark fits, by a request with the condition that it is
still as it was read. Everything else is carried over, or reported.

At the end the leaving items are removed. Before that, the marks of the coming ones are: a coming item without a mark
is never deleted, whatever becomes of the record of the change, or of a process that wakes up late.

Items may have *foreign* attributes, which no class has: other programs write them, and no mark covers them. They are
carried over with an item, at the latest when the leaving one is removed. If both items have one with different values,
nobody knows which is right, and the pair is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, assert_never

from prejoin.keys import TABLE
from prejoin.migrate.evolve.transition import TWIN, Transition
from prejoin.patterns.copies import CopyPattern
from prejoin.patterns.integrity.findings import values_of
from prejoin.patterns.twin_mark import MARK, twin_mark
from prejoin.protocol.values import canonical_item, equal
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_expired

MOST_COMPARED = 120
"""The most attributes in a condition: DynamoDB accepts 300 operators in 4 KB."""


class ItemState(Enum):
    """An item beside its twin."""

    ABSENT = "absent"
    AS_MARKED = "as marked"
    """It is as it was when both were written."""
    WRITTEN = "written"
    """Code of one design wrote it since, or it was never carried over."""
    UNREADABLE = "unreadable"
    """Its attributes do not fit its class."""


class TwinAction(Enum):
    """What is done with a pair."""

    NOTHING = "nothing"
    WRITE_COMING = "carried over"
    WRITE_LEAVING = "carried back"
    DELETE_LEAVING = "deleted, as its twin was"
    DELETE_COMING = "deleted, because its twin was"
    MARK_BOTH = "marked"
    REMOVE_LEAVING = "old items deleted"
    CONFLICT = "conflict"
    DAMAGED = "damaged"


_OVERWRITING = frozenset({TwinAction.WRITE_COMING, TwinAction.WRITE_LEAVING, TwinAction.REMOVE_LEAVING})
"""The actions after which only the attributes of one of the items are left."""

Decision = Callable[[ItemState, ItemState, bool], TwinAction]
"""What is to be done with a pair: by the states of the leaving and the coming item, and whether they are equal."""


def decide(leaving: ItemState, coming: ItemState, are_equal: bool) -> TwinAction:
    """What is to be done with a pair while both designs are in use."""
    # The table above, from top to bottom: a `_` stands for the states that no case before it has named.
    match leaving, coming:
        case (ItemState.UNREADABLE, _) | (_, ItemState.UNREADABLE):
            return TwinAction.DAMAGED
        case ItemState.ABSENT, ItemState.ABSENT:
            return TwinAction.NOTHING
        case ItemState.AS_MARKED, ItemState.AS_MARKED:
            return TwinAction.NOTHING if are_equal else TwinAction.CONFLICT
        case ItemState.WRITTEN, ItemState.WRITTEN:
            return TwinAction.MARK_BOTH if are_equal else TwinAction.CONFLICT
        case ItemState.WRITTEN, _:
            return TwinAction.WRITE_COMING
        case _, ItemState.WRITTEN:
            return TwinAction.WRITE_LEAVING
        case ItemState.AS_MARKED, ItemState.ABSENT:
            return TwinAction.DELETE_LEAVING
        case _:
            return TwinAction.DELETE_COMING


def decide_at_end(leaving: ItemState, coming: ItemState, are_equal: bool) -> TwinAction:
    """What is to be done with a pair when code of the coming design runs alone: the leaving item is removed."""
    match leaving, coming:
        case ItemState.ABSENT, _:
            return TwinAction.NOTHING
        case (ItemState.UNREADABLE, _) | (_, ItemState.UNREADABLE):
            return TwinAction.DAMAGED
        case ItemState.AS_MARKED, _:
            return TwinAction.REMOVE_LEAVING
        case ItemState.WRITTEN, ItemState.WRITTEN:
            return TwinAction.MARK_BOTH if are_equal else TwinAction.CONFLICT
        case _:
            return TwinAction.WRITE_COMING  # a forgotten job of the leaving design wrote it


def decide_before_end(leaving: ItemState, coming: ItemState, are_equal: bool) -> TwinAction:
    """What is to be done with a pair before items are removed: writes of the leaving design are carried over."""
    if leaving is ItemState.AS_MARKED:
        return TwinAction.NOTHING
    return decide_at_end(leaving, coming, are_equal)


@dataclass(frozen=True)
class Pair:
    """The items of one object under both keys, as they were read in one transaction."""

    kind: PairKind
    leaving: Json | None
    coming: Json | None

    @cached_property
    def leaving_values(self) -> Mapping[str, Any] | None:
        return self.kind.values(self.leaving, self.kind.leaving)

    @cached_property
    def coming_values(self) -> Mapping[str, Any] | None:
        return self.kind.values(self.coming, self.kind.coming)

    @cached_property
    def states(self) -> tuple[ItemState, ItemState]:
        leaving = self.kind.state(self.leaving, self.leaving_values)
        return leaving, self.kind.state(self.coming, self.coming_values)

    @property
    def are_equal(self) -> bool:
        """Whether both have the same attributes."""
        return self.leaving_values is not None and self.leaving_values == self.coming_values

    def action(self, decision: Decision) -> TwinAction:
        """What is to be done with the pair. It is reported if a foreign attribute would be lost."""
        action = decision(*self.states, self.are_equal)
        return TwinAction.CONFLICT if action in _OVERWRITING and self._has_foreign_conflict else action

    @property
    def foreign(self) -> Json:
        """The foreign attributes of both items."""
        return self.kind.foreign(self.leaving) | self.kind.foreign(self.coming)

    @property
    def missing_foreign(self) -> Json:
        """The foreign attributes that only the leaving item has."""
        coming = self.coming or {}
        return {name: value for name, value in self.kind.foreign(self.leaving).items() if name not in coming}

    @property
    def _has_foreign_conflict(self) -> bool:
        coming = self.kind.foreign(self.coming)
        leaving = self.kind.foreign(self.leaving)
        return any(name in coming and not equal(value, coming[name]) for name, value in leaving.items())

    @property
    def is_expired(self) -> bool:
        """Whether DynamoDB deletes all that is left of the pair. Code of one design may have renewed one of them."""
        items = [item for item in (self.leaving, self.coming) if item is not None]
        return all(is_expired(self.kind.leaving_schema.ttl, item) for item in items)


@dataclass(frozen=True)
class PairKind:
    """The two forms of an entity's items."""

    change: str
    leaving_schema: Schema
    """The schema in which the leaving item is the entity's own, and the coming one its twin."""
    coming_schema: Schema
    leaving: BoundEntity[Any]
    coming: BoundEntity[Any]

    @property
    def tags(self) -> tuple[str, str]:
        return self.leaving.tag, self.coming.tag

    @property
    def attributes(self) -> list[str]:
        """The attributes of the class, as they are stored."""
        return [attribute.wire for attribute in self.leaving.codec.attributes.values()]

    @cached_property
    def _own_names(self) -> frozenset[str]:
        """The attributes that code of either design writes: of the classes, and keys."""
        schemas = ((self.leaving_schema, self.leaving), (self.coming_schema, self.coming))
        names = {MARK, self.leaving_schema.type_attribute}
        for schema, entity in schemas:
            names.update(attribute.wire for attribute in entity.codec.attributes.values())
            for facet in schema.facets:
                names.update(schema.keys(facet.slot).names)
        return frozenset(names)

    def foreign(self, item: Json | None) -> Json:
        """The attributes of an item that neither a class nor a key has."""
        return {name: value for name, value in (item or {}).items() if name not in self._own_names}

    def values(self, item: Json | None, entity: BoundEntity[Any]) -> Mapping[str, Any] | None:
        return values_of(entity, item) if item is not None else None

    def state(self, item: Json | None, values: Mapping[str, Any] | None) -> ItemState:
        if item is None:
            return ItemState.ABSENT
        if values is None:
            return ItemState.UNREADABLE
        return ItemState.AS_MARKED if self.is_marked(item, values) else ItemState.WRITTEN

    def is_marked(self, item: Json, values: Mapping[str, Any]) -> bool:
        """Whether an item is as it was when both were written."""
        return MARK in item and item[MARK] == self.mark(values)

    def keys(self, values: Mapping[str, Any]) -> tuple[Json, Json]:
        """The keys of both items of an object."""
        leaving = self.leaving_schema.facet_key(self.leaving.base, values)
        coming = self.coming_schema.facet_key(self.coming.base, values)
        return self.leaving_schema.item_key(leaving), self.coming_schema.item_key(coming)

    def coming_item(self, values: Mapping[str, Any]) -> Json:
        return _twin(self.leaving_schema, self.leaving, values)

    def leaving_item(self, values: Mapping[str, Any]) -> Json:
        return _twin(self.coming_schema, self.coming, values)

    def mark(self, values: Mapping[str, Any]) -> Json:
        return twin_mark(self.change, self.leaving.codec, values)


def pair_kinds(transition: Transition) -> tuple[PairKind, ...]:
    """The pairs of a transition: one kind for each entity that gets another key in the table."""
    prepare, switch = transition.prepare.package, transition.switch.package
    kinds = []
    for name in transition.moved:
        leaving = prepare.schema.entity(prepare.classes[name])
        coming = switch.schema.entity(switch.classes[name])
        kinds.append(PairKind(transition.change, prepare.schema, switch.schema, leaving, coming))
    return tuple(kinds)


def _twin(schema: Schema, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Json:
    pattern = next(
        pattern for pattern in entity.patterns if isinstance(pattern, CopyPattern) and pattern.facet.copy == TWIN
    )
    return canonical_item(next(iter(pattern.expected(schema, values))))


# --- Requests -------------------------------------------------------------------------------------------------------


def requests(pair: Pair, action: TwinAction) -> list[dict[str, Any]]:
    """The actions of the transaction that does it. Each has the condition that the item is still as it was read."""
    kind = pair.kind
    # The item that was read gets a new mark in the transaction that writes its twin: with the old one, it would look as
    # if it had been written since.
    match action:
        case TwinAction.WRITE_COMING:
            values = pair.leaving_values
            assert values is not None
            return [
                _set_mark(kind, pair.leaving, values),
                _put(kind, pair.foreign | kind.coming_item(values), pair.coming),
            ]
        case TwinAction.WRITE_LEAVING:
            values = pair.coming_values
            assert values is not None
            return [
                _set_mark(kind, pair.coming, values),
                _put(kind, pair.foreign | kind.leaving_item(values), pair.leaving),
            ]
        case TwinAction.MARK_BOTH:
            values = pair.leaving_values
            assert values is not None
            return [_set_mark(kind, pair.leaving, values), _set_mark(kind, pair.coming, values)]
        case TwinAction.DELETE_LEAVING:
            values = pair.leaving_values
            assert values is not None
            return [_delete(kind, pair.leaving), _still_absent(kind, kind.keys(values)[1])]
        case TwinAction.DELETE_COMING:
            values = pair.coming_values
            assert values is not None
            return [_delete(kind, pair.coming), _still_absent(kind, kind.keys(values)[0])]
        case TwinAction.REMOVE_LEAVING if pair.coming is not None and pair.missing_foreign:
            return [_delete(kind, pair.leaving), _set_attributes(kind, pair.coming, pair.missing_foreign)]
        case TwinAction.REMOVE_LEAVING:
            return [_delete(kind, pair.leaving)]
        case TwinAction.NOTHING | TwinAction.CONFLICT | TwinAction.DAMAGED:
            return []
        case _:
            assert_never(action)


def _set_mark(kind: PairKind, item: Json | None, values: Mapping[str, Any]) -> dict[str, Any]:
    assert item is not None
    placeholders = Placeholders()
    text = f"SET {placeholders.name(MARK)} = {placeholders.value(kind.mark(values))}"
    condition = _as_read(kind, item, placeholders)
    key = kind.leaving_schema.item_key(item)
    return {
        "Update": {"Key": key, "UpdateExpression": text, "ConditionExpression": condition, **placeholders.parameters()}
    }


def _set_attributes(kind: PairKind, item: Json, attributes: Json) -> dict[str, Any]:
    placeholders = Placeholders()
    sets = [f"{placeholders.name(name)} = {placeholders.value(value)}" for name, value in attributes.items()]
    condition = " AND ".join(f"attribute_not_exists({placeholders.name(name)})" for name in attributes)
    key_name = placeholders.name(kind.leaving_schema.keys(TABLE).names[0])
    return {
        "Update": {
            "Key": kind.leaving_schema.item_key(item),
            "UpdateExpression": f"SET {', '.join(sets)}",
            "ConditionExpression": f"attribute_exists({key_name}) AND {condition}",
            **placeholders.parameters(),
        }
    }


def _put(kind: PairKind, item: Json, before: Json | None) -> dict[str, Any]:
    placeholders = Placeholders()
    if before is None:
        condition = f"attribute_not_exists({placeholders.name(kind.leaving_schema.keys(TABLE).names[0])})"
    else:
        condition = _as_read(kind, before, placeholders)
    return {"Put": {"Item": item, "ConditionExpression": condition, **placeholders.parameters()}}


def _delete(kind: PairKind, item: Json | None) -> dict[str, Any]:
    assert item is not None
    placeholders = Placeholders()
    condition = _as_read(kind, item, placeholders)
    key = kind.leaving_schema.item_key(item)
    return {"Delete": {"Key": key, "ConditionExpression": condition, **placeholders.parameters()}}


def _still_absent(kind: PairKind, key: Json) -> dict[str, Any]:
    placeholders = Placeholders()
    condition = f"attribute_not_exists({placeholders.name(kind.leaving_schema.keys(TABLE).names[0])})"
    return {"ConditionCheck": {"Key": key, "ConditionExpression": condition, **placeholders.parameters()}}


def _as_read(kind: PairKind, item: Json, placeholders: Placeholders) -> str:
    """The condition that all attributes of an item are as they were read, and that it has no others."""
    tests = [f"{placeholders.name(name)} = {placeholders.value(value)}" for name, value in item.items()]
    lacking = [name for name in (MARK, *kind.attributes) if name not in item]
    tests += [f"attribute_not_exists({placeholders.name(name)})" for name in lacking]
    return " AND ".join(tests)


def is_comparable(pair: Pair) -> bool:
    """Whether the conditions on all attributes fit a request."""
    items = [item for item in (pair.leaving, pair.coming) if item is not None]
    return all(len({*item, *pair.kind.attributes}) < MOST_COMPARED for item in items)
