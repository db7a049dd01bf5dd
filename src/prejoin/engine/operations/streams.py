"""ListStreams, DescribeStream, GetShardIterator and GetRecords.

A stream is a chain of shards. A shard is a range of sequence numbers: of the whole stream, or of as many records as the
engine is told to put into one. A full shard is closed and has one child.
"""

from __future__ import annotations

import re
import time
from base64 import b64decode, b64encode
from typing import Annotated, Any, NamedTuple

import msgspec

from prejoin.engine.items.changes import (
    RETENTION_SECONDS,
    StoredRecord,
    next_number,
    oldest_record,
    read_records,
    sequence_number,
    trim,
)
from prejoin.engine.items.recovery import trim_log
from prejoin.engine.operations.database import Database
from prejoin.engine.operations.tables import key_schema
from prejoin.engine.requests import DescribeStreamInput, GetRecordsInput, GetShardIteratorInput, ListStreamsInput
from prejoin.engine.store.interface import MAX_RECORD, Session
from prejoin.engine.tables.definition import StreamDefinition, TableDefinition
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol.errors import DynamoDBError, not_found, refuse
from prejoin.protocol.limits import MB

ITERATOR_SECONDS = 900
"""An iterator can be used for a quarter of an hour."""
_INVALID = "One or more parameter values were invalid: "
_ARN = re.compile(r"arn:[^:]+:dynamodb:[^:]*:[^:]*:table/([a-zA-Z0-9_.-]{3,255})/stream/([0-9T:.-]+)")
_SHARD = re.compile(r"shardId-[0-9]{20}-([0-9a-f]{8})")
_TYPES = ("AFTER_SEQUENCE_NUMBER", "LATEST", "TRIM_HORIZON", "AT_SEQUENCE_NUMBER")
_PAGE = 100
_RECORDS = 1_000
_ALL_TABLES = 1 << 31


class _Shard(NamedTuple):
    """A shard: its place in the chain, its first sequence number, and its last one if it is closed."""

    place: int
    first: int
    last: int | None


class _Position(msgspec.Struct, array_like=True):
    """The content of an iterator: a shard, the next sequence number to read, and when it was made."""

    shard: int
    number: Annotated[int, msgspec.Meta(ge=0, le=MAX_RECORD)]
    issued: float


def list_streams(database: Database, request: ListStreamsInput) -> dict[str, Any]:
    constraints = Constraints()
    constraints.between("limit", request.limit, 1, _PAGE)
    constraints.finish()
    only_name = None if request.table_name is None else table_name(request.table_name)
    limit, start = request.limit or _PAGE, request.exclusive_start_stream_arn
    with database.store.reading(snapshot=True) as session:
        # Streams are listed by table and then by time, which is the order of their ARNs.
        names = session.table_names("", _ALL_TABLES) if only_name is None else [only_name]
        tables = [table for name in names if (table := database.catalog.get(session, name)) is not None]
    streams = [
        {"StreamArn": table.stream_arn(stream), "TableName": table.name, "StreamLabel": stream.label}
        for table in tables
        for stream in table.streams
    ]
    if start is not None:
        match = _ARN.fullmatch(start)
        if match is None:
            refuse(_INVALID + "Invalid StreamArn")
        streams = [stream for stream in streams if (stream["TableName"], stream["StreamLabel"]) > match.groups()]
    response: dict[str, Any] = {"Streams": streams[:limit]}
    if len(streams) > limit:
        response["LastEvaluatedStreamArn"] = streams[limit - 1]["StreamArn"]
    return response


def describe_stream(database: Database, request: DescribeStreamInput) -> dict[str, Any]:
    constraints = Constraints()
    constraints.between("limit", request.limit, 1, _PAGE)
    _check_shard_id(constraints, "exclusiveStartShardId", request.exclusive_start_shard_id)
    shard_filter = request.shard_filter
    if shard_filter is not None:
        constraints.require("shardFilter.type", shard_filter.type)
        constraints.one_of("shardFilter.type", shard_filter.type, ("CHILD_SHARDS",))
        constraints.require("shardFilter.shardId", shard_filter.shard_id)
        _check_shard_id(constraints, "shardFilter.shardId", shard_filter.shard_id)
    constraints.finish()
    with database.store.reading(snapshot=True) as session:
        table, stream = _find_stream(database, session, request.stream_arn)
        shards = _shards_of(session, table, stream)
    if shard_filter is not None:
        parent = _shard_index(stream, str(shard_filter.shard_id))
        shards = [shard for shard in shards if shard.place - 1 == parent]
    if request.exclusive_start_shard_id is not None:
        start = _shard_index(stream, request.exclusive_start_shard_id)
        shards = [shard for shard in shards if start is not None and shard.place > start]
    limit = request.limit or _PAGE
    description: dict[str, Any] = {
        "StreamArn": table.stream_arn(stream),
        "StreamLabel": stream.label,
        "StreamStatus": "ENABLED" if stream.ended is None else "DISABLED",
        "StreamViewType": stream.view,
        "CreationRequestDateTime": stream.created,
        "TableName": table.name,
        "KeySchema": key_schema(table.keys),
        "Shards": [_describe_shard(stream, shard) for shard in shards[:limit]],
    }
    if len(shards) > limit:
        description["LastEvaluatedShardId"] = _shard_id(stream, shards[limit - 1].place)
    return {"StreamDescription": description}


