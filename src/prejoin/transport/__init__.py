"""The way to a DynamoDB: bytes to it and bytes back. The port that AWS, a local server and the engine all fit.

`AWS()` and `Endpoint(url)` are the way over HTTP; each serves threads with `send` and event loops with `send_async`.
Importing this opens, reads and loads nothing: sockets, TLS and asyncio come with the first request that needs them.
"""

from __future__ import annotations

from typing import Protocol

from prejoin.transport.credentials import Credentials, Source
from prejoin.transport.endpoints import AWS, Endpoint
from prejoin.transport.errors import (
    AnswerLost,
    ConnectionFailed,
    CredentialsMissing,
    NotConfigured,
    OutcomeUnknown,
    TransportError,
)
from prejoin.transport.settings import OnRetry, Retries


class Transport(Protocol):
    """Whatever carries one request to a DynamoDB and its answer back."""

    def send(self, operation: str, body: bytes) -> bytes:
        """Sends the JSON body of one operation and gives the JSON body of its answer, or raises DynamoDBError."""
        ...


class AsyncTransport(Protocol):
    """The same, for those who await."""

    async def send_async(self, operation: str, body: bytes) -> bytes:
        """Sends the JSON body of one operation and gives the JSON body of its answer, or raises DynamoDBError."""
        ...


__all__ = [
    "AWS",
    "AnswerLost",
    "AsyncTransport",
    "ConnectionFailed",
    "Credentials",
    "CredentialsMissing",
    "Endpoint",
    "NotConfigured",
    "OnRetry",
    "OutcomeUnknown",
    "Retries",
    "Source",
    "Transport",
    "TransportError",
]
