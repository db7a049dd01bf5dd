"""Client tokens: responses to transactions with a ClientRequestToken. A repeated request is not applied again."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from prejoin.engine.requests import TransactWriteItemsInput
from prejoin.engine.store.interface import Session, packed_expiry, token_expiry
from prejoin.protocol.errors import DynamoDBError

_encode = msgspec.json.Encoder().encode
_encode_in_order = msgspec.json.Encoder(order="deterministic").encode
"""Attributes may come in another order in a repeated request."""
_REMEMBERED_SECONDS = 600.0
_FORGETTING_SECONDS = 10.0
_FORGETTING_TOKENS = 10_000
MAX_TOKENS = 250_000
"""The number of remembered tokens, about 40 MB in memory. If there are more within ten minutes (over 400 a second), the
oldest are dropped early. A repetition of such a request is then applied again.
"""
_DIGEST_LENGTH = 16


class ClientTokens:
    """The responses of the last ten minutes, kept in the store. Old ones are removed now and then."""

    def __init__(self) -> None:
        self._forget_next = 0.0
        self._since = 0

    def find_response(self, session: Session, token: bytes, digest: bytes) -> dict[str, Any] | None:
        """The response to the same request with this token. Another request with the same token raises an error."""
        # A record is the expiry in 8 bytes, the digest of the request in 16, and the response, if it has members.
        record = session.token(token)
        if record is None or token_expiry(record) < time.time():
            return None
        if record[8 : 8 + _DIGEST_LENGTH] != digest:
            raise DynamoDBError("IdempotentParameterMismatchException")
        response = record[8 + _DIGEST_LENGTH :]
        return msgspec.json.decode(response, type=dict[str, Any]) if response else {}

    def remember(self, session: Session, token: bytes, digest: bytes, response: dict[str, Any]) -> None:
        now = time.time()
        self._since += 1
        # In a file the removal takes two statements, so not every transaction does it.
        if now > self._forget_next or self._since > _FORGETTING_TOKENS:
            session.forget_tokens(now, MAX_TOKENS)
            self._forget_next, self._since = now + _FORGETTING_SECONDS, 0
        expires = now + _REMEMBERED_SECONDS
        # One bytes object, and digests instead of texts, because there may be very many.
        record = packed_expiry(expires) + digest + (_encode(response) if response else b"")
        session.keep_token(token, record, expires)


def digest_of(request: TransactWriteItemsInput) -> bytes:
    """A digest of a request's content, to recognise repetitions."""
    return content_digest(request.transact_items)


def content_digest(content: Any) -> bytes:
    return _digest(_encode_in_order(content))


def token_digest(token: str) -> bytes:
    """The hash under which a token is stored."""
    return _digest(token.encode())


def _digest(content: bytes) -> bytes:
    full_digest: bytes = _sha256()(content).digest()
    return full_digest[:_DIGEST_LENGTH]


@cache
def _sha256() -> Callable[[bytes], Any]:
    # It loads OpenSSL, and few transactions in process have a token.
    from hashlib import sha256

    return sha256