def get_shard_iterator(database: Database, request: GetShardIteratorInput) -> dict[str, Any]:
    _check_iterator_request(request)
    kind, sequence = str(request.shard_iterator_type), request.sequence_number
    with database.store.reading(snapshot=True) as session:
        # A missing stream is reported before a sequence number that does not fit the type of the iterator.
        table, stream = _find_stream(database, session, request.stream_arn)
        if kind.endswith("_SEQUENCE_NUMBER"):
            if sequence is None or not sequence.isdecimal():
                refuse(_INVALID + "Invalid SequenceNumber")
        elif sequence is not None:
            refuse(_INVALID + "SequenceNumber should not be passed for this iterator type")
        index = _shard_index(stream, str(request.shard_id))
        shard = next((shard for shard in _shards_of(session, table, stream) if shard.place == index), None)
        if shard is None:
            raise not_found("Requested resource not found: Shard does not exist")
        oldest = _oldest_number(session, table, stream)
        newest = next_number(session, table, stream) if shard.last is None else shard.last + 1
    if sequence is None:
        number = newest if kind == "LATEST" else max(oldest, shard.first)
    else:
        number = int(sequence) + kind.startswith("AFTER")
        if not shard.first <= int(sequence) < max(newest, shard.first + 1):
            refuse(_INVALID + "Invalid SequenceNumber in ShardIterator: it is not in the shard")
        if number < oldest:
            raise _trimmed_error()
    return {"ShardIterator": _make_iterator(table, stream, shard.place, number)}


def _check_iterator_request(request: GetShardIteratorInput) -> None:
    constraints = Constraints()
    constraints.require("shardId", request.shard_id)
    _check_shard_id(constraints, "shardId", request.shard_id)
    constraints.require("shardIteratorType", request.shard_iterator_type)
    constraints.one_of("shardIteratorType", request.shard_iterator_type, _TYPES)
    sequence = request.sequence_number
    if sequence is not None and not 21 <= len(sequence) <= 40:
        bound = "less than or equal to 40" if len(sequence) > 40 else "greater than or equal to 21"
        constraints.fail("sequenceNumber", sequence, f"Member must have length {bound}")
    constraints.finish()


def get_records(database: Database, request: GetRecordsInput) -> dict[str, Any]:
    constraints = Constraints()
    constraints.require("shardIterator", request.shard_iterator)
    constraints.between("limit", request.limit, 1, _RECORDS)
    constraints.finish()
    arn, position = _parse_iterator(str(request.shard_iterator))
    now = time.time()
    # The age is checked before the stream, so an old iterator of a deleted table is an expired one.
    if now - position.issued > ITERATOR_SECONDS:
        raise DynamoDBError(
            "ExpiredIteratorException",
            f"Iterator expired. The iterator was created at time {position.issued:.3f} while right now it is "
            f"{now:.3f} which is further in the future than the tolerated delay of {ITERATOR_SECONDS * 1000} "
            "milliseconds.",
        )
    with database.store.reading(snapshot=True) as session:
        table, stream = _find_stream(database, session, arn)
        shard = next((shard for shard in _shards_of(session, table, stream) if shard.place == position.shard), None)
        oldest = _oldest_number(session, table, stream)
        if shard is None or position.number < min(oldest, next_number(session, table, stream)):
            raise _trimmed_error()
        limit = request.limit or _RECORDS
        records = _without_old(read_records(session, table, position.number, shard.last or stream.last, limit), now)
    size, count = 0, 0
    for record in records:
        size += record.size
        # At least one record, however large it is.
        if count and size > MB:
            break
        count += 1
    number = records[count - 1].number + 1 if count else position.number
    response: dict[str, Any] = {"Records": [record.render(table, stream) for record in records[:count]]}
    # A closed shard that was read to its end has no next iterator. Its reader goes on with the child.
    if shard.last is None or number <= shard.last:
        response["NextShardIterator"] = _make_iterator(table, stream, shard.place, number)
    return response


def changes(
    database: Database, name: str, after: tuple[str, int] | None, limit: int
) -> tuple[list[dict[str, Any]], tuple[str, int]]:
    """The records of the newest stream of a table after a position, and the position behind them. Without a position
    only the position of the next record. For readers in this process, who need no shards.
    """
    with database.store.reading(snapshot=True) as session:
        table = database.catalog.find(session, name)
        if not table.streams:
            refuse(f"Table {name} has no stream")
        stream = table.streams[-1]
        if after is None:
            return [], (stream.label, next_number(session, table, stream))
        label, number = after
        first = number if label == stream.label else stream.first
        records = _without_old(read_records(session, table, max(first, stream.first), stream.last, limit), time.time())
    next_record = records[-1].number + 1 if records else max(first, stream.first)
    rendered = msgspec.json.encode([record.render(table, stream) for record in records])
    return msgspec.json.decode(rendered), (stream.label, next_record)


