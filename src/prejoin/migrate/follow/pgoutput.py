"""Decode pgoutput, the format of PostgreSQL's logical replication (protocol version 1).

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

Load = Callable[[int, bytes], Any]
"""Makes a value of a type's OID and its text."""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: int
    in_identity: bool
    """Whether it belongs to the replica identity."""


@dataclass(frozen=True, slots=True)
class Relation:
    schema: str
    name: str
    columns: tuple[_Column, ...]


@dataclass(slots=True)
class DecodedTransaction:
    xid: int
    end: int = 0
    """The LSN after the commit."""
    committed: datetime = _EPOCH
    rows: list[tuple[Relation, tuple[Mapping[str, Any], ...]]] = field(default_factory=list)
    """Changed rows: before, after, or both. No image: the table was truncated."""


def decode(
    messages: Iterable[bytes], columns: Callable[[Relation], Collection[str]], load: Load
) -> Iterator[DecodedTransaction]:
    """The committed transactions of a stream of messages, with the values of some columns.

    A transaction is `B`, then its changes, then `C`: PostgreSQL sends it when it is committed, never in parts. Before
    the first change of a table, `R` describes its columns.
    """
    relations: dict[int, Relation] = {}
    transaction = DecodedTransaction(0)
    for data in messages:
        match data[:1]:
            case b"B":
                _, _, xid = struct.unpack_from(">qqI", data, 1)
                transaction = DecodedTransaction(xid)
            case b"C":
                _, _, transaction.end, micros = struct.unpack_from(">bqqq", data, 1)
                transaction.committed = _EPOCH + timedelta(microseconds=micros)
                yield transaction
            case b"R":
                number, relation = _relation(data)
                relations[number] = relation
            case b"I" | b"U" | b"D":
                relation = relations[struct.unpack_from(">I", data, 1)[0]]
                transaction.rows.append((relation, _images(data, relation, columns(relation), load)))
            case b"T":
                count = struct.unpack_from(">I", data, 1)[0]
                transaction.rows += [(relations[number], ()) for number in struct.unpack_from(f">{count}I", data, 6)]
            case _:
                pass  # origins, types and messages say nothing about rows


def _relation(data: bytes) -> tuple[int, Relation]:
    number = struct.unpack_from(">I", data, 1)[0]
    schema, name, columns_data = data[5:].split(b"\0", 2)
    count = struct.unpack_from(">H", columns_data, 1)[0]  # after a byte for the replica identity
    columns, offset = [], 3
    for _ in range(count):
        end = columns_data.index(b"\0", offset + 1)
        type_ = struct.unpack_from(">I", columns_data, end + 1)[0]
        columns.append(_Column(columns_data[offset + 1 : end].decode(), type_, bool(columns_data[offset] & 1)))
        offset = end + 9
    return number, Relation(schema.decode(), name.decode(), tuple(columns))


def _images(data: bytes, relation: Relation, columns: Collection[str], load: Load) -> tuple[Mapping[str, Any], ...]:
    """The row before and after a change: each a kind, a number of columns, and the columns in the table's order."""
    offset, images = 5, []
    while offset < len(data):
        kind, values = data[offset : offset + 1], {}
        count = struct.unpack_from(">H", data, offset + 1)[0]
        offset += 3
        for column in relation.columns[:count]:
            form = data[offset : offset + 1]
            offset += 1
            text: bytes | None = None
            if form == b"t":
                size = struct.unpack_from(">I", data, offset)[0]
                text = data[offset + 4 : offset + 4 + size]
                offset += 4 + size
            # A key image ("K") has NULL in all columns outside of the replica identity. A large value that did not
            # change ("u") is not sent: the image before has it, if the replica identity is FULL.
            if column.name not in columns or form == b"u" or (kind == b"K" and not column.in_identity):
                continue
            values[column.name] = None if text is None else load(column.type, text)
        images.append(values)
    if len(images) == 2:  # before and after: large values that were not sent are those before
        images[1] = {**images[0], **images[1]}
    return tuple(images)
