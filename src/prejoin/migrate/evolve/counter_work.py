"""`CounterWork`: carries the numbers in the shards of a counter over to the other key of their entity.

While an entity has two keys, its counter has shards under both. Code that knows both designs adds to a shard of each,
and notes in both how much of the number they have in common (`~views`). Code of one design adds to its own shard only.
So the difference between a number and its note is what the other shard lacks:

    leaving        coming         what is done                     at the end, when code of the coming design runs alone
    as noted       as noted       nothing                          the leaving one is deleted
    more           any            both get the difference of both  the coming one gets it, the leaving one is deleted
    as noted       absent         code of the coming design        the leaving one is deleted
                                  deleted it: it is deleted
                                  here, if the item is gone, too

and the same with both exchanged. If code of one design deletes an item that code of the other one has changed, the item
is carried over again, and so are its shards. Each transaction has the condition that both shards are as they were read,
so nothing is added twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

from prejoin.migrate.evolve.passes import PassOutcome, TablePasses
from prejoin.migrate.evolve.transition import Transition
from prejoin.migrate.evolve.twins import PairKind, pair_kinds
from prejoin.patterns.aggregates.sharded_counter import BoundCounter, counted_mark
from prejoin.patterns.integrity.audit import patiently
from prejoin.patterns.integrity.findings import Finding
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request
from prejoin.table.read.decode import values_in
from prejoin.table.schema.schema import Schema

_ATTEMPTS = 10
"""How often a shard that is written all the time is read again."""


class CounterAction(Enum):
    """What is done with a shard."""

    NOTHING = "nothing"
    CARRY = "counters carried over"
    DELETE = "shards of counters deleted"


class ShardKeys(NamedTuple):
    """The keys of a shard under both keys of its entity."""

    leaving: Json
    coming: Json
    items: tuple[Json, Json]
    """The keys of the item that the number belongs to."""


@dataclass(frozen=True)
class CounterKind:
    """The shards of an entity's counter under both of its keys."""

    pair: PairKind
    counter: BoundCounter

    @property
    def schema(self) -> Schema:
        return self.pair.leaving_schema

    @property
    def tags(self) -> tuple[str, str]:
        assert self.counter.twin is not None  # `counter_kinds` takes only these
        return self.counter.facet.entity, self.counter.twin.entity

    @property
    def wires(self) -> tuple[str, ...]:
        return tuple(self.counter.attributes.values())

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(map(counted_mark, self.wires))

    def keys(self, item: Json) -> ShardKeys | None:
        """The keys of the leaving and the coming shard, and of the item; None if the key of a shard cannot be read."""
        assert self.counter.twin is not None
        is_leaving = item[self.schema.type_attribute]["S"] == self.counter.facet.entity
        values = values_in(self.schema, self.counter.facet if is_leaving else self.counter.twin, item)
        if values is None:
            return None
        leaving, coming = (self.schema.facet_key(facet, values) for facet in (self.counter.facet, self.counter.twin))
        return ShardKeys(leaving, coming, self.pair.keys(values))

    def difference(self, shard: Json | None) -> dict[str, Decimal]:
        """What the other shard lacks, by attribute."""
        differences = {wire: _number(shard, wire) - _number(shard, counted_mark(wire)) for wire in self.wires}
        return {wire: amount for wire, amount in differences.items() if amount}

    def is_noted(self, shard: Json | None) -> bool:
        """Whether the other shard existed once."""
        return shard is not None and any(mark in shard for mark in self.marks)


def counter_kinds(transition: Transition) -> tuple[CounterKind, ...]:
    """The sharded counters of entities that get another key in the table."""
    return tuple(
        CounterKind(pair, pattern)
        for pair in pair_kinds(transition)
        for pattern in pair.leaving.patterns
        if isinstance(pattern, BoundCounter) and pattern.twin is not None
    )


