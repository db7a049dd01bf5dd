"""Who may ask: not a web page. A browser on this machine reaches loopback ports too, on behalf of any site.

A page can send requests to this port (they carry `Origin`), and can be served under a name that is later pointed at
127.0.0.1, so that to the browser this server is the page's own site (the `Host` is then that name).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from functools import lru_cache

from prejoin.engine.http.messages import HttpRequest, HttpResponse, outer_error


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """`hosts` are names under which the server is reached beyond loopback's; `origins` are web pages that may ask."""

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()

    def refusal(self, request: HttpRequest) -> HttpResponse | None:
        """The answer to a request that a web page may have sent; None where nothing speaks against it."""
        origin = request.header(b"origin")
        if origin is not None and _text(origin) not in self.origins:
            return _denied(f"Requests of web pages are refused, and this one is of {_text(origin)!r}")
        host = request.header(b"host")
        if host is None or request.count(b"host") > 1:
            return outer_error("SerializationException", "A request has exactly one Host header")
        if not self._knows(_text(host)):
            return _denied(
                f"The server does not go by the name {_text(host)!r}; where it should, start it with --allow-host"
            )
        return None

    def _knows(self, host: str) -> bool:
        """An address cannot be pointed elsewhere, so any will do; a name must be ours.

        >>> guard = OriginPolicy(frozenset({"dynamodb"}))
        >>> [guard._knows(host) for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "dynamodb:8000")]
        [True, True, True, True]
        >>> [guard._knows(host) for host in ("evil.example:8000", "127.0.0.1.evil.example", "")]
        [False, False, False]
        """
        name, _, after = host.removeprefix("[").partition("]") if host.startswith("[") else host.partition(":")
        if not after.removeprefix(":").isdecimal() and after not in ("", ":"):
            return False
        name = name.lower().removesuffix(".")
        return name == "localhost" or name.endswith(".localhost") or name in self.hosts or _is_address(name)


def is_loopback(host: str) -> bool:
    """Whether a server that listens there is reached from this machine only."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


@lru_cache(64)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _denied(message: str) -> HttpResponse:
    return outer_error("AccessDeniedException", message, 403)


def _text(value: bytes) -> str:
    return value.decode("latin-1").strip()


_EXPOSED = "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,Date"
_MAX_AGE = 172_800
_ECHOED = (
    (b"access-control-request-headers", "Access-Control-Allow-Headers"),
    (b"access-control-request-method", "Access-Control-Allow-Methods"),
)


def is_preflight(request: HttpRequest) -> bool:
    """Whether a browser asks, before a page's request, if the page may send it."""
    return request.method == b"OPTIONS" and request.header(b"origin") is not None


def with_cors_headers(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The answer with the headers that let the page of an allowed origin read it; to others it stays as it is."""
    if request.header(b"origin") is None:
        return response
    headers = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
    if request.method == b"OPTIONS":
        headers["Access-Control-Max-Age"] = str(_MAX_AGE)
        for asked, allowed in _ECHOED:
            value = (request.header(asked) or b"").decode("latin-1")
            if value.isascii() and value.isprintable() and value:
                headers[allowed] = value
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return replace(response, more=response.more + lines)
