"""Cursors: the place where a page ended, as text that only the same query accepts.

A plain cursor is readable JSON in base64. `signed_cursor.py` has cursors that a caller cannot change, or cannot read.
A forged cursor can only make the same query continue from another place: its keys must be in the partition and the
range of the query, and its time must not be in the future.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol

import msgspec

from prejoin.keys.planner.key_condition import KeyCondition, satisfies
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.values import ordered
from prejoin.table.codec.values import Json
from prejoin.table.errors import CursorError
from prejoin.table.schema.key_attributes import KeyAttributes, wire


class Position(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A place in the results of a query: a group of its conditions, and for each of them the last key given out."""

    query: str
    """The fingerprint of the query."""
    group: int
    keys: list[dict[str, dict[str, str]] | None]
    until: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    """The time of the first page, for a query that depends on the time: further pages are of that time as well."""


class Cursors(Protocol):
    """How a client writes its cursors as text: `SignedCursors`, `EncryptedCursors`, or a class of your own."""

    def seal(self, position: Position, /) -> str:
        """Write a position as text."""
        ...

    def open(self, cursor: str, /) -> Position:
        """Read what `seal` wrote; raise CursorError for anything else."""
        ...


_SKEW = timedelta(minutes=5)
"""How far the clocks of two servers may differ."""
_MOST_AGE = timedelta(days=1)
_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NO_TIME = -(2**63)
_decode_position = msgspec.json.Decoder(Position).decode


def fingerprint(*parts: Any) -> str:
    """Return a short text that identifies a query."""
    import hashlib  # only programs that read pages need it

    return hashlib.blake2b(repr(parts).encode(), digest_size=9).hexdigest()


# --- Text -------------------------------------------------------------------------------------------------------------


def encode_cursor(position: Position, cursors: Cursors | None = None) -> str:
    """Write a position as text: as the client's `cursors` do, or else as a plain cursor."""
    return to_text(msgspec.json.encode(position)) if cursors is None else cursors.seal(position)


def open_cursor(cursor: str, cursors: Cursors | None = None, now: datetime | None = None) -> Position:
    """Read a cursor. Anything that the same client cannot have written raises CursorError.

    `now` is the time of the query, where the caller gave one. A plain cursor cannot be of a later time.
    """
    if cursors is not None:
        return cursors.open(cursor)
    position = decode_position(from_text(cursor))
    if position.until is not None:
        present = datetime.now(UTC) if now is None or now.tzinfo is None else now
        if not _EARLIEST <= position.until <= present + _SKEW:
            raise CursorError("the cursor is of a time that cannot be: begin again with the first page")
    return position


def to_text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def from_text(cursor: str) -> bytes:
    """Return the bytes of a cursor.

    Base64 has several texts for the same bytes; only the one that we write is accepted.
    """
    try:
        content = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, TypeError):
        raise damage_error() from None
    if not content or to_text(content) != cursor:
        raise damage_error()
    return content


def decode_position(content: bytes) -> Position:
    try:
        return _decode_position(content)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise damage_error() from None


def damage_error() -> CursorError:
    # The cursor is not shown: it may be long, it holds keys, and it comes from outside.
    return CursorError("this is not a cursor, or it is damaged")


# --- The time of the first page ---------------------------------------------------------------------------------------


def begun(cursor: str | None) -> datetime:
    """The time of the first page that a cursor goes on with, if its query was given `now=`; else the present.

    A query of the last seven days changes every moment. Its pages must be of one moment:

    >>> def last_week(after=None):
    ...     now = begun(after)
    ...     return db.query(Order, lambda o: o.placed_at >= now - timedelta(days=7), now=now, after=after)

    A plain cursor can be forged, so one that began more than a day ago, or in the future, raises CursorError. The time
    of a signed or encrypted cursor is read here, and its signature is checked by the query that gets the cursor.
    """
    present = datetime.now(UTC)
    try:
        content = None if cursor is None else from_text(cursor)
        if content is None:
            return present
        is_sealed = content[0] < _FIRST_OF_JSON
        until = read_header(content)[2] if is_sealed else decode_position(content).until
    except CursorError:
        return present  # the query that gets this cursor refuses it
    if until is None:
        return present
    if not (_EARLIEST if is_sealed else present - _MOST_AGE) <= until <= present + _SKEW:
        raise CursorError("the cursor is of a time too long ago, or in the future: begin again with the first page")
    return until


_FIRST_OF_JSON = 0x20
"""Sealed cursors begin with a byte below this one; plain cursors with `[`."""
HEADER_SIZE = 13


def write_header(kind: int, issue_time: int, until: datetime | None) -> bytes:
    """Return the header of a sealed cursor: its kind, the second in which it was written, the time of its query."""
    time = _NO_TIME if until is None else (until - _EPOCH) // _MICROSECOND
    return bytes((kind,)) + issue_time.to_bytes(4, "big") + time.to_bytes(8, "big", signed=True)


def read_header(content: bytes) -> tuple[int, int, datetime | None]:
    if len(content) < HEADER_SIZE:
        raise damage_error()
    issue_time, time = int.from_bytes(content[1:5], "big"), int.from_bytes(content[5:13], "big", signed=True)
    try:
        return content[0], issue_time, None if time == _NO_TIME else _EPOCH + timedelta(microseconds=time)
    except OverflowError:
        raise damage_error() from None


# --- Checks -----------------------------------------------------------------------------------------------------------


def check_query(position: Position, query: str, width: int, groups: int) -> None:
    """Refuse a position of another query: a wrong place would be worse than none."""
    if position.query != query:
        raise CursorError("the cursor is of another query")
    if len(position.keys) != width or not 0 <= position.group < groups:
        raise damage_error()


def check_key(
    key: Json, names: tuple[str, ...], types: Mapping[str, str], keys: KeyAttributes, condition: KeyCondition | None
) -> None:
    """Refuse a start key that is no key of this table or index, or lies outside of the condition."""
    if key.keys() != set(names) or any(key[name].keys() != {types[name]} for name in names):
        raise damage_error()
    if condition is None:
        return
    try:
        for name, op, ends in condition.tests(keys.pk, keys.sk):
            low, high = (ordered(wire(end)) for end in (ends[0], ends[-1]))
            if not satisfies(op, ordered(key[name]), low, high):
                raise CursorError("the cursor is outside of the range of this query")
    except CursorError:
        raise
    except (ValueError, ArithmeticError, DynamoDBError):  # text that is no number, no base64 or no UTF-8
        raise damage_error() from None


def refusal(error: DynamoDBError) -> CursorError | None:
    """Return the error to raise if DynamoDB refuses a request because of its cursor; None for other errors.

    The same request without a start key was accepted for the first page, so the start key must be wrong.
    """
    if error.code not in ("ValidationException", "SerializationException"):
        return None
    return CursorError("DynamoDB refuses the place that this cursor names")
