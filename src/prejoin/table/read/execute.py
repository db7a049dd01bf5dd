"""Reads without I/O: requests out, answers in, objects in the order of their keys; over shards and time buckets too."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from math import ceil, sqrt
from typing import Any, cast

import msgspec

from prejoin.keys import TABLE, KeyCondition, Plan
from prejoin.keys.planner.key_condition import Op
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.values import ordered
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Condition
from prejoin.table.condition.render import Placeholders, grouped, render
from prejoin.table.condition.visibility import Hiding, filter_text
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import ArgumentError
from prejoin.table.schema.key_attributes import KeyAttributes, wire
from prejoin.table.schema.schema import Schema

from .cursor import Cursors, Position, check_key, check_query, encode_cursor, fingerprint, refusal
from .decode import Answer, Reading, page_keys

SIDE_BY_SIDE = 16
"""How many requests go out together at most."""


class Query(msgspec.Struct, frozen=True):
    """A planned query with its values, ready to be read page by page."""

    schema: Schema
    table: str
    plan: Plan
    conditions: tuple[KeyCondition, ...]
    codec: Codec[Any]
    reading: Reading
    reverse: bool = False
    consistent: bool = False
    where: Condition | None = None
    """A filter that was asked for: items that are read, paid and left out."""
    projected: bool = False
    """Whether only what is read is asked for."""
    until: datetime | None = None
    """The time it is asked at, where that matters. A range over time buckets without an end goes up to its bucket."""
    hiding: tuple[Hiding, ...] = ()
    """What is not shown. Not asked for by anybody, so it is no part of the question that a cursor goes on with."""

    @property
    def groups(self) -> list[tuple[KeyCondition, ...]]:
        """Conditions read side by side (shards), one group after the other (time buckets)."""
        width = self.plan.shards
        return [self.conditions[i : i + width] for i in range(0, len(self.conditions), width)]

    @property
    def name(self) -> str:
        # Of many partitions, those between the first and the last follow from them.
        ends = self.conditions[:1], self.conditions[-1:], len(self.conditions)
        entities = [facet.entity for facet in self.plan.facets]
        return fingerprint(self.table, self.plan.slot, entities, *ends, self.reverse, self.where)

    def request(self, condition: KeyCondition, start: Json | None, limit: int | None) -> Request:
        to = Placeholders()
        body = self._body(condition, start, to)
        if self.where is None and limit is not None:
            body["Limit"] = limit
        if self.projected:
            wanted = sorted({*self.reading.wires, *self.key_names})
            body["ProjectionExpression"] = ", ".join(map(to.name, wanted))
        return Request("Query", _with(body, to), condition, self.reading.page)

    def count_request(self, condition: KeyCondition, start: Json | None, limit: int | None = None) -> Request:
        to = Placeholders()
        body = self._body(condition, start, to)
        body["Select"] = "COUNT"
        if limit is not None:
            body["Limit"] = limit
        return Request("Query", _with(body, to), condition)

    def _body(self, condition: KeyCondition, start: Json | None, to: Placeholders) -> dict[str, Any]:
        slot = self.plan.slot
        text, names = _key_text(self.schema.keys(slot), condition.op, len(condition.head))
        body: dict[str, Any] = {
            "TableName": self.table,
            "KeyConditionExpression": text,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": _key_values(condition),
        }
        if slot != TABLE:
            body["IndexName"] = slot
        if self.reverse:
            body["ScanIndexForward"] = False
        if self.consistent:
            body["ConsistentRead"] = True
        if test := self._filter(to):
            body["FilterExpression"] = test
        if start is not None:
            body["ExclusiveStartKey"] = start
        return body

    def _filter(self, to: Placeholders) -> str:
        if not self.hiding:
            return "" if self.where is None else render(self.where, self.codec, to)
        shown = filter_text(self.hiding, self.schema.type_attribute, len(self.plan.facets) == 1, to)
        return shown if self.where is None else f"{grouped(self.where, self.codec, to)} AND {shown}"

    def again(self, limit: int | None) -> int | None:
        """How many items to read when so many are missing still: if some are hidden, there may be many of these."""
        return max(limit, 100) if limit is not None and self.hiding else limit

    @property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of a start key: those of the table's key, and of the index's key."""
        names = self.schema.keys(TABLE).names
        return names if self.plan.slot == TABLE else (*names, *self.schema.keys(self.plan.slot).names)

    def keys_of(self, answer: Answer) -> list[Json]:
        """The keys of the items of an answer."""
        return page_keys(self.key_names).decode(answer.body).Items  # type: ignore[no-any-return]

    def order_of(self, answer: Answer) -> list[Any]:
        """What the items of an answer are sorted by."""
        sk = self.schema.keys(self.plan.slot).sk
        return [sortable(item, sk) for item in page_keys(sk).decode(answer.body).Items]


