"""Answers that a web page may read: those that allow its origin, once the guard has."""

from __future__ import annotations

from dataclasses import replace

from prejoin.engine.http.answer import Answer
from prejoin.engine.http.request import Request

_EXPOSED = "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,Date"
_MAX_AGE = 172_800
_ECHOED = (
    (b"access-control-request-headers", "Access-Control-Allow-Headers"),
    (b"access-control-request-method", "Access-Control-Allow-Methods"),
)


def is_preflight(request: Request) -> bool:
    """Whether a browser asks, before a page's request, if the page may send it."""
    return request.method == b"OPTIONS" and request.header(b"origin") is not None


def for_a_page(request: Request, answer: Answer) -> Answer:
    """The answer with the headers that let the page of an allowed origin read it; to others it stays as it is."""
    if request.header(b"origin") is None:
        return answer
    headers = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
    if request.method == b"OPTIONS":
        headers["Access-Control-Max-Age"] = str(_MAX_AGE)
        for asked, allowed in _ECHOED:
            value = (request.header(asked) or b"").decode("latin-1")
            if value.isascii() and value.isprintable() and value:
                headers[allowed] = value
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return replace(answer, more=answer.more + lines)