class CounterWork:
    """A pass over the shards of entities that have two keys."""

    def __init__(self, passes: TablePasses, kinds: tuple[CounterKind, ...], *, at_end: bool) -> None:
        self._passes = passes
        self._client = passes.client
        self._kinds = {tag: kind for kind in kinds for tag in kind.tags}
        self._at_end = at_end
        self.written: Counter[str] = Counter()

    def run_pass(self, name: str) -> PassOutcome:
        """Goes through the table once."""
        return self._passes.settle(name, self._shards_of, self._settle, CounterAction.NOTHING, self.written)

    def _shards_of(self, page: list[Json], _: PassOutcome) -> list[Json]:
        type_attribute = self._client.schema.type_attribute
        return [item for item in page if item.get(type_attribute, {}).get("S", "") in self._kinds]

    def _settle(self, item: Json) -> CounterAction | Finding:
        """Does what is to be done with a shard, and returns it."""
        schema = self._client.schema
        kind = self._kinds[item[schema.type_attribute]["S"]]
        keys = kind.keys(item)
        if keys is None:
            return Finding("damaged", item[schema.type_attribute]["S"], schema.item_key(item), item, None)
        # Counters change all the time: a shard that was written since is read again at once, not in the next pass.
        for _ in range(_ATTEMPTS):
            leaving, coming = self._read(keys.leaving, keys.coming)
            action, actions = self._actions(kind, keys, leaving, coming)
            if not actions or self._passes.write(actions):
                return action
        return CounterAction.CARRY  # the next pass tries again

    def _actions(
        self, kind: CounterKind, keys: ShardKeys, leaving: Json | None, coming: Json | None
    ) -> tuple[CounterAction, list[dict[str, Any]]]:
        """What is to be done with both shards, and the actions of the transaction that does it."""
        if self._at_end:
            return self._last_actions(kind, keys, leaving, coming)
        if leaving is None or coming is None:
            lone_shard = coming if leaving is None else leaving
            if lone_shard is not None and kind.is_noted(lone_shard) and not kind.difference(lone_shard):
                return self._delete_lone_shard(kind, keys, leaving, coming)
        from_leaving, from_coming = kind.difference(leaving), kind.difference(coming)
        if not from_leaving and not from_coming:
            return CounterAction.NOTHING, []
        if leaving is None or coming is None:
            return CounterAction.CARRY, self._restore(kind, keys, leaving, coming)
        # What both have in common grows by both differences.
        common = {
            wire: from_leaving.get(wire, Decimal()) + from_coming.get(wire, Decimal())
            for wire in from_leaving.keys() | from_coming.keys()
        }
        return CounterAction.CARRY, [
            _add(kind, keys.leaving, leaving, kind.tags[0], from_coming, common),
            _add(kind, keys.coming, coming, kind.tags[1], from_leaving, common),
        ]

    def _last_actions(
        self, kind: CounterKind, keys: ShardKeys, leaving: Json | None, coming: Json | None
    ) -> tuple[CounterAction, list[dict[str, Any]]]:
        """Deletes the leaving shard, and adds to the coming one what only the leaving one has."""
        if leaving is None:
            return CounterAction.NOTHING, []
        from_leaving = kind.difference(leaving)
        actions = [_delete(kind, keys.leaving, leaving)]
        if from_leaving or kind.is_noted(coming):
            actions.append(_add_last(kind, keys.coming, coming, kind.tags[1], from_leaving))
        return CounterAction.DELETE, actions

    def _delete_lone_shard(
        self, kind: CounterKind, keys: ShardKeys, leaving: Json | None, coming: Json | None
    ) -> tuple[CounterAction, list[dict[str, Any]]]:
        """Deletes a shard without new additions, whose other one was deleted, and with it its items."""
        if any(self._read(*keys.items)):
            # Other code has changed the item meanwhile, and it was carried over.
            return CounterAction.CARRY, self._restore(kind, keys, leaving, coming)
        shard = coming if leaving is None else leaving
        assert shard is not None
        key, other_key = (keys.coming, keys.leaving) if leaving is None else (keys.leaving, keys.coming)
        absence_checks = [_check_absent(kind, absent_key) for absent_key in (other_key, *keys.items)]
        return CounterAction.DELETE, [_delete(kind, key, shard), *absence_checks]

    def _restore(
        self, kind: CounterKind, keys: ShardKeys, leaving: Json | None, coming: Json | None
    ) -> list[dict[str, Any]]:
        """The actions that write the shard which is absent, with all that the other one has."""
        shard = leaving if leaving is not None else coming
        numbers = {wire: _number(shard, wire) for wire in kind.wires}
        notes = {wire: _number(shard, counted_mark(wire)) for wire in kind.wires}
        lacking = {wire: numbers[wire] - notes[wire] for wire in kind.wires}
        own, other = (0, 1) if leaving is not None else (1, 0)
        places = keys.leaving, keys.coming
        return [
            _add(kind, places[own], shard, kind.tags[own], {}, lacking),
            _add(kind, places[other], None, kind.tags[other], numbers, numbers),
        ]

    def _read(self, *keys: Json) -> list[Json | None]:
        """Items or shards, read in one transaction."""
        gets = [{"Get": {"TableName": self._client.table, "Key": key}} for key in keys]
        answer = self._client._run(patiently(Request("TransactGetItems", {"TransactItems": gets})))
        return [response.get("Item") for response in answer["Responses"]]


