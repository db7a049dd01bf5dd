"""The driver for threads: blocking sockets."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable, Generator
from time import monotonic, sleep
from typing import Any, TypeVar

from prejoin.transport.connection.http import MalformedResponse, ResponseParser, WireResponse
from prejoin.transport.connection.pool import Pool
from prejoin.transport.connection.proxy import Tunnel, tunnel_request
from prejoin.transport.errors import TransportError
from prejoin.transport.request.exchange import (
    BlockingCall,
    Channel,
    RetryDelay,
    SendAttempt,
    SendFailure,
    SendProgress,
    Step,
)

R = TypeVar("R")

_PIECE = 65536


class SyncDriver:
    """Runs the exchanges of any number of threads, over its own connections."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.pool: Pool[SyncConnection] = Pool(channel.settings.pool, channel.settings.idle)
        self._closed = False

    def send(self, operation: str, body: bytes) -> bytes:
        return self.run(self.channel.exchange(operation, body))

    def run(self, exchange: Generator[Step, Any, R]) -> R:
        step = next(exchange)
        while True:
            result: object = None
            if type(step) is SendAttempt:
                result = self._attempt(step)
            elif type(step) is RetryDelay:
                sleep(step.seconds)
            elif type(step) is BlockingCall:
                try:
                    result = step.call()
                except Exception as error:
                    step = exchange.throw(error)
                    continue
            try:
                step = exchange.send(result)
            except StopIteration as stop:
                response: R = stop.value
                return response

    def close(self) -> None:
        self._closed = True
        self.pool.close()

    def _attempt(self, attempt: SendAttempt) -> WireResponse | SendFailure:
        if self._closed:
            return SendFailure(SendProgress.UNSENT, TransportError("the transport is closed"))
        try:
            connection = self.pool.take(self.channel.settings.timeout)
        except TimeoutError as error:
            return SendFailure(SendProgress.UNSENT, error)
        kept_connection = None
        try:
            if connection is not None and attempt.fresh:
                connection.close()
                connection = None
            is_reused = connection is not None
            if connection is None:
                try:
                    connection = connect(self.channel)
                except (OSError, TransportError) as error:
                    return SendFailure(SendProgress.UNSENT, error)
            try:
                outcome = connection.ask(attempt.request, is_reused=is_reused)
            except BaseException:
                connection.close()  # a late response would be taken for that of the next request
                raise
            if connection.parser.keep_alive:
                kept_connection = connection
            else:
                connection.close()
            return outcome
        finally:
            self.pool.give(kept_connection)


class SyncConnection:
    """One socket and the parser of its responses."""

    __slots__ = ("_quiet", "_sock", "_stretched", "_timeout", "parser", "since")

    def __init__(self, sock: socket.socket, timeout: float) -> None:
        self._sock = sock
        self._timeout = timeout
        self._stretched = False
        """Whether the socket has the remaining timeout of an earlier attempt."""
        self._quiet = quiet_check(sock)
        self.parser = ResponseParser()
        self.since = monotonic()

    def is_quiet(self) -> bool:
        return self._quiet()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.close()

    def ask(self, request: bytes, *, is_reused: bool) -> WireResponse | SendFailure:
        """Send a request and read its response. The connection stays usable if `parser.keep_alive` is true."""
        sock, parser = self._sock, self.parser
        parser.begin()
        end = monotonic() + self._timeout
        if self._stretched:
            self._stretched = False
            sock.settimeout(self._timeout)
        try:
            sock.sendall(request)
        except OSError as error:
            return self._unsendable(error, is_reused=is_reused)
        try:
            if len(request) > _PIECE:
                self._hurry(end)
            # Most responses come in one piece. For the others the timeout shrinks to the time that is left.
            while not parser.feed(sock.recv(_PIECE)):
                self._hurry(end)
        except (OSError, MalformedResponse) as error:
            parser.keep_alive = False
            stale = is_reused and not parser.began and not isinstance(error, TimeoutError)
            return SendFailure(SendProgress.LOST, error, stale=stale)
        return parser.response()

    def _unsendable(self, error: OSError, *, is_reused: bool) -> WireResponse | SendFailure:
        """The outcome of a request that could not be sent completely.

        A server may refuse a request before it has read all of it, and close. Such a response has already arrived, so
        this does not wait for it. Only an error counts: a success for a request that never arrived completely belongs
        to something else.
        """
        sock, parser = self._sock, self.parser
        with contextlib.suppress(OSError, MalformedResponse):
            sock.settimeout(0)
            while not parser.feed(sock.recv(_PIECE)):
                pass
        parser.keep_alive = False
        if parser.done:
            response = parser.response()
            if response.status >= 400:
                return response
        stale = is_reused and not parser.began and not isinstance(error, TimeoutError)
        return SendFailure(SendProgress.LOST, error, stale=stale)

    def _hurry(self, end: float) -> None:
        remaining = end - monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")
        self._stretched = True
        self._sock.settimeout(remaining)


def connect(channel: Channel) -> SyncConnection:
    """Open a connection, through the proxy if there is one. Raises OSError."""
    url, proxy, settings = channel.url, channel.proxy, channel.settings
    end = monotonic() + settings.connect_timeout
    entry = proxy or url
    # As bytes: for text, Python loads the IDNA tables, which takes a millisecond.
    host: Any = entry.host.encode("ascii")
    sock = socket.create_connection((host, entry.port), settings.connect_timeout)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(max(0.001, end - monotonic()))
        if url.tls:
            from prejoin.transport.connection.tls import context_for

            context = context_for(channel)
            if proxy is not None:
                sock.sendall(tunnel_request(proxy, url))
                tunnel = Tunnel()
                while not tunnel.feed(sock.recv(4096)):
                    sock.settimeout(max(0.001, end - monotonic()))
            # A connection that was already reset would be wrapped without a handshake, and send in clear text.
            sock.getpeername()
            sock = context.wrap_socket(sock, server_hostname=url.host)
            if sock.version() is None:
                raise ConnectionResetError("the connection was reset before the TLS handshake")
        sock.settimeout(settings.timeout)
        return SyncConnection(sock, settings.timeout)
    except BaseException:
        sock.close()
        raise


def quiet_check(sock: socket.socket) -> Callable[[], bool]:
    """A quick check that an idle connection is unchanged: nothing to read, not even its end."""
    if hasattr(select, "poll"):
        watch = select.poll()
        watch.register(sock.fileno(), select.POLLIN)
        return lambda: not watch.poll(0)
    return lambda: not select.select([sock], [], [], 0)[0]
