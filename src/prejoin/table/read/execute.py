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
    caller_filter: Condition | None = None
    """The filter of the caller: DynamoDB reads and bills the items that it leaves out."""
    has_projection: bool = False
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
        tests = [(entity_filter.tag, entity_filter.conditions) for entity_filter in self.filters]
        return fingerprint(self.table, self.plan.slot, entities, *ends, self.reverse, self.caller_filter, *tests)

    def request(self, condition: KeyCondition, start: Json | None, limit: int | None) -> Request:
        placeholders = Placeholders()
        body = self._body(condition, start, placeholders)
        # Limit counts the items that are read, before the filter. With a filter of the caller, which may leave out most
        # of them, a page of DynamoDB is read as a whole.
        if self.caller_filter is None and not self.filters and limit is not None:
            body["Limit"] = limit
        if self.has_projection:
            wires = sorted({*self.decoder.wires, *self.key_names})
            body["ProjectionExpression"] = ", ".join(map(placeholders.name, wires))
        return Request("Query", _with(body, placeholders), condition, self.decoder.page)

    def count_request(self, condition: KeyCondition, start: Json | None, limit: int | None = None) -> Request:
        placeholders = Placeholders()
        body = self._body(condition, start, placeholders)
        # It saves the transfer only: DynamoDB reads and bills the items as if it returned them.
        body["Select"] = "COUNT"
        if limit is not None:
            body["Limit"] = limit
        return Request("Query", _with(body, placeholders), condition)

    def _body(self, condition: KeyCondition, start: Json | None, placeholders: Placeholders) -> dict[str, Any]:
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
        if test := self._filter(placeholders):
            body["FilterExpression"] = test
        if start is not None:
            body["ExclusiveStartKey"] = start
        return body

    def _filter(self, placeholders: Placeholders) -> str:
        tag_conditions = (*self.visible, *self.filters)
        if not tag_conditions:
            return "" if self.caller_filter is None else render(self.caller_filter, self.codec, placeholders)
        tag_filter = filter_text(tag_conditions, self.schema.type_attribute, len(self.plan.facets) == 1, placeholders)
        return (
            tag_filter
            if self.caller_filter is None
            else f"{render_part(self.caller_filter, self.codec, placeholders)} AND {tag_filter}"
        )

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


