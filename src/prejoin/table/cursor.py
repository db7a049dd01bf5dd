"""Cursors: where a page ended, as opaque text that only the same query takes back."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import msgspec

from .errors import CursorError


class Position(msgspec.Struct, frozen=True, array_like=True):
    """Of which query, in which group of its conditions, and per condition of the group the key last given out."""

    query: str
    group: int
    keys: list[dict[str, dict[str, str]] | None]
    until: datetime | None = None
    """The time at which the first page was asked for, where the question depends on it: so it is for the others."""


def fingerprint(*what: Any) -> str:
    """A short text that stands for a query."""
    import hashlib  # for those who read in pages

    return hashlib.blake2b(repr(what).encode(), digest_size=9).hexdigest()


def encode_cursor(position: Position) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def begun(cursor: str | None) -> datetime:
    """When the reading began that this cursor goes on with, if it was told so by `now=`; else it begins now.

    A question about the last seven days is another one in every moment. Its pages are of one:

    >>> def last_week(after=None):
    ...     now = begun(after)
    ...     return db.query(Order, lambda o: o.placed_at >= now - timedelta(days=7), now=now, after=after)
    """
    return ended(cursor) or datetime.now(UTC)


def ended(cursor: str | None) -> datetime | None:
    """The time at which the reading began that this cursor goes on with, if that is known."""
    try:
        return None if cursor is None else _position(cursor).until
    except CursorError:
        return None  # told when it is used


def decode_cursor(cursor: str, query: str, width: int, groups: int) -> Position:
    """Reads a cursor of this query; anything else raises CursorError, for a wrong place is worse than none."""
    position = _position(cursor)
    if position.query != query:
        raise CursorError("the cursor is of another query")
    if len(position.keys) != width or not 0 <= position.group < groups:
        raise CursorError(f"{cursor!r} is not a cursor, or it is damaged")
    return position


def _position(cursor: str) -> Position:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(text, type=Position)
    except (ValueError, msgspec.MsgspecError):
        raise CursorError(f"{cursor!r} is not a cursor, or it is damaged") from None
