"""From an HTTP request to its response: the checks of AWS's API layer in AWS's order, then the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import msgspec

from prejoin.engine.http import signature
from prejoin.engine.http.compression import (
    COMPRESSION_THRESHOLD,
    BodyTooLargeError,
    compress,
    decompress,
    preferred_encoding,
)
from prejoin.engine.http.limits import Limits
from prejoin.engine.http.messages import (
    ADMIN,
    DROPPED_RESPONSE,
    HEALTHY,
    JSON,
    NO_TOKEN,
    NOT_FOUND,
    PLAIN_JSON,
    STREAMS_TARGET,
    TARGET,
    TOO_LARGE,
    UNKNOWN_OPERATION,
    HttpRequest,
    HttpResponse,
    outer_error,
    server_failure,
)
from prejoin.engine.http.origin_policy import OriginPolicy, is_preflight, with_cors_headers
from prejoin.engine.operations import NOT_IMPLEMENTED, OPERATIONS, STREAM_OPERATIONS
from prejoin.engine.regions import Regions
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import KB

if TYPE_CHECKING:
    from prejoin.engine.http.admin import Admin

SHORT_READS = frozenset({"GetItem", "ListTables", "DescribeTimeToLive"})
SHORT_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "DescribeTable"})
"""DescribeTable writes nothing, but it is fast only in memory: in a file the items are counted."""
SHORT_BODY = 64 * KB
"""Reading a body below this size takes less time than handing it to a thread."""
_NOT_JSON = "SerializationException"
_JSON_TYPES = frozenset({b"application/x-amz-json-1.0", b"application/json"})


class Backend(Protocol):
    """The object that performs operations: the embedded engine, or any other object with this method.

    If it also has `send_now(operation, body) -> bytes | None`, the event loop calls that. It returns None if it would
    have to wait for another thread or process; a thread then calls `send`.
    """

    def send(self, operation: str, body: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class RequestHandler:
    """Answers HTTP requests for one backend."""

    engine: Backend
    policy: OriginPolicy = field(default_factory=OriginPolicy)
    keys: signature.KeyPair | None = None
    at_once: frozenset[str] = SHORT_READS
    """Operations that run on the event loop, because handing them to a thread would take longer. If other processes
    write to the same file, a write may have to wait for them and would block all clients, so writes run in a thread.
    """
    limits: Limits = field(default_factory=Limits)
    regions: Regions | None = None
    """If given, the engine of a request is that of its region and account."""
    admin: Admin | None = None

    def _engine_for(self, request: HttpRequest) -> Backend:
        return self.engine if self.regions is None else self.regions.at(*signature.caller(request))

    def respond_now(self, request: HttpRequest) -> HttpResponse | str:
        """The response to a request that takes no time. Otherwise the name of its operation, as far as known; `respond`
        must then be called in a thread.
        """
        # How long a compressed body takes cannot be known from its length.
        if len(request.body) > SHORT_BODY or request.header(b"content-encoding") is not None:
            return ""
        operation = self.admit(request)
        if isinstance(operation, HttpResponse) or operation not in self.at_once:
            return operation
        engine = self._engine_for(request)
        # A backend of a user may have only `send`.
        send = getattr(engine, "send_now", engine.send)
        return self._perform(operation, request, send) or operation

    def respond(self, request: HttpRequest, operation: str) -> HttpResponse:
        """The response to a request for which `respond_now` returned this operation. Blocks."""
        admission = operation or self.admit(request)
        if isinstance(admission, HttpResponse):
            return admission
        if admission == ADMIN and self.admin is not None:
            return self.admin.respond(request)
        response = self._perform(admission, request, self._engine_for(request).send)
        assert response is not None, "`send` always answers"
        return response

    def admit(self, request: HttpRequest) -> HttpResponse | str:
        """The operation of a request, or the response if it is refused or needs no operation."""
        refusal = self.policy.refusal(request)
        if refusal is not None:
            return refusal
        admission = self._check_request(request)
        if isinstance(admission, HttpResponse):
            kind = _content_type(request) if admission.content_type == JSON else admission.content_type
            body = b"" if request.method == b"HEAD" else admission.body
            admission = replace(admission, body=body, content_type=kind)
        return (
            with_cors_headers(request, admission)
            if self.policy.origins and isinstance(admission, HttpResponse)
            else admission
        )

    def _check_request(self, request: HttpRequest) -> HttpResponse | str:
        # One piece, because it is a list: the checks of AWS's API layer from top to bottom, and the first one decides.
        # A path or a type of content that is not DynamoDB's is reported before the operation, and an operation that
        # does not exist before a missing or wrong signature.
        if request.method == b"GET" and request.url == b"/":
            return HEALTHY
        if is_preflight(request):
            return HttpResponse(200, b"")
        kind = (request.header(b"content-type") or b"").partition(b";")[0].strip().lower()
        if (
            request.method != b"POST"
            or (request.body and kind not in _JSON_TYPES)
            or (request.url != b"/" and request.url.partition(b"?")[0] != b"/")
        ):
            return ADMIN if self.admin is not None and self.admin.serves(request) else NOT_FOUND
        target = request.header(b"x-amz-target") or b""
        operation = _operation(target)
        if operation is None:
            return UNKNOWN_OPERATION if not request.body or _is_json(request.body) else outer_error(_NOT_JSON, "")
        if self.keys is not None:
            refusal = signature.refusal(request, self.keys)
            if refusal is not None:
                return refusal
        elif not signature.has_token(request):
            return NO_TOKEN
        return _endpoints(request) if operation == "DescribeEndpoints" else operation

    def _perform(
        self, operation: str, request: HttpRequest, send: Callable[[str, bytes], bytes | None]
    ) -> HttpResponse | None:
        """The engine's response; None if `send_now` declined."""
        try:
            body = request.body
            encoding = request.header(b"content-encoding")
            if encoding is not None:
                body = decompress(body, encoding.decode("latin-1").strip().lower(), self.limits.body)
            answer = send(operation, body)
            if answer is None:
                return None
            response = HttpResponse(200, answer, _content_type(request))
        except DynamoDBError as error:
            response = HttpResponse(error.status, error.body(), _content_type(request))
        except BodyTooLargeError:
            response = TOO_LARGE
        except ConnectionResetError:
            # Bad weather has lost the response.
            return DROPPED_RESPONSE
        except Exception as error:
            # A bug gets a response, too: without one, the client would wait until its timeout.
            response = server_failure(error)
        if len(response.body) > COMPRESSION_THRESHOLD:
            response = _compress_response(request, response)
        return with_cors_headers(request, response) if self.policy.origins else response


