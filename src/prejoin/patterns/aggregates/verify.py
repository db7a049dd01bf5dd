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
from .sharded import ShardedAggregate, value

ATTEMPTS = 8
SURE = 3
"""How often in a row a count must be wrong, with the item unchanged, to be reported."""
PAGE = 1000

Sums = dict[str, Any]


class Counts:
    """The aggregates of a schema."""

    def __init__(self, judge: Judge, table: str) -> None:
        self._judge, self._schema, self._table = judge, judge.schema, table
        self._tallies: dict[type[Any], list[Aggregate]] = {}
        for entity in judge.schema.entities:
            for pattern in entity.patterns:
                if isinstance(pattern, Aggregate):
                    self._tallies.setdefault(pattern.cls, []).append(pattern)

    def has_counts(self, item: Json) -> bool:
        """Return whether an item has aggregates."""
        entity, _ = self._judge.kind(item)
        return entity is not None and entity.codec.cls in self._tallies

    def wrong(self, item: Json) -> Steps[list[Finding]]:
        """Return the wrong aggregates of an item: suspected by one count, and verified by several."""
        entity, _ = self._judge.kind(item)
        tallies = self._tallies.get(entity.codec.cls, []) if entity else []
        values = values_of(entity, item) if entity and tallies else None
        if entity is None or values is None:
            return []
        try:
            parent = {name: values[name] for name in entity.base.attributes}
            stored = yield from self._stored(tallies, values, parent, consistent=False)
            counted = yield from self._count(tallies, parent)
            if counted is not None and self._differ(tallies, stored, counted):
                return (yield from self._watched(entity, tallies, self._judge.key_of(item), parent))
        except NotServed:
            pass  # no key finds the children of an item: then nobody can count them
        return []

    def _watched(
        self, entity: BoundEntity[Any], tallies: Sequence[Aggregate], key: Json, parent: Mapping[str, Any]
    ) -> Steps[list[Finding]]:
        """Return the aggregates that are wrong in each of several counts, while the item does not change.

        The children cannot be read in one transaction with the item. With one count only, a child that is inserted
        while they are counted, and deleted before the item is read again, would look like a wrong count.
        """
        seen = None
        times = 0
        for attempt in range(ATTEMPTS):
            yield pause(attempt)
            before = yield from self._now(entity, tallies, key, parent)
            if before is None:
                return []
            counted = yield from count_children(self._schema, self._table, tallies, parent)
            item, stored = before
            wrong = self._differ(tallies, stored, counted)
            if not wrong:
                return []
            if before != (yield from self._now(entity, tallies, key, parent)):
                seen, times = None, 0
                continue
            times = times + 1 if seen == (item, stored, counted) else 1
            seen = (item, stored, counted)
            if times == SURE:
                return [self._finding(entity.tag, key, item, stored, counted, wrong)]
        return []  # it is being written again and again, by those who count

    def _now(
        self, entity: BoundEntity[Any], tallies: Sequence[Aggregate], key: Json, parent: Mapping[str, Any]
    ) -> Steps[tuple[Json, Sums] | None]:
        """Return an item and its aggregates; None if it does not exist or cannot be read."""
        answer = yield Request("GetItem", {"TableName": self._table, "Key": key, "ConsistentRead": True})
        item = answer.get("Item")
        values = values_of(entity, item) if item else None
        if values is None:
            return None
        return item, (yield from self._stored(tallies, values, parent, consistent=True))

    def _differ(self, tallies: Sequence[Aggregate], stored: Sums, counted: Sums) -> list[Aggregate]:
        return [one for one in tallies if one.is_wrong(stored[one.attribute], counted[one.attribute])]

    def _stored(
        self, tallies: Sequence[Aggregate], values: Mapping[str, Any], parent: Mapping[str, Any], consistent: bool
    ) -> Steps[Sums]:
        found: Sums = {}
        for one in tallies:
            if isinstance(one, ShardedAggregate):
                shards = yield from one.read(self._schema, self._table, parent, consistent)
                found[one.attribute] = sum(map(value, shards))
            else:
                found[one.attribute] = one.stored(values[one.attribute])
        return found

    def _count(self, tallies: Sequence[Aggregate], parent: Mapping[str, Any]) -> Steps[Sums | None]:
        """Return the aggregates of the children, eventually consistent.

        None if a child cannot be read: its share is not known then, and it is a finding of its own.
        """
        sums: Sums = {}
        for one in tallies:
            codec, after = one.entity.codec, None
            sums[one.attribute] = one.zero
            equal = {own: parent[name] for name, own in one.parent.names.items()}
            while True:
                arguments = QueryArguments(None, equal, limit=PAGE, after=after, keep=True)
                page = yield from query(self._schema, self._table, codec.cls, arguments)
                if page.unreadable:
                    return None
                sums[one.attribute] = one.with_records(sums[one.attribute], page)
                after = page.cursor
                if after is None:
                    break
        return sums

    def _finding(
        self, tag: str, key: Json, item: Json, stored: Sums, counted: Sums, wrong: Sequence[Aggregate]
    ) -> Finding:
        found, expected = (
            {one.attribute: one.json(sums[one.attribute]) for one in wrong if sums[one.attribute] is not None}
            for sums in (stored, counted)
        )
        return Finding("miscounted", tag, key, found, expected, key, item)
