"""The server: listens, watches its connections, and stops without aborting running requests."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from prejoin.engine.embedded import Embedded
from prejoin.engine.http.admin import Admin
from prejoin.engine.http.connection import ServerConnection
from prejoin.engine.http.handler import SHORT_READS, SHORT_WRITES, Backend, RequestHandler
from prejoin.engine.http.limits import Limits
from prejoin.engine.http.origin_policy import OriginPolicy
from prejoin.engine.http.signature import KeyPair
from prejoin.engine.regions import Regions

_THREADS = 4
_BACKLOG = 512
_LOOPBACK, _LOOPBACK_6 = "127.0.0.1", "::1"
_NO_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_QUIET_SECONDS = 60.0
_log = logging.getLogger(__name__)


class Server:
    """Serves an engine on a port of this machine. Port 0 means any free port. The default host is 127.0.0.1, and with
    it ::1: clients find `localhost` at either.

    In a test it runs in its own thread:

    >>> from urllib.request import urlopen
    >>> from prejoin.engine import Embedded
    >>> with Embedded() as engine, Server(engine, port=0) as url:
    ...     urlopen(url).read()
    b'healthy: prejoin\\n'

    `run()` serves in the thread that calls it, until SIGTERM or SIGINT. The engine is the caller's, to be closed after.
    """

    def __init__(
        self,
        engine: Backend,
        *,
        host: str = _LOOPBACK,
        port: int = 8000,
        keys: KeyPair | None = None,
        policy: OriginPolicy | None = None,
        limits: Limits | None = None,
        in_memory: bool = False,
        regions: Regions | None = None,
    ) -> None:
        """`in_memory` says that no other process can block the engine: short writes then run on the event loop.
        `regions` keep tables apart; the engine is then their home.
        """
        at_once = SHORT_READS | SHORT_WRITES if in_memory else SHORT_READS
        self._limits = limits or Limits()
        admin = Admin(engine) if isinstance(engine, Embedded) else None
        self._handler = RequestHandler(engine, policy or OriginPolicy(), keys, at_once, self._limits, regions, admin)
        self._address = (host, port)
        self._socket: socket.socket | None = None
        self._second: socket.socket | None = None
        """The socket on ::1, beside one on 127.0.0.1."""
        self._warned = -_QUIET_SECONDS
        self._connections: set[ServerConnection] = set()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_event: asyncio.Event | None = None

    @property
    def url(self) -> str:
        """The URL for clients, once the server listens."""
        if self._socket is None:
            raise RuntimeError("the server is not listening yet")
        listens, port = self._socket.getsockname()[:2]
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listens, str(listens))  # noqa: S104
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def listen(self) -> str:
        """Bind the port, or raise OSError. Return the URL. Clients that connect from now on wait to be served."""
        if self._socket is None:
            host, port = self._address
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family, backlog=_BACKLOG)
            if host == _LOOPBACK:
                self._second = self._listen_on_ipv6(self._socket.getsockname()[1], requested_port=port)
        return self.url

    def _listen_on_ipv6(self, port: int, *, requested_port: int) -> socket.socket | None:
        """Bind the same port of ::1. A machine without IPv6 has none."""
        try:
            return socket.create_server((_LOOPBACK_6, port), family=socket.AF_INET6, backlog=_BACKLOG)
        except OSError as error:
            # On a port that the user has chosen, another program at ::1 would get the requests of some clients of
            # `localhost`. A free port is only free on 127.0.0.1, and clients are told that address.
            if requested_port and error.errno == errno.EADDRINUSE:
                assert self._socket is not None
                self._socket.close()
                self._socket = None
                raise
            return None

    def run(self, on_ready: Callable[[str], None] = lambda url: None) -> None:
        """Serve until SIGTERM or SIGINT. Only in a program's main thread."""
        url = self.listen()
        asyncio.run(self._serve(lambda: on_ready(url), signals=True))

    def start(self) -> str:
        """Serve in a thread until `stop()`. Return the URL."""
        url = self.listen()
        ready = threading.Event()

        def serve() -> None:
            try:
                asyncio.run(self._serve(ready.set, signals=False))
            finally:
                # Whoever waits is not left waiting, whatever happened.
                ready.set()

        self._thread = threading.Thread(target=serve, name="prejoin-http", daemon=True)
        self._thread.start()
        ready.wait()
        return url

    def stop(self) -> None:
        """Finish running requests and close."""
        loop, event, thread = self._loop, self._stop_event, self._thread
        if thread is None or loop is None or event is None:
            return
        with contextlib.suppress(RuntimeError):
            # The loop may have ended by itself.
            loop.call_soon_threadsafe(event.set)
        thread.join()
        self._thread = None

    def __enter__(self) -> str:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _serve(self, on_ready: Callable[[], None], *, signals: bool) -> None:
        assert self._socket is not None
        self._loop = loop = asyncio.get_running_loop()
        self._stop_event = stop_event = asyncio.Event()
        loop.set_exception_handler(self._report)
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stop_event.set)
        with ThreadPoolExecutor(_THREADS, "prejoin-engine") as pool:
            sockets = [self._socket] if self._second is None else [self._socket, self._second]
            servers = [await loop.create_server(lambda: self._connection(pool), sock=listener) for listener in sockets]
            caretaker = asyncio.create_task(self._look_after())
            try:
                on_ready()
                await stop_event.wait()
            finally:
                for server in servers:
                    server.close()
                await self._finish()
                caretaker.cancel()
                self._socket = self._second = None

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop. Out of file descriptors, asyncio would log a traceback each second."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _NO_RESOURCES:
            loop.default_exception_handler(context)
        # At most one warning a minute.
        elif loop.time() - self._warned > _QUIET_SECONDS:
            self._warned = loop.time()
            _log.warning(
                "New connections have to wait: %s, with %d open. Raise the limit (ulimit -n), or close some.",
                error.strerror,
                len(self._connections),
            )

    def _connection(self, pool: ThreadPoolExecutor) -> ServerConnection:
        connection = ServerConnection(self._handler, self._limits, pool, self._connections.discard)
        self._connections.add(connection)
        return connection

    async def _look_after(self) -> None:
        loop = asyncio.get_running_loop()
        limits = self._limits
        shortest = min(limits.head_seconds, limits.pause_seconds, limits.request_seconds, limits.idle_seconds)
        while True:
            await asyncio.sleep(min(1.0, shortest / 4))
            now = loop.time()
            for connection in tuple(self._connections):
                connection.look_after(now)

    async def _finish(self) -> None:
        for connection in tuple(self._connections):
            connection.stop()
        loop = asyncio.get_running_loop()
        # A client that does not read its response could keep its connection open for ever.
        deadline = loop.time() + self._limits.stop_seconds
        while self._connections and loop.time() < deadline:
            await asyncio.sleep(0.01)
        for connection in tuple(self._connections):
            connection.abort()
        await asyncio.sleep(0)
