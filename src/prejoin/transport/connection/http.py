"""HTTP/1.1 as DynamoDB uses it: request heads, and a parser for responses that arrive in any pieces. No I/O."""

from __future__ import annotations

import zlib
from typing import Final

import httptools
import msgspec

from prejoin._version import __version__
from prejoin.protocol.errors import foreign
from prejoin.transport.connection.proxy import authorization
from prejoin.transport.request.sign import CONTENT_TYPE, TARGET
from prejoin.transport.url import Url

_LARGEST_HEAD: Final = 65536
_LARGEST_BODY: Final = 256 * 1024 * 1024
"""DynamoDB returns at most 16 MB; small numbers can take ten times as much as JSON."""


class MalformedResponse(Exception):  # noqa: N818 - named by what was received
    """The received bytes are not a complete HTTP response."""


class WireResponse(msgspec.Struct, frozen=True, gc=False):
    """An HTTP response as received."""

    status: int
    headers: dict[bytes, bytes]
    """Names in lower case."""
    body: bytes

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class RequestHead:
    """The first lines of every request to one address."""

    __slots__ = ("_first", "_last")

    def __init__(self, url: Url, proxy: Url | None, target: str = TARGET) -> None:
        # A proxy gets the full address, unless it only tunnels.
        through = proxy is not None and not url.tls
        path = f"{url.scheme}://{url.authority}{url.path}" if through else url.path
        self._first = (
            f"POST {path} HTTP/1.1\r\nHost: {url.authority}\r\nContent-Type: {CONTENT_TYPE}\r\n"
            f"User-Agent: prejoin/{__version__}\r\nAccept-Encoding: identity\r\n"
            f"{authorization(proxy) if proxy is not None and through else ''}X-Amz-Target: {target}"
        )

    def request(self, operation: str, signature: str, body: bytes) -> bytes:
        """The bytes of one request."""
        return f"{self._first}{operation}\r\n{signature}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body


class ResponseParser:
    """Parses the responses on one connection, one after the other.

    >>> parser = ResponseParser()
    >>> parser.begin()
    >>> parser.feed(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{"), parser.feed(b"}")
    (False, True)
    >>> parser.response().body, parser.keep_alive
    (b'{}', True)
    """

    __slots__ = ("_body", "_headers", "_open", "_parser", "_room", "_size", "_status", "began", "done", "keep_alive")

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.begin()

    def begin(self) -> None:
        """Prepare for the response to the next request."""
        self._status = 0
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._size = 0
        self._room = _LARGEST_HEAD
        self._open = False
        self.began = False
        """Whether anything came at all."""
        self.done = False
        self.keep_alive = False

    def feed(self, data: bytes) -> bool:
        """Parse received bytes; empty bytes end the connection. Return True once the response is complete."""
        if not data:
            return self._finish_at_end()
        self.began = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.keep_alive = False
            if not self.done:
                raise MalformedResponse(_sentence(error)) from None
        if not self._open and not self.done:
            self._room -= len(data)
            if self._room < 0:
                raise MalformedResponse(f"the response headers have more than {_LARGEST_HEAD} bytes")
        return self.done

    def response(self) -> WireResponse:
        """The parsed response, once: an idle connection must not keep it in memory."""
        pieces, self._body = self._body, []
        return WireResponse(self._status, self._headers, pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def _finish_at_end(self) -> bool:
        self.keep_alive = False
        if not self.began:
            raise MalformedResponse("the connection was closed without a response")
        headers = self._headers
        if self._open and b"content-length" not in headers and b"transfer-encoding" not in headers:
            # The connection's end is the body's end, or an accident. A truncated JSON object is not valid JSON.
            try:
                msgspec.json.decode(b"".join(self._body), type=msgspec.Raw)
            except ValueError:
                pass
            else:
                self.done = True
                return True
        raise MalformedResponse("the connection was closed in the middle of the response")

    # Callbacks of httptools. It wraps exceptions raised here, hence `_sentence`.

    def on_message_begin(self) -> None:
        if self.done:  # more than one response
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.done:
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        if self.done:
            return
        status = self._parser.get_status_code()
        if status < 200:  # 100 Continue, 103 Early Hints: the response follows
            self._headers = {}
            return
        self._status = status
        self._open = True

    def on_body(self, data: bytes) -> None:
        if self.done:
            return
        self._size += len(data)
        if self._size > _LARGEST_BODY:
            raise MalformedResponse(f"the response has more than {_LARGEST_BODY} bytes")
        self._body.append(data)

    def on_message_complete(self) -> None:
        if self._open and not self.done:
            self.done = True
            self.keep_alive = self._parser.should_keep_alive()


def response_damage(response: WireResponse) -> str | None:
    """Why a response is damaged or not DynamoDB's; None if it is fine."""
    checksum = response.headers.get(b"x-amz-crc32")
    if checksum is not None and checksum != b"%d" % zlib.crc32(response.body):
        return "the response does not match its checksum"
    if response.status < 300 and not response.body.startswith(b"{"):
        return f"the response is not DynamoDB's: {foreign(response.body, 60)}"
    return None


def _sentence(error: Exception) -> str:
    inner = error.__context__
    if isinstance(inner, MalformedResponse):
        return str(inner)
    return f"the response is not HTTP: {error}"
