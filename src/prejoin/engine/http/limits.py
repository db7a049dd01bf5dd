"""Limits on the size and duration of requests."""

from __future__ import annotations

from dataclasses import dataclass

from prejoin.protocol.limits import BATCH_WRITE_SIZE, KB


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server."""

    body: int = BATCH_WRITE_SIZE + 64 * KB
    """Bytes of a request's body: DynamoDB's largest request, and some room."""
    head: int = 16 * KB
    """Bytes of the request line and headers, as at AWS. A session token alone may have several thousand."""
    waiting: int = 32
    """Pipelined requests waiting on one connection; reading stops at this number."""
    head_seconds: float = 20.0
    """From the first byte of a request to the end of its headers."""
    pause_seconds: float = 20.0
    """Between two pieces of a body, or while the client reads nothing of a response."""
    request_seconds: float = 60.0
    """From the first byte of a request to its last."""
    idle_seconds: float = 75.0
    """Between two requests of a connection."""
    stop_seconds: float = 10.0
    """For running requests when the server stops."""
