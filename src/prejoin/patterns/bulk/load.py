"""Load many objects, with the copies, guards and counters of their patterns."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from prejoin.keys import TABLE
from prejoin.patterns.aggregates.contribution import ParentAggregate
from prejoin.patterns.copies import CopyPattern
from prejoin.patterns.ttl import Expiry
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.conversation import Steps
from prejoin.table.errors import AlreadyExists, ArgumentError, Failure, PartlyWritten, TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern
from prejoin.table.schema.schema import Schema
from prejoin.table.write.actions import whole_item
from prejoin.table.write.batch import insert_many, put_many, write_requests
from prejoin.table.write.execute import prepare, write_one
from prejoin.table.write.from_call import insert_write, put_write
from prejoin.table.write.model import Write, key_texts

from .job import BATCH_SIZE, BulkOptions, BulkProgress, Job, run_job

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

WhenExisting = Literal["replace", "keep", "fail"]
"""What a load does with an object whose item exists already, and is not equal to it."""


@overload
def bulk_load(
    db: Client,
    records: Iterable[Any],
    /,
    *,
    existing: WhenExisting = "replace",
    new: bool = False,
    **options: Unpack[BulkOptions],
) -> BulkProgress: ...
@overload
def bulk_load(
    db: AsyncClient,
    records: Iterable[Any],
    /,
    *,
    existing: WhenExisting = "replace",
    new: bool = False,
    **options: Unpack[BulkOptions],
) -> Coroutine[Any, Any, BulkProgress]: ...
def bulk_load(
    db: Client | AsyncClient,
    records: Iterable[Any],
    /,
    *,
    existing: WhenExisting = "replace",
    new: bool = False,
    **options: Unpack[BulkOptions],
) -> Any:
    """Write many objects of any entities, in their order, and return how many.

    An object whose item exists replaces it, unless `existing` is `"keep"` or `"fail"`. With `new`, entities with copies
    are written in batches, at half the price of transactions. The caller knows then that no object exists, that no two
    have a copy with the same key, and that a reader may see an object before its copies.

    With a `position`, the same call with the same objects in the same order continues after an interruption.

    Cost: as `put_many` for entities without patterns, else as `insert_many`; an object that exists is read first, and
    costs both the attempt to insert it and the put.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Copy, Entity, Key
    >>> @dataclass
    ... class Order:
    ...     user_id: str
    ...     order_id: str
    >>> copy = Copy("by-id", Key("ORDER#{order_id}", "ORDER"))
    >>> schema = Schema(Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"), patterns=[copy]))
    >>> db = Client(schema, "shop", Embedded())
    >>> db.create_table()
    >>> bulk_load(db, (Order("42", f"o{n}") for n in range(1_500)), write_units=10_000).done
    1500
    """
    return run_job(_LoadJob(db.schema, db.table, records, existing, new), options, db)


class _LoadJob(Job):
    def __init__(self, schema: Schema, table: str, records: Iterable[Any], existing: WhenExisting, new: bool) -> None:
        if new and existing != "replace":
            raise ArgumentError("new=True says that no object exists, so leave out existing=")
        self.name = f"load {table}"
        self._rest = iter(records)
        self._read = 0
        self.writer = ObjectWriter(schema, table, existing, new)

    @property
    def position(self) -> int:
        return self._read

    def resume(self, position: int) -> None:
        self._read = sum(1 for _ in islice(self._rest, position))
        if self._read < position:
            raise ArgumentError(
                f"an earlier run has loaded {position} objects, and only {self._read} are given. Pass the same objects "
                "in the same order"
            )

    def read(self) -> Steps[list[Any]]:
        yield from ()  # it reads no items
        batch = list(islice(self._rest, BATCH_SIZE))
        self._read += len(batch)
        self.done = len(batch) < BATCH_SIZE
        return batch

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        return self.writer.write(batch)


class ObjectWriter:
    """Writes batches of objects. Writing a batch twice gives the same items as writing it once."""

    def __init__(self, schema: Schema, table: str, existing: WhenExisting = "replace", new: bool = False) -> None:
        self._schema, self._table = schema, table
        self._existing, self._new = existing, new
        self._batched: dict[type[Any], bool] = {}

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        """Write objects in their order, and return those that were refused."""
        failures: list[Failure] = []
        start = 0
        for is_batched, group in groupby(batch, self._is_batched):
            objects = list(group)
            group_failures = yield from (self._put if is_batched else self._insert)(objects)
            failures += [failure._replace(position=start + failure.position) for failure in group_failures]
            start += len(objects)
        return failures

    def _is_batched(self, record: Any) -> bool:
        """Return whether BatchWriteItem can write the objects of a class."""
        is_batched = self._batched.get(type(record))
        if is_batched is None:
            is_batched = self._batched[type(record)] = self._allows_batches(self._schema.entity(type(record)))
        return is_batched

    def _allows_batches(self, entity: BoundEntity[Any]) -> bool:
        if self._new:
            return all(isinstance(pattern, CopyPattern) or _writes_nothing(pattern) for pattern in entity.patterns)
        plain = all(isinstance(pattern, Expiry) or pattern.only_checks for pattern in entity.patterns)
        return plain and entity.unknown == "replace" and self._existing == "replace"

    def _put(self, objects: Sequence[Any]) -> Steps[list[Failure]]:
        failures: list[Failure] = []
        requests: dict[tuple[str, ...], dict[str, Any]] = {}
        for position, record in enumerate(objects):
            try:
                write = yield from prepare(self._schema, self._table, self._write_of(record))
                # Of two objects with the same key, the later one stays.
                requests.update(self._requests(write))
            except (TableError, ValueError) as error:
                failures.append(Failure(position, record, error))
        try:
            yield from write_requests(self._schema, self._table, requests)
        except DynamoDBError as error:
            if error.code != "ValidationException":
                raise
            return (yield from self._put_each(objects))  # an item is too large, or not valid: find it
        return failures

    def _write_of(self, record: Any) -> Write:
        if self._new:
            return insert_write(self._schema, record)
        return put_write(self._schema, record, None, None, read=False)

    def _requests(self, write: Write) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Yield the puts of an object and its copies, by their keys."""
        schema = self._schema
        item, key = whole_item(schema, write)
        yield key_texts(key), {"PutRequest": {"Item": item}}
        names = schema.keys(TABLE).names
        for pattern in write.entity.patterns:
            for copy_item in pattern.expected(schema, write.values):
                yield key_texts({name: copy_item[name] for name in names}), {"PutRequest": {"Item": copy_item}}

    def _put_each(self, objects: Sequence[Any]) -> Steps[list[Failure]]:
        failures: list[Failure] = []
        for position, record in enumerate(objects):
            try:
                read = self._schema.entity(type(record)).maintains
                write = put_write(self._schema, record, None, None, read)
                yield from write_one(self._schema, self._table, write)
            except (TableError, ValueError, DynamoDBError) as error:
                if isinstance(error, DynamoDBError) and error.code != "ValidationException":
                    raise
                failures.append(Failure(position, record, error))
        return failures

    def _insert(self, objects: Sequence[Any]) -> Steps[list[Failure]]:
        refusals = yield from _collect_failures(insert_many(self._schema, self._table, objects, None))
        existing = [failure for failure in refusals if _says_it_exists(failure)]
        refusals = [failure for failure in refusals if not _says_it_exists(failure)]
        different = [failure for failure in existing if not self._is_equal(failure)]
        match self._existing:
            case "replace" if different:
                records = [failure.given for failure in different]
                put_failures = yield from _collect_failures(
                    put_many(self._schema, self._table, records, None, read=True)
                )
                refusals += [
                    failure._replace(position=different[failure.position].position) for failure in put_failures
                ]
            case "fail":
                refusals += different
            case _:
                pass
        return refusals

    def _is_equal(self, failure: Failure) -> bool:
        """Return whether the stored object is the given one, apart from what patterns keep, such as its version."""
        error, record = failure.error, failure.given
        item = error.item if isinstance(error, AlreadyExists) else None
        if not item:
            return False
        entity = self._schema.entity(type(record))
        record_values, insert_values = entity.codec.values(record), insert_write(self._schema, record).values
        kept_names = kept_attributes(self._schema, type(record))
        stored_values: Mapping[str, Any] = entity.codec.values(entity.codec.read(dict(item), entity.tag, {}))
        for name, value in record_values.items():
            # A pattern gives an insert another value: a version, a time.
            is_maintained = name in kept_names or insert_values[name] != value
            if not is_maintained and stored_values[name] != value:
                return False
        return True


def _says_it_exists(failure: Failure) -> bool:
    """Return whether an object was refused because its own item exists, and not a copy or a guard."""
    return isinstance(failure.error, AlreadyExists) and not failure.error.elsewhere


def kept_attributes(schema: Schema, cls: type[Any]) -> set[str]:
    """Return the attributes of a class that its children keep: counts, sums, extremes."""
    patterns = (pattern for entity in schema.entities for pattern in entity.patterns)
    return {pattern.attribute for pattern in patterns if isinstance(pattern, ParentAggregate) and pattern.cls is cls}


def _writes_nothing(pattern: BoundPattern) -> bool:
    """Return whether a pattern adds no items to an insert, and no conditions on other items."""
    adds_nothing = type(pattern).expand is BoundPattern.expand and type(pattern).also is BoundPattern.also
    return adds_nothing or pattern.only_checks


def _collect_failures(steps: Steps[int]) -> Steps[list[Failure]]:
    try:
        yield from steps
    except PartlyWritten as error:
        return list(error.failures)
    return []
