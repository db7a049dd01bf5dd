"""Transports: carry request bytes to a DynamoDB and response bytes back. AWS, a local server and the engine all fit.

`AWS()` and `Endpoint(url)` use HTTP. Each serves threads with `send` and event loops with `send_async`. Importing this
package opens and loads nothing: sockets, TLS and asyncio are loaded by the first request that needs them.
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
    """Carries one request to a DynamoDB and returns the response."""

    def send(self, operation: str, body: bytes) -> bytes:
        """Send the JSON body of one operation and return the JSON body of the response, or raise DynamoDBError."""
        ...


class AsyncTransport(Protocol):
    """The same for asyncio."""

    async def send_async(self, operation: str, body: bytes) -> bytes:
        """Send the JSON body of one operation and return the JSON body of the response, or raise DynamoDBError."""
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
