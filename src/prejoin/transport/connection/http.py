"""HTTP/1.1 as DynamoDB speaks it: the head of a request, and answers read from bytes however they are split. No I/O."""

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
"""Sixteen megabytes of small numbers, which is the most that DynamoDB answers, can be ten times that as JSON."""


class MalformedResponse(Exception):  # noqa: N818 - it says what came
    """What came is not a whole answer in HTTP."""


class WireResponse(msgspec.Struct, frozen=True, gc=False):
    status: int
    headers: dict[bytes, bytes]
    """Names in lower case."""
    body: bytes

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class RequestHead:
    """The lines that every request to one address starts with."""

    __slots__ = ("_first", "_last")

    def __init__(self, url: Url, proxy: Url | None) -> None:
        # A proxy is told the whole address, unless it only tunnels.
        through = proxy is not None and not url.tls
        path = f"{url.scheme}://{url.authority}{url.path}" if through else url.path
        self._first = (
            f"POST {path} HTTP/1.1\r\nHost: {url.authority}\r\nContent-Type: {CONTENT_TYPE}\r\n"
            f"User-Agent: prejoin/{__version__}\r\nAccept-Encoding: identity\r\n"
            f"{authorization(proxy) if proxy is not None and through else ''}X-Amz-Target: {TARGET}"
        )

    def request(self, operation: str, signature: str, body: bytes) -> bytes:
        """The bytes of one request."""
        return f"{self._first}{operation}\r\n{signature}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body


class ResponseParser:
    """Reads the answers that come over one connection, one after the other.

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
        """A request was sent: what comes next is its answer."""
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
        """Take what came, nothing being the end of the connection; true once the answer is whole."""
        if not data:
            return self._ended()
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
                raise MalformedResponse(f"the headers of the answer have more than {_LARGEST_HEAD} bytes")
        return self.done

    def response(self) -> WireResponse:
        """The answer, once; an idle connection is not to hold on to it."""
        pieces, self._body = self._body, []
        return WireResponse(self._status, self._headers, pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def _ended(self) -> bool:
        self.keep_alive = False
        if not self.began:
            raise MalformedResponse("the connection was closed without an answer")
        headers = self._headers
        if self._open and b"content-length" not in headers and b"transfer-encoding" not in headers:
            # The end of the connection is the end of the body, or an accident. A JSON object that is cut is none.
            try:
                msgspec.json.decode(b"".join(self._body), type=msgspec.Raw)
            except ValueError:
                pass
            else:
                self.done = True
                return True
        raise MalformedResponse("the connection was closed in the middle of the answer")

    # What httptools calls. An exception here would come out of feed_data wrapped, hence `_sentence`.

    def on_message_begin(self) -> None:
        if self.done:  # more than was asked for
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.done:
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        if self.done:
            return
        status = self._parser.get_status_code()
        if status < 200:  # 100 Continue, 103 Early Hints: the answer follows
            self._headers = {}
            return
        self._status = status
        self._open = True

    def on_body(self, data: bytes) -> None:
        if self.done:
            return
        self._size += len(data)
        if self._size > _LARGEST_BODY:
            raise MalformedResponse(f"the answer has more than {_LARGEST_BODY} bytes")
        self._body.append(data)

    def on_message_complete(self) -> None:
        if self._open and not self.done:
            self.done = True
            self.keep_alive = self._parser.should_keep_alive()


def response_damage(response: WireResponse) -> str | None:
    """What shows that an answer did not arrive as it was sent, or was not sent by a DynamoDB; None if nothing does."""
    checksum = response.headers.get(b"x-amz-crc32")
    if checksum is not None and checksum != b"%d" % zlib.crc32(response.body):
        return "the answer does not have its checksum"
    if response.status < 300 and not response.body.startswith(b"{"):
        return f"the answer is not DynamoDB's: {foreign(response.body, 60)}"
    return None


def _sentence(error: Exception) -> str:
    inner = error.__context__
    if isinstance(inner, MalformedResponse):
        return str(inner)
    return f"the answer is not HTTP: {error}"
