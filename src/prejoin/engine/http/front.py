"""From an HTTP request to its answer: what AWS's outer layer checks, in its order, and then the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from prejoin.engine.http import signature
from prejoin.engine.http.answer import (
    HEALTHY,
    JSON,
    NO_SUCH_PAGE,
    NO_TOKEN,
    TOO_LARGE,
    UNKNOWN_OPERATION,
    Answer,
    outer_error,
)
from prejoin.engine.http.encodings import WORTH, TooLargeError, compressed, decompressed, preferred
from prejoin.engine.http.guard import Guard
from prejoin.engine.http.limits import Limits
from prejoin.engine.http.pages import for_a_page, is_preflight
from prejoin.engine.http.request import TARGET, Request
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import KB

SHORT_READS = frozenset({"GetItem", "ListTables", "DescribeTimeToLive"})
SHORT_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "DescribeTable"})
"""DescribeTable writes nothing. But only in memory is it short: in a file the items of the table are counted."""
SHORT_BODY = 64 * KB
"""Bytes of a body that are read in less time than it takes to hand them to a thread and back."""
_JSON_TYPES = frozenset({b"application/x-amz-json-1.0", b"application/json"})


class Engine(Protocol):
    """What is behind the front: the embedded engine, or anything else with this method.

    If it also has `send_now(operation, body) -> bytes | None`, the event loop calls that one. It answers None where it
    would have to wait for another thread or process; a thread then calls `send`.
    """

    def send(self, operation: str, body: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Front:
    engine: Engine
    guard: Guard = field(default_factory=Guard)
    keys: signature.KeyPair | None = None
    at_once: frozenset[str] = SHORT_READS
    """Operations that the event loop does itself: the way to a thread and back would cost more than they do. On a file
    that other processes write to, a write may have to wait for them, and all clients with it: it gets a thread."""
    limits: Limits = field(default_factory=Limits)

    def answer_now(self, request: Request) -> Answer | str:
        """The answer to a request that takes no time. Else the operation that it is for, as far as that is known:
        `answer` is then to be called in a thread."""
        if len(request.body) > SHORT_BODY or request.header(b"content-encoding") is not None:
            return ""
        operation = self.admit(request)
        if isinstance(operation, Answer) or operation not in self.at_once:
            return operation
        send = getattr(self.engine, "send_now", self.engine.send)
        return self._perform(operation, request, send) or operation

    def answer(self, request: Request, operation: str) -> Answer:
        """The answer to a request, of which `answer_now` has told the operation. Blocks."""
        admitted = operation or self.admit(request)
        if isinstance(admitted, Answer):
            return admitted
        found = self._perform(admitted, request, self.engine.send)
        assert found is not None, "`send` always answers"
        return found

    def admit(self, request: Request) -> Answer | str:
        """The operation that a request is for, or the answer that it gets without one."""
        refused = self.guard.refusal(request)
        if refused is not None:
            return refused
        admitted = self._admit(request)
        return for_a_page(request, admitted) if self.guard.origins and isinstance(admitted, Answer) else admitted

    def _admit(self, request: Request) -> Answer | str:
        if request.method == b"GET" and request.url == b"/":
            return HEALTHY
        if is_preflight(request):
            return Answer(200, b"")
        kind = (request.header(b"content-type") or b"").partition(b";")[0].strip().lower()
        if (
            request.method != b"POST"
            or (request.body and kind not in _JSON_TYPES)
            or (request.url != b"/" and request.url.partition(b"?")[0] != b"/")
        ):
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
        operation = target[len(TARGET) :].decode("latin-1")
        return _endpoints(request) if operation == "DescribeEndpoints" else operation

    def _perform(self, operation: str, request: Request, send: Callable[[str, bytes], bytes | None]) -> Answer | None:
        """The answer of the engine; None if it gave none."""
        try:
            body = request.body
            encoding = request.header(b"content-encoding")
            if encoding is not None:
                body = decompressed(body, encoding.decode("latin-1").strip().lower(), self.limits.body)
            found = send(operation, body)
            if found is None:
                return None
            answer = Answer(200, found, JSON)
        except DynamoDBError as error:
            answer = Answer(error.status, error.body())
        except TooLargeError:
            answer = TOO_LARGE
        except Exception as error:
            answer = outer_error("InternalFailure", f"The server failed: {error!r}", 500)
        if len(answer.body) > WORTH:
            answer = _encoded(request, answer)
        return for_a_page(request, answer) if self.guard.origins else answer


def _encoded(request: Request, answer: Answer) -> Answer:
    encoding = preferred(request.header(b"accept-encoding") or b"identity")
    if encoding is None:
        return answer
    more = f"{answer.more}Content-Encoding: {encoding}\r\n"
    return replace(answer, body=compressed(answer.body, encoding), more=more)


def _endpoints(request: Request) -> Answer:
    """Where to send further requests: where this one came."""
    host = (request.header(b"host") or b"").decode("latin-1").strip()
    return Answer(200, msgspec.json.encode({"Endpoints": [{"Address": host, "CachePeriodInMinutes": 1440}]}))
