"""Client tokens: what a transaction with a token was answered, so that the same again is not done again."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from typing import Any

import msgspec

from prejoin.engine.requests import TransactWriteItems
from prejoin.protocol.errors import DynamoDBError

_encode = msgspec.json.Encoder().encode
_REMEMBERED_SECONDS = 600.0
_FORGETTING_SECONDS = 10.0


class Tokens:
    """The answers of the last ten minutes, in the store. The older ones are removed now and then, not every time."""

    def __init__(self) -> None:
        self._forget_next = 0.0

    def answer(self, cursor: sqlite3.Cursor, token: str, digest: bytes) -> dict[str, Any] | None:
        """The answer to the same request with the same token; the same token on another request is an error."""
        row = cursor.execute(
            "SELECT digest, answer FROM tokens WHERE token = ? AND expires >= ?", (token, time.time())
        ).fetchone()
        if row is None:
            return None
        if row[0] != digest:
            raise DynamoDBError("IdempotentParameterMismatchException")
        return msgspec.json.decode(row[1], type=dict[str, Any])

    def remember(self, cursor: sqlite3.Cursor, token: str, digest: bytes, answer: dict[str, Any]) -> None:
        now = time.time()
        if now > self._forget_next:
            cursor.execute("DELETE FROM tokens WHERE expires < ?", (now,))
            self._forget_next = now + _FORGETTING_SECONDS
        cursor.execute(
            "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?)",
            (token, bytearray(digest), bytearray(_encode(answer)), now + _REMEMBERED_SECONDS),
        )


def digest_of(request: TransactWriteItems) -> bytes:
    """What tells one request from another."""
    return hashlib.sha256(_encode(request.transact_items)).digest()
