"""One client connection: parses requests, has them handled in order, sends responses and enforces timeouts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import cast

import httptools

from prejoin.engine.http.handler import RequestHandler
from prejoin.engine.http.limits import Limits
from prejoin.engine.http.messages import (
    DROPPED_RESPONSE,
    HEADERS_TOO_LARGE,
    MALFORMED_REQUEST,
    TIMEOUT,
    TOO_LARGE,
    HttpRequest,
    HttpResponse,
    server_failure,
)

_LINGER_SECONDS = 2.0


class ServerConnection(asyncio.Protocol):
    """Handles the requests of one connection one after the other, even if the client pipelines them.

    A malformed request gets an error response after those before it. Then nothing more is read, because the start of
    the next request is unknown.
    """

    def __init__(
        self, handler: RequestHandler, limits: Limits, pool: Executor, on_lost: Callable[[ServerConnection], None]
    ) -> None:
        self._handler, self._limits, self._pool, self._on_lost = handler, limits, pool, on_lost
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[HttpRequest | HttpResponse] = deque()
        self._running = False
        self._refused = False
        """Nothing more is read: an error response is waiting or sent."""
        self._stopping = False
        self._lingering = 0.0
        self._stalled: float | None = None
        """The time since which the client has read no response bytes."""
        self._started: float | None = None
        """When the first byte came of the request that is being received."""
        self._heard = self._loop.time()
        self._in_body = False
        self._head_size = 0
        self._request = HttpRequest()
        self._body: bytes | bytearray = b""
        self._unused = 0
        """Bytes since the last piece of the body: sizes and extensions of chunks, or trailers."""

    # --- asyncio -----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._peer = str((transport.get_extra_info("peername") or ("",))[0])

    def connection_lost(self, exc: Exception | None) -> None:
        self._refused = self._stopping = True
        self._waiting.clear()
        self._on_lost(self)

    def data_received(self, data: bytes) -> None:
        if self._refused or self._stopping:
            return
        self._heard = self._loop.time()
        if self._started is None:
            self._started = self._heard
        if self._in_body:
            self._unused += len(data)
        else:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # A request for another protocol, such as WebSocket.
            self._refuse(MALFORMED_REQUEST)
        except httptools.HttpParserCallbackError as error:
            self._refuse(server_failure(error))
        except httptools.HttpParserError:
            self._refuse(MALFORMED_REQUEST)
        waiting_for = self._unused if self._in_body else self._head_size
        if self._started is not None and waiting_for > self._limits.head:
            # The parser collects the trailers of a chunked body, copying each as it grows.
            self._refuse(HEADERS_TOO_LARGE)
        if len(self._waiting) >= self._limits.waiting:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """The client sends no more but may still read. Pending requests are answered before the connection closes."""
        self._stopping = True
        return self._running or bool(self._waiting)

    def pause_writing(self) -> None:
        self._stalled = self._loop.time()

    def resume_writing(self) -> None:
        self._stalled = None
        self._next()

    # --- httptools ---------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._request, self._body = HttpRequest(peer=self._peer), b""

    def on_url(self, url: bytes) -> None:
        self._request.url += url

    def on_header(self, name: bytes, value: bytes | None) -> None:
        if not self._in_body:
            # The parser reports the trailers of a chunked body as headers, too. They must not add to what was checked.
            self._request.headers.append((name.lower(), value or b""))

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._head_size = self._unused = 0
        # A colon, a space and a line end are four bytes.
        size = sum(len(name) + len(value) + 4 for name, value in self._request.headers) + len(self._request.url)
        length = self._request.header(b"content-length")
        if size > self._limits.head:
            self._refuse(HEADERS_TOO_LARGE)
        elif length is not None and int(length) > self._limits.body:
            self._refuse(TOO_LARGE)
        # The client waits for this before it sends the body. It must not overtake the response to an earlier request.
        elif (self._request.header(b"expect") or b"").lower() == b"100-continue" and not self._running:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._unused = 0
        if self._refused:
            return
        if len(self._body) + len(body) > self._limits.body:
            self._body = b""
            self._refuse(TOO_LARGE)
        elif not self._body:
            # Most bodies come in one piece.
            self._body = body
        elif isinstance(self._body, bytearray):
            self._body += body
        else:
            self._body = bytearray(self._body) + body

    def on_message_complete(self) -> None:
        self._in_body = False
        self._started = None
        if self._refused:
            return
        request = self._request
        request.method = self._parser.get_method()
        request.keep_alive = self._parser.should_keep_alive()
        request.body = bytes(self._body)
        self._body = b""
        if not request.keep_alive:
            self._refused = True
        # Also requests that the client pipelines: they are answered in order.
        self._waiting.append(request)
        if not self._running:
            self._next()

    # --- Responses, in order -----------------------------------------------------------------------------------------

    def _refuse(self, response: HttpResponse) -> None:
        if self._refused:
            return
        self._refused = True
        self._waiting.append(response)
        if not self._running:
            self._next()

    def _next(self) -> None:
        """Start the request that waits longest, unless one is running or the client does not read."""
        while self._waiting and not self._running and self._stalled is None:
            waiting = self._waiting.popleft()
            if isinstance(waiting, HttpResponse):
                self._send(waiting, keep_alive=False)
                continue
            # A short request runs here, on the event loop. For any other one this returns the name of the operation.
            answer = self._handler.respond_now(waiting)
            if isinstance(answer, HttpResponse):
                self._send(answer, keep_alive=waiting.keep_alive)
            else:
                self._running = True
                self._pool.submit(self._work, waiting, answer)
        if self._running or self._waiting or self._transport.is_closing():
            return
        if self._stopping:
            self._transport.close()
        elif not self._transport.is_reading():
            self._heard = self._loop.time()
            if self._started is not None:
                self._started = self._heard
            self._transport.resume_reading()

    def _work(self, request: HttpRequest, operation: str) -> None:
        """Runs in a thread of the pool."""
        try:
            response = self._handler.respond(request, operation)
        except Exception as error:
            # Without a response the client would wait for ever.
            response = server_failure(error)
        self._loop.call_soon_threadsafe(self._respond, response, request.keep_alive)

    def _respond(self, response: HttpResponse, keep_alive: bool) -> None:
        self._running = False
        self._send(response, keep_alive=keep_alive)
        self._next()

    def _send(self, response: HttpResponse, *, keep_alive: bool) -> None:
        if self._transport.is_closing():
            return
        if response is DROPPED_RESPONSE:
            self._transport.abort()
            return
        self._heard = self._loop.time()
        self._transport.write(response.encode(keep_alive=keep_alive and not self._stopping))
        if not keep_alive:
            self._waiting.clear()
            # Closing while the client still sends would reset the connection and lose the response.
            self._lingering = self._heard
            if not self._transport.is_reading():
                self._transport.resume_reading()
            if self._transport.can_write_eof():
                self._transport.write_eof()

    # --- Timeouts ----------------------------------------------------------------------------------------------------

    def look_after(self, now: float) -> None:
        """Enforce the timeouts. The server calls this regularly."""
        limits = self._limits
        # At most one of these timeouts runs. The client's reading comes first: while it stalls, nothing else can go on.
        if self._stalled is not None:
            if now - self._stalled > limits.pause_seconds:
                self._transport.abort()
        elif self._lingering:
            if now - self._lingering > _LINGER_SECONDS:
                self._transport.abort()
        # The engine is at work, and its time is not limited.
        elif self._running or self._waiting:
            return
        elif self._started is None:
            if now - self._heard > limits.idle_seconds:
                self._transport.close()
        elif (
            now - self._started > limits.request_seconds
            or (self._in_body and now - self._heard > limits.pause_seconds)
            or (not self._in_body and now - self._started > limits.head_seconds)
        ):
            self._refuse(TIMEOUT)

    def stop(self) -> None:
        """Answer the pending requests, then close."""
        self._stopping = True
        if not self._running and not self._waiting and not self._lingering:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()
