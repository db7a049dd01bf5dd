"""Delete contents that no item refers to: of uploads that were interrupted, and of items that were deleted."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack, overload

from prejoin.keys import TABLE
from prejoin.patterns.bulk.items import ItemScan
from prejoin.patterns.bulk.job import BATCH_SIZE, BulkOptions, BulkProgress, Job, run_job
from prejoin.patterns.clock import Clock, now
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Blocking, Request, Steps
from prejoin.table.errors import Failure, SchemaError
from prejoin.table.ids import ulid
from prejoin.table.read.execute import SIDE_BY_SIDE, send_all
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.pattern import OWNER
from prejoin.table.schema.schema import Schema
from prejoin.table.write.batch import write_requests
from prejoin.table.write.model import key_texts

from .large import LargePattern, large_pattern
from .stores import ObjectStore

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

_STAMP = 10
"""How many characters of a ULID are its time."""


@overload
def remove_garbage(
    db: Client,
    cls: type[Any],
    attribute: str,
    /,
    *,
    older_than: timedelta = timedelta(days=1),
    clock: Clock = now,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> BulkProgress: ...
@overload
def remove_garbage(
    db: AsyncClient,
    cls: type[Any],
    attribute: str,
    /,
    *,
    older_than: timedelta = timedelta(days=1),
    clock: Clock = now,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> Coroutine[Any, Any, BulkProgress]: ...
def remove_garbage(
    db: Any,
    cls: type[Any],
    attribute: str,
    /,
    *,
    older_than: timedelta = timedelta(days=1),
    clock: Clock = now,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> Any:
    """Delete parts of contents to which no item refers, and return how many. It is a bulk job.

    Younger uploads are kept, because they may be going on: `older_than` has to be longer than any upload takes until
    an item refers to it. Contents in an object store are found by their keys, others by a Scan of the table.

    Cost: half a read unit for each 4 KB of the table, parts included, or a listing of the objects; 1 read unit for each
    item with such uploads; and the deletes.
    """
    pattern = large_pattern(db.schema, cls, attribute)
    if pattern.kept:
        raise SchemaError(f"{pattern.entity.tag} has a History, whose versions refer to contents that were replaced")
    before = ulid(clock() - older_than)[:_STAMP]
    store = pattern.declared.store
    job = (
        _Parts(db.schema, db.table, segments, pattern, before)
        if store is None
        else _Objects(db.schema, db.table, pattern, before, store)
    )
    return run_job(job, options, db)


class _References:
    """Finds the uploads that items refer to."""

    def __init__(self, schema: Schema, table: str, pattern: LargePattern, before: str) -> None:
        self._table = table
        self._names = schema.keys(TABLE).names
        self._wire = pattern.entity.codec.attribute(pattern.attribute).wire
        self._before = before

    def garbage(self, parts: Sequence[tuple[Json, str, Any]]) -> Steps[list[Any]]:
        """Return the parts, given with their owner and upload, that are old and to which no item refers."""
        old_parts = [(key_texts(owner), owner, upload, part) for owner, upload, part in parts if upload < self._before]
        owners = {texts: owner for texts, owner, _, _ in old_parts}
        current_uploads: dict[tuple[str, ...], str] = {}
        keys = list(owners)
        for start in range(0, len(keys), SIDE_BY_SIDE):
            batch = keys[start : start + SIDE_BY_SIDE]
            answers = yield from send_all([self._get(owners[texts]) for texts in batch])
            for texts, answer in zip(batch, answers, strict=True):
                value = answer.get("Item", {}).get(self._wire, {}).get("M", {})
                current_uploads[texts] = value.get("upload", {}).get("S", "")
        return [part for texts, _, upload, part in old_parts if current_uploads[texts] != upload]

    def _get(self, owner: Json) -> Request:
        placeholders = Placeholders()
        body = {"TableName": self._table, "Key": owner, "ConsistentRead": True}
        return Request(
            "GetItem",
            {**body, "ProjectionExpression": placeholders.name(self._wire), **placeholders.parameters()},
            key_text(owner),
        )


class _Parts(ItemScan):
    def __init__(self, schema: Schema, table: str, segments: int, pattern: LargePattern, before: str) -> None:
        facet = pattern.facets[0]
        super().__init__(schema, table, segments, f"garbage of {facet.entity} in {table}")
        self._references = _References(schema, table, pattern, before)
        placeholders = Placeholders()
        self._keys = schema.keys(TABLE).names
        names = ", ".join(placeholders.name(name) for name in (*self._keys, OWNER))
        tag = f"{placeholders.name(schema.type_attribute)} = {placeholders.value({'S': facet.entity})}"
        self._filter = {"FilterExpression": tag, "ProjectionExpression": names, **placeholders.parameters()}
        self._separator = pattern.entity.binder.separator

    def _parameters(self) -> dict[str, Any]:
        return self._filter

    def read(self) -> Steps[Sequence[Any]]:
        items = yield from super().read()
        parts = []
        for item in items:
            key = {name: item[name] for name in self._keys}
            # The sort key ends with the upload and the number of the part.
            upload = item[self._keys[-1]]["S"].split(self._separator)[-2]
            parts.append((item[OWNER]["M"], upload, key))
        return (yield from self._references.garbage(parts))

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        requests = {key_texts(key): {"DeleteRequest": {"Key": key}} for key in batch}
        yield from write_requests(self._schema, self._table, requests)
        return []


class _Objects(Job):
    def __init__(self, schema: Schema, table: str, pattern: LargePattern, before: str, store: ObjectStore) -> None:
        self.name = f"garbage of {pattern.facets[0].entity} in {table}"
        self._pattern, self._store = pattern, store
        self._references = _References(schema, table, pattern, before)
        self._listed: Iterator[str] = iter(store.keys(pattern.prefix(table)))
        self._last = ""

    @property
    def position(self) -> str:
        return self._last

    def resume(self, position: str) -> None:
        self._last = position

    def read(self) -> Steps[Sequence[Any]]:
        keys: list[str] = yield Blocking(lambda: list(islice(self._listed, BATCH_SIZE)))
        self.done = len(keys) < BATCH_SIZE
        objects = [(*self._pattern.owner_of(key), key) for key in keys if key > self._last]
        self._last = keys[-1] if keys else self._last
        return (yield from self._references.garbage(objects))

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        for key in batch:
            yield Blocking(partial(self._store.delete, key))
        return []
