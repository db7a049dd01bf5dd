"""The web pages that may use the server: by default none. A browser here can reach loopback ports for any site.

A page can send requests to this port; they carry an `Origin` header. It can also be served under a name that is later
pointed at 127.0.0.1 (DNS rebinding), so that the browser takes this server for the page's own site; the `Host` header
is then that name. Pages of allowed origins get CORS headers.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from functools import lru_cache

from prejoin.engine.http.messages import HttpRequest, HttpResponse, outer_error


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """`hosts` are names of the server besides those of loopback. `origins` are the web pages that may send requests."""

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()

    def refusal(self, request: HttpRequest) -> HttpResponse | None:
        """The response to a request that a web page may have sent; None if the request is allowed."""
        origin = request.header(b"origin")
        if origin is not None and _header_text(origin) not in self.origins:
            return _deny(f"Requests from web pages are refused. This one comes from {_header_text(origin)!r}")
        host = request.header(b"host")
        if host is None or request.count(b"host") > 1:
            return outer_error("SerializationException", "A request has exactly one Host header")
        if not self._knows(_header_text(host)):
            return _deny(
                f"This server is not called {_header_text(host)!r}; to allow the name, start it with --allow-host"
            )
        return None

    def _knows(self, host: str) -> bool:
        """Whether a Host header is ours. An IP address cannot be rebound, so any is fine; a name must be known.

        >>> guard = OriginPolicy(frozenset({"dynamodb"}))
        >>> [guard._knows(host) for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "dynamodb:8000")]
        [True, True, True, True]
        >>> [guard._knows(host) for host in ("evil.example:8000", "127.0.0.1.evil.example", "")]
        [False, False, False]
        """
        # An IPv6 address is in brackets, because it has colons of its own.
        name, _, port = host.removeprefix("[").partition("]") if host.startswith("[") else host.partition(":")
        if not port.removeprefix(":").isdecimal() and port not in ("", ":"):
            return False
        name = name.lower().removesuffix(".")
        return name == "localhost" or name.endswith(".localhost") or name in self.hosts or _is_address(name)


def is_loopback(host: str) -> bool:
    """Whether a server listening on this host can be reached from this machine only."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


@lru_cache(64)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _deny(message: str) -> HttpResponse:
    return outer_error("AccessDeniedException", message, 403)


def _header_text(value: bytes) -> str:
    return value.decode("latin-1").strip()


_EXPOSED_HEADERS = "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,Date"
_MAX_AGE = 172_800
_ECHOED_HEADERS = (
    (b"access-control-request-headers", "Access-Control-Allow-Headers"),
    (b"access-control-request-method", "Access-Control-Allow-Methods"),
)


def is_preflight(request: HttpRequest) -> bool:
    """Whether a browser asks if a page may send a request."""
    return request.method == b"OPTIONS" and request.header(b"origin") is not None


def with_cors_headers(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Add the headers that let a page of an allowed origin read the response."""
    if request.header(b"origin") is None:
        return response
    # Only requests of allowed origins come this far.
    headers = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED_HEADERS}
    if request.method == b"OPTIONS":
        headers["Access-Control-Max-Age"] = str(_MAX_AGE)
        for request_header, response_header in _ECHOED_HEADERS:
            value = (request.header(request_header) or b"").decode("latin-1")
            # The value is the client's. With a line end in it, it could add headers.
            if value.isascii() and value.isprintable() and value:
                headers[response_header] = value
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return replace(response, header_lines=response.header_lines + lines)