def _operation(target: bytes) -> str | None:
    """The operation of an X-Amz-Target header. Streams are a service of their own, behind the same port."""
    if target.startswith(TARGET):
        operation = target[len(TARGET) :].decode("latin-1")
        is_known = operation in OPERATIONS or operation in NOT_IMPLEMENTED
        return operation if is_known and operation not in STREAM_OPERATIONS else None
    if target.startswith(STREAMS_TARGET):
        operation = target[len(STREAMS_TARGET) :].decode("latin-1")
        return operation if operation in STREAM_OPERATIONS else None
    return None


def _content_type(request: HttpRequest) -> str:
    """The type of a response: that of the request, one of two names for JSON."""
    content_type = request.header(b"content-type") or b""
    # Version 1.0 or 1.1 behind it makes no difference.
    return JSON if content_type[:18].lower() == b"application/x-amz-" else PLAIN_JSON


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _compress_response(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    encoding = preferred_encoding(request.header(b"accept-encoding") or b"identity")
    if encoding is None:
        return response
    header_lines = f"{response.header_lines}Content-Encoding: {encoding}\r\n"
    return replace(response, body=compress(response.body, encoding), header_lines=header_lines)


def _endpoints(request: HttpRequest) -> HttpResponse:
    """Tell the client to send further requests to the same host."""
    host = (request.header(b"host") or b"").decode("latin-1").strip()
    return HttpResponse(200, msgspec.json.encode({"Endpoints": [{"Address": host, "CachePeriodInMinutes": 1440}]}))
