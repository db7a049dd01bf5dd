"""From an HTTP request to its answer: what AWS's outer layer checks, in its order, and then the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from prejoin.engine.http import signature
from prejoin.engine.http.answer import (
    HEALTHY,
    JSON,
    NO_SUCH_PAGE,
    NO_TOKEN,
    UNKNOWN_OPERATION,
    Answer,
    outer_error,
)
from prejoin.engine.http.guard import Guard
from prejoin.engine.http.request import TARGET, Request
from prejoin.protocol.errors import DynamoDBError

SHORT_READS = frozenset({"GetItem", "DescribeTable", "ListTables", "DescribeTimeToLive"})
SHORT_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
_JSON_TYPES = frozenset({b"application/x-amz-json-1.0", b"application/json"})


class Engine(Protocol):
    """What is behind the front: the embedded engine, or anything else with its port."""

    def send(self, operation: str, body: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Front:
    engine: Engine
    guard: Guard = field(default_factory=Guard)
    keys: signature.KeyPair | None = None
    at_once: frozenset[str] = SHORT_READS
    """Operations that the event loop does itself: the way to a thread and back would cost more than they do. On a file
    that other processes write to, a write may have to wait for them, and all clients with it: it gets a thread."""

    def admit(self, request: Request) -> Answer | str:
        """The operation that a request is for, or the answer that it gets without one."""
        refused = self.guard.refusal(request)
        if refused is not None:
            return refused
        if request.method == b"GET" and request.url == b"/":
            return HEALTHY
        kind = (request.header(b"content-type") or b"").partition(b";")[0].strip().lower()
        if request.method != b"POST" or (request.body and kind not in _JSON_TYPES):
            return NO_SUCH_PAGE
        target = request.header(b"x-amz-target") or b""
        if not target.startswith(TARGET):
            return UNKNOWN_OPERATION
        if self.keys is not None:
            refused = signature.refusal(request, self.keys)
            if refused is not None:
                return refused
        elif not signature.has_token(request):
            return NO_TOKEN
        return target[len(TARGET) :].decode("latin-1")

    def perform(self, operation: str, body: bytes) -> Answer:
        """What the engine says. Blocks."""
        try:
            return Answer(200, self.engine.send(operation, body), JSON)
        except DynamoDBError as error:
            return Answer(error.status, error.body())
        except Exception as error:
            return outer_error("InternalFailure", f"The server failed: {error!r}", 500)
