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
from .sharded import VALUE, ShardedAggregate, shard_amount

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
    _, key_values = check_known(db.schema, cls, key)
    return db._run(recount_steps(db.schema, db.table, cls, key_values))


@overload
def recount_all(db: Client, cls: type[Any], /) -> list[Recounted]: ...
@overload
def recount_all(db: AsyncClient, cls: type[Any], /) -> Coroutine[Any, Any, list[Recounted]]: ...
def recount_all(db: Client | AsyncClient, cls: type[Any], /) -> Any:
    """Count the children of all items of a class again. Return the aggregates that were wrong.

    Cost: a Scan of the table, and a `recount` for each item. The keys of all items are in memory.
    """
    return db._run(_recount_all(db.schema, db.table, cls))


def aggregates_of(schema: Schema, cls: type[Any]) -> list[Aggregate]:
    """Return the aggregates of a class."""
    patterns = (pattern for entity in schema.entities for pattern in entity.patterns)
    aggregates = [pattern for pattern in patterns if isinstance(pattern, Aggregate) and pattern.cls is cls]
    if not aggregates:
        raise SchemaError(
            f"{cls.__name__} has no aggregates. Declare Counted, Summed, Highest or Lowest for its children"
        )
    return aggregates


def _recount_all(schema: Schema, table: str, cls: type[Any]) -> Steps[list[Recounted]]:
    aggregates = aggregates_of(schema, cls)
    base = schema.entity(cls).base.attributes
    # The children too: they may name a parent that does not exist yet, and is created by its count.
    classes = list(dict.fromkeys([cls, *(aggregate.entity.codec.cls for aggregate in aggregates)]))
    scan = Scan(schema, table, classes, 1, False)
    keys: dict[tuple[Any, ...], None] = {}
    while not scan.done:
        for record in (yield from scan.next()):
            for key in _parents_of(record, cls, aggregates, base):
                keys[tuple(key[name] for name in base)] = None
    corrections = []
    for values in keys:
        corrections += yield from recount_steps(schema, table, cls, dict(zip(base, values, strict=True)))
    return corrections


def _parents_of(
    record: Any, cls: type[Any], aggregates: Iterable[Aggregate], base: Iterable[str]
) -> Iterator[Mapping[str, Any]]:
    if isinstance(record, cls):
        yield {name: getattr(record, name) for name in base}
    for aggregate in aggregates:
        if isinstance(record, aggregate.entity.codec.cls):
            key = aggregate.parent.key(aggregate.entity.codec.values(record))
            if key is not None:
                yield key


def recount_steps(
    schema: Schema, table: str, cls: type[Any], key: Mapping[str, Any], keep_extremes: bool = False
) -> Steps[list[Recounted]]:
    """Count again, and write the result. With `keep_extremes`, an earlier highest or lowest value stays."""
    aggregates = aggregates_of(schema, cls)
    corrections: list[Recounted] = []
    held_by_parent = [aggregate for aggregate in aggregates if isinstance(aggregate, ParentAggregate)]
    if held_by_parent:
        corrections += yield from _recount(
            schema, table, key, _InTheItem(schema, table, key, held_by_parent), keep_extremes
        )
    for aggregate in aggregates:
        if isinstance(aggregate, ShardedAggregate):
            corrections += yield from _recount(schema, table, key, _InShards(schema, table, key, aggregate))
    return corrections


def _recount(
    schema: Schema, table: str, key: Mapping[str, Any], place: _InTheItem | _InShards, keep_extremes: bool = False
) -> Steps[list[Recounted]]:
    cls = place.aggregates[0].cls
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        token = urandom(16).hex()
        stored_totals = yield from place.mark(token)
        if stored_totals is None:
            return []
        counted_totals = yield from count_children(schema, table, place.aggregates, key)
        if keep_extremes:
            for aggregate in place.aggregates:
                name = aggregate.attribute
                if not aggregate.is_wrong(stored_totals[name], counted_totals[name]):
                    counted_totals[name] = stored_totals[name]
        if (yield from place.set(token, counted_totals)):
            return [
                Recounted(cls, key, name, stored_totals[name], total)
                for name, total in counted_totals.items()
                if stored_totals[name] != total
            ]
    raise Conflict(
        f"{cls.__name__} {', '.join(map(str, key.values()))} was counted {ATTEMPTS} times, and each time others "
        "changed its children meanwhile: try when less is written"
    )


def count_children(
    schema: Schema, table: str, aggregates: Iterable[Aggregate], key: Mapping[str, Any]
) -> Steps[dict[str, Any]]:
    """Return the aggregates of the children."""
    sums: dict[str, Any] = {aggregate.attribute: aggregate.zero for aggregate in aggregates}
    for aggregate in aggregates:
        codec = aggregate.entity.codec
        equal = {child_name: key[name] for name, child_name in aggregate.parent.names.items()}
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
            sums[aggregate.attribute] = aggregate.with_records(sums[aggregate.attribute], page)
            after = page.cursor
            if after is None:
                break
    return sums


