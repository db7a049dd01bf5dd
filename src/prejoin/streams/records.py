"""Stream records in the forms in which AWS delivers them, read into one form.

- DynamoDB Streams: the records of GetRecords, of a Lambda event (under `Records`), and of EventBridge Pipes (a list).
- Kinesis Data Streams for DynamoDB: the same record as base64 JSON, in a Lambda event or from EventBridge Pipes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, cast

import msgspec

from prejoin.errors import PrejoinError
from prejoin.table.codec.values import Json

Event: TypeAlias = Mapping[str, Any] | Iterable[Mapping[str, Any]]
"""A Lambda event, or records."""
EventName = Literal["INSERT", "MODIFY", "REMOVE"]

_SERVICE = "dynamodb.amazonaws.com"
_PER_SECOND = {"MILLISECOND": 10**3, "MICROSECOND": 10**6}


class StreamRecordError(PrejoinError):
    """A record that is not of a DynamoDB stream."""


class StreamRecord(msgspec.Struct, frozen=True):
    """A change of one item, in DynamoDB JSON."""

    event: EventName
    keys: Json
    old: Json | None
    """The item before the change; None for a new item, or if the stream does not have it."""
    new: Json | None
    id: str
    """Identifies the change. A record that is delivered twice has the same id."""
    sequence: str
    """The sequence number in its stream, by which Lambda is told about a failure."""
    at: datetime | None
    """About when it happened."""
    expired: bool
    """Whether DynamoDB deleted the item, because its time to live ended."""


def read_records(event: Event) -> Iterator[StreamRecord]:
    """Return the records of an event, in their order.

    >>> image = {"pk": {"S": "USER#1"}, "sk": {"S": "USER"}}
    >>> record = {
    ...     "eventID": "1",
    ...     "eventName": "INSERT",
    ...     "dynamodb": {"Keys": image, "NewImage": image, "SequenceNumber": "700"},
    ... }
    >>> [(found.event, found.sequence) for found in read_records({"Records": [record]})]
    [('INSERT', '700')]
    """
    records: Any = cast("Mapping[str, Any]", event).get("Records") if isinstance(event, Mapping) else event
    if records is None or isinstance(records, (str, bytes)):
        raise StreamRecordError("the event has no Records. Pass the event of a Lambda function, or a list of records")
    for at, record in enumerate(records):
        try:
            yield _read(record)
        except (KeyError, TypeError, ValueError, AttributeError, msgspec.MsgspecError) as error:
            raise StreamRecordError(f"record {at} is not of a DynamoDB stream: {error!r}") from error


def _read(record: Mapping[str, Any]) -> StreamRecord:
    sequence = ""
    # Lambda puts the data of a Kinesis record under `kinesis`, EventBridge Pipes beside the sequence number.
    envelope = record.get("kinesis", record)
    if "data" in envelope:
        sequence = envelope["sequenceNumber"]
        record = msgspec.json.decode(base64.b64decode(envelope["data"], validate=True))
    change = record["dynamodb"]
    name = record["eventName"]
    if name not in ("INSERT", "MODIFY", "REMOVE"):
        raise ValueError(f"eventName {name}")
    identity = record.get("userIdentity") or {}
    # Lambda writes the members of userIdentity with a small first letter, GetRecords with a capital one.
    principal = identity.get("principalId", identity.get("PrincipalId"))
    return StreamRecord(
        name,
        _image(change["Keys"]) or {},
        _image(change.get("OldImage")),
        _image(change.get("NewImage")),
        str(record["eventID"]),
        sequence or str(change.get("SequenceNumber", "")),
        _moment(change),
        name == "REMOVE" and principal == _SERVICE,
    )


def _moment(change: Mapping[str, Any]) -> datetime | None:
    moment = change.get("ApproximateCreationDateTime")
    if moment is None or isinstance(moment, datetime):
        return moment
    unit = _PER_SECOND.get(change.get("ApproximateCreationDateTimePrecision", ""), 1)
    # Kinesis counts milliseconds where it does not name the unit.
    if unit == 1 and moment > 10**11:
        unit = _PER_SECOND["MILLISECOND"]
    return datetime.fromtimestamp(float(moment) / unit, UTC)


def _image(item: Mapping[str, Any] | None) -> Json | None:
    """Return the item as it is on the wire. boto3 has decoded binary values already."""
    return None if item is None else {name: _value(value) for name, value in item.items()}


def _value(value: Mapping[str, Any]) -> Any:
    ((tag, content),) = value.items()
    match tag:
        case "B" if isinstance(content, bytes):
            return {tag: base64.b64encode(content).decode()}
        case "BS":
            return {
                tag: [base64.b64encode(member).decode() if isinstance(member, bytes) else member for member in content]
            }
        case "L":
            return {tag: [_value(element) for element in content]}
        case "M":
            return {tag: _image(content)}
        case _:
            return dict(value)
