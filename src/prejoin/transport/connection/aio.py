"""The driver for one event loop: asyncio, with one protocol object per connection."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from typing import Any, cast

from prejoin.transport.connection.http import MalformedResponse, ResponseParser, WireResponse
from prejoin.transport.connection.pool import PoolExhausted
from prejoin.transport.connection.proxy import Tunnel, tunnel_request
from prejoin.transport.connection.sync import quiet_check
from prejoin.transport.connection.tls import context_for
from prejoin.transport.errors import TransportError
from prejoin.transport.request.exchange import BlockingCall, Channel, RetryDelay, SendAttempt, SendFailure, SendProgress


class AsyncDriver:
    """Runs the exchanges of any number of tasks of one loop, over its own connections."""

    def __init__(self, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        self.channel = channel
        self.loop = loop
        self._idle: list[AsyncConnection] = []
        """The warmest last."""
        self._open = 0
        """Connections there are: idle, in use, or being opened."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False

    async def send(self, operation: str, body: bytes) -> bytes:
        exchange = self.channel.exchange(operation, body)
        step = next(exchange)
        while True:
            result: object = None
            if type(step) is SendAttempt:
                result = await self._attempt(step)
            elif type(step) is RetryDelay:
                await asyncio.sleep(step.seconds)
            elif type(step) is BlockingCall:
                try:
                    result = await self.loop.run_in_executor(None, step.call)
                except Exception as error:
                    step = exchange.throw(error)
                    continue
            try:
                step = exchange.send(result)
            except StopIteration as stop:
                response: bytes = stop.value
                return response

    def close(self) -> None:
        """Close idle connections now, and used ones when their response is there."""
        self._closed = True
        while self._idle:
            self._drop(self._idle.pop())
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def _attempt(self, attempt: SendAttempt) -> WireResponse | SendFailure:
        try:
            connection = await self._take(fresh=attempt.fresh)
        except (OSError, TransportError) as error:
            return SendFailure(SendProgress.UNSENT, error)
        try:
            return await connection.ask(attempt.request)
        finally:
            self._give(connection)

    async def _take(self, *, fresh: bool) -> AsyncConnection:
        while True:
            if self._closed:
                raise TransportError("the transport is closed")
            while self._idle and not fresh:
                connection = self._idle.pop()
                if connection.is_usable():
                    return connection
                self._drop(connection)
            if fresh and self._idle and self._open >= self.channel.settings.pool:
                self._drop(self._idle.pop(0))
            if self._open < self.channel.settings.pool:
                self._open += 1
                try:
                    return await self._connect()
                except BaseException:
                    self._open -= 1
                    self._wake()
                    raise
            await self._wait()

    def _give(self, connection: AsyncConnection) -> None:
        if connection.parser.keep_alive and not connection.is_closing() and not self._closed:
            connection.rest()
            self._idle.append(connection)
            self._wake()
        else:
            self._drop(connection)

    def _drop(self, connection: AsyncConnection) -> None:
        connection.close()
        self._open -= 1
        self._wake()

    def _on_closed(self, connection: AsyncConnection) -> None:
        """The server closed a connection, or it was idle for too long."""
        if connection in self._idle:
            self._idle.remove(connection)
            self._drop(connection)

    async def _wait(self) -> None:
        turn = self.loop.create_future()
        self._waiting.append(turn)
        patience = self.channel.settings.timeout
        try:
            async with asyncio.timeout(patience):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._wake()  # woken but gone, so wake the next one
            elif turn in self._waiting:
                self._waiting.remove(turn)
            if isinstance(error, TimeoutError):
                raise PoolExhausted(self.channel.settings.pool, patience) from None
            raise

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    async def _connect(self) -> AsyncConnection:
        channel, loop, settings = self.channel, self.loop, self.channel.settings
        connection = AsyncConnection(self, settings.timeout, settings.idle)
        try:
            async with asyncio.timeout(settings.connect_timeout):
                # Loading the system's certificates takes milliseconds: not on the loop, and only for TLS.
                context = await loop.run_in_executor(None, context_for, channel) if channel.url.tls else None
                if context is None:
                    entry = channel.proxy or channel.url
                    await loop.create_connection(lambda: connection, entry.host, entry.port)
                    return connection
                tls: Any = {
                    "ssl": context,
                    "server_hostname": channel.url.host,
                    "ssl_handshake_timeout": settings.connect_timeout,
                }
                if channel.proxy is not None:
                    # From here on asyncio owns the socket, even if it fails: closing it here could close another one.
                    await loop.create_connection(lambda: connection, sock=await self._tunnel(), **tls)
                else:
                    await loop.create_connection(lambda: connection, channel.url.host, channel.url.port, **tls)
                return connection
        except BaseException as error:
            connection.abandon()
            if isinstance(error, TimeoutError):
                raise TimeoutError("timed out connecting") from error
            raise

    async def _tunnel(self) -> socket.socket:
        """A socket through the proxy, usable like a direct one."""
        channel, loop = self.channel, self.loop
        assert channel.proxy is not None
        last_error: OSError = OSError("the proxy has no address")
        places = await loop.getaddrinfo(channel.proxy.host, channel.proxy.port, type=socket.SOCK_STREAM)
        for family, kind, number, _, address in places:
            sock = socket.socket(family, kind, number)
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    await loop.sock_connect(sock, address)
                except OSError as error:
                    last_error = error
                    sock.close()
                    continue
                await loop.sock_sendall(sock, tunnel_request(channel.proxy, channel.url))
                tunnel = Tunnel()
                while not tunnel.feed(await loop.sock_recv(sock, 4096)):
                    pass
            except BaseException:
                sock.close()
                raise
            return sock
        raise last_error