def sortable(item: Mapping[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    """What to compare items of one index by, as DynamoDB does: text and binary by bytes, numbers as numbers."""
    return tuple(ordered(item[name]) for name in names)


def _with(body: dict[str, Any], to: Placeholders) -> dict[str, Any]:
    """A body with the names and values of its expressions beside those of the key."""
    for part, more in to.parameters().items():
        body[part] = {**body[part], **more}
    return body


@cache
def _key_text(keys: KeyAttributes, op: str, heads: int) -> tuple[str, dict[str, str]]:
    """A key condition as an expression, and the names in it. Conditions of one form differ in their values only."""
    values: KeyCondition = KeyCondition(("",) * len(keys.pk), cast("Op", op), head=("",) * heads)
    texts: list[str] = []
    names: dict[str, str] = {}
    given = 0
    for attribute, test, ends in values.tests(keys.pk, keys.sk):
        name = f"#k{len(names)}"
        names[name] = attribute
        low, high = f":k{given}", f":k{given + 1}"
        given += len(ends)
        if test == "begins_with":
            texts.append(f"begins_with({name}, {low})")
        elif test == "between":
            texts.append(f"{name} BETWEEN {low} AND {high}")
        else:
            texts.append(f"{name} {test} {low}")
    return " AND ".join(texts), names


def _key_values(condition: KeyCondition) -> dict[str, Json]:
    """The values of a key condition, by the placeholders of its text."""
    pk, op = condition.pk, condition.op
    given = [*(pk if isinstance(pk, tuple) else (pk,)), *condition.head]
    if op:
        given.append(condition.low)
    if op == "between":
        given.append(condition.high)
    return {f":k{at}": wire(value) for at, value in enumerate(given)}


class _Stream:
    """One condition being read: what has come and not been given out, and where to go on."""

    def __init__(self, query: Query, condition: KeyCondition, start: Json | None) -> None:
        self._query = query
        self._condition = condition
        self._entered = start
        self._answer: Answer | None = None
        self._order: list[Any] | None = None
        self._at = 0
        self._end = 0

    @property
    def ready(self) -> bool:
        """Whether something has come that was not given out."""
        return self._at < self._end

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return self._answer is not None and self._answer.start is None

    @property
    def last(self) -> Json | None:
        """Where reading would go on, after what was given out."""
        answer = self._answer
        if answer is None or not self._at:
            return self._entered
        if not self.ready and answer.start is not None:
            return answer.start
        return self._query.keys_of(answer)[self._at - 1]

    def request(self, limit: int | None, share: int | None) -> Request:
        """What is to be sent next: at first for its share, and if that does not do, for all that is missing."""
        limit = share if self._answer is None else self._query.again(limit)
        start = self._entered if self._answer is None else self._answer.start
        return self._query.request(self._condition, start, limit)

    def receive(self, answer: Answer) -> None:
        if self._answer is not None:
            self._entered = self._answer.start
        self._answer, self._order, self._at, self._end = answer, None, 0, len(answer.found)

    def take(self, most: int | None) -> list[Any]:
        assert self._answer
        start, self._at = self._at, self._end if most is None else min(self._end, self._at + most)
        return self._answer.found[start : self._at]

    @property
    def bound(self) -> Any:
        """What the last of what is here is sorted by."""
        return self._sorted_by[-1]

    def until(self, bound: Any, reverse: bool, included: bool) -> Iterator[tuple[Any, Any]]:
        """What comes up to a bound (None: all), each with what it is sorted by. It stays here until it is taken."""
        assert self._answer
        order = self._sorted_by
        if bound is None:
            end = len(order)
        elif reverse:
            end = len(order) - (bisect_left if included else bisect_right)(order[::-1], bound)
        else:
            end = (bisect_right if included else bisect_left)(order, bound)
        return zip(order[self._at : end], self._answer.found[self._at : end], strict=True)

    @property
    def _sorted_by(self) -> list[Any]:
        assert self._answer
        if self._order is None:
            self._order = self._query.order_of(self._answer)
        return self._order


def read(
    query: Query, limit: int | None, start: Position | None, cursors: Cursors | None = None
) -> Steps[tuple[list[Any], str | None]]:
    """Objects in order, at most `limit` of them, and the cursor to go on from if there may be more."""
    if limit is not None and limit < 1:
        raise ArgumentError(f"limit is {limit}, and a page has at least one item")
    if start is None:
        found, end = yield from _read(query, limit, None)
    else:
        _check(query, start)
        try:
            found, end = yield from _read(query, limit, start)
        except DynamoDBError as error:
            raise refusal(error) or error from None
    return found, None if end is None else encode_cursor(end, cursors)


def _check(query: Query, start: Position) -> None:
    """Refuse a position that this query cannot have reached."""
    groups, schema = query.groups, query.schema
    check_query(start, query.name, query.plan.shards, len(groups))
    names, keys = query.key_names, schema.keys(query.plan.slot)
    for key, condition in zip(start.keys, groups[start.group], strict=True):
        if key is not None:
            check_key(key, names, schema.key_types, keys, condition)


def _read(query: Query, limit: int | None, start: Position | None) -> Steps[tuple[list[Any], Position | None]]:
    groups = query.groups
    if len(query.conditions) == 1:
        return (yield from _read_one(query, limit, start))
    found: list[Any] = []
    ahead: list[list[_Stream]] = []
    first, count, width = start.group if start else 0, 0, query.plan.shards
    for number in range(first, len(groups)):
        if not ahead:
            count = _wanted(limit, len(found), number - first, count, width)
            ahead = [_streams(query, group) for group in groups[number : number + count]]
            if start and number == first:
                ahead[0] = _streams(query, groups[number], start.keys)
            yield from _fill([stream for streams in ahead for stream in streams], limit and limit - len(found), width)
        streams = ahead.pop(0)
        while any(stream.ready or not stream.done for stream in streams):
            yield from _fill(streams, limit and limit - len(found), width)
            found += _take(streams, query.reverse, limit and limit - len(found))
            if len(found) == limit:
                more = number + 1 < len(groups) or any(stream.ready or not stream.done for stream in streams)
                if not more:
                    return found, None
                return found, _position(query, start, number, [stream.last for stream in streams])
    return found, None


def _read_one(query: Query, limit: int | None, start: Position | None) -> Steps[tuple[list[Any], Position | None]]:
    """The results of a single condition, as most queries have."""
    (condition,) = query.conditions
    after = start.keys[0] if start else None
    found: list[Any] = []
    first = True
    while True:
        room = None if limit is None else limit - len(found)
        answer: Answer = yield query.request(condition, after, room if first else query.again(room))
        first = False
        found += answer.found if room is None else answer.found[:room]
        after = answer.start
        if len(found) == limit:
            if room is not None and len(answer.found) > room:
                after = query.keys_of(answer)[room - 1]
            return found, None if after is None else _position(query, start, 0, [after])
        if after is None:
            return found, None


def _position(query: Query, start: Position | None, group: int, keys: list[Json | None]) -> Position:
    # Where the page began after a cursor, that has the name of the query, which takes a while to make.
    return Position(query.name if start is None else start.query, group, keys, query.until)


def there_is(query: Query) -> Steps[bool]:
    """Whether there is any item."""
    if query.hiding:
        return bool((yield from read(query, 1, None))[0])
    for at in range(0, len(query.conditions), SIDE_BY_SIDE):
        some = query.conditions[at : at + SIDE_BY_SIDE]
        answers = yield from together([query.count_request(condition, None, 1) for condition in some])
        if any(answer["Count"] for answer in answers):
            return True
    return False


def count_items(query: Query) -> Steps[int]:
    """How many items there are, without reading them into anything."""
    total = 0
    waiting: list[tuple[KeyCondition, Json | None]] = [(condition, None) for condition in query.conditions]
    while waiting:
        now, waiting = waiting[:SIDE_BY_SIDE], waiting[SIDE_BY_SIDE:]
        answers = yield from together([query.count_request(condition, start) for condition, start in now])
        for (condition, _), answer in zip(now, answers, strict=True):
            total += answer["Count"]
            if "LastEvaluatedKey" in answer:
                waiting.append((condition, answer["LastEvaluatedKey"]))
    return total


def together(requests: Sequence[Request]) -> Steps[Sequence[Any]]:
    """The answers to several requests."""
    if len(requests) == 1:
        return ((yield requests[0]),)
    return (yield tuple(requests)) if requests else ()


def _wanted(limit: int | None, found: int, read_: int, last: int, shards: int) -> int:
    """How many time buckets to read side by side, when so many have been read and have given what was found.

    With a limit, the next bucket may not be wanted at all: at first it is one, then as many as would fill the page if
    they are like those before, and at most twice as many as the last time.
    """
    most = max(1, SIDE_BY_SIDE // shards)
    if limit is None:
        return most
    likely = ceil((limit - found) * read_ / found) if found else most
    return max(1, min(likely, 2 * last, most))


def _share(limit: int | None, shards: int) -> int | None:
    """How much to ask of each of several shards for a page. Three deviations above the mean: it nearly always does."""
    if limit is None:
        return None
    mean = limit / shards
    return min(limit, ceil(mean + 3 * sqrt(mean)))


def _streams(query: Query, group: Sequence[KeyCondition], keys: Sequence[Json | None] = ()) -> list[_Stream]:
    starts = keys or [None] * len(group)
    return [_Stream(query, condition, start) for condition, start in zip(group, starts, strict=True)]


def _fill(streams: Sequence[_Stream], limit: int | None, shards: int) -> Steps[None]:
    """Reads on, until each has something to give or nothing more."""
    while dry := [stream for stream in streams if not stream.ready and not stream.done]:
        share = _share(limit, shards)
        for at in range(0, len(dry), SIDE_BY_SIDE):
            some = dry[at : at + SIDE_BY_SIDE]
            answers = yield from together([stream.request(limit, share) for stream in some])
            for stream, answer in zip(some, answers, strict=True):
                stream.receive(answer)


def _take(streams: Sequence[_Stream], reverse: bool, most: int | None) -> list[Any]:
    """What comes next, as far as that is known: of several streams, up to where the first of them has to read on."""
    ready = [stream for stream in streams if stream.ready]
    if len(ready) < 2:
        return ready[0].take(most) if ready else []
    bound, where = None, len(ready)
    for number, stream in enumerate(ready):
        if not stream.done and (bound is None or (stream.bound > bound if reverse else stream.bound < bound)):
            bound, where = stream.bound, number
    # Of equals, those of the first stream come first, however they are cut into pages.
    merged = sorted(
        (
            (order, number, one)
            for number, stream in enumerate(ready)
            for order, one in stream.until(bound, reverse, number <= where)
        ),
        key=lambda entry: entry[0],
        reverse=reverse,
    )[:most]
    for number, count in Counter([number for _, number, _ in merged]).items():
        ready[number].take(count)
    return [one for _, _, one in merged]
