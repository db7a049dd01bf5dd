"""Steps without I/O: a generator yields requests, gets the responses, and returns a result. The clients do the I/O."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

R = TypeVar("R")

read_json: Callable[[bytes], Any] = msgspec.json.Decoder(dict[str, Any]).decode

LONGEST_PAUSE = 5.0


class Request(msgspec.Struct, frozen=True):
    """One request to send."""

    operation: str
    body: Mapping[str, Any]
    key: object = ""
    """The key of the item, or `ItemKeys`. Its `str` is for messages and observers."""
    read: Callable[[bytes], Any] = read_json
    """Decodes the response."""


class ItemKeys(msgspec.Struct, frozen=True):
    """The keys of a request for several items. Their text is made only when an error or an observer needs it."""

    keys: Sequence[object]

    def __str__(self) -> str:
        return ", ".join(map(str, self.keys))


class Pause(msgspec.Struct, frozen=True):
    """A pause before the next step. The client sleeps, and sends None."""

    seconds: float


class Blocking(msgspec.Struct, frozen=True):
    """A function to call that may block, such as a request to another service. The client sends its result."""

    call: Callable[[], Any]


class Parallel(msgspec.Struct, frozen=True):
    """Steps that may run at the same time. The client sends the tuple of their results."""

    conversations: tuple[Generator[Any, Any, Any], ...]


# The sync and the async client run the same generators, so what to send, when to repeat it, and what an error means is
# written once, and tests need no I/O.
Step = Request | tuple[Request, ...] | Pause | Blocking | Parallel
Steps = Generator[Step, Any, R]
"""A generator of steps. The requests of a tuple may be sent at the same time; the client sends the tuple of their
responses."""


def pause(attempt: int, first: float = 0.025) -> Pause:
    """Return the pause after an attempt, counted from 0: a random time that doubles at most ("full jitter")."""
    import random  # takes as long to import as a cold start has time for, and only retries need it

    return Pause(random.uniform(0, min(LONGEST_PAUSE, first * 2**attempt)))  # noqa: S311 - no secret
