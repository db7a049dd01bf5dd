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

KEPT = 86_400
"""Seconds that DynamoDB keeps a record for."""
_WHOLE = "NEW_AND_OLD_IMAGES"
_EMPTY_PAGES = 10
"""Pages without records after which an open shard is read to its end. AWS may return some in the middle of a shard."""
_PATIENCE = 600.0
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
        self._part = LogPart((), False, "")
        self._pages = 1 if source.place.db else _EMPTY_PAGES

    # --- Begin and end ----------------------------------------------------------------------------------------------

    def begin(self) -> str:
        for name in self._columns:
            self._require_images(name)
        for name in self._enabled:
            if not _stream(self._wait(name)):
                self._switch(name, StreamEnabled=True, StreamViewType=_WHOLE)
        since = time.time()
        position = {}
        for name in self._columns:
            arn = self._wait(name)["LatestStreamArn"]
            # What a closed shard tells is in the copy that is made below.
            shards = {one["ShardId"]: ShardPosition(since, done=_is_closed(one)) for one in self._shards(name, arn)}
            position[name] = StreamPosition(arn, since, shards)
        self._source.renew()
        return msgspec.json.encode(position).decode()

    def _require_images(self, name: str) -> None:
        """Refuses streams without old images, where keys of items need more than the key of the table."""
        table = self._describe(name)
        view = _stream(table).get("StreamViewType", _WHOLE)
        more = set(self._columns[name]) - {one["AttributeName"] for one in table["KeySchema"]}
        if view != _WHOLE and more:
            needed = ", ".join(sorted(more))
            message = f"the stream of {self._name(name)} has {view}, and keys of items need old values: {needed}"
            fix = f"change it to {_WHOLE}: disable it, and let `load --follow` enable it"
            raise RefusedError(codes.IDENTITY, message, fix)

    def require(self) -> None:
        for name in self._columns:
            if not _stream(self._describe(name)):
                raise self._lost(name, "its stream was disabled")

    def end(self) -> None:
        for name in self._enabled:
            try:
                if _stream(self._wait(name)):
                    self._switch(name, StreamEnabled=False)
            except DynamoDBError as problem:
                if problem.code != "ResourceNotFoundException":
                    raise

    def _describe(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._source.send("DescribeTable", {"TableName": self._name(name)})["Table"]
        return found

    def _name(self, copy: str) -> str:
        """The name of a table, by that of its copy. A table that is gone has none."""
        return self._source.names.get(copy, copy)

    def _switch(self, name: str, **specification: Any) -> None:
        self._source.send("UpdateTable", {"TableName": self._name(name), "StreamSpecification": specification})

    def _wait(self, name: str) -> Mapping[str, Any]:
        """The table, when neither it nor its stream is being changed any more."""
        began = time.monotonic()
        while True:
            found = self._describe(name)
            arn = found["LatestStreamArn"] if _stream(found) else ""
            if found["TableStatus"] == "ACTIVE" and not (arn and self._status(name, arn) == "ENABLING"):
                return found
            if time.monotonic() - began > _PATIENCE:
                message = f"{self._source}: the table {name} is being changed since {_PATIENCE:.0f} s"
                raise PipelineError(codes.UNREADABLE, message, "repeat the command when it is ACTIVE")
            time.sleep(1)

    def _status(self, name: str, arn: str) -> str:
        return str(self._ask(name, "DescribeStream", {"StreamArn": arn})["StreamDescription"]["StreamStatus"])

    # --- Reading ----------------------------------------------------------------------------------------------------

    def prepare(self, after: str, limit: int = LIMIT) -> None:
        """Reads records, and the items that they name into the copy."""
        position = _POSITION.decode(after)
        found: list[tuple[str, StreamRecord]] = []
        whole = True
        for name, stream in position.items():
            shards = dict(stream.shards)
            records = list(islice(self._records(name, stream, shards), limit))
            found += [(name, one) for one in records]
            whole &= len(records) < limit
            position[name] = msgspec.structs.replace(stream, shards=shards)
        for name in dict.fromkeys(name for name, _ in found):
            keys = {msgspec.json.encode(one.keys, order="sorted"): one.keys for table, one in found if table == name}
            self._source.read_again(name, list(keys.values()))
        text = msgspec.json.encode(position).decode()
        changes = (SourceTransaction(text, (self._change(name, one),), one.at) for name, one in found)
        self._part = LogPart(tuple(changes), whole, text)

    def read(self, snapshot: SourceSnapshot, after: str, limit: int = LIMIT) -> LogPart:
        return self._part

    def _change(self, name: str, record: StreamRecord) -> RowChange:
        images: list[Item] = [one for one in (record.old, record.new) if one] or [record.keys]
        return RowChange(name, tuple(column_values(one, self._columns[name]) for one in images))

    def _records(self, name: str, stream: StreamPosition, shards: dict[str, ShardPosition]) -> Iterator[StreamRecord]:
        """The records after a position. `shards` are moved along."""
        while True:
            listed = {one["ShardId"]: one for one in self._shards(name, stream.arn)}
            for gone in shards.keys() - listed.keys():
                if not shards.pop(gone).done:
                    raise self._lost(name, "a shard is not kept any more")
            for shard, one in listed.items():
                parent = shards.get(one.get("ParentShardId", ""))
                shards.setdefault(shard, ShardPosition(parent.at if parent else stream.since))
            closed = False
            for shard, one in listed.items():
                parent = shards.get(one.get("ParentShardId", ""))
                if not shards[shard].done and (parent is None or parent.done):
                    yield from self._shard(name, stream.arn, shard, _is_closed(one), shards)
                    closed |= shards[shard].done
            if not closed:
                return

    def _shard(
        self, name: str, arn: str, shard: str, closed: bool, shards: dict[str, ShardPosition]
    ) -> Iterator[StreamRecord]:
        empty = 0
        while empty < self._pages or closed:
            known, asked = shards[shard], time.time()
            if asked - known.at > KEPT:
                raise self._lost(name, "its stream was not read for a day, and DynamoDB keeps changes for 24 hours")
            page = self._page(name, arn, shard, known)
            records = list(read_records(page["Records"]))
            for record in records:
                # Recorded one by one: the reader may stop at any of them.
                at = record.at.timestamp() if record.at else 0
                shards[shard] = ShardPosition(max(known.at, at), record.sequence)
                yield record
            empty = 0 if records else empty + 1
            now = shards[shard]
            following = page.get("NextShardIterator")
            if following is None:
                shards[shard] = ShardPosition(asked, now.after, done=True)
                return
            self._iterators[arn, shard] = (now.after, following)
            if not records and asked - now.at > _MINUTE:
                shards[shard] = ShardPosition(asked, now.after)

    def _page(self, name: str, arn: str, shard: str, known: ShardPosition) -> Mapping[str, Any]:
        """The next records of a shard."""
        after, iterator = self._iterators.get((arn, shard), ("", ""))
        if iterator and after == known.after:
            try:
                return self._ask(name, "GetRecords", {"ShardIterator": iterator})
            except DynamoDBError as problem:
                if problem.code not in ("ExpiredIteratorException", "TrimmedDataAccessException"):
                    raise
        body: dict[str, Any] = {"StreamArn": arn, "ShardId": shard}
        oldest = body | {"ShardIteratorType": "TRIM_HORIZON"}
        if known.after:
            body |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": known.after}
        try:
            found = self._ask(name, "GetShardIterator", body if known.after else oldest)
        except DynamoDBError as problem:
            if problem.code != "TrimmedDataAccessException":
                raise
            # Only records are trimmed that are older than a day, and all of these were read: `_shard` has checked it.
            found = self._ask(name, "GetShardIterator", oldest)
        return self._ask(name, "GetRecords", {"ShardIterator": found["ShardIterator"]})

    def _shards(self, name: str, arn: str) -> Iterator[Mapping[str, Any]]:
        body = {"StreamArn": arn}
        while True:
            found = self._ask(name, "DescribeStream", body)["StreamDescription"]
            if found["StreamStatus"] in ("DISABLING", "DISABLED"):
                raise self._lost(name, "its stream was disabled")
            yield from found["Shards"]
            if "LastEvaluatedShardId" not in found:
                return
            body["ExclusiveStartShardId"] = found["LastEvaluatedShardId"]

    def _ask(self, name: str, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = self._source.send_to_streams(operation, body)
            return found
        except DynamoDBError as problem:
            if problem.code == "ResourceNotFoundException":
                raise self._lost(name, "its stream does not exist any more") from problem
            raise

    def _lost(self, name: str, why: str) -> PipelineError:
        return changes_lost(f"changes of {self._name(name)} are lost: {why}")

    def confirm(self, position: str) -> None:
        """DynamoDB keeps its records for a day, read or not."""

    def behind(self, position: str) -> int:
        return 0


def tables_without_stream(source: SourceDatabase, tables: Iterable[str]) -> list[str]:
    assert isinstance(source, DynamoDBSource)
    described = {one: source.send("DescribeTable", {"TableName": source.names[one]})["Table"] for one in tables}
    return [name for name, table in described.items() if not _stream(table)]


def _stream(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The specification of a stream that is enabled; else empty."""
    found: Mapping[str, Any] = table.get("StreamSpecification") or {}
    return found if found.get("StreamEnabled") else {}


def _is_closed(shard: Mapping[str, Any]) -> bool:
    return "EndingSequenceNumber" in shard["SequenceNumberRange"]
