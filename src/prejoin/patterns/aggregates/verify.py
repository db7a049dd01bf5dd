"""Verify counts: count children and compare, without writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prejoin.patterns.integrity.findings import Finding, Judge, values_of
from prejoin.table.codec.values import Json
from prejoin.table.conversation import Request, Steps, pause
from prejoin.table.errors import NotServed
from prejoin.table.read.arguments import QueryArguments
from prejoin.table.read.query import query
from prejoin.table.schema.bind import BoundEntity

from .contribution import Aggregate
from .recount import count_children
from .sharded import ShardedAggregate, shard_amount

ATTEMPTS = 8
SURE = 3
"""How often in a row a count must be wrong, with the item unchanged, to be reported."""
PAGE = 1000

Sums = dict[str, Any]


class Counts:
    """The aggregates of a schema."""

    def __init__(self, judge: Judge, table: str) -> None:
        self._judge, self._schema, self._table = judge, judge.schema, table
        self._aggregates: dict[type[Any], list[Aggregate]] = {}
        for entity in judge.schema.entities:
            for pattern in entity.patterns:
                if isinstance(pattern, Aggregate):
                    self._aggregates.setdefault(pattern.cls, []).append(pattern)

    def has_counts(self, item: Json) -> bool:
        """Return whether an item has aggregates."""
        entity, _ = self._judge.kind(item)
        return entity is not None and entity.codec.cls in self._aggregates

    def wrong(self, item: Json) -> Steps[list[Finding]]:
        """Return the wrong aggregates of an item: suspected by one count, and verified by several."""
        entity, _ = self._judge.kind(item)
        aggregates = self._aggregates.get(entity.codec.cls, []) if entity else []
        values = values_of(entity, item) if entity and aggregates else None
        if entity is None or values is None:
            return []
        try:
            parent = {name: values[name] for name in entity.base.attributes}
            stored_totals = yield from self._read_stored(aggregates, values, parent, consistent=False)
            counted_totals = yield from self._count(aggregates, parent)
            if counted_totals is not None and self._wrong_aggregates(aggregates, stored_totals, counted_totals):
                return (yield from self._observe(entity, aggregates, self._judge.key_of(item), parent))
        except NotServed:
            pass  # no key finds the children of an item: then nobody can count them
        return []

    def _observe(
        self, entity: BoundEntity[Any], aggregates: Sequence[Aggregate], key: Json, parent: Mapping[str, Any]
    ) -> Steps[list[Finding]]:
        """Return the aggregates that are wrong in each of several counts, while the item does not change.

        The children cannot be read in one transaction with the item. With one count only, a child that is inserted
        while they are counted, and deleted before the item is read again, would look like a wrong count.
        """
        last_observation = None
        repetitions = 0
        for attempt in range(ATTEMPTS):
            yield pause(attempt)
            before = yield from self._read_parent(entity, aggregates, key, parent)
            if before is None:
                return []
            counted_totals = yield from count_children(self._schema, self._table, aggregates, parent)
            item, stored_totals = before
            wrong_aggregates = self._wrong_aggregates(aggregates, stored_totals, counted_totals)
            if not wrong_aggregates:
                return []
            if before != (yield from self._read_parent(entity, aggregates, key, parent)):
                last_observation, repetitions = None, 0
                continue
            repetitions = repetitions + 1 if last_observation == (item, stored_totals, counted_totals) else 1
            last_observation = (item, stored_totals, counted_totals)
            if repetitions == SURE:
                return [self._finding(entity.tag, key, item, stored_totals, counted_totals, wrong_aggregates)]
        return []  # it is being written again and again, by those who count

    def _read_parent(
        self, entity: BoundEntity[Any], aggregates: Sequence[Aggregate], key: Json, parent: Mapping[str, Any]
    ) -> Steps[tuple[Json, Sums] | None]:
        """Return an item and its aggregates; None if it does not exist or cannot be read."""
        answer = yield Request("GetItem", {"TableName": self._table, "Key": key, "ConsistentRead": True})
        item = answer.get("Item")
        values = values_of(entity, item) if item else None
        if values is None:
            return None
        return item, (yield from self._read_stored(aggregates, values, parent, consistent=True))

    def _wrong_aggregates(
        self, aggregates: Sequence[Aggregate], stored_totals: Sums, counted_totals: Sums
    ) -> list[Aggregate]:
        wrong_aggregates = []
        for aggregate in aggregates:
            name = aggregate.attribute
            if aggregate.is_wrong(stored_totals[name], counted_totals[name]):
                wrong_aggregates.append(aggregate)
        return wrong_aggregates

    def _read_stored(
        self, aggregates: Sequence[Aggregate], values: Mapping[str, Any], parent: Mapping[str, Any], consistent: bool
    ) -> Steps[Sums]:
        totals: Sums = {}
        for aggregate in aggregates:
            if isinstance(aggregate, ShardedAggregate):
                shards = yield from aggregate.read(self._schema, self._table, parent, consistent)
                totals[aggregate.attribute] = sum(map(shard_amount, shards))
            else:
                totals[aggregate.attribute] = aggregate.from_attribute(values[aggregate.attribute])
        return totals

    def _count(self, aggregates: Sequence[Aggregate], parent: Mapping[str, Any]) -> Steps[Sums | None]:
        """Return the aggregates of the children, eventually consistent.

        None if a child cannot be read: its share is not known then, and it is a finding of its own.
        """
        sums: Sums = {}
        for aggregate in aggregates:
            codec, after = aggregate.entity.codec, None
            sums[aggregate.attribute] = aggregate.zero
            equal = {child_name: parent[name] for name, child_name in aggregate.parent.names.items()}
            while True:
                arguments = QueryArguments(None, equal, limit=PAGE, after=after, keep=True)
                page = yield from query(self._schema, self._table, codec.cls, arguments)
                if page.unreadable:
                    return None
                sums[aggregate.attribute] = aggregate.with_records(sums[aggregate.attribute], page)
                after = page.cursor
                if after is None:
                    break
        return sums

    def _finding(
        self, tag: str, key: Json, item: Json, stored_totals: Sums, counted_totals: Sums, wrong: Sequence[Aggregate]
    ) -> Finding:
        stored_json = _json_of(wrong, stored_totals)
        return Finding("miscounted", tag, key, stored_json, _json_of(wrong, counted_totals), key, item)


def _json_of(aggregates: Sequence[Aggregate], totals: Sums) -> Json:
    """Return totals as they are stored, without those that have no value."""
    json: Json = {}
    for aggregate in aggregates:
        total = totals[aggregate.attribute]
        if total is not None:
            json[aggregate.attribute] = aggregate.json(total)
    return json
