"""Stream records: what a write adds to the stream of its table.

A record is written in the transaction of its item, under the next sequence number of its table. It is stored as a short
JSON array, because every write pays for it, and rendered as GetRecords returns it when it is read. An image has the
bytes of the item's row, and the keys are stored only where no image has them.
"""

from __future__ import annotations

import time

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.store.interface import MAX_RECORD, Session, StoredRow
from prejoin.engine.tables.definition import StreamDefinition, TableDefinition
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item

RETENTION_SECONDS = 86_400
_TRIMMED_AT_ONCE = 1_000
_encode = msgspec.json.Encoder().encode


class StoredRecord(msgspec.Struct, array_like=True, frozen=True):
    """A record as stored."""

    number: int
    """The sequence number."""
    event: str
    seconds: int
    """When the item was written."""
    keys: Item | None
    """The key attributes, unless an image has them. Records of older files always have them."""
    new: msgspec.Raw
    """The image after the write, or null."""
    old: msgspec.Raw
    size: int
    """The size of the images."""
    by_service: bool
    """Whether the engine itself has deleted the item, because it expired."""

    def render(self, table: TableDefinition, stream: StreamDefinition) -> dict[str, object]:
        """The record as GetRecords returns it."""
        # An image that the view of the stream does not include is stored as null.
        images = {"NewImage": self.new, "OldImage": self.old}
        images = {member: image for member, image in images.items() if bytes(image) != b"null"}
        item_with_keys = self.keys or rows.decode_item(bytes(next(iter(images.values()))))
        keys = {name: item_with_keys[name] for name in table.keys.names}
        change: dict[str, object] = {"ApproximateCreationDateTime": self.seconds, "Keys": keys, **images}
        change |= {
            "SequenceNumber": sequence_number(self.number),
            "SizeBytes": self.size + item_size(keys),
            "StreamViewType": stream.view,
        }
        record: dict[str, object] = {
            "eventID": f"{table.id:08x}{self.number:024x}",
            "eventName": self.event,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "local",
            "dynamodb": change,
        }
        if self.by_service:
            record["userIdentity"] = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
        return record


def sequence_number(number: int) -> str:
    return f"{number:021d}"


_decode = msgspec.json.Decoder(StoredRecord).decode
_FORM = b'[%d,"%b",%d,%b,%b,%b,%d,%b]'


def record_change(
    session: Session,
    table: TableDefinition,
    stream: StreamDefinition,
    item_with_keys: Item,
    before: StoredRow | None,
    after: StoredRow | None,
) -> None:
    """Add a record for a write, unless it has changed nothing. `item_with_keys` has the key attributes of the
    item; without them it is a deletion by the engine itself.
    """
    if before is None:
        if after is None:
            return
        event = b"INSERT"
    elif after is None:
        event = b"REMOVE"
    # DynamoDB records no write that leaves the item as it was. Attributes in another order are no change.
    elif before.content == after.content or rows.are_equal(before, after):
        return
    else:
        event = b"MODIFY"
    keys = new_image = old_image = b"null"
    size = 0
    if after is not None and stream.has_new_image:
        new_image, size = after.content, after.size
    if before is not None and stream.has_old_image:
        old_image, size = before.content, size + before.size
    by_service = b"false" if item_with_keys else b"true"
    if not size:  # there is no image
        if not item_with_keys:
            assert before is not None, "only an item that exists can expire"
            item_with_keys = rows.decode_item(before.content)
        keys = _encode({name: item_with_keys[name] for name in table.keys.names})
    session.append_record(
        table.id, stream.first, _FORM, event, time.time(), keys, new_image, old_image, size, by_service
    )


def next_number(session: Session, table: TableDefinition, stream: StreamDefinition) -> int:
    """The sequence number of the next record of a stream."""
    return max((session.last_record(table.id) or 0) + 1, stream.first)


def read_records(
    session: Session, table: TableDefinition, first: int, last: int | None, limit: int
) -> list[StoredRecord]:
    """The records from one sequence number to another, the oldest first, also those older than a day."""
    contents = session.records(table.id, first, MAX_RECORD if last is None else last, limit)
    return list(map(_decode, contents))


def oldest_record(session: Session, table: TableDefinition, stream: StreamDefinition) -> StoredRecord | None:
    """The oldest record of a stream that is still kept."""
    return next(iter(read_records(session, table, stream.first, stream.last, 1)), None)


def trim(session: Session, table: TableDefinition, now: float) -> int:
    """Remove a bounded number of records older than a day, and return how many. The newest stays, because it has the
    sequence number from which the next follows; nobody sees it.
    """
    last = session.last_record(table.id) or 0
    expired_numbers = [
        record.number
        for record in read_records(session, table, 0, max(last - 1, 0), _TRIMMED_AT_ONCE)
        if record.seconds < now - RETENTION_SECONDS
    ]
    if expired_numbers:
        session.remove_records(table.id, expired_numbers[-1])
    return len(expired_numbers)
