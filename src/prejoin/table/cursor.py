"""Cursors: where a page ended, as opaque text that only the same query takes back."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from .errors import CursorError


class Position(msgspec.Struct, frozen=True, array_like=True):
    """Of which query, in which group of its conditions, and per condition of the group the key last given out."""

    query: str
    group: int
    keys: list[dict[str, dict[str, str]] | None]


def fingerprint(*what: Any) -> str:
    """A short text that stands for a query."""
    import hashlib  # for those who read in pages

    return hashlib.blake2b(repr(what).encode(), digest_size=9).hexdigest()


def encode_cursor(position: Position) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def decode_cursor(cursor: str, query: str, width: int, groups: int) -> Position:
    """Reads a cursor of this query; anything else raises CursorError, for a wrong place is worse than none."""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        position = msgspec.json.decode(text, type=Position)
    except (ValueError, msgspec.MsgspecError):
        raise CursorError(f"{cursor!r} is not a cursor, or it is damaged") from None
    if position.query != query:
        raise CursorError("the cursor is of another query")
    if len(position.keys) != width or not 0 <= position.group < groups:
        raise CursorError(f"{cursor!r} is not a cursor, or it is damaged")
    return position
