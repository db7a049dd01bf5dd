"""The way to a DynamoDB: bytes to it and bytes back. The port that AWS, a local server and the engine all fit."""

from __future__ import annotations

from typing import Protocol


class Transport(Protocol):
    """Whatever carries one request to a DynamoDB and its answer back."""

    def send(self, operation: str, body: bytes) -> bytes:
        """Sends the JSON body of one operation and gives the JSON body of its answer, or raises DynamoDBError."""
        ...


class AsyncTransport(Protocol):
    """A transport that is awaited."""

    async def send_async(self, operation: str, body: bytes) -> bytes:
        """As `Transport.send`."""
        ...


__all__ = ["AsyncTransport", "Transport"]
