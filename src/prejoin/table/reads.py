"""Reads without I/O: requests out, answers in, pages of items back; over shards and time buckets too."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prejoin.keys import TABLE, KeyCondition, Plan

from .codec import Codec
from .conversation import Request, Steps
from .cursor import Position, decode_cursor, encode_cursor, fingerprint
from .expressions import Condition
from .render import Placeholders, render
from .schema import Schema
from .values import Json


@dataclass(frozen=True)
class Query:
    """A planned query with its values, ready to be read page by page."""

    schema: Schema
    table: str
    plan: Plan
    conditions: tuple[KeyCondition, ...]
    codec: Codec[Any]
    reverse: bool = False
    consistent: bool = False
    where: Condition | None = None
    """A filter that was asked for: items that are read, paid and left out."""

    @property
    def groups(self) -> list[tuple[KeyCondition, ...]]:
        """Conditions read side by side (shards), one group after the other (time buckets)."""
        width = self.plan.shards
        return [self.conditions[i : i + width] for i in range(0, len(self.conditions), width)]

    @property
    def name(self) -> str:
        return fingerprint(self.table, self.plan.slot, self.conditions, self.reverse, self.where)

    def request(self, condition: KeyCondition, start: Json | None, limit: int | None) -> Request:
        pk, sk = self.schema.physical(self.plan.slot)
        to = Placeholders()
        body: dict[str, Any] = {
            "TableName": self.table,
            "KeyConditionExpression": _key_condition(condition, pk, sk, to),
        }
        if self.plan.slot != TABLE:
            body["IndexName"] = self.plan.slot
        if self.reverse:
            body["ScanIndexForward"] = False
        if self.consistent:
            body["ConsistentRead"] = True
        if self.where is not None:
            body["FilterExpression"] = render(self.where, self.codec, to)
        elif limit is not None:
            body["Limit"] = limit
        if start is not None:
            body["ExclusiveStartKey"] = start
        return Request("Query", {**body, **to.parameters()}, str(condition))

    def key_of(self, item: Json) -> Json:
        """The key attributes of an item, by which reading goes on after it."""
        slots = (TABLE, self.plan.slot)
        return {name: item[name] for slot in slots for name in self.schema.physical(slot) if name}

    def sort_key(self, item: Json) -> str:
        sk = self.schema.physical(self.plan.slot)[1]
        return str(item[sk]["S"]) if sk else ""


def _key_condition(condition: KeyCondition, pk: str, sk: str | None, to: Placeholders) -> str:
    text = f"{to.name(pk)} = {to.text(condition.pk)}"
    if not condition.op:
        return text
    assert sk is not None
    name, low = to.name(sk), to.text(condition.low)
    if condition.op == "begins_with":
        return f"{text} AND begins_with({name}, {low})"
    if condition.op == "between":
        return f"{text} AND {name} BETWEEN {low} AND {to.text(condition.high)}"
    return f"{text} AND {name} {condition.op} {low}"


@dataclass
class _Stream:
    """One condition being read: what has come and not been given out, and where to go on."""

    condition: KeyCondition
    start: Json | None
    done: bool = False
    last: Json | None = None
    items: deque[Json] = field(default_factory=deque)


def read(query: Query, limit: int | None, after: str | None) -> Steps[tuple[list[Json], str | None]]:
    """Items in order, at most `limit` of them, and the cursor to go on from if there may be more."""
    if limit is not None and limit < 1:
        raise ValueError(f"limit is {limit}, and a page has at least one item")
    groups = query.groups
    found: list[Json] = []
    first = Position(query.name, 0, [None] * query.plan.shards)
    at = first if after is None else decode_cursor(after, query.name, query.plan.shards, len(groups))
    for number in range(at.group, len(groups)):
        keys = at.keys if number == at.group else first.keys
        streams = [_Stream(c, key, last=key) for c, key in zip(groups[number], keys, strict=True)]
        while True:
            for stream in streams:
                yield from _fill(query, stream, None if limit is None else limit - len(found))
            ready = [stream for stream in streams if stream.items]
            if not ready:
                break
            taken = _take(query, ready, 1 if len(streams) > 1 else limit and limit - len(found))
            found += taken
            if len(found) == limit:
                more = number + 1 < len(groups) or any(s.items or not s.done for s in streams)
                here = Position(query.name, number, [s.last for s in streams])
                return found, encode_cursor(here) if more else None
    return found, None


def _fill(query: Query, stream: _Stream, limit: int | None) -> Steps[None]:
    while not stream.items and not stream.done:
        answer = yield query.request(stream.condition, stream.start, limit)
        stream.items.extend(answer["Items"])
        stream.start = answer.get("LastEvaluatedKey")
        stream.done = stream.start is None


def _take(query: Query, ready: Sequence[_Stream], most: int | None) -> list[Json]:
    """The items that come next: of one stream as many as there are, of several the one that is first."""
    stream = _next(query, ready)
    taken = [stream.items.popleft() for _ in range(min(len(stream.items), most or len(stream.items)))]
    stream.last = query.key_of(taken[-1])
    return taken


def _next(query: Query, ready: Sequence[_Stream]) -> _Stream:
    if len(ready) == 1:
        return ready[0]
    choose = max if query.reverse else min
    return choose(ready, key=lambda stream: query.sort_key(stream.items[0]))
