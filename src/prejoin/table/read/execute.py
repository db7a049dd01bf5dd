"""Run a query page by page, over one partition or over many shards and time buckets. No I/O here."""

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
from prejoin.table.condition.render import Placeholders, render, render_part
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import ArgumentError
from prejoin.table.schema.key_attributes import KeyAttributes, wire
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import VisibleItems, filter_text

from .cursor import Cursors, Position, check_key, check_query, encode_cursor, fingerprint, refusal
from .decode import DecodedPage, ItemDecoder, page_keys

SIDE_BY_SIDE = 16
"""How many requests are sent at the same time, at most."""


class Query(msgspec.Struct, frozen=True):
    """A query with its plan and values."""

    schema: Schema
    table: str
    plan: Plan
    conditions: tuple[KeyCondition, ...]
    codec: Codec[Any]
    decoder: ItemDecoder
    reverse: bool = False
    consistent: bool = False
    where: Condition | None = None
    """The filter of the caller: DynamoDB reads and bills the items that it leaves out."""
    projected: bool = False
    """Whether only some attributes are requested."""
    until: datetime | None = None
    """The time of the query, if it matters: an open range over time buckets ends with the bucket of that time."""
    visible: tuple[VisibleItems, ...] = ()
    """The condition of visible items. It changes with time, so a cursor does not depend on it."""
    filters: tuple[VisibleItems, ...] = ()
    """The caller's filters of a read of several entities, each for the items with its type tag."""
    words: int = 1
    """How many words a member of an enum in the key may have in the table. There is a condition for each of them."""

    @property
    def width(self) -> int:
        """The number of conditions of a group."""
        return self.plan.shards * self.words

    @property
    def groups(self) -> list[tuple[KeyCondition, ...]]:
        """The conditions in groups: the shards of one group are read at once, the groups (time buckets) in turn."""
        width = self.width
        return [self.conditions[i : i + width] for i in range(0, len(self.conditions), width)]

    @property
    def name(self) -> str:
        """The fingerprint by which a cursor recognises its query."""
        # The partitions between the first and the last follow from these.
        ends = self.conditions[:1], self.conditions[-1:], len(self.conditions)
        entities = [facet.entity for facet in self.plan.facets]
        tests = [(one.tag, one.conditions) for one in self.filters]
        return fingerprint(self.table, self.plan.slot, entities, *ends, self.reverse, self.where, *tests)

    def request(self, condition: KeyCondition, start: Json | None, limit: int | None) -> Request:
        to = Placeholders()
        body = self._body(condition, start, to)
        if self.where is None and not self.filters and limit is not None:
            body["Limit"] = limit
        if self.projected:
            wanted = sorted({*self.decoder.wires, *self.key_names})
            body["ProjectionExpression"] = ", ".join(map(to.name, wanted))
        return Request("Query", _with(body, to), condition, self.decoder.page)

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
        tested = (*self.visible, *self.filters)
        if not tested:
            return "" if self.where is None else render(self.where, self.codec, to)
        hidden = filter_text(tested, self.schema.type_attribute, len(self.plan.facets) == 1, to)
        return hidden if self.where is None else f"{render_part(self.where, self.codec, to)} AND {hidden}"

    def again(self, limit: int | None) -> int | None:
        """Return the limit of a follow-up request. Many items may be hidden, so it is not too small then."""
        return max(limit, 100) if limit is not None and self.visible else limit

    @property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of an ExclusiveStartKey: the key of the table, and that of the index."""
        names = self.schema.keys(TABLE).names
        return names if self.plan.slot == TABLE else (*names, *self.schema.keys(self.plan.slot).names)

    def keys_of(self, answer: DecodedPage) -> list[Json]:
        """Return the keys of the items of a page."""
        return page_keys(self.key_names).decode(answer.body).Items  # type: ignore[no-any-return]

    def order_of(self, answer: DecodedPage, condition: KeyCondition, first: KeyCondition) -> list[Any]:
        """Return the sort keys of the items of a page, as if they were of the condition `first` with its word."""
        sk = self.schema.keys(self.plan.slot).sk
        items = page_keys(sk).decode(answer.body).Items
        if self.words == 1:
            return [sortable(item, sk) for item in items]
        sk = sk[len(condition.head) :]
        if condition.low == first.low or not isinstance(condition.low, str) or not isinstance(first.low, str):
            return [sortable(item, sk) for item in items]
        return [sortable({**item, sk[0]: _with_word(item[sk[0]], condition.low, first.low)}, sk) for item in items]


def _with_word(value: Json, text: str, other: str) -> Json:
    """Return a sort key with the beginning of `other` instead of that of `text`. They differ in one word.

    >>> _with_word({"S": "ORDER#DONE#7"}, "ORDER#DONE#", "ORDER#PAID#")
    {'S': 'ORDER#PAID#7'}
    """
    start = _common_length(text, other)
    end = _common_length(text[start:][::-1], other[start:][::-1])
    return {"S": f"{text[:start]}{other[start : len(other) - end]}{value['S'][len(text) - end :]}"}


def _common_length(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def sortable(item: Mapping[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    """Return the attributes of an item in a form that sorts as DynamoDB does: by bytes, or as numbers."""
    return tuple(ordered(item[name]) for name in names)


def _with(body: dict[str, Any], to: Placeholders) -> dict[str, Any]:
    """Add the names and values of the other expressions to those of the key condition."""
    for part, more in to.parameters().items():
        body[part] = {**body[part], **more}
    return body


@cache
def _key_text(keys: KeyAttributes, op: str, heads: int) -> tuple[str, dict[str, str]]:
    """Return a KeyConditionExpression and its names. Conditions of the same form differ in their values only."""
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
    """Return the values of a key condition, by the placeholders of its expression."""
    pk, op = condition.pk, condition.op
    given = [*(pk if isinstance(pk, tuple) else (pk,)), *condition.head]
    if op:
        given.append(condition.low)
    if op == "between":
        given.append(condition.high)
    return {f":k{at}": wire(value) for at, value in enumerate(given)}


# --- Merging sorted pages ---------------------------------------------------------------------------------------------
# A query over shards reads several partitions, each sorted by the same sort key, and returns one sorted sequence. It is
# a k-way merge (Knuth, The Art of Computer Programming, vol. 3, 5.4.1) of streams that arrive in pages:
#
#   - Each partition is a `_Stream`: the page that has arrived, how many of its items were returned, and the key to
#     continue after.
#   - `_fill` sends requests until every stream has items, or has ended.
#   - Then the next items are known up to a bound: the smallest last item among the streams that have more pages. An
#     unread item of any stream sorts after the last item of its page, so it sorts after the bound.
#   - `_take` merges the items up to the bound, and returns as many as the limit allows. At least the stream of the
#     bound is empty after that (or the limit is reached), so `_fill` makes progress.
#   - Items with equal sort keys come in the order of their streams. So the order does not depend on page sizes, and a
#     cursor, which holds the last returned key of each stream, continues at the same place.
#
# Time buckets are read one after the other, each as a group of its shards; groups that the limit probably needs are
# requested together (`_group_count`).


class _Stream:
    """One partition of a query: the items that have arrived and were not returned yet, and where to continue."""

    def __init__(self, query: Query, condition: KeyCondition, start: Json | None, first: KeyCondition) -> None:
        self._query = query
        self._condition = condition
        self._first = first
        """The same condition with the first word of a member that has two."""
        self._entered = start
        self._page: DecodedPage | None = None
        self._order: list[Any] | None = None
        self._at = 0
        self._end = 0

    @property
    def ready(self) -> bool:
        """Whether there are items that were not returned yet."""
        return self._at < self._end

    @property
    def done(self) -> bool:
        """Whether the last page has arrived."""
        return self._page is not None and self._page.start is None

    @property
    def last(self) -> Json | None:
        """The key to continue after the items that were returned."""
        page = self._page
        if page is None or not self._at:
            return self._entered
        if not self.ready and page.start is not None:
            return page.start
        return self._query.keys_of(page)[self._at - 1]

    def request(self, limit: int | None, share: int | None) -> Request:
        """Return the next request: at first for the share of this stream, later for all that is missing."""
        limit = share if self._page is None else self._query.again(limit)
        start = self._entered if self._page is None else self._page.start
        return self._query.request(self._condition, start, limit)

    def receive(self, page: DecodedPage) -> None:
        if self._page is not None:
            self._entered = self._page.start
        self._page, self._order, self._at, self._end = page, None, 0, len(page.objects)

    def take(self, most: int | None) -> list[Any]:
        assert self._page
        start, self._at = self._at, self._end if most is None else min(self._end, self._at + most)
        return self._page.objects[start : self._at]

    @property
    def bound(self) -> Any:
        """The sort key of the last item that has arrived."""
        return self._sort_keys[-1]

    def until(self, bound: Any, reverse: bool, included: bool) -> Iterator[tuple[Any, Any]]:
        """Yield sort keys and items up to a bound (None: all of them), without taking them."""
        assert self._page
        order = self._sort_keys
        if bound is None:
            end = len(order)
        elif reverse:
            end = len(order) - (bisect_left if included else bisect_right)(order[::-1], bound)
        else:
            end = (bisect_right if included else bisect_left)(order, bound)
        return zip(order[self._at : end], self._page.objects[self._at : end], strict=True)

    @property
    def _sort_keys(self) -> list[Any]:
        assert self._page
        if self._order is None:
            self._order = self._query.order_of(self._page, self._condition, self._first)
        return self._order


def read(
    query: Query, limit: int | None, start: Position | None, cursors: Cursors | None = None
) -> Steps[tuple[list[Any], str | None]]:
    """Return objects in order, at most `limit` of them, and the cursor to continue from if there may be more."""
    if limit is not None and limit < 1:
        raise ArgumentError(f"limit is {limit}, and has to be at least 1")
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
    """Refuse a cursor position that this query cannot have reached."""
    groups, schema = query.groups, query.schema
    check_query(start, query.name, query.width, len(groups))
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
    first, count, width = start.group if start else 0, 0, query.width
    for number in range(first, len(groups)):
        if not ahead:
            count = _group_count(limit, len(found), number - first, count, width)
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
    """Read the results of a single partition, as most queries do."""
    (condition,) = query.conditions
    after = start.keys[0] if start else None
    found: list[Any] = []
    first = True
    while True:
        room = None if limit is None else limit - len(found)
        answer: DecodedPage = yield query.request(condition, after, room if first else query.again(room))
        first = False
        found += answer.objects if room is None else answer.objects[:room]
        after = answer.start
        if len(found) == limit:
            if room is not None and len(answer.objects) > room:
                after = query.keys_of(answer)[room - 1]
            return found, None if after is None else _position(query, start, 0, [after])
        if after is None:
            return found, None


def _position(query: Query, start: Position | None, group: int, keys: list[Json | None]) -> Position:
    # The fingerprint of a query takes a while to compute; the cursor that it started from has it.
    return Position(query.name if start is None else start.query, group, keys, query.until)


def any_item(query: Query) -> Steps[bool]:
    """Return whether the query finds any item."""
    if query.visible:
        return bool((yield from read(query, 1, None))[0])
    for at in range(0, len(query.conditions), SIDE_BY_SIDE):
        some = query.conditions[at : at + SIDE_BY_SIDE]
        answers = yield from send_all([query.count_request(condition, None, 1) for condition in some])
        if any(answer["Count"] for answer in answers):
            return True
    return False


def count_items(query: Query) -> Steps[int]:
    """Count the items, without transferring them."""
    total = 0
    waiting: list[tuple[KeyCondition, Json | None]] = [(condition, None) for condition in query.conditions]
    while waiting:
        now, waiting = waiting[:SIDE_BY_SIDE], waiting[SIDE_BY_SIDE:]
        answers = yield from send_all([query.count_request(condition, start) for condition, start in now])
        for (condition, _), answer in zip(now, answers, strict=True):
            total += answer["Count"]
            if "LastEvaluatedKey" in answer:
                waiting.append((condition, answer["LastEvaluatedKey"]))
    return total


def send_all(requests: Sequence[Request]) -> Steps[Sequence[Any]]:
    """Send several requests, and return their responses."""
    if len(requests) == 1:
        return ((yield requests[0]),)
    return (yield tuple(requests)) if requests else ()


def _group_count(limit: int | None, found: int, read_: int, last: int, shards: int) -> int:
    """Return how many time buckets to request at once, after `read_` buckets have given `found` items.

    With a limit, the next bucket may not be needed at all. So the first request is for one bucket, and the next ones
    for as many as would fill the page if they hold as much as those before, but at most twice as many as the last
    time.
    """
    most = max(1, SIDE_BY_SIDE // shards)
    if limit is None:
        return most
    likely = ceil((limit - found) * read_ / found) if found else most
    return max(1, min(likely, 2 * last, most))


def _share(limit: int | None, shards: int) -> int | None:
    """Return the limit for each shard of a page: three standard deviations above the mean."""
    if limit is None:
        return None
    mean = limit / shards
    return min(limit, ceil(mean + 3 * sqrt(mean)))


def _streams(query: Query, group: Sequence[KeyCondition], keys: Sequence[Json | None] = ()) -> list[_Stream]:
    starts = keys or [None] * len(group)
    streams = []
    for number, (condition, start) in enumerate(zip(group, starts, strict=True)):
        streams.append(_Stream(query, condition, start, group[number % query.plan.shards]))
    return streams


def _fill(streams: Sequence[_Stream], limit: int | None, shards: int) -> Steps[None]:
    """Send requests until each stream has items, or has ended."""
    while dry := [stream for stream in streams if not stream.ready and not stream.done]:
        share = _share(limit, shards)
        for at in range(0, len(dry), SIDE_BY_SIDE):
            some = dry[at : at + SIDE_BY_SIDE]
            answers = yield from send_all([stream.request(limit, share) for stream in some])
            for stream, answer in zip(some, answers, strict=True):
                stream.receive(answer)


def _take(streams: Sequence[_Stream], reverse: bool, most: int | None) -> list[Any]:
    """Return the next items in order, up to the first place where a stream needs another page."""
    ready = [stream for stream in streams if stream.ready]
    if len(ready) < 2:
        return ready[0].take(most) if ready else []
    bound, where = None, len(ready)
    for number, stream in enumerate(ready):
        if not stream.done and (bound is None or (stream.bound > bound if reverse else stream.bound < bound)):
            bound, where = stream.bound, number
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
