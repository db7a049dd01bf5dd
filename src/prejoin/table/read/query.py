"""What a client asks, as conversations: the arguments of its reads planned, read, and made objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from prejoin.keys import AttributeRole, Order
from prejoin.table.codec.codec import Codec
from prejoin.table.condition.record import Condition, Path, Recorder, Where, recorded
from prejoin.table.conversation import Steps
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.schema import Schema

from .cursor import Cursors, Position, open_cursor
from .decode import split
from .execute import Query, count_items, read
from .get import get_item, item_is_there
from .page import Collection, Page
from .plan import Asked, Roles, planned, query_of


class Asking(msgspec.Struct, frozen=True):
    """The arguments that queries have in common."""

    where: Where[Any] | None
    equal: Mapping[str, Any]
    order: str | Iterable[str | Order] = ()
    reverse: bool = False
    limit: int | None = None
    after: str | None = None
    test: Where[Any] | None = None
    consistent: bool = False
    now: datetime | None = None
    into: type | None = None
    cursors: Cursors | None = None
    """How the client writes cursors."""
    keep: bool = False
    """Whether items that cannot be read are handed back beside the others."""

    @property
    def sorted_by(self) -> Iterable[str | Order]:
        return (self.order,) if isinstance(self.order, str) else self.order

    @property
    def start(self) -> Position | None:
        """The position after which to go on."""
        return None if self.after is None else open_cursor(self.after, self.cursors, self.now)


def query(schema: Schema, table: str, cls: type[Any], asking: Asking) -> Steps[Page[Any]]:
    """Objects of one class."""
    entity = schema.entity(cls)
    test, tests = _tested(asking.test, entity.codec)
    asked, values = _planned(schema, entity, asking, None, tests)
    if asking.keep:
        asked = replace(asked, reading=asked.reading.keeping)
    if asked.plan.operation == "GetItem" and asking.after is None:
        one = yield from get_item(schema, table, asked, values, test)
        objects, unmatched, unreadable = split(() if one is None else (one,))
        return Page(objects, None, unmatched, unreadable)
    start = asking.start
    query = query_of(
        schema, table, asked, values, entity.codec, reverse=asking.reverse, where=test, now=asking.now, start=start
    )
    found, cursor = yield from read(query, asking.limit, start, asking.cursors)
    objects, unmatched, unreadable = split(found)
    return Page(objects, cursor, unmatched, unreadable)


def count(schema: Schema, table: str, cls: type[Any], asking: Asking) -> Steps[int]:
    """How many a query would find."""
    entity = schema.entity(cls)
    test, tests = _tested(asking.test, entity.codec)
    asked, values = _planned(schema, entity, asking, frozenset(), tests)
    if asked.plan.operation == "GetItem":
        return int((yield from item_is_there(schema, table, asked, values, test)))
    query: Query = query_of(schema, table, asked, values, entity.codec, where=test, now=asking.now)
    return (yield from count_items(query))


def collect(
    schema: Schema, table: str, classes: tuple[type[Any], ...], asking: Asking, roles: Roles | None
) -> Steps[Collection]:
    """Objects of several classes that lie side by side."""
    entities: tuple[Bound[Any], ...] = tuple(schema.entity(cls) for cls in classes)
    asked, values = planned(
        schema,
        entities,
        asking.equal,
        recorded(asking.where, entities[0].codec),
        order=asking.sorted_by,
        consistent=asking.consistent,
        roles=tuple(
            AttributeRole(schema.entity(cls).tag, name, attribute)
            for cls, names in (roles or {}).items()
            for name, attribute in names.items()
        ),
    )
    if asking.keep:
        asked = replace(asked, reading=asked.reading.keeping)
    start = asking.start
    query = query_of(
        schema, table, asked, values, entities[0].codec, reverse=asking.reverse, now=asking.now, start=start
    )
    found, cursor = yield from read(query, asking.limit, start, asking.cursors)
    objects, unmatched, unreadable = split(found)
    return Collection(objects, cursor, unmatched, unreadable)


class _Noting(Recorder):
    """A recorder that notes which attributes were looked at."""

    def __init__(self, codec: Codec[Any]) -> None:
        super().__init__(codec)
        self._seen: set[str] = set()

    def __getattr__(self, name: str) -> Path:
        found = super().__getattr__(name)
        self._seen.add(name)
        return found


def _tested(test: Where[Any] | None, codec: Codec[Any]) -> tuple[Condition | None, frozenset[str]]:
    """A filter, and the attributes that it tests."""
    if test is None:
        return None, frozenset()
    noting = _Noting(codec)
    return recorded(lambda _: test(noting), codec), frozenset(noting._seen)


def _planned(
    schema: Schema, entity: Bound[Any], asking: Asking, needs: frozenset[str] | None, tests: frozenset[str]
) -> tuple[Asked, dict[str, Any]]:
    return planned(
        schema,
        (entity,),
        asking.equal,
        recorded(asking.where, entity.codec),
        order=asking.sorted_by,
        consistent=asking.consistent,
        into=asking.into,
        needs=needs,
        tests=tests,
    )
