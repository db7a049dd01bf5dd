"""A DynamoDB over HTTP: one object that serves threads and event loops, and opens nothing until it is used."""

from __future__ import annotations

import os
import weakref
from _thread import allocate_lock
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from prejoin.transport.credentials import Credentials, Keyring, Source, always
from prejoin.transport.errors import NotConfigured, TransportError
from prejoin.transport.settings import Settings
from prejoin.transport.url import Url

if TYPE_CHECKING:
    import asyncio

    from prejoin.transport.connection.aio import AsyncDriver
    from prejoin.transport.connection.sync import SyncDriver
    from prejoin.transport.request.attempt import Core

R = TypeVar("R", bound="Remote")


class Remote:
    """What `AWS` and `Endpoint` have in common: all but the question where it is."""

    concurrent = True
    """Waiting takes longer than threads do: several requests of one read may go side by side."""

    def __init__(self, settings: Settings, credentials: Credentials | Source | None, proxy: str | bool) -> None:
        self._settings = settings
        self._credentials = credentials
        self._proxy = proxy
        self._lock = allocate_lock()
        self._core: Core | None = None
        self._sync: SyncDriver | None = None
        self._async: dict[asyncio.AbstractEventLoop, AsyncDriver] = {}
        self._closed = False
        _alive.add(self)

    def _locate(self, environ: Mapping[str, str]) -> tuple[Url, str]:
        """The address and the region. It may read files, and raises NotConfigured."""
        raise NotImplementedError

    def _source(self, url: Url) -> Source:
        """Where to look for credentials that were not given."""
        raise NotImplementedError

    def send(self, operation: str, body: bytes) -> bytes:
        """Sends the JSON body of one operation and gives the JSON body of its answer.

        Raises DynamoDBError where DynamoDB answers with one, TransportError where no answer came.
        """
        return (self._sync or self._open_sync()).send(operation, body)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        """`send`, for those who await; each event loop has connections of its own."""
        from asyncio import get_running_loop

        loop = get_running_loop()
        driver = self._async.get(loop)
        if driver is None:
            if self._core is None:
                await loop.run_in_executor(None, self._open)
            driver = self._open_async(loop)
        return await driver.send(operation, body)

    def close(self) -> None:
        """Closes the connections. A request that is being answered is answered; there are none after it."""
        with self._lock:
            self._closed = True
            if self._sync is not None:
                self._sync.close()
            drivers, self._async = dict(self._async), {}
        for loop, driver in drivers.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(driver.close)

    async def close_async(self) -> None:
        """`close`, waiting until the connections of this event loop are closed."""
        from asyncio import sleep

        self.close()
        await sleep(0)  # the drivers are told to close
        await sleep(0)  # and their sockets are

    def __enter__(self: R) -> R:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self: R) -> R:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_async()

    def _open(self) -> Core:
        """Find out where it is and what to sign with; the credentials themselves are looked for when signing."""
        with self._lock:
            if self._closed:
                raise TransportError("the transport is closed")
            if self._core is None:
                from prejoin.transport.request.attempt import Core

                url, region = self._locate(os.environ)
                given = self._credentials
                source = always(given) if isinstance(given, Credentials) else given or self._source(url)
                self._core = Core(url, region, self._find_proxy(url), Keyring(source), self._settings)
            return self._core

    def _open_sync(self) -> SyncDriver:
        from prejoin.transport.connection.sync import SyncDriver

        core = self._open()
        with self._lock:
            if self._sync is None:
                self._sync = SyncDriver(core)
            return self._sync

    def _open_async(self, loop: asyncio.AbstractEventLoop) -> AsyncDriver:
        from prejoin.transport.connection.aio import AsyncDriver

        core = self._open()
        with self._lock:
            # Loops that ended, as each asyncio.run's does, would be kept alive by their connections.
            self._async = {known: driver for known, driver in self._async.items() if not known.is_closed()}
            return self._async.setdefault(loop, AsyncDriver(core, loop))

    def _find_proxy(self, url: Url) -> Url | None:
        if self._proxy is False:
            return None
        from prejoin.transport.connection.proxy import from_environment, read_proxy

        try:
            return from_environment(url, os.environ) if self._proxy is True else read_proxy(self._proxy)
        except ValueError as error:
            raise NotConfigured(str(error)) from None

    def _after_fork(self) -> None:
        """In a child: nothing of the parent's is used. Loops do not survive a fork, so neither do their drivers."""
        self._lock = allocate_lock()
        self._async = {}
        if self._core is not None:
            self._core.after_fork()
        if self._sync is not None:
            self._sync.pool.forget()


_alive: weakref.WeakSet[Any] = weakref.WeakSet()


def _forked() -> None:
    for remote in tuple(_alive):
        remote._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
