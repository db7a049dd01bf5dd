"""How much, and how long, a client may take."""

from __future__ import annotations

from dataclasses import dataclass

from prejoin.protocol.limits import BATCH_WRITE_SIZE, KB


@dataclass(frozen=True, slots=True)
class Limits:
    body: int = BATCH_WRITE_SIZE + 64 * KB
    """Bytes of a request's body: the largest DynamoDB takes, and some room for what surrounds it."""
    head: int = 16 * KB
    """Bytes of a request's line and headers, as at AWS; a session token alone may have several thousand."""
    waiting: int = 32
    """Pipelined requests of one connection that wait for their turn; reading stops at this many."""
    head_seconds: float = 20.0
    """From the first byte of a request to the end of its headers."""
    pause_seconds: float = 20.0
    """Between two pieces of a body, or of an answer that the client takes."""
    request_seconds: float = 300.0
    """From the first byte of a request to its last."""
    idle_seconds: float = 75.0
    """Between two requests of a connection."""
    stop_seconds: float = 10.0
    """For what is running when the server is told to stop."""
