"""Whether counts are right: children counted and compared, without writing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prejoin.table.asks import Asking, query
from prejoin.table.backoff import pause
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import NotServed
from prejoin.table.values import Json

from .judge import Finding, Judge, values_of
from .recounting import counted_again
from .shard_counters import Sharded, value
from .tallies import Tally

ATTEMPTS = 6
PAGE = 1000

Sums = dict[str, Any]


class Counts:
    """What is counted in the items of a schema."""

    def __init__(self, judge: Judge, table: str) -> None:
        self._judge, self._schema, self._table = judge, judge.schema, table
        self._tallies: dict[type[Any], list[Tally]] = {}
        for entity in judge.schema.entities:
            for pattern in entity.patterns:
                if isinstance(pattern, Tally):
                    self._tallies.setdefault(pattern.cls, []).append(pattern)

    def wrong(self, item: Json) -> Steps[list[Finding]]:
        """What is counted wrong in an item: suspected by a cheap look, and sure when it is found twice."""
        entity, _ = self._judge.kind(item)
        tallies = self._tallies.get(entity.codec.cls, []) if entity else []
        if not tallies or entity is None:
            return []
        key = self._judge.key_of(item)
        suspected: tuple[Sums, Sums] | None = None
        try:
            for attempt in range(ATTEMPTS):
                if attempt:
                    yield pause(attempt)
                    answer = yield Request("GetItem", {"TableName": self._table, "Key": key, "ConsistentRead": True})
                    item = answer.get("Item")
                values = values_of(entity, item) if item else None
                if values is None:
                    return []
                parent = {name: values[name] for name in entity.base.attributes}
                stored = yield from self._stored(tallies, values, parent, consistent=attempt > 0)
                counted = yield from (self._sure if attempt else self._count)(tallies, parent)
                wrong = [one for one in tallies if one.is_wrong(stored[one.attribute], counted[one.attribute])]
                if not wrong:
                    return []
                if attempt and suspected == (stored, counted):
                    return [self._finding(entity.tag, key, item, stored, counted, wrong)]
                suspected = (stored, counted) if attempt else None
        except NotServed:
            pass  # no key finds the children of an item: then nobody can count them
        return []  # it is being written again and again, by those who count

    def _stored(
        self, tallies: Sequence[Tally], values: Mapping[str, Any], parent: Mapping[str, Any], consistent: bool
    ) -> Steps[Sums]:
        found: Sums = {}
        for one in tallies:
            if isinstance(one, Sharded):
                shards = yield from one.read(self._schema, self._table, parent, consistent)
                found[one.attribute] = sum(map(value, shards))
            else:
                found[one.attribute] = one.stored(values[one.attribute])
        return found

    def _count(self, tallies: Sequence[Tally], parent: Mapping[str, Any]) -> Steps[Sums]:
        """What the children add up to, as an index may know a moment late."""
        sums: Sums = {}
        for one in tallies:
            codec, after = one.entity.codec, None
            sums[one.attribute] = one.nothing
            equal = {own: parent[name] for name, own in one.parent.names.items()}
            while True:
                asking = Asking(None, equal, limit=PAGE, after=after)
                page = yield from query(self._schema, self._table, codec.cls, asking)
                for record in page:
                    share = one.share(codec.values(record))
                    if share is not None:
                        sums[one.attribute] = one.joined(sums[one.attribute], share[1])
                after = page.cursor
                if after is None:
                    break
        return sums

    def _sure(self, tallies: Sequence[Tally], parent: Mapping[str, Any]) -> Steps[Sums]:
        return (yield from counted_again(self._schema, self._table, tallies, parent))

    def _finding(self, tag: str, key: Json, item: Json, stored: Sums, counted: Sums, wrong: Sequence[Tally]) -> Finding:
        found, expected = (
            {one.attribute: one.json(sums[one.attribute]) for one in wrong if sums[one.attribute] is not None}
            for sums in (stored, counted)
        )
        return Finding("miscounted", tag, key, found, expected, key, item)
