"""Conversations without I/O: requests are yielded, answers sent in, the result returned. A driver adds the I/O."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

import msgspec

R = TypeVar("R")

read_json: Callable[[bytes], Any] = msgspec.json.Decoder(dict[str, Any]).decode


class Request(msgspec.Struct, frozen=True):
    """One call to be made."""

    operation: str
    body: Mapping[str, Any]
    key: object = ""
    """What it is about: written out, the key as people read it."""
    read: Callable[[bytes], Any] = read_json
    """What its answer is read with, where not everything in it is wanted."""


class Pause(msgspec.Struct, frozen=True):
    """Nothing to be sent for a while; the driver sleeps, and sends None in."""

    seconds: float


class Parallel(msgspec.Struct, frozen=True):
    """Conversations that may be held side by side; the driver sends the tuple of their results in."""

    conversations: tuple[Generator[Any, Any, Any], ...]


Step = Request | tuple[Request, ...] | Pause | Parallel
Steps = Generator[Step, Any, R]
"""A conversation. Of a tuple of requests the order does not matter: a driver may send them side by side, and sends the
tuple of the answers in."""