class _InTheItem:
    """Aggregates in attributes of the item."""

    def __init__(self, schema: Schema, table: str, key: Mapping[str, Any], aggregates: list[ParentAggregate]) -> None:
        self._schema, self._table, self._key, self.aggregates = schema, table, key, aggregates
        self._entity = schema.entity(aggregates[0].cls)

    def mark(self, token: str) -> Steps[dict[str, Any] | None]:
        """Set the mark, and return the stored aggregates; None if there is no item, and none is needed."""
        mark = Changes({RECOUNTING: Stored({"S": token})})
        write = Write("update", self._entity, self._key, changes=mark, returning="new")
        try:
            item = yield from write_one(self._schema, self._table, write)
        except NotFound:
            created_aggregates = [aggregate for aggregate in self.aggregates if aggregate.create]
            counted_totals = yield from count_children(self._schema, self._table, created_aggregates, self._key)
            if all(counted_totals[aggregate.attribute] == aggregate.zero for aggregate in created_aggregates):
                return None
            # Adding 0 creates the item with its counts. Highest and Lowest have no zero, and begin without a value.
            numbers = [aggregate.attribute for aggregate in created_aggregates if aggregate.zero is not None]
            zeros = Changes(adds=dict.fromkeys(numbers, 0))
            yield from write_one(self._schema, self._table, Write("upsert", self._entity, self._key, changes=zeros))
            item = yield from write_one(self._schema, self._table, write)
        return {
            aggregate.attribute: aggregate.from_attribute(getattr(item, aggregate.attribute))
            for aggregate in self.aggregates
        }

    def set(self, token: str, counted_totals: Mapping[str, Any]) -> Steps[bool]:
        """Write the result; return False if the mark is gone."""
        sets = {name: value for name, value in counted_totals.items() if value is not None}
        changes = Changes(sets, removes=frozenset({RECOUNTING, *(counted_totals.keys() - sets)}))
        mark_condition = Compare((RECOUNTING,), "=", Stored({"S": token}))
        write = Write("update", self._entity, self._key, changes=changes, where=mark_condition, read_first=True)
        try:
            yield from write_one(self._schema, self._table, write)
        except ConditionFailed:
            return False
        return True


class _InShards:
    """A sharded aggregate."""

    def __init__(self, schema: Schema, table: str, key: Mapping[str, Any], aggregate: ShardedAggregate) -> None:
        self._schema, self._table, self._key, self.aggregates = schema, table, key, [aggregate]
        self._aggregate = aggregate
        self._keys: list[dict[str, Any]] = []

    def mark(self, token: str) -> Steps[dict[str, Any] | None]:
        schema, aggregate = self._schema, self._aggregate
        shards = yield from aggregate.read(schema, self._table, self._key, True)
        keys = [aggregate.key(schema, self._key, shard) for shard in range(aggregate.shards)]
        stored_keys = [{name: item[name] for name in keys[0]} for item in shards]
        # An earlier, larger number of shards left some that must become 0.
        self._keys = [*keys, *(key for key in stored_keys if key not in keys)]
        actions = []
        for shard_key in self._keys:
            placeholders = Placeholders()
            text = (
                f"SET {placeholders.name(schema.type_attribute)} = {placeholders.text(aggregate.facets[0].entity)}, "
                f"{placeholders.name(str(RECOUNTING))} = {placeholders.text(token)}"
            )
            actions.append({"Key": shard_key, "UpdateExpression": text, **placeholders.parameters()})
        yield from self._write(actions)
        shards = yield from aggregate.read(schema, self._table, self._key, True)
        return {aggregate.attribute: sum(map(shard_amount, shards))}

    def set(self, token: str, counted_totals: Mapping[str, Any]) -> Steps[bool]:
        total = counted_totals[self._aggregate.attribute]
        actions = []
        for shard, shard_key in enumerate(self._keys):
            placeholders = Placeholders()
            mark = placeholders.name(str(RECOUNTING))
            # The first shard gets the whole sum: only their sum is ever read.
            amount = placeholders.value({"N": str(total if shard == 0 else 0)})
            actions.append(
                {
                    "Key": shard_key,
                    "UpdateExpression": f"SET {placeholders.name(VALUE)} = {amount} REMOVE {mark}",
                    "ConditionExpression": f"{mark} = {placeholders.text(token)}",
                    **placeholders.parameters(),
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
        yield Request(
            "TransactWriteItems", body, f"{self._aggregate.cls.__name__}.{self._aggregate.attribute}, all shards"
        )
