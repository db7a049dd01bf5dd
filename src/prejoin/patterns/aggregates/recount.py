"""Recount: count the children of an item, and write the result if no write has changed a count since."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping
from os import urandom
from typing import TYPE_CHECKING, Any, overload

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.table.condition.record import Compare, Stored
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Pause, Request, Steps, pause
from prejoin.table.errors import ConditionFailed, Conflict, NotFound, NotServed, SchemaError
from prejoin.table.read.arguments import QueryArguments
from prejoin.table.read.query import query
from prejoin.table.read.scan import Scan
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.execute import write_one
from prejoin.table.write.from_call import check_known
from prejoin.table.write.model import Write

from .contribution import RECOUNTING, Aggregate, ParentAggregate
from .sharded import VALUE, ShardedAggregate, value

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

ATTEMPTS = 10
"""How often children are counted again because some of them were written."""
CATCH_UP = 1.0
"""Seconds to wait for an index, if the children are only in a global index."""


class Recounted(msgspec.Struct, frozen=True):
    """A count that was wrong."""

    cls: type[Any]
    key: Mapping[str, Any]
    attribute: str
    was: Any
    now: Any
    """Numbers; for Highest and Lowest a value, or None."""

    def __str__(self) -> str:
        key = ", ".join(f"{name}={value!r}" for name, value in self.key.items())
        return f"{self.cls.__name__} {key}: {self.attribute} was {self.was}, and is {self.now}"


@overload
def recount(db: Client, cls: type[Any], /, **key: Any) -> list[Recounted]: ...
@overload
def recount(db: AsyncClient, cls: type[Any], /, **key: Any) -> Coroutine[Any, Any, list[Recounted]]: ...
def recount(db: Client | AsyncClient, cls: type[Any], /, **key: Any) -> Any:
    """Count the children of one item again, for all its aggregates. Return those that were wrong.

    Highest and Lowest become those of the current children.

    Use it for data from before a count was declared, or that another program wrote. The table may be in use: the
    recount sets a mark on the item, which each write that changes a count removes, and writes the result only if the
    mark is still there. Else it counts again, and raises Conflict after about ten times. If the children are only in a
    global index, it waits a second for the index.

    Cost: a Query of the children, and two writes of the item, or of each shard.
    """
    _, known = check_known(db.schema, cls, key)
    return db._run(recounted(db.schema, db.table, cls, known))


@overload
def recount_all(db: Client, cls: type[Any], /) -> list[Recounted]: ...
@overload
def recount_all(db: AsyncClient, cls: type[Any], /) -> Coroutine[Any, Any, list[Recounted]]: ...
def recount_all(db: Client | AsyncClient, cls: type[Any], /) -> Any:
    """Count the children of all items of a class again. Return the aggregates that were wrong.

    Cost: a Scan of the table, and a `recount` for each item. The keys of all items are in memory.
    """
    return db._run(_recount_all(db.schema, db.table, cls))


def tallies(schema: Schema, cls: type[Any]) -> list[Aggregate]:
    """Return the aggregates of a class."""
    found = [
        one for entity in schema.entities for one in entity.patterns if isinstance(one, Aggregate) and one.cls is cls
    ]
    if not found:
        raise SchemaError(
            f"{cls.__name__} has no aggregates. Declare Counted, Summed, Highest or Lowest for its children"
        )
    return found


def _recount_all(schema: Schema, table: str, cls: type[Any]) -> Steps[list[Recounted]]:
    found = tallies(schema, cls)
    base = schema.entity(cls).base.attributes
    scan = Scan(schema, table, list(dict.fromkeys([cls, *(one.entity.codec.cls for one in found)])), 1, False)
    keys: dict[tuple[Any, ...], None] = {}
    while not scan.done:
        for one in (yield from scan.next()):
            for key in _parents_of(one, cls, found, base):
                keys[tuple(key[name] for name in base)] = None
    wrong = []
    for values in keys:
        wrong += yield from recounted(schema, table, cls, dict(zip(base, values, strict=True)))
    return wrong


def _parents_of(
    one: Any, cls: type[Any], tallies: Iterable[Aggregate], base: Iterable[str]
) -> Iterator[Mapping[str, Any]]:
    if isinstance(one, cls):
        yield {name: getattr(one, name) for name in base}
    for tally in tallies:
        if isinstance(one, tally.entity.codec.cls):
            key = tally.parent.key(tally.entity.codec.values(one))
            if key is not None:
                yield key


def recounted(
    schema: Schema, table: str, cls: type[Any], key: Mapping[str, Any], keep_extremes: bool = False
) -> Steps[list[Recounted]]:
    """Count again, and write the result. With `keep_extremes`, an earlier highest or lowest value stays."""
    found = tallies(schema, cls)
    wrong: list[Recounted] = []
    kept = [one for one in found if isinstance(one, ParentAggregate)]
    if kept:
        wrong += yield from _recount(schema, table, key, _InTheItem(schema, table, key, kept), keep_extremes)
    for one in found:
        if isinstance(one, ShardedAggregate):
            wrong += yield from _recount(schema, table, key, _InShards(schema, table, key, one))
    return wrong


def _recount(
    schema: Schema, table: str, key: Mapping[str, Any], place: _InTheItem | _InShards, keep_extremes: bool = False
) -> Steps[list[Recounted]]:
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        token = urandom(16).hex()
        stored = yield from place.mark(token)
        if stored is None:
            return []
        counted = yield from count_children(schema, table, place.tallies, key)
        if keep_extremes:
            counted |= {
                name: stored[name]
                for one in place.tallies
                if not one.is_wrong(stored[name := one.attribute], counted[name])
            }
        if (yield from place.set(token, counted)):
            return [
                Recounted(place.tallies[0].cls, key, name, stored[name], now)
                for name, now in counted.items()
                if stored[name] != now
            ]
    raise Conflict(
        f"{place.tallies[0].cls.__name__} {', '.join(map(str, key.values()))} was counted {ATTEMPTS} times, and each "
        "time others changed its children meanwhile: try when less is written"
    )


def count_children(
    schema: Schema, table: str, aggregates: Iterable[Aggregate], key: Mapping[str, Any]
) -> Steps[dict[str, Any]]:
    """Return the aggregates of the children."""
    sums: dict[str, Any] = {one.attribute: one.zero for one in aggregates}
    for one in aggregates:
        codec = one.entity.codec
        equal = {own: key[name] for name, own in one.parent.names.items()}
        after, consistent = None, True
        while True:
            arguments = QueryArguments(None, equal, limit=1000, after=after, consistent=consistent)
            try:
                page = yield from query(schema, table, codec.cls, arguments)
            except NotServed:
                if not consistent:
                    raise
                consistent = False
                yield Pause(CATCH_UP)
                continue
            sums[one.attribute] = one.with_records(sums[one.attribute], page)
            after = page.cursor
            if after is None:
                break
    return sums


class _InTheItem:
    """Aggregates in attributes of the item."""

    def __init__(self, schema: Schema, table: str, key: Mapping[str, Any], tallies: list[ParentAggregate]) -> None:
        self._schema, self._table, self._key, self.tallies = schema, table, key, tallies
        self._entity = schema.entity(tallies[0].cls)

    def mark(self, token: str) -> Steps[dict[str, Any] | None]:
        """Set the mark, and return the stored aggregates; None if there is no item, and none is needed."""
        mark = Changes({RECOUNTING: Stored({"S": token})})
        write = Write("update", self._entity, self._key, changes=mark, returning="new")
        try:
            item = yield from write_one(self._schema, self._table, write)
        except NotFound:
            made = [one for one in self.tallies if one.create]
            counted = yield from count_children(self._schema, self._table, made, self._key)
            if all(counted[one.attribute] == one.zero for one in made):
                return None
            nothing = Changes(adds={one.attribute: 0 for one in made if one.zero is not None})
            yield from write_one(self._schema, self._table, Write("upsert", self._entity, self._key, changes=nothing))
            item = yield from write_one(self._schema, self._table, write)
        return {one.attribute: one.stored(getattr(item, one.attribute)) for one in self.tallies}

    def set(self, token: str, counted: Mapping[str, Any]) -> Steps[bool]:
        """Write the result; return False if the mark is gone."""
        sets = {name: value for name, value in counted.items() if value is not None}
        changes = Changes(sets, removes=frozenset({RECOUNTING, *(counted.keys() - sets)}))
        where = Compare((RECOUNTING,), "=", Stored({"S": token}))
        write = Write("update", self._entity, self._key, changes=changes, where=where, read_first=True)
        try:
            yield from write_one(self._schema, self._table, write)
        except ConditionFailed:
            return False
        return True


class _InShards:
    """A sharded aggregate."""

    def __init__(self, schema: Schema, table: str, key: Mapping[str, Any], one: ShardedAggregate) -> None:
        self._schema, self._table, self._key, self.tallies = schema, table, key, [one]
        self._one = one
        self._keys: list[dict[str, Any]] = []

    def mark(self, token: str) -> Steps[dict[str, Any] | None]:
        schema, one = self._schema, self._one
        shards = yield from one.read(schema, self._table, self._key, True)
        keys = [one.key(schema, self._key, shard) for shard in range(one.shards)]
        there = [{name: item[name] for name in keys[0]} for item in shards]
        self._keys = [*keys, *(key for key in there if key not in keys)]
        actions = []
        for key in self._keys:
            to = Placeholders()
            text = (
                f"SET {to.name(schema.type_attribute)} = {to.text(one.facets[0].entity)}, "
                f"{to.name(str(RECOUNTING))} = {to.text(token)}"
            )
            actions.append({"Key": key, "UpdateExpression": text, **to.parameters()})
        yield from self._write(actions)
        shards = yield from one.read(schema, self._table, self._key, True)
        return {one.attribute: sum(map(value, shards))}

    def set(self, token: str, counted: Mapping[str, Any]) -> Steps[bool]:
        actions = []
        for at, key in enumerate(self._keys):
            to = Placeholders()
            mark = to.name(str(RECOUNTING))
            amount = to.value({"N": str(counted[self._one.attribute] if at == 0 else 0)})
            actions.append(
                {
                    "Key": key,
                    "UpdateExpression": f"SET {to.name(VALUE)} = {amount} REMOVE {mark}",
                    "ConditionExpression": f"{mark} = {to.text(token)}",
                    **to.parameters(),
                }
            )
        try:
            yield from self._write(actions)
        except DynamoDBError as error:
            if error.code != "TransactionCanceledException":
                raise
            return False
        return True

    def _write(self, actions: list[dict[str, Any]]) -> Steps[None]:
        items = [{"Update": {"TableName": self._table, **action}} for action in actions]
        body = {"TransactItems": items, "ClientRequestToken": urandom(16).hex()}
        yield Request("TransactWriteItems", body, f"{self._one.cls.__name__}.{self._one.attribute}, all shards")
