"""Signed and encrypted cursors, for services that hand cursors to callers they do not trust.

A sealed cursor is base64 of: a header of 13 bytes (`cursor.write_header`), then

    signed      the position as JSON, and the HMAC-SHA256 of everything before
    encrypted   16 random bytes, and the position in AES-256-GCM, with the header as associated data

The position holds the fingerprint of its query, so a cursor of one query is refused by every other. The time of the
query stands in the header, for `begun` to read without a key.
"""

from __future__ import annotations

import hmac
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import timedelta
from typing import ClassVar

import msgspec

from prejoin.table.errors import CursorError

from .cursor import HEADER_SIZE, Position, damage_error, decode_position, from_text, read_header, to_text, write_header

_KEY_SIZE = 32
_MAC_SIZE = 32
_SALT_SIZE = 16
_encode = msgspec.json.Encoder().encode


class _SealedCursors(ABC):
    """The base of signed and encrypted cursors: keys, their rotation, and the age of a cursor."""

    _kind: ClassVar[int]
    _label: ClassVar[bytes]
    """A label for the derivation of keys, so that one secret can serve both kinds of cursors and other purposes."""

    def __init__(self, key: bytes, *, previous: Iterable[bytes] = (), lifetime: timedelta | None = None) -> None:
        """`key` has 32 random bytes or more. Cursors made with a `previous` key are accepted as well: to change the
        key, put the old one there for as long as its cursors are in use. Without `lifetime`, cursors do not expire."""
        if lifetime is not None and lifetime <= timedelta(0):
            raise ValueError(f"lifetime is {lifetime}, and must be longer than nothing")
        self._keys = tuple(hmac.digest(_check_secret(secret), self._label, "sha256") for secret in (key, *previous))
        self._lifetime = lifetime

    def __repr__(self) -> str:
        keys = "1 key" if len(self._keys) == 1 else f"{len(self._keys)} keys"
        return f"<{type(self).__name__} with {keys}>"

    def __reduce__(self) -> str:
        raise TypeError(f"{type(self).__name__} holds keys, and is not pickled")

    def seal(self, position: Position, /) -> str:
        """Write a position as text."""
        header = write_header(self._kind, int(time.time()), position.until)
        content = _encode(Position(position.query, position.group, position.keys))
        return to_text(header + self._protect(self._keys[0], header, content))

    def open(self, cursor: str, /) -> Position:
        """Read a cursor that one of the keys has made; raise CursorError for anything else."""
        sealed_bytes = from_text(cursor)
        header, payload = sealed_bytes[:HEADER_SIZE], sealed_bytes[HEADER_SIZE:]
        if sealed_bytes[0] != self._kind or len(header) < HEADER_SIZE:
            raise damage_error()
        for key in self._keys:
            content = self._content(key, header, payload)
            if content is not None:
                break
        else:
            raise damage_error()
        _, issue_time, until = read_header(header)
        if self._lifetime is not None and time.time() - issue_time > self._lifetime.total_seconds():
            raise CursorError("the cursor has expired: begin again with the first page")
        position = decode_position(content)
        return Position(position.query, position.group, position.keys, until)

    @abstractmethod
    def _protect(self, key: bytes, header: bytes, content: bytes) -> bytes:
        """Return the protected content, which follows the header."""

    @abstractmethod
    def _content(self, key: bytes, header: bytes, payload: bytes) -> bytes | None:
        """Return the content of a cursor; None if it was not made with this key."""


class SignedCursors(_SealedCursors):
    """Cursors that callers can read but not change: HMAC-SHA256.

    >>> cursors = SignedCursors(bytes(32))  # in earnest: bytes.fromhex(os.environ["CURSOR_KEY"])
    >>> cursors.open(cursors.seal(Position("query", 0, [None]))).query
    'query'
    """

    _kind = 1
    _label = b"prejoin signed cursor 1"

    def _protect(self, key: bytes, header: bytes, content: bytes) -> bytes:
        return content + hmac.digest(key, header + content, "sha256")

    def _content(self, key: bytes, header: bytes, payload: bytes) -> bytes | None:
        content, mac = payload[:-_MAC_SIZE], payload[-_MAC_SIZE:]
        # In constant time: a caller must not learn from it how many bytes of a forged MAC are right.
        return content if hmac.compare_digest(mac, hmac.digest(key, header + content, "sha256")) else None


class EncryptedCursors(_SealedCursors):
    """Cursors that callers can neither read nor change: AES-256-GCM, by the package `cryptography`.

    The time of the query and the length of the key stay readable.
    """

    _kind = 2
    _label = b"prejoin encrypted cursor 1"

    def __init__(self, key: bytes, *, previous: Iterable[bytes] = (), lifetime: timedelta | None = None) -> None:
        super().__init__(key, previous=previous, lifetime=lifetime)
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise ImportError(
                "EncryptedCursors needs the package cryptography: pip install cryptography. SignedCursors needs none"
            ) from error
        self._cipher, self._invalid = AESGCM, InvalidTag

    # Each cursor has an AES key of its own, derived from the secret and a salt. So the nonce may be constant, and the
    # number of cursors is not limited, as it is with random nonces of 12 bytes (2**32 for one key).

    def _protect(self, key: bytes, header: bytes, content: bytes) -> bytes:
        salt = os.urandom(_SALT_SIZE)
        return salt + self._cipher(hmac.digest(key, salt, "sha256")).encrypt(_NONCE, content, header)

    def _content(self, key: bytes, header: bytes, payload: bytes) -> bytes | None:
        salt, ciphertext = payload[:_SALT_SIZE], payload[_SALT_SIZE:]
        try:
            return self._cipher(hmac.digest(key, salt, "sha256")).decrypt(_NONCE, ciphertext, header)
        except self._invalid:
            return None


_NONCE = bytes(12)


def _check_secret(key: bytes) -> bytes:
    if not isinstance(key, bytes):
        raise TypeError(f"a cursor key is bytes, not {type(key).__name__}: bytes.fromhex(…) of a key in hexadecimal")
    if len(key) < _KEY_SIZE:
        raise ValueError(
            f"a cursor key has at least {_KEY_SIZE} bytes, and this one has {len(key)}: secrets.token_bytes(32)"
        )
    return key
