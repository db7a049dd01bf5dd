"""The log of DynamoDB tables: their streams, shard by shard.

A stream names the items that changed. They are read again, consistently, into the copy that the source is read from, so
the snapshot of a round sees at least all changes that it was given. Shards are read from their beginning or after the
last record that was written, parents before children. Shards of different partitions have no common order, and records
do not tell which of them one transaction wrote.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from prejoin.migrate import codes
from prejoin.migrate.follow.log import (
    LIMIT,
    ChangeLog,
    Columns,
    LogPart,
    RowChange,
    SourceTransaction,
    changes_lost,
)
from prejoin.migrate.source.connection import SourceDatabase, SourceSnapshot
from prejoin.migrate.source.dynamodb import DynamoDBSource, Item, column_values
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.protocol.errors import DynamoDBError
from prejoin.streams.records import StreamRecord, read_records

RETENTION = 86_400
"""Seconds that DynamoDB keeps a record for."""
_BOTH_IMAGES = "NEW_AND_OLD_IMAGES"
_EMPTY_PAGES = 10
"""Pages without records after which an open shard is read to its end. AWS may return some in the middle of a shard."""
_STREAM_PATIENCE = 600.0
"""Seconds to wait for a stream that is being enabled."""
_MINUTE = 60.0
"""A shard without records is recorded as read this often."""


class ShardPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    at: float
    """All records before this time were read, or are older than the copy that was loaded."""
    after: str = ""
    """The sequence number of the last record that was read."""
    done: bool = False
    """Whether the shard is closed, and read to its end."""


class StreamPosition(msgspec.Struct, frozen=True):
    arn: str
    since: float
    """When it began."""
    shards: dict[str, ShardPosition]


_POSITION = msgspec.json.Decoder(dict[str, StreamPosition])
"""Positions by table."""


class StreamsLog(ChangeLog):
    def __init__(self, source: SourceDatabase, columns: Columns, enabled: Iterable[str]) -> None:
        assert isinstance(source, DynamoDBSource)
        self._source = source
        self._columns = columns
        self._enabled = tuple(enabled)
        self.created = tuple(f"the stream of the table {self._name(name)}" for name in self._enabled)
        self._iterators: dict[tuple[str, str], tuple[str, str]] = {}
        """By stream and shard: the position, and the iterator that continues there."""
        self._prepared_part = LogPart((), False, "")
        self._pages = 1 if source.place.db else _EMPTY_PAGES

    # --- Begin and end ----------------------------------------------------------------------------------------------

    def begin(self) -> str:
        for name in self._columns:
            self._require_images(name)
        for name in self._enabled:
            if not _stream(self._wait(name)):
                self._switch(name, StreamEnabled=True, StreamViewType=_BOTH_IMAGES)
        since = time.time()
        position = {}
        for name in self._columns:
            arn = self._wait(name)["LatestStreamArn"]
            # What a closed shard tells is in the copy that is made below.
            shards = {
                shard["ShardId"]: ShardPosition(since, done=_is_closed(shard)) for shard in self._shards(name, arn)
            }
            position[name] = StreamPosition(arn, since, shards)
        self._source.renew()
        return msgspec.json.encode(position).decode()

    def _require_images(self, name: str) -> None:
        """Refuses streams without old images, where keys of items need more than the key of the table."""
        table = self._describe(name)
        view = _stream(table).get("StreamViewType", _BOTH_IMAGES)
        key = {element["AttributeName"] for element in table["KeySchema"]}
        attributes = sorted(set(self._columns[name]) - key)
        if view != _BOTH_IMAGES and attributes:
            names = ", ".join(attributes)
            message = f"the stream of {self._name(name)} has {view}, and keys of items need old values: {names}"
            fix = f"change it to {_BOTH_IMAGES}: disable it, and let `load --follow` enable it"
            raise RefusedError(codes.IDENTITY, message, fix)

    def require(self) -> None:
        for name in self._columns:
            if not _stream(self._describe(name)):
                raise self._changes_lost(name, "its stream was disabled")

    def end(self) -> None:
        for name in self._enabled:
            try:
                if _stream(self._wait(name)):
                    self._switch(name, StreamEnabled=False)
            except DynamoDBError as problem:
                if problem.code != "ResourceNotFoundException":
                    raise

    def _describe(self, name: str) -> Mapping[str, Any]:
        table: Mapping[str, Any] = self._source.send("DescribeTable", {"TableName": self._name(name)})["Table"]
        return table

    def _name(self, copy: str) -> str:
        """The name of a table, by that of its copy. A table that is gone has none."""
        return self._source.names.get(copy, copy)

    def _switch(self, name: str, **specification: Any) -> None:
        self._source.send("UpdateTable", {"TableName": self._name(name), "StreamSpecification": specification})

    def _wait(self, name: str) -> Mapping[str, Any]:
        """The table, when neither it nor its stream is being changed any more."""
        start = time.monotonic()
        while True:
            table = self._describe(name)
            arn = table["LatestStreamArn"] if _stream(table) else ""
            if table["TableStatus"] == "ACTIVE" and not (arn and self._status(name, arn) == "ENABLING"):
                return table
            if time.monotonic() - start > _STREAM_PATIENCE:
                message = f"{self._source}: the table {name} is being changed since {_STREAM_PATIENCE:.0f} s"
                raise PipelineError(codes.UNREADABLE, message, "repeat the command when it is ACTIVE")
            time.sleep(1)

    def _status(self, name: str, arn: str) -> str:
        return str(self._send(name, "DescribeStream", {"StreamArn": arn})["StreamDescription"]["StreamStatus"])

    # --- Reading ----------------------------------------------------------------------------------------------------

    def prepare(self, after: str, limit: int = LIMIT) -> None:
        """Reads records, and the items that they name into the copy."""
        position = _POSITION.decode(after)
        table_records: list[tuple[str, StreamRecord]] = []
        is_whole = True
        for name, stream in position.items():
            shards = dict(stream.shards)
            records = list(islice(self._records(name, stream, shards), limit))
            table_records += [(name, record) for record in records]
            is_whole &= len(records) < limit
            position[name] = msgspec.structs.replace(stream, shards=shards)
        # Items are read when the records of all tables are: they are at least as new as any of the records.
        keys: dict[str, dict[bytes, Item]] = {}
        for name, record in table_records:
            keys.setdefault(name, {})[msgspec.json.encode(record.keys, order="sorted")] = record.keys
        for name, unique_keys in keys.items():
            self._source.read_again(name, list(unique_keys.values()))
        text = msgspec.json.encode(position).decode()
        changes = (SourceTransaction(text, (self._change(name, record),), record.at) for name, record in table_records)
        self._prepared_part = LogPart(tuple(changes), is_whole, text)

    def read(self, snapshot: SourceSnapshot, after: str, limit: int = LIMIT) -> LogPart:
        return self._prepared_part

    def _change(self, name: str, record: StreamRecord) -> RowChange:
        images: list[Item] = [image for image in (record.old, record.new) if image] or [record.keys]
        return RowChange(name, tuple(column_values(image, self._columns[name]) for image in images))

    def _records(self, name: str, stream: StreamPosition, shards: dict[str, ShardPosition]) -> Iterator[StreamRecord]:
        """The records after a position. `shards` are moved along.

        Shards split and merge: a child is read when its parent was read to its end, so that changes of an item stay in
        order. A shard that ends may have children by then, so the list is read again.
        """
        while True:
            listed_shards = {shard["ShardId"]: shard for shard in self._shards(name, stream.arn)}
            for expired_id in shards.keys() - listed_shards.keys():
                if not shards.pop(expired_id).done:
                    raise self._changes_lost(name, "a shard is not kept any more")
            for shard_id, shard in listed_shards.items():
                parent = shards.get(shard.get("ParentShardId", ""))
                shards.setdefault(shard_id, ShardPosition(parent.at if parent else stream.since))
            has_ended_shard = False
            for shard_id, shard in listed_shards.items():
                parent = shards.get(shard.get("ParentShardId", ""))
                if not shards[shard_id].done and (parent is None or parent.done):
                    yield from self._shard_records(name, stream.arn, shard_id, _is_closed(shard), shards)
                    has_ended_shard |= shards[shard_id].done
            if not has_ended_shard:
                return

    def _shard_records(
        self, name: str, arn: str, shard_id: str, is_closed: bool, shards: dict[str, ShardPosition]
    ) -> Iterator[StreamRecord]:
        empty_pages = 0
        while empty_pages < self._pages or is_closed:
            before, request_time = shards[shard_id], time.time()
            if request_time - before.at > RETENTION:
                raise self._changes_lost(
                    name, "its stream was not read for a day, and DynamoDB keeps changes for 24 hours"
                )
            page = self._page(name, arn, shard_id, before)
            records = list(read_records(page["Records"]))
            for record in records:
                # Recorded one by one: the reader may stop at any of them.
                record_time = record.at.timestamp() if record.at else 0
                shards[shard_id] = ShardPosition(max(before.at, record_time), record.sequence)
                yield record
            empty_pages = 0 if records else empty_pages + 1
            position = shards[shard_id]
            iterator = page.get("NextShardIterator")
            if iterator is None:  # the shard is closed, and this was its last page
                shards[shard_id] = ShardPosition(request_time, position.after, done=True)
                return
            self._iterators[arn, shard_id] = (position.after, iterator)
            if not records and request_time - position.at > _MINUTE:
                shards[shard_id] = ShardPosition(request_time, position.after)

    def _page(self, name: str, arn: str, shard_id: str, position: ShardPosition) -> Mapping[str, Any]:
        """The next records of a shard."""
        after, iterator = self._iterators.get((arn, shard_id), ("", ""))
        if iterator and after == position.after:
            try:
                return self._send(name, "GetRecords", {"ShardIterator": iterator})
            except DynamoDBError as problem:
                if problem.code not in ("ExpiredIteratorException", "TrimmedDataAccessException"):
                    raise
        body: dict[str, Any] = {"StreamArn": arn, "ShardId": shard_id}
        oldest = body | {"ShardIteratorType": "TRIM_HORIZON"}
        if position.after:
            body |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": position.after}
        try:
            response = self._send(name, "GetShardIterator", body if position.after else oldest)
        except DynamoDBError as problem:
            if problem.code != "TrimmedDataAccessException":
                raise
            # Only records older than a day are trimmed, and all of these were read: `_shard_records` has checked it.
            response = self._send(name, "GetShardIterator", oldest)
        return self._send(name, "GetRecords", {"ShardIterator": response["ShardIterator"]})

    def _shards(self, name: str, arn: str) -> Iterator[Mapping[str, Any]]:
        body = {"StreamArn": arn}
        while True:
            stream = self._send(name, "DescribeStream", body)["StreamDescription"]
            if stream["StreamStatus"] in ("DISABLING", "DISABLED"):
                raise self._changes_lost(name, "its stream was disabled")
            yield from stream["Shards"]
            if "LastEvaluatedShardId" not in stream:
                return
            body["ExclusiveStartShardId"] = stream["LastEvaluatedShardId"]

    def _send(self, name: str, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            response: Mapping[str, Any] = self._source.send_to_streams(operation, body)
            return response
        except DynamoDBError as problem:
            if problem.code == "ResourceNotFoundException":
                raise self._changes_lost(name, "its stream does not exist any more") from problem
            raise

    def _changes_lost(self, name: str, reason: str) -> PipelineError:
        return changes_lost(f"changes of {self._name(name)} are lost: {reason}")

    def confirm(self, position: str) -> None:
        """DynamoDB keeps its records for a day, read or not."""

    def behind(self, position: str) -> int:
        return 0


def tables_without_stream(source: SourceDatabase, tables: Iterable[str]) -> list[str]:
    assert isinstance(source, DynamoDBSource)
    descriptions = {name: source.send("DescribeTable", {"TableName": source.names[name]}) for name in tables}
    return [name for name, description in descriptions.items() if not _stream(description["Table"])]


def _stream(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The specification of a stream that is enabled; else empty."""
    specification: Mapping[str, Any] = table.get("StreamSpecification") or {}
    return specification if specification.get("StreamEnabled") else {}


def _is_closed(shard: Mapping[str, Any]) -> bool:
    return "EndingSequenceNumber" in shard["SequenceNumberRange"]