class AsyncConnection(asyncio.Protocol):
    """One connection: at most one request at a time, and one timer for both timeout and idleness."""

    def __init__(self, driver: AsyncDriver, timeout: float, idle: float) -> None:
        self._driver = driver
        self._loop = driver.loop
        self._timeout = timeout
        self._keep = idle
        self._received: asyncio.Future[WireResponse | SendFailure] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._end = 0.0
        """The deadline: for the response, or for the next request."""
        self._used = False
        self._lost = False
        self._abandoned = False
        self.parser = ResponseParser()

    def is_closing(self) -> bool:
        return self._lost or self._transport.is_closing()

    def is_usable(self) -> bool:
        # The loop may not have processed a close that has already arrived, so check the socket.
        return not self.is_closing() and self._loop.time() < self._end and self._quiet()

    async def ask(self, request: bytes) -> WireResponse | SendFailure:
        """Send a request and wait for its response. The connection stays usable if `parser.keep_alive` is true."""
        self.parser.begin()
        if self.is_closing():
            # The only way for a request to be unsent: after `write`, asyncio cannot tell how much was sent. Its TLS
            # transport calls `pause_writing` even for bytes that were sent long ago.
            return SendFailure(SendProgress.UNSENT, ConnectionResetError("the connection was closed"), stale=self._used)
        response: asyncio.Future[WireResponse | SendFailure] = self._loop.create_future()
        self._received = response
        self._until(self._timeout)
        self._transport.write(request)
        try:
            return await response
        except BaseException:
            self.parser.keep_alive = False
            self.close()
            raise
        finally:
            self._received = None
            self._used = True

    def rest(self) -> None:
        self._until(self._keep)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._lost:
            self._transport.abort()

    def abandon(self) -> None:
        """Give up a connection that is being opened. asyncio may still finish it if it is cancelled early."""
        self._abandoned = True

    # Callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._abandoned:
            self._transport.abort()
        self._quiet = quiet_check(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if self._received is None:
            self._driver._on_closed(self)
            self.close()  # unexpected data would be taken for the next response
            return
        try:
            if self.parser.feed(data):
                self._tell(self.parser.response())
        except MalformedResponse as error:
            self._fail(error)

    def eof_received(self) -> None:
        if self._received is None:
            self._driver._on_closed(self)
            return
        try:
            if self.parser.feed(b""):
                self._tell(self.parser.response())
        except MalformedResponse as error:
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self.parser.keep_alive = False
        if self._received is None:
            self._driver._on_closed(self)
        else:
            self._fail(exc or ConnectionResetError("the connection was closed"))

    def _tell(self, outcome: WireResponse | SendFailure) -> None:
        if self._received is not None and not self._received.done():
            self._received.set_result(outcome)

    def _fail(self, error: Exception) -> None:
        self.parser.keep_alive = False
        stale = self._used and not self.parser.began and not isinstance(error, TimeoutError)
        self._tell(SendFailure(SendProgress.LOST, error, stale=stale))

    def _until(self, seconds: float) -> None:
        """Set the deadline. The timer is only reset if it would be late, not for each request."""
        self._end = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._end:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._end, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._lost:
            return
        if self._loop.time() < self._end:
            self._timer = self._loop.call_at(self._end, self._tick)
        elif self._received is not None:
            self._fail(TimeoutError("timed out"))
        else:
            self._driver._on_closed(self)
