"""Jobs over the items of a table as they are: copy it, export it, delete the items of one tenant."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import msgspec

from prejoin.keys import TABLE
from prejoin.patterns.aggregates.contribution import ParentAggregate
from prejoin.protocol.decoders import json_decoder
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps, read_json
from prejoin.table.errors import ArgumentError, Failure, SchemaError
from prejoin.table.read.execute import send_all
from prejoin.table.read.scan import MOST_SEGMENTS
from prejoin.table.schema.schema import Schema
from prejoin.table.write.batch import write_requests
from prejoin.table.write.model import key_texts

from .job import BATCH_SIZE, BulkOptions, BulkProgress, Job, ObjectScan, run_job
from .load import ObjectWriter

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

Convert = Callable[[Any], Any]
"""Returns the object to write, an iterable of several, or None."""


@overload
def bulk_copy(
    source: Client,
    target: Client,
    convert: Convert | None = None,
    /,
    *,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> BulkProgress: ...
@overload
def bulk_copy(
    source: AsyncClient,
    target: AsyncClient,
    convert: Convert | None = None,
    /,
    *,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> Coroutine[Any, Any, BulkProgress]: ...
def bulk_copy(
    source: Any, target: Any, convert: Convert | None = None, /, *, segments: int = 1, **options: Unpack[BulkOptions]
) -> Any:
    """Copy a table into another, over items with the same keys, and return how many items.

    Without `convert` all items are copied as they are, also those that the schema does not know. With it, objects are
    read, and what `convert` returns is written with the patterns of the target's schema: an object, several, or None.
    Objects are in no order then, so a child may be refused because its parent is not there yet.

    Writes of others to the source are copied if the Scan has not passed their items.

    Cost: half a read unit for each 4 KB of the source, and a write unit for each KB of each item of the target; with
    `convert` as `bulk_load`.
    """
    if source.table == target.table and source._transport is target._transport:
        raise ArgumentError(f"the source and the target are the same table, {source.table}")
    job = _CopyJob(source, target, segments) if convert is None else _ConvertJob(source, target, segments, convert)
    return run_job(job, options, source, target)


@overload
def bulk_export(
    db: Client, folder: str | PathLike[str], /, *, segments: int = 1, **options: Unpack[BulkOptions]
) -> BulkProgress: ...
@overload
def bulk_export(
    db: AsyncClient, folder: str | PathLike[str], /, *, segments: int = 1, **options: Unpack[BulkOptions]
) -> Coroutine[Any, Any, BulkProgress]: ...
def bulk_export(db: Any, folder: str | PathLike[str], /, *, segments: int = 1, **options: Unpack[BulkOptions]) -> Any:
    """Write all items of a table into files, and return how many: a gzipped file of DynamoDB JSON for each segment.

    `bulk_import` and DynamoDB's ImportTable and StartBulkPutItems read these files. The job reads the table with a
    Scan, so writes of others are in the files if the Scan has not passed their items.

    Cost: half a read unit for each 4 KB of the table.
    """
    return run_job(_ExportJob(db.schema, db.table, segments, Path(folder)), options, db)


@overload
def bulk_import(db: Client, folder: str | PathLike[str], /, **options: Unpack[BulkOptions]) -> BulkProgress: ...
@overload
def bulk_import(
    db: AsyncClient, folder: str | PathLike[str], /, **options: Unpack[BulkOptions]
) -> Coroutine[Any, Any, BulkProgress]: ...
def bulk_import(db: Any, folder: str | PathLike[str], /, **options: Unpack[BulkOptions]) -> Any:
    """Put all items of an export as they are, over items with the same keys, and return how many.

    Cost: a write unit for each KB of each item.
    """
    return run_job(_ImportJob(db.schema, db.table, Path(folder)), options, db)


@overload
def delete_tenant(db: Client, tenant: Any, /, *, segments: int = 1, **options: Unpack[BulkOptions]) -> BulkProgress: ...
@overload
def delete_tenant(
    db: AsyncClient, tenant: Any, /, *, segments: int = 1, **options: Unpack[BulkOptions]
) -> Coroutine[Any, Any, BulkProgress]: ...
def delete_tenant(db: Any, tenant: Any, /, *, segments: int = 1, **options: Unpack[BulkOptions]) -> Any:
    """Delete all items of a tenant, also those that the schema does not know, and return how many.

    `db` is a client of the whole table. Stop the tenant's own writes before. Items that belong to no tenant stay.

    Cost: half a read unit for each 4 KB of the whole table, because no key finds all partitions of a tenant, and a
    write unit for each KB of the deleted items.
    """
    return run_job(_DeleteTenantJob(db.schema, db.table, segments, tenant), options, db)


class ItemScan(Job):
    """A job over items, which a Scan reads in segments."""

    def __init__(self, schema: Schema, table: str, segments: int, name: str) -> None:
        schema.refuse_to_tenant("a job over all items")
        if not 1 <= segments <= MOST_SEGMENTS:
            raise ArgumentError(f"segments is {segments}, and has to be from 1 to {MOST_SEGMENTS}")
        self._schema, self._table = schema, table
        self._starts: list[Json | None] = [None] * segments
        """The key to continue after, for each segment: None at the beginning, empty at the end."""
        self.name = f"{name}, {segments} segments"

    @property
    def position(self) -> Any:
        return self._starts

    def resume(self, position: Any) -> None:
        self._starts = position

    def read(self) -> Steps[Sequence[Any]]:
        segments = [segment for segment, start in enumerate(self._starts) if start != {}]
        answers = yield from send_all([self._request(segment) for segment in segments])
        for segment, answer in zip(segments, answers, strict=True):
            self._starts[segment] = answer.get("LastEvaluatedKey") or {}
        self.done = all(start == {} for start in self._starts)
        return [item for answer in answers for item in answer["Items"]]

    def _request(self, segment: int) -> Request:
        body: dict[str, Any] = {"TableName": self._table, **self._parameters()}
        if len(self._starts) > 1:
            body |= {"Segment": segment, "TotalSegments": len(self._starts)}
        if self._starts[segment]:
            body["ExclusiveStartKey"] = self._starts[segment]
        return Request("Scan", body, f"{self._table}, segment {segment}", self._decode(segment))

    def _parameters(self) -> dict[str, Any]:
        return {}

    def _decode(self, segment: int) -> Callable[[bytes], Any]:
        return read_json


class _CopyJob(ItemScan):
    def __init__(self, source: Client | AsyncClient, target: Client | AsyncClient, segments: int) -> None:
        names = source.schema.keys(TABLE).names
        if names != target.schema.keys(TABLE).names:
            raise ArgumentError(f"the keys of {source.table} and {target.table} have different names. Pass convert")
        super().__init__(source.schema, source.table, segments, f"copy {source.table} to {target.table}")
        self._target = target.table

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        return _put_items(self._schema, self._target, batch)


class _ConvertJob(ObjectScan):
    """A copy of objects, which are converted on the way."""

    def __init__(
        self, source: Client | AsyncClient, target: Client | AsyncClient, segments: int, convert: Convert
    ) -> None:
        super().__init__(source, (), segments, hidden=True)
        self._convert = convert
        self._writer = ObjectWriter(target.schema, target.table)
        self.name = f"convert {source.table} to {target.table}, {segments} segments"

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        positions, objects = [], []
        for position, record in enumerate(batch):
            result = self._convert(record)
            if result is None:
                continue
            for new_record in result if isinstance(result, Iterable) else (result,):
                positions.append(position)
                objects.append(new_record)
        failures = yield from self._writer.write(objects)
        return [failure._replace(position=positions[failure.position]) for failure in failures]


class _RawPage(msgspec.Struct):
    Items: list[msgspec.Raw]
    LastEvaluatedKey: dict[str, Any] | None = None


class _ExportJob(ItemScan):
    """Items are written as they are received, without decoding them."""

    def __init__(self, schema: Schema, table: str, segments: int, folder: Path) -> None:
        super().__init__(schema, table, segments, f"export {table}")
        self._folder = folder
        self._sizes = [0] * segments
        """The size of each file, up to which it belongs to the position."""
        self._decoder = json_decoder(_RawPage)
        self._lines: dict[int, list[bytes]] = {}

    @property
    def position(self) -> Any:
        return {"starts": self._starts, "sizes": self._sizes}

    def resume(self, position: Any) -> None:
        self._starts, self._sizes = position["starts"], position["sizes"]

    def _decode(self, segment: int) -> Callable[[bytes], Any]:
        def decode(body: bytes) -> dict[str, Any]:
            page = self._decoder.decode(body)
            return {"Items": [(segment, bytes(raw)) for raw in page.Items], "LastEvaluatedKey": page.LastEvaluatedKey}

        return decode

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        yield from ()  # it writes no items
        for segment, raw in batch:
            self._lines.setdefault(segment, []).append(b'{"Item":' + raw + b"}\n")
        return []

    def finish(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for segment, size in enumerate(self._sizes):
            with (self._folder / f"items-{segment:03}.json.gz").open("ab") as file:
                # A file may be longer than the position says, if an earlier run was killed before it was saved.
                file.truncate(size)
                if lines := self._lines.pop(segment, None):
                    file.write(gzip.compress(b"".join(lines), mtime=0))
                file.flush()
                self._sizes[segment] = file.seek(0, 2)


class _ImportJob(Job):
    def __init__(self, schema: Schema, table: str, folder: Path) -> None:
        schema.refuse_to_tenant("bulk_import()")
        files = sorted(folder.glob("*.json.gz"))
        if not files:
            raise ArgumentError(f"{folder} has no files of an export, *.json.gz")
        self.name = f"import {folder.name} into {table}"
        self._schema, self._table = schema, table
        self._lines = _lines(files)
        self._read = 0

    @property
    def position(self) -> int:
        return self._read

    def resume(self, position: int) -> None:
        self._read = sum(1 for _ in islice(self._lines, position))

    def read(self) -> Steps[Sequence[Any]]:
        yield from ()  # it reads no items
        lines = list(islice(self._lines, BATCH_SIZE))
        self._read += len(lines)
        self.done = len(lines) < BATCH_SIZE
        return [read_json(line)["Item"] for line in lines]

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        return _put_items(self._schema, self._table, batch)


class _DeleteTenantJob(ItemScan):
    def __init__(self, schema: Schema, table: str, segments: int, tenant: Any) -> None:
        super().__init__(schema, table, segments, f"delete the tenant {tenant!r} of {table}")
        tenancy = schema.tenancy
        if tenancy is None:
            raise SchemaError('the schema has no tenants. Declare them with Schema(…, tenant="tenant_id")')
        _check_counts_of_tenant(schema, tenancy.attribute)
        placeholders = Placeholders()
        names = schema.keys(TABLE).names
        partition_key = placeholders.name(names[0])
        tests = []
        for head in tenancy.heads[TABLE]:
            start = placeholders.value(head.start(tenant, tenancy.separator))
            is_tenants = f"{partition_key} = {start}" if head.whole_key else f"begins_with({partition_key}, {start})"
            tests.append(is_tenants)
        projection = ", ".join([placeholders.name(name) for name in names])
        self._filter = {
            "FilterExpression": " OR ".join(tests),
            "ProjectionExpression": projection,
            **placeholders.parameters(),
        }

    def _parameters(self) -> dict[str, Any]:
        return self._filter

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        requests = {key_texts(key): {"DeleteRequest": {"Key": key}} for key in batch}
        yield from write_requests(self._schema, self._table, requests)
        return []


def _check_counts_of_tenant(schema: Schema, tenant: str) -> None:
    """Refuse a schema in which items of tenants are counted in items of no tenant: the counts would be wrong."""
    for entity in schema.entities:
        for pattern in entity.patterns:
            if isinstance(pattern, ParentAggregate) and tenant not in schema.entity(pattern.cls).codec.attributes:
                raise SchemaError(
                    f"{pattern.cls.__name__}.{pattern.attribute} belongs to no tenant and depends on each {entity.tag},"
                    f" so it would be wrong. Delete each {entity.tag} of the tenant with bulk_delete instead"
                )


def _lines(files: Sequence[Path]) -> Iterator[bytes]:
    for path in files:
        with gzip.open(path) as file:
            yield from file


def _put_items(schema: Schema, table: str, items: Sequence[Json]) -> Steps[list[Failure]]:
    names = schema.keys(TABLE).names
    requests = {}
    for item in items:
        key = {name: item[name] for name in names}
        requests[key_texts(key)] = {"PutRequest": {"Item": item}}
    yield from write_requests(schema, table, requests)
    return []