def _common_length(text: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    for at, (character, other_character) in enumerate(zip(text, other, strict=False)):
        if character != other_character:
            return at
    return min(len(text), len(other))


def sortable(item: Mapping[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    """Return the attributes of an item in a form that sorts as DynamoDB does: by bytes, or as numbers."""
    return tuple(ordered(item[name]) for name in names)


def _with(body: dict[str, Any], placeholders: Placeholders) -> dict[str, Any]:
    """Add the names and values of the other expressions to those of the key condition."""
    for part, entries in placeholders.parameters().items():
        body[part] = {**body[part], **entries}
    return body


@cache
def _key_text(keys: KeyAttributes, op: str, heads: int) -> tuple[str, dict[str, str]]:
    """Return a KeyConditionExpression and its names. Conditions of the same form differ in their values only."""
    values: KeyCondition = KeyCondition(("",) * len(keys.pk), cast("Op", op), head=("",) * heads)
    texts: list[str] = []
    names: dict[str, str] = {}
    value_count = 0
    for attribute, test, ends in values.tests(keys.pk, keys.sk):
        name = f"#k{len(names)}"
        names[name] = attribute
        low, high = f":k{value_count}", f":k{value_count + 1}"
        value_count += len(ends)
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
    values = [*(pk if isinstance(pk, tuple) else (pk,)), *condition.head]
    if op:
        values.append(condition.low)
    if op == "between":
        values.append(condition.high)
    return {f":k{at}": wire(value) for at, value in enumerate(values)}


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
        self._page_start = start
        """The key after which the page begins."""
        self._page: DecodedPage | None = None
        self._order: list[Any] | None = None
        self._next_index = 0
        self._item_count = 0

    @property
    def has_items(self) -> bool:
        """Whether there are items that were not returned yet."""
        return self._next_index < self._item_count

    @property
    def has_ended(self) -> bool:
        """Whether the last page has arrived."""
        return self._page is not None and self._page.start is None

    @property
    def is_open(self) -> bool:
        """Whether it has, or may get, items that were not returned yet."""
        return self.has_items or not self.has_ended

    @property
    def last(self) -> Json | None:
        """The key to continue after the items that were returned."""
        page = self._page
        if page is None or not self._next_index:
            return self._page_start
        if not self.has_items and page.start is not None:
            return page.start
        return self._query.keys_of(page)[self._next_index - 1]

    def request(self, limit: int | None, share: int | None) -> Request:
        """Return the next request: at first for the share of this stream, later for all that is missing."""
        limit = share if self._page is None else self._query.again(limit)
        start = self._page_start if self._page is None else self._page.start
        return self._query.request(self._condition, start, limit)

    def receive(self, page: DecodedPage) -> None:
        if self._page is not None:
            self._page_start = self._page.start
        self._page, self._order, self._next_index, self._item_count = page, None, 0, len(page.objects)

    def take(self, limit: int | None) -> list[Any]:
        assert self._page
        start, self._next_index = (
            self._next_index,
            self._item_count if limit is None else min(self._item_count, self._next_index + limit),
        )
        return self._page.objects[start : self._next_index]

    @property
    def bound(self) -> Any:
        """The sort key of the last item that has arrived."""
        return self._sort_keys[-1]

    def until(self, bound: Any, reverse: bool, includes_bound: bool) -> Iterator[tuple[Any, Any]]:
        """Yield sort keys and items up to a bound (None: all of them), without taking them."""
        assert self._page
        order = self._sort_keys
        if bound is None:
            end = len(order)
        elif reverse:
            # `bisect` needs an ascending list, and this page is descending.
            end = len(order) - (bisect_left if includes_bound else bisect_right)(order[::-1], bound)
        else:
            end = (bisect_right if includes_bound else bisect_left)(order, bound)
        return zip(order[self._next_index : end], self._page.objects[self._next_index : end], strict=True)

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
        objects, end = yield from _read(query, limit, None)
    else:
        _check(query, start)
        try:
            objects, end = yield from _read(query, limit, start)
        except DynamoDBError as error:
            raise refusal(error) or error from None
    return objects, None if end is None else encode_cursor(end, cursors)


def _check(query: Query, start: Position) -> None:
    """Refuse a cursor position that this query cannot have reached."""
    groups, schema = query.groups, query.schema
    check_query(start, query.name, query.width, len(groups))
    names, keys = query.key_names, schema.keys(query.plan.slot)
    for key, condition in zip(start.keys, groups[start.group], strict=True):
        if key is not None:
            check_key(key, names, schema.key_types, keys, condition)


def _read(query: Query, limit: int | None, start: Position | None) -> Steps[tuple[list[Any], Position | None]]:
    """Return objects in order, and the position to continue from; None at the end."""
    if len(query.conditions) == 1:
        return (yield from _read_one(query, limit, start))
    groups, width = query.groups, query.width
    first_group = start.group if start else 0
    objects: list[Any] = []
    ahead: list[list[_Stream]] = []  # the groups that were requested together, and are not merged yet
    count = 0
    for number in range(first_group, len(groups)):
        if not ahead:
            count = _group_count(limit, len(objects), number - first_group, count, width)
            ahead = [_streams(query, group) for group in groups[number : number + count]]
            if start and number == first_group:
                ahead[0] = _streams(query, groups[number], start.keys)
            yield from _fill([stream for streams in ahead for stream in streams], _room(limit, objects), width)
        streams = ahead.pop(0)
        objects += yield from _read_group(query, streams, _room(limit, objects))
        if len(objects) == limit:
            if number + 1 == len(groups) and not any(stream.is_open for stream in streams):
                return objects, None
            return objects, _position(query, start, number, [stream.last for stream in streams])
    return objects, None


def _read_group(query: Query, streams: Sequence[_Stream], limit: int | None) -> Steps[list[Any]]:
    """Return the items of the shards of one time bucket in order, at most `limit` of them."""
    objects: list[Any] = []
    while len(objects) != limit and any(stream.is_open for stream in streams):
        yield from _fill(streams, _room(limit, objects), query.width)
        objects += _take(streams, query.reverse, _room(limit, objects))
    return objects


def _room(limit: int | None, objects: Sequence[Any]) -> int | None:
    """Return how many more objects may be returned; None if all may."""
    return None if limit is None else limit - len(objects)


def _read_one(query: Query, limit: int | None, start: Position | None) -> Steps[tuple[list[Any], Position | None]]:
    """Read the results of a single partition, as most queries do."""
    (condition,) = query.conditions
    after = start.keys[0] if start else None
    objects: list[Any] = []
    is_first = True
    while True:
        room = None if limit is None else limit - len(objects)
        answer: DecodedPage = yield query.request(condition, after, room if is_first else query.again(room))
        is_first = False
        objects += answer.objects if room is None else answer.objects[:room]
        after = answer.start
        if len(objects) == limit:
            if room is not None and len(answer.objects) > room:
                after = query.keys_of(answer)[room - 1]
            return objects, None if after is None else _position(query, start, 0, [after])
        if after is None:
            return objects, None


def _position(query: Query, start: Position | None, group: int, keys: list[Json | None]) -> Position:
    # The fingerprint of a query takes a while to compute; the cursor that it started from has it.
    return Position(query.name if start is None else start.query, group, keys, query.until)


def any_item(query: Query) -> Steps[bool]:
    """Return whether the query finds any item."""
    # Limit=1 would read one item, which may be hidden.
    if query.visible:
        return bool((yield from read(query, 1, None))[0])
    for at in range(0, len(query.conditions), SIDE_BY_SIDE):
        batch = query.conditions[at : at + SIDE_BY_SIDE]
        answers = yield from send_all([query.count_request(condition, None, 1) for condition in batch])
        if any(answer["Count"] for answer in answers):
            return True
    return False


def count_items(query: Query) -> Steps[int]:
    """Count the items, without transferring them."""
    total = 0
    waiting: list[tuple[KeyCondition, Json | None]] = [(condition, None) for condition in query.conditions]
    while waiting:
        batch, waiting = waiting[:SIDE_BY_SIDE], waiting[SIDE_BY_SIDE:]
        answers = yield from send_all([query.count_request(condition, start) for condition, start in batch])
        for (condition, _), answer in zip(batch, answers, strict=True):
            total += answer["Count"]
            # A response ends after 1 MB of items, even if it only counts them.
            if "LastEvaluatedKey" in answer:
                waiting.append((condition, answer["LastEvaluatedKey"]))
    return total


def send_all(requests: Sequence[Request]) -> Steps[Sequence[Any]]:
    """Send several requests, and return their responses."""
    if len(requests) == 1:
        return ((yield requests[0]),)
    return (yield tuple(requests)) if requests else ()


def _group_count(limit: int | None, object_count: int, group_count: int, last_count: int, shards: int) -> int:
    """Return how many time buckets to request at once, after `group_count` buckets have given
    `object_count` items.

    With a limit, the next bucket may not be needed at all. So the first request is for one bucket, and the next ones
    for as many as would fill the page if they hold as much as those before, but at most twice as many as the last
    time.
    """
    ceiling = max(1, SIDE_BY_SIDE // shards)
    if limit is None:
        return ceiling
    likely = ceil((limit - object_count) * group_count / object_count) if object_count else ceiling
    return max(1, min(likely, 2 * last_count, ceiling))


def _share(limit: int | None, shards: int) -> int | None:
    """Return the limit for each shard of a page: three standard deviations above the mean."""
    if limit is None:
        return None
    # A hash spreads the items, so the part of a shard is Poisson-distributed, with a variance that equals its mean. In
    # about one of 740 cases a shard has more, and is asked again.
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
    while empty_streams := [stream for stream in streams if not stream.has_items and not stream.has_ended]:
        share = _share(limit, shards)
        for at in range(0, len(empty_streams), SIDE_BY_SIDE):
            batch = empty_streams[at : at + SIDE_BY_SIDE]
            answers = yield from send_all([stream.request(limit, share) for stream in batch])
            for stream, answer in zip(batch, answers, strict=True):
                stream.receive(answer)


def _take(streams: Sequence[_Stream], reverse: bool, limit: int | None) -> list[Any]:
    """Return the next items in order, up to the first place where a stream needs another page."""
    ready = [stream for stream in streams if stream.has_items]
    if len(ready) < 2:
        return ready[0].take(limit) if ready else []
    bound, bound_stream = None, len(ready)
    # Items with the key of the bound: those of earlier streams come before it, those of later ones may follow on the
    # next page.
    for number, stream in enumerate(ready):
        if not stream.has_ended and (bound is None or (stream.bound > bound if reverse else stream.bound < bound)):
            bound, bound_stream = stream.bound, number
    entries: list[tuple[Any, int, Any]] = []
    for number, stream in enumerate(ready):
        stream_entries = stream.until(bound, reverse, number <= bound_stream)
        entries += [(sort_key, number, item) for sort_key, item in stream_entries]
    # The sort is stable, so equal sort keys stay in the order of their streams.
    entries.sort(key=lambda entry: entry[0], reverse=reverse)
    entries = entries[:limit]
    for number, count in Counter([number for _, number, _ in entries]).items():
        ready[number].take(count)
    return [item for _, _, item in entries]