def trim_streams(database: Database, now: float) -> int:
    """Remove a bounded number of records older than a day from each stream, and of log records that are too old for
    point-in-time recovery. Return how many.
    """
    with database.store.reading() as session:
        names = [
            name
            for name in session.table_names("", _ALL_TABLES)
            if (table := database.catalog.get(session, name)) is not None and (table.streams or table.recovery)
        ]
    # Most databases have neither streams nor recovery, and need no write transaction here.
    if not names:
        return 0
    with database.store.writing() as session:
        tables = [table for name in names if (table := database.catalog.get(session, name)) is not None]
        return sum(trim(session, table, now) + trim_log(session, table, now) for table in tables)


def _without_old(records: list[StoredRecord], now: float) -> list[StoredRecord]:
    """The records that are not older than a day."""
    return [record for record in records if record.seconds >= now - RETENTION_SECONDS]


def _oldest_number(session: Session, table: TableDefinition, stream: StreamDefinition) -> int:
    """The sequence number of the oldest record that is kept, or else of the next one."""
    oldest = oldest_record(session, table, stream)
    return next_number(session, table, stream) if oldest is None else oldest.number


def _trimmed_error() -> DynamoDBError:
    return DynamoDBError(
        "TrimmedDataAccessException",
        "The operation attempted to read past the oldest stream record in a shard.",
    )


# --- Streams and shards ----------------------------------------------------------------------------------------------


def _find_stream(database: Database, session: Session, arn: str | None) -> tuple[TableDefinition, StreamDefinition]:
    constraints = Constraints()
    constraints.require("streamArn", arn)
    constraints.finish()
    match = _ARN.fullmatch(str(arn))
    if match is None:
        refuse(_INVALID + "Invalid StreamArn")
    table = database.catalog.get(session, match.group(1))
    for stream in () if table is None else table.streams:
        if stream.label == match.group(2):
            assert table is not None
            return table, stream
    raise not_found(f"Requested resource not found: Stream: {arn} not found")


def _shards_of(session: Session, table: TableDefinition, stream: StreamDefinition) -> list[_Shard]:
    """The shards of a stream that may still have records, the oldest first."""
    last = stream.last
    # The stream is enabled: its last number so far. Before its first record, that is the one before the first number.
    if last is None:
        last = max(session.last_record(table.id) or 0, stream.first - 1)
    if not stream.shard_records:
        return [_Shard(0, stream.first, stream.last)]
    length = stream.shard_records
    record_count = last - stream.first + 1
    # A full shard is closed at once. While the stream is enabled, its child is open.
    count = record_count // length + 1 if stream.ended is None else max(1, -(-record_count // length))
    first_index = (_oldest_number(session, table, stream) - stream.first) // length
    shards = []
    for index in range(min(first_index, count - 1), count):
        first = stream.first + index * length
        end = first + length - 1
        is_closed = end <= last
        shards.append(_Shard(index, first, end if is_closed else stream.last))
    return shards


def _describe_shard(stream: StreamDefinition, shard: _Shard) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": sequence_number(shard.first)}
    if shard.last is not None:
        # A shard that was closed without a record ends with its first number.
        numbers["EndingSequenceNumber"] = sequence_number(max(shard.first, shard.last))
    description: dict[str, Any] = {"ShardId": _shard_id(stream, shard.place), "SequenceNumberRange": numbers}
    if shard.place:
        description["ParentShardId"] = _shard_id(stream, shard.place - 1)
    return description


def _shard_id(stream: StreamDefinition, index: int) -> str:
    return f"shardId-{int(stream.created * 1000):020d}-{index:08x}"


def _shard_index(stream: StreamDefinition, shard_id: str) -> int | None:
    """The place of a shard in the chain; None if it is not of this stream."""
    match = _SHARD.fullmatch(shard_id)
    if match is None or _shard_id(stream, int(match.group(1), 16)) != shard_id:
        return None
    return int(match.group(1), 16)


def _check_shard_id(constraints: Constraints, member: str, shard_id: str | None) -> None:
    if shard_id is not None and not 28 <= len(shard_id) <= 65:
        bound = "less than or equal to 65" if len(shard_id) > 65 else "greater than or equal to 28"
        constraints.fail(member, shard_id, f"Member must have length {bound}")


# --- Iterators -------------------------------------------------------------------------------------------------------


def _make_iterator(table: TableDefinition, stream: StreamDefinition, shard: int, number: int) -> str:
    content = msgspec.json.encode(_Position(shard, number, time.time()))
    return f"{table.stream_arn(stream)}|1|{b64encode(content).decode()}"


def _parse_iterator(text: str) -> tuple[str, _Position]:
    arn, _, content = text.partition("|1|")
    try:
        return arn, msgspec.json.decode(b64decode(content, validate=True), type=_Position)
    except (ValueError, msgspec.MsgspecError):
        refuse("Invalid ShardIterator")
