"""Write and read the contents of large attributes, in bounded memory.

A content is written before an item refers to it, and is never changed. So a reader that has the item reads one content,
or an error if that was replaced and deleted meanwhile.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, TypeVar, overload

from prejoin.keys import TABLE
from prejoin.keys.content import OBJECT_SIZE, PART_SIZE
from prejoin.table.client.reads import get_steps
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Blocking, Request, Steps
from prejoin.table.errors import ArgumentError, ConditionFailed, Conflict, NotFound, TableError
from prejoin.table.ids import ulid
from prejoin.table.schema.pattern import OWNER
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.batch import write_requests
from prejoin.table.write.execute import ATTEMPTS, write_one
from prejoin.table.write.from_call import check_known, delete_write, update_write
from prejoin.table.write.model import key_texts
from prejoin.transport.errors import TransportError

from .large import LargePattern, LargeValue, Place, large_pattern

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

Source = bytes | str | IO[bytes] | Iterable[bytes]
"""A content: bytes, text, an open file, or pieces of bytes."""
R = TypeVar("R")

AT_ONCE = 4
"""How many parts are written, or read with one Query, at a time."""
_SAMPLE = 4096
_RATIO = 32
"""How much shorter a content may become by compression, to be in the item."""
DATA, COMPRESSED = "data", "compressed"


class LargeContentError(TableError):
    """A content is not complete: it was replaced and deleted since its item was read, or it is damaged."""


@overload
def store_large(db: Client, cls: type[Any], attribute: str, source: Source, /, **key: Any) -> LargeValue: ...
@overload
def store_large(
    db: AsyncClient, cls: type[Any], attribute: str, source: Source, /, **key: Any
) -> Coroutine[Any, Any, LargeValue]: ...
def store_large(db: Any, cls: type[Any], attribute: str, source: Source, /, **key: Any) -> Any:
    """Store a content for the item with a key, and return the value of its attribute.

    The item needs not exist. Write the value with it, by any write: `db.insert(Document("1", body=value))`. If that
    fails, `remove_garbage` deletes the content a day later.
    """
    return db._run(Contents(db.schema, db.table, cls, attribute, key).store(source))


@overload
def write_large(db: Client, cls: type[Any], attribute: str, source: Source, /, **key: Any) -> LargeValue: ...
@overload
def write_large(
    db: AsyncClient, cls: type[Any], attribute: str, source: Source, /, **key: Any
) -> Coroutine[Any, Any, LargeValue]: ...
def write_large(db: Any, cls: type[Any], attribute: str, source: Source, /, **key: Any) -> Any:
    """Replace the content of an existing item, and delete the old one. Return the new value of the attribute.

    Raise NotFound if there is no item. If it is interrupted, the item has the old content or the new one, and
    `remove_garbage` deletes the other.
    """
    return db._run(Contents(db.schema, db.table, cls, attribute, key).replace(source))


@overload
def read_large(db: Client, record: Any, attribute: str, /, start: int = 0, end: int | None = None) -> bytes: ...
@overload
def read_large(
    db: AsyncClient, record: Any, attribute: str, /, start: int = 0, end: int | None = None
) -> Coroutine[Any, Any, bytes]: ...
def read_large(db: Any, record: Any, attribute: str, /, start: int = 0, end: int | None = None) -> Any:
    """Return the content of an object, or its bytes from `start` up to `end`. Only the parts with these are read.

    If the content was replaced since the object was read, the new one is returned. Raise LargeContentError if it is
    damaged: the checksum is compared if the whole content is read.
    """
    return db._run(_of_record(db, record, attribute).read(getattr(record, attribute), start, end))


@overload
def stream_large(
    db: Client, record: Any, attribute: str, /, start: int = 0, end: int | None = None
) -> Iterator[bytes]: ...
@overload
def stream_large(
    db: AsyncClient, record: Any, attribute: str, /, start: int = 0, end: int | None = None
) -> AsyncIterator[bytes]: ...
def stream_large(db: Any, record: Any, attribute: str, /, start: int = 0, end: int | None = None) -> Any:
    """Yield the content of an object in pieces of up to 1 MB, or of 8 MB from an object store.

    Raise LargeContentError if the content was replaced and deleted since the object was read, and at the end if the
    checksum of the whole content is wrong.
    """
    from prejoin.table.client.client import Client

    value = getattr(record, attribute)
    reading = _ContentReader(_of_record(db, record, attribute), value, start, end)
    return _waiting(db, reading) if isinstance(db, Client) else _awaiting(db, reading)


@overload
def delete_large(db: Client, cls: type[Any], /, **key: Any) -> bool: ...
@overload
def delete_large(db: AsyncClient, cls: type[Any], /, **key: Any) -> Coroutine[Any, Any, bool]: ...
def delete_large(db: Any, cls: type[Any], /, **key: Any) -> Any:
    """Delete an item and then its large contents. Return whether there was one.

    `delete` leaves the contents, until `remove_garbage` deletes them.
    """
    return db._run(_delete(db.schema, db.table, cls, key))


def _waiting(db: Client, reader: _ContentReader) -> Iterator[bytes]:
    while not reader.done:
        yield db._run(reader.next())


async def _awaiting(db: AsyncClient, reader: _ContentReader) -> AsyncIterator[bytes]:
    while not reader.done:
        yield await db._run(reader.next())


def _of_record(db: Client | AsyncClient, record: Any, attribute: str) -> Contents:
    schema: Schema = db.schema
    entity = schema.entity(type(record))
    values = entity.codec.values(record)
    key = {name: values[name] for name in entity.base.attributes}
    return Contents(schema, db.table, type(record), attribute, key)


def _delete(schema: Schema, table: str, cls: type[Any], arguments: Mapping[str, Any]) -> Steps[bool]:
    _, key = check_known(schema, cls, arguments)
    patterns = [pattern for pattern in schema.entity(cls).patterns if isinstance(pattern, LargePattern)]
    for _ in range(ATTEMPTS):
        record = yield from get_steps(schema, table, cls, key, True, None)
        if record is None:
            return False
        stored_values = {pattern.attribute: getattr(record, pattern.attribute) for pattern in patterns}
        try:
            yield from write_one(schema, table, delete_write(schema, cls, None, {**key, **stored_values}, True, None))
        except ConditionFailed as error:
            if error.elsewhere:
                raise
            continue  # a content was replaced
        for pattern in patterns:
            yield from Contents(schema, table, cls, pattern.attribute, key).remove(stored_values[pattern.attribute])
        return True
    raise Conflict(f"the contents of {cls.__name__} changed at each of {ATTEMPTS} attempts. Nothing was deleted")


class Contents:
    """The contents of one attribute of one item."""

    def __init__(self, schema: Schema, table: str, cls: type[Any], attribute: str, key: Mapping[str, Any]) -> None:
        self.schema, self.table, self.cls = schema, table, cls
        self.pattern = large_pattern(schema, cls, attribute)
        self.entity, self.key = check_known(schema, cls, key)
        if set(self.key) != set(self.entity.base.attributes):
            names = ", ".join(self.entity.base.attributes)
            raise ArgumentError(f"the key of a {self.entity.tag} is {names}, and not {', '.join(self.key)}")

    # --- Write --------------------------------------------------------------------------------------------------------

    def store(self, source: Source) -> Steps[LargeValue]:
        large, upload = self.pattern.declared, ulid()
        part_size = OBJECT_SIZE if large.store else PART_SIZE
        pieces = _pieces(source, part_size)
        # Two pieces tell whether the content has a single one, which may fit into the item.
        beginning = list(islice(pieces, 2))
        checksum, size, count = hashlib.sha256(), 0, 0
        content = b"".join(beginning)
        if len(beginning) < 2 and len(content) <= _RATIO * large.inline:
            data, is_compressed = _compress(content, large.compress)
            if len(data) <= large.inline:
                digest = hashlib.sha256(content).hexdigest()
                return LargeValue("item", len(content), digest, upload, part_size, data, is_compressed)
        all_pieces = chain(beginning, pieces)
        while parts := list(islice(all_pieces, 1 if large.store else AT_ONCE)):
            for part in parts:
                checksum.update(part)
                size += len(part)
            yield from self._put(upload, count, parts)
            count += len(parts)
        return LargeValue(self.pattern.place(self.schema), size, checksum.hexdigest(), upload, part_size)

    def _put(self, upload: str, first: int, parts: Sequence[bytes]) -> Steps[None]:
        store = self.pattern.declared.store
        if store is not None:
            for part_number, part in enumerate(parts, first):
                object_key = self._object(self.pattern.place(self.schema), upload, part_number)
                yield Blocking(partial(store.put, object_key, part))
            return
        owners = [{"M": self.schema.facet_key(owner, self.key)} for owner in self.pattern.owners]
        tags = [{"S": facet.entity} for facet in self.pattern.facets]
        puts: list[Request] = []
        for part_number, part in enumerate(parts, first):
            data, is_compressed = _compress(part, self.pattern.declared.compress)
            content: Json = {DATA: {"B": base64.b64encode(data).decode()}}
            if is_compressed:
                content[COMPRESSED] = {"BOOL": True}
            keys = self.pattern.keys(self.schema, self.key, upload, part_number)
            for key, tag, owner in zip(keys, tags, owners, strict=True):
                item = {**key, self.schema.type_attribute: tag, OWNER: owner, **content}
                puts.append(Request("PutItem", {"TableName": self.table, "Item": item}, " / ".join(key_texts(key))))
        # Not BatchWriteItem: who may send that may also delete items, and a role that creates items needs no more.
        yield tuple(puts)

    def replace(self, source: Source) -> Steps[LargeValue]:
        new_value = yield from self.store(source)
        try:
            old_value = yield from self._replace_reference(new_value)
        except TableError:
            yield from self.remove(new_value)
            raise
        if not self.pattern.kept:
            yield from self.remove(old_value)
        return new_value

    def _replace_reference(self, new_value: LargeValue) -> Steps[LargeValue | None]:
        """Let the item refer to a content, and return the one that this replaces."""
        attribute = self.pattern.attribute
        changes = Changes({attribute: new_value})
        for _ in range(ATTEMPTS):
            record = yield from get_steps(self.schema, self.table, self.cls, self.key, True, None)
            if record is None:
                raise NotFound(f"there is no {self.entity.tag} {_key_text(self.key)}")
            old_value: LargeValue | None = getattr(record, attribute)
            known_values = {**self.key, attribute: old_value}
            write = update_write(self.schema, self.cls, changes, None, known_values, True, None, False)
            try:
                yield from write_one(self.schema, self.table, write)
            except ConditionFailed as error:
                if error.elsewhere:
                    raise
            else:
                return old_value
        raise Conflict(f"{self.entity.tag} {_key_text(self.key)} changed at each of {ATTEMPTS} attempts")

    def remove(self, value: LargeValue | None) -> Steps[None]:
        """Delete the parts of a content."""
        if value is None or value.place == "item":
            return
        parts = range(value.parts)
        if value.place != "parts":
            for part in parts:
                yield Blocking(partial(self._store().delete, self._object(value.place, value.upload, part)))
            return
        keys = [key for part in parts for key in self.pattern.keys(self.schema, self.key, value.upload, part)]
        yield from write_requests(
            self.schema, self.table, {key_texts(key): {"DeleteRequest": {"Key": key}} for key in keys}
        )

    # --- Read ---------------------------------------------------------------------------------------------------------

    def read(self, value: LargeValue | None, start: int, end: int | None) -> Steps[bytes]:
        for _ in range(ATTEMPTS):
            reader = _ContentReader(self, value, start, end)
            pieces: list[bytes] = []
            try:
                while not reader.done:
                    pieces.append((yield from reader.next()))
                return b"".join(pieces)
            except (LargeContentError, TransportError):  # a bucket that may not be listed denies a missing object
                record = yield from get_steps(self.schema, self.table, self.cls, self.key, True, None)
                current_value = None if record is None else getattr(record, self.pattern.attribute)
                if current_value is None or current_value == value:
                    raise
                value = current_value
        raise Conflict(f"{self.pattern.attribute} of {self.entity.tag} was replaced during each of {ATTEMPTS} reads")

    def parts(self, value: LargeValue, first: int, last: int) -> Steps[bytes]:
        """Read some parts of a content from the table, `last` included."""
        pieces = yield from self._query(value, first, last, consistent=False)
        if None in pieces:  # the copy of the table that answered may lag behind
            pieces = yield from self._query(value, first, last, consistent=True)
        for part, data in enumerate(pieces, first):
            self._check(value, part, data, min(value.part_size, value.size - part * value.part_size))
        return b"".join(pieces)

    def object(self, value: LargeValue, part: int, start: int, end: int) -> Steps[bytes]:
        """Read the bytes from `start` up to `end` of one part of a content from the object store."""
        key = self._object(value.place, value.upload, part)
        data = yield Blocking(partial(self._store().get, key, start, end))
        self._check(value, part, data, end - start)
        content: bytes = data
        return content

    def _check(self, value: LargeValue, part: int, data: bytes | None, size: int) -> None:
        if data is None or len(data) != size:
            raise self.incomplete(f"part {part + 1} of {value.parts} is {'missing' if data is None else 'damaged'}")

    def _query(self, value: LargeValue, first: int, last: int, *, consistent: bool) -> Steps[list[Any]]:
        part_keys = [self.pattern.key(self.schema, self.key, value.upload, part) for part in range(first, last + 1)]
        first_key, last_key = part_keys[0], part_keys[-1]
        (pk,), (sk,) = self.schema.keys(TABLE).pk, self.schema.keys(TABLE).sk
        placeholders = Placeholders()
        low, high = placeholders.value(first_key[sk]), placeholders.value(last_key[sk])
        between = f"{placeholders.name(sk)} BETWEEN {low} AND {high}"
        text = f"{placeholders.name(pk)} = {placeholders.value(first_key[pk])} AND {between}"
        body = {"TableName": self.table, "KeyConditionExpression": text, **placeholders.parameters()}
        if consistent:
            body["ConsistentRead"] = True
        items: dict[str, Json] = {}
        while True:
            answer = yield Request("Query", body, f"{key_texts(first_key)[0]} / {key_texts(first_key)[1]}")
            items |= {item[sk]["S"]: item for item in answer["Items"]}
            if "LastEvaluatedKey" not in answer:
                break
            body["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        part_items = [items.get(key[sk]["S"]) for key in part_keys]
        return [None if item is None else _decompress(item) for item in part_items]

    def _store(self) -> Any:
        store = self.pattern.declared.store
        if store is None:
            raise self.incomplete("it is in an object store, and Large(…) has none. Pass store=")
        return store

    def _object(self, place: Place, upload: str, part: int) -> str:
        return self.pattern.object_key(self.schema, self.table, self.key, place, upload, part)

    def incomplete(self, why: str) -> LargeContentError:
        return LargeContentError(f"{self.pattern.attribute} of {self.entity.tag} {_key_text(self.key)}: {why}")


class _ContentReader:
    """A content that is read from one position to another, piece by piece."""

    def __init__(self, contents: Contents, value: LargeValue | None, start: int, end: int | None) -> None:
        if start < 0 or (end is not None and end < start):
            raise ArgumentError(f"the bytes from {start} up to {end} are no part of a content")
        self._contents = contents
        self._value = value or LargeValue("item", 0, "", "", 1, b"")
        self._at = min(start, self._value.size)
        self._end = self._value.size if end is None else min(end, self._value.size)
        is_whole = value is not None and self._at == 0 and self._end == value.size
        self._sha256 = hashlib.sha256() if is_whole else None
        self.done = False

    def next(self) -> Steps[bytes]:
        """Read the next piece."""
        value = self._value
        if value.place == "item":
            content = inline_content(value)[self._at : self._end]
        elif self._at >= self._end:
            content = b""
        else:
            first = self._at // value.part_size
            offset = first * value.part_size
            if value.place != "parts":
                end = min(self._end - offset, value.part_size)
                content = yield from self._contents.object(value, first, self._at - offset, end)
            else:
                last = min(first + AT_ONCE - 1, (self._end - 1) // value.part_size)
                parts = yield from self._contents.parts(value, first, last)
                content = parts[self._at - offset : self._end - offset]
        self._at += len(content)
        self.done = value.place == "item" or self._at >= self._end
        if self._sha256:
            self._sha256.update(content)
            if self.done and self._sha256.hexdigest() != value.sha256:
                raise self._contents.incomplete("its checksum is wrong")
        return content


def _pieces(source: Source, size: int) -> Iterator[bytes]:
    """Yield a content in pieces of a size; the last may be shorter."""
    if isinstance(source, str):
        source = source.encode()
    if isinstance(source, bytes | bytearray | memoryview):
        yield from (bytes(source[start : start + size]) for start in range(0, len(source), size))
        return
    read_piece = getattr(source, "read", None)
    pieces: Iterator[bytes] = iter(source) if read_piece is None else iter(partial(read_piece, size), b"")
    buffer = b""
    for piece in pieces:
        buffer += piece
        while len(buffer) >= size:
            yield buffer[:size]
            buffer = buffer[size:]
    if buffer:
        yield buffer


def inline_content(value: LargeValue) -> bytes:
    """Return the content of a value that holds it itself."""
    data = value.data or b""
    return zlib.decompress(data) if value.compressed else data


def _compress(data: bytes, compress: bool) -> tuple[bytes, bool]:
    """Return data, compressed if that makes it shorter by a tenth. A sample tells: most large files are compressed."""
    if compress and len(data) > 64:
        sample = data[len(data) // 2 :][:_SAMPLE]
        if len(data) <= _SAMPLE or len(zlib.compress(sample, 1)) < 0.95 * len(sample):
            compressed_data = zlib.compress(data)
            if len(compressed_data) < 0.9 * len(data):
                return compressed_data, True
    return data, False


def _decompress(item: Json) -> bytes:
    data = base64.b64decode(item[DATA]["B"])
    try:
        return zlib.decompress(data) if COMPRESSED in item else data
    except zlib.error:
        return b""  # it does not have the right size, so it is damaged


def _key_text(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in key.items())
