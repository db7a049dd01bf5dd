"""Client tokens: what a transaction with a token was answered, so that the same again is not done again."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from prejoin.engine.requests import TransactWriteItems
from prejoin.engine.session import Session, Token
from prejoin.protocol.errors import DynamoDBError

_encode = msgspec.json.Encoder().encode
_encode_in_order = msgspec.json.Encoder(order="deterministic").encode
"""The same request may name its attributes in another order."""
_REMEMBERED_SECONDS = 600.0
_FORGETTING_SECONDS = 10.0


class Tokens:
    """The answers of the last ten minutes, in the store. The older ones are removed now and then, not every time."""

    def __init__(self) -> None:
        self._forget_next = 0.0

    def answer(self, session: Session, token: str, digest: bytes) -> dict[str, Any] | None:
        """The answer to the same request with the same token; the same token on another request is an error."""
        found = session.token(token)
        if found is None or found.expires < time.time():
            return None
        if found.digest != digest:
            raise DynamoDBError("IdempotentParameterMismatchException")
        return msgspec.json.decode(found.answer, type=dict[str, Any])

    def remember(self, session: Session, token: str, digest: bytes, answer: dict[str, Any]) -> None:
        now = time.time()
        if now > self._forget_next:
            session.forget_tokens(now)
            self._forget_next = now + _FORGETTING_SECONDS
        session.keep_token(token, Token(digest, _encode(answer), now + _REMEMBERED_SECONDS))


def digest_of(request: TransactWriteItems) -> bytes:
    """What tells one request from another."""
    from hashlib import sha256  # it loads OpenSSL, and few transactions in process have a token

    return sha256(_encode_in_order(request.transact_items)).digest()
