"""HTTP requests and responses, with the headers that DynamoDB sends and the errors of AWS's API layer."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from random import getrandbits
from typing import Final

import msgspec

TARGET = b"DynamoDB_20120810."
STREAMS_TARGET = b"DynamoDBStreams_20120810."
ADMIN = "_prejoin"
"""Stands for the operation of a request to the admin endpoint."""


@dataclass(slots=True)
class HttpRequest:
    """An HTTP request as received."""

    method: bytes = b""
    url: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Names in lower case."""
    body: bytes = b""
    keep_alive: bool = True
    peer: str = ""
    """The address of the client."""

    def header(self, name: bytes) -> bytes | None:
        """The value of the first header with this name."""
        for header_name, value in self.headers:
            if header_name == name:
                return value
        return None

    def count(self, name: bytes) -> int:
        return sum(header_name == name for header_name, _ in self.headers)


JSON: Final = "application/x-amz-json-1.0"
PLAIN_JSON: Final = "application/json"
PLAIN: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An HTTP response to send."""

    status: int
    body: bytes
    content_type: str = JSON
    header_lines: str = ""
    """Further header lines, each with its line end."""

    def encode(self, *, keep_alive: bool) -> bytes:
        # SDKs compare `x-amz-crc32` with the body that they received, and retry if it differs.
        head = (
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\n"
            f"Server: prejoin\r\nDate: {http_date()}\r\n"
            f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
            f"Connection: {'keep-alive' if keep_alive else 'close'}\r\n"
            f"x-amzn-RequestId: {request_id()}\r\nx-amz-crc32: {zlib.crc32(self.body)}\r\n{self.header_lines}\r\n"
        )
        return head.encode("ascii") + self.body


def outer_error(code: str, message: str = "", status: int = 400) -> HttpResponse:
    """An error of the API layer in front of DynamoDB, which has its own namespace.

    >>> outer_error("MissingAuthenticationTokenException").body
    b'{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException"}'
    """
    document = {"__type": f"com.amazon.coral.service#{code}"}
    if message:
        document["message"] = message
    return HttpResponse(status, msgspec.json.encode(document))


UNKNOWN_OPERATION: Final = outer_error("UnknownOperationException")
NOT_FOUND: Final = HttpResponse(404, b"<UnknownOperationException/>\n", "application/xml")
"""AWS's response to methods other than POST, and to bodies that are not JSON."""
NO_TOKEN: Final = outer_error("MissingAuthenticationTokenException", "Request is missing Authentication Token")
HEALTHY: Final = HttpResponse(200, b"healthy: prejoin\n", PLAIN)
TOO_LARGE: Final = HttpResponse(413, b"", PLAIN)
HEADERS_TOO_LARGE: Final = HttpResponse(400, b"", PLAIN)
TIMEOUT: Final = HttpResponse(408, b"", PLAIN)
MALFORMED_REQUEST: Final = HttpResponse(400, b"", PLAIN)
DROPPED_RESPONSE: Final = HttpResponse(500, b"")
"""Not sent: the connection is closed instead, as if the response were lost on its way."""


def server_failure(error: Exception) -> HttpResponse:
    """The response to a request that met a bug in the server."""
    return outer_error("InternalFailure", f"The server failed: {error!r}", 500)


def request_id() -> str:
    """A request id of 52 characters, as AWS's are."""
    return f"{getrandbits(208):052X}"


_date = (0, "")


def http_date() -> str:
    global _date
    now = int(time.time())
    if _date[0] != now:
        _date = (now, formatdate(now, usegmt=True))
    return _date[1]


_REASONS = {status.value: status.phrase for status in HTTPStatus}