def _number(shard: Json | None, name: str) -> Decimal:
    return Decimal((shard or {}).get(name, {"N": "0"})["N"])


def _add(
    kind: CounterKind,
    key: Json,
    shard: Json | None,
    tag: str,
    amounts: Mapping[str, Decimal],
    notes: Mapping[str, Decimal],
) -> dict[str, Any]:
    """The update that adds to the numbers of a shard and to their notes, if it is as it was read."""
    placeholders = Placeholders()
    condition = _as_read(kind, shard, placeholders)
    adds = {**amounts, **{counted_mark(wire): amount for wire, amount in notes.items()}}
    parts = [f"{placeholders.name(name)} {placeholders.value({'N': str(amount)})}" for name, amount in adds.items()]
    text = f"SET {placeholders.name(kind.schema.type_attribute)} = {placeholders.text(tag)} ADD {', '.join(parts)}"
    return {
        "Update": {"Key": key, "UpdateExpression": text, "ConditionExpression": condition, **placeholders.parameters()}
    }


def _add_last(
    kind: CounterKind, key: Json, shard: Json | None, tag: str, amounts: Mapping[str, Decimal]
) -> dict[str, Any]:
    """As `_add`, for a shard that remains alone: it has no notes from then on, so nobody deletes it with its twin."""
    placeholders = Placeholders()
    condition = _as_read(kind, shard, placeholders)
    text = f"SET {placeholders.name(kind.schema.type_attribute)} = {placeholders.text(tag)}"
    notes = [mark for mark in kind.marks if mark in (shard or {})]
    if notes:
        text += f" REMOVE {', '.join(map(placeholders.name, notes))}"
    if amounts:
        parts = [
            f"{placeholders.name(name)} {placeholders.value({'N': str(amount)})}" for name, amount in amounts.items()
        ]
        text += f" ADD {', '.join(parts)}"
    return {
        "Update": {"Key": key, "UpdateExpression": text, "ConditionExpression": condition, **placeholders.parameters()}
    }


def _delete(kind: CounterKind, key: Json, shard: Json) -> dict[str, Any]:
    placeholders = Placeholders()
    condition = _as_read(kind, shard, placeholders)
    return {"Delete": {"Key": key, "ConditionExpression": condition, **placeholders.parameters()}}


def _check_absent(kind: CounterKind, key: Json) -> dict[str, Any]:
    placeholders = Placeholders()
    condition = _as_read(kind, None, placeholders)
    return {"ConditionCheck": {"Key": key, "ConditionExpression": condition, **placeholders.parameters()}}


def _as_read(kind: CounterKind, shard: Json | None, placeholders: Placeholders) -> str:
    """The condition that a shard has the same numbers as before, or that it is still absent."""
    if shard is None:
        return f"attribute_not_exists({placeholders.name(kind.schema.type_attribute)})"
    tests = []
    for name in (*kind.wires, *kind.marks):
        path = placeholders.name(name)
        tests.append(
            f"{path} = {placeholders.value(shard[name])}" if name in shard else f"attribute_not_exists({path})"
        )
    return " AND ".join(tests)
