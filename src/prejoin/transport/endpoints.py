"""HTTP transports: `AWS`, by region, and `Endpoint`, any server with DynamoDB's protocol, by address."""

from __future__ import annotations

import os
import re
import weakref
from _thread import allocate_lock
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from prejoin.transport.credentials import (
    CredentialCache,
    CredentialChain,
    Credentials,
    Source,
    local_credentials,
    static_source,
)
from prejoin.transport.errors import NotConfigured, TransportError
from prejoin.transport.settings import OnRetry, Retries, TransportSettings
from prejoin.transport.url import Url, read_url

if TYPE_CHECKING:
    import asyncio
    from ssl import SSLContext

    from prejoin.transport.connection.aio import AsyncDriver
    from prejoin.transport.connection.sync import SyncDriver
    from prejoin.transport.request.exchange import Channel

R = TypeVar("R", bound="RemoteTransport")


class RemoteTransport:
    """The common part of `AWS` and `Endpoint`: serves threads and event loops, and opens nothing until it is used."""

    concurrent = True
    """Network latency outweighs the cost of threads, so one read may send several requests in parallel."""
    streams = False
    """Whether it sends the operations of DynamoDB Streams."""

    def __init__(
        self, settings: TransportSettings, credentials: Credentials | Source | None, proxy: str | bool
    ) -> None:
        self._settings = settings
        self._credentials = credentials
        self._proxy = proxy
        self._lock = allocate_lock()
        self._channel: Channel | None = None
        self._sync: SyncDriver | None = None
        self._async: dict[asyncio.AbstractEventLoop, AsyncDriver] = {}
        self._closed = False
        _alive.add(self)

    def _locate(self, environ: Mapping[str, str]) -> tuple[Url, str]:
        """The address and the region. May read files, and raises NotConfigured."""
        raise NotImplementedError

    def _source(self, url: Url) -> Source:
        """Where to look for credentials that were not passed."""
        raise NotImplementedError

    def send(self, operation: str, body: bytes) -> bytes:
        """Send the JSON body of one operation and return the JSON body of the response.

        Raises DynamoDBError if DynamoDB returns an error, and TransportError if no response came.
        """
        return (self._sync or self._open_sync()).send(operation, body)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        """Like `send`, for asyncio. Each event loop has its own connections."""
        from asyncio import get_running_loop

        loop = get_running_loop()
        driver = self._async.get(loop)
        if driver is None:
            if self._channel is None:
                await loop.run_in_executor(None, self._open)
            driver = self._open_async(loop)
        return await driver.send(operation, body)

    def close(self) -> None:
        """Close the connections. Running requests still get their responses; new ones are refused."""
        with self._lock:
            self._closed = True
            if self._sync is not None:
                self._sync.close()
            drivers, self._async = dict(self._async), {}
        for loop, driver in drivers.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(driver.close)

    async def close_async(self) -> None:
        """Like `close`, but wait until the connections of this event loop are closed."""
        from asyncio import sleep

        self.close()
        await sleep(0)  # the drivers close
        await sleep(0)  # and then their sockets

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

    def _open(self) -> Channel:
        """Find the address and the source of credentials. Credentials themselves are fetched when signing."""
        with self._lock:
            if self._closed:
                raise TransportError("the transport is closed")
            if self._channel is None:
                from prejoin.transport.request.exchange import Channel

                url, region = self._locate(os.environ)
                credentials = self._credentials
                source = (
                    static_source(credentials)
                    if isinstance(credentials, Credentials)
                    else credentials or self._source(url)
                )
                cache, proxy = CredentialCache(source), self._find_proxy(url)
                self._channel = Channel(url, region, proxy, cache, self._settings, self.streams)
            return self._channel

    def _open_sync(self) -> SyncDriver:
        from prejoin.transport.connection.sync import SyncDriver

        channel = self._open()
        with self._lock:
            if self._sync is None:
                self._sync = SyncDriver(channel)
            return self._sync

    def _open_async(self, loop: asyncio.AbstractEventLoop) -> AsyncDriver:
        from prejoin.transport.connection.aio import AsyncDriver

        channel = self._open()
        with self._lock:
            # Ended loops, such as those of asyncio.run, would be kept alive by their connections.
            self._async = {open_loop: driver for open_loop, driver in self._async.items() if not open_loop.is_closed()}
            return self._async.setdefault(loop, AsyncDriver(channel, loop))

    def _find_proxy(self, url: Url) -> Url | None:
        if self._proxy is False:
            return None
        from prejoin.transport.connection.proxy import from_environment, read_proxy

        try:
            return from_environment(url, os.environ) if self._proxy is True else read_proxy(self._proxy)
        except ValueError as error:
            raise NotConfigured(str(error)) from None

    def _after_fork(self) -> None:
        """In a forked child, use nothing of the parent. Event loops do not survive a fork, so drop their drivers."""
        self._lock = allocate_lock()
        self._async = {}
        if self._channel is not None:
            self._channel.after_fork()
        if self._sync is not None:
            self._sync.pool.forget()


_alive: weakref.WeakSet[Any] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for remote in tuple(_alive):
        remote._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


_RETRIES = Retries()


class AWS(RemoteTransport):
    """DynamoDB itself. The region, where it is not given, is AWS_REGION's or the profile's.

    >>> AWS("eu-west-1")
    AWS('eu-west-1')

    Credentials are the environment's, or whatever botocore finds; or `Credentials(…)`, or a function that gives them.
    Nothing is looked up, read or opened before the first request.
    """

    def __init__(
        self,
        region: str | None = None,
        *,
        credentials: Credentials | Source | None = None,
        timeout: float = 10.0,
        connect_timeout: float = 3.0,
        retries: Retries = _RETRIES,
        pool: int = 50,
        idle: float = 20.0,
        proxy: str | bool = True,
        ssl_context: SSLContext | None = None,
        on_retry: OnRetry | None = None,
    ) -> None:
        """`timeout` is for one attempt, in seconds. `pool` is the maximum number of connections, for all threads
        together and for each event loop.

        `proxy` is the environment's (True), none (False) or an address. `on_retry` is called before each retry.
        """
        settings = TransportSettings(
            timeout=timeout,
            connect_timeout=connect_timeout,
            retries=retries,
            pool=pool,
            idle=idle,
            ssl_context=ssl_context,
            on_retry=on_retry,
        )
        super().__init__(settings, credentials, proxy)
        self._region = region if region is None else checked_region(region)

    def __repr__(self) -> str:
        return f"AWS({self._region!r})" if self._region else "AWS()"

    def _locate(self, environ: Mapping[str, str]) -> tuple[Url, str]:
        region = self._region or find_region(environ)
        override = environ.get("AWS_ENDPOINT_URL_DYNAMODB") or environ.get("AWS_ENDPOINT_URL")
        if override and not _is_on(environ, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"):
            return _address(override, "AWS_ENDPOINT_URL"), region
        fips, dual_stack = _is_on(environ, "AWS_USE_FIPS_ENDPOINT"), _is_on(environ, "AWS_USE_DUALSTACK_ENDPOINT")
        host = endpoint_host(region, fips=fips, dual_stack=dual_stack, streams=self.streams)
        return Url("https", host, 443), region

    def _source(self, url: Url) -> Source:
        return CredentialChain()


class Endpoint(RemoteTransport):
    """Any server that speaks DynamoDB's protocol: `prejoin serve`, DynamoDB Local, a proxy of your own.

    >>> Endpoint("http://127.0.0.1:8000")
    Endpoint('http://127.0.0.1:8000')

    For a server on this machine no credentials are needed: where the environment has none, any are used.
    """

    def __init__(
        self,
        url: str,
        *,
        region: str = "us-east-1",
        credentials: Credentials | Source | None = None,
        timeout: float = 10.0,
        connect_timeout: float = 3.0,
        retries: Retries = _RETRIES,
        pool: int = 50,
        idle: float = 20.0,
        proxy: str | bool = True,
        ssl_context: SSLContext | None = None,
        on_retry: OnRetry | None = None,
    ) -> None:
        """Like `AWS`. The region is part of the signature."""
        settings = TransportSettings(
            timeout=timeout,
            connect_timeout=connect_timeout,
            retries=retries,
            pool=pool,
            idle=idle,
            ssl_context=ssl_context,
            on_retry=on_retry,
        )
        super().__init__(settings, credentials, proxy)
        self._url = _address(url, "the endpoint")
        self._region = checked_region(region)

    def __repr__(self) -> str:
        return f"Endpoint({str(self._url)!r})"

    def _locate(self, environ: Mapping[str, str]) -> tuple[Url, str]:
        return self._url, self._region

    def _source(self, url: Url) -> Source:
        return local_credentials if url.is_loopback else CredentialChain()


class AWSStreams(AWS):
    """DynamoDB Streams itself: other addresses than `AWS`, and other operations."""

    streams = True


class EndpointStreams(Endpoint):
    """DynamoDB Streams of a server that has both at one address."""

    streams = True


def _address(text: str, label: str) -> Url:
    try:
        url = read_url(text)
    except ValueError as error:
        raise NotConfigured(f"{label} {error}") from None
    if url.user is not None:
        raise NotConfigured(f"{label} {url} has a user in it: requests are signed, give credentials=… instead")
    return url


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() == "true"


_PARTITIONS = (
    # Region prefix, domain, domain of dual-stack endpoints.
    ("cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    ("eusc-", "amazonaws.eu", "api.amazonwebservices.eu"),
    ("us-iso-", "c2s.ic.gov", "api.aws.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov", "api.aws.scloud"),
    ("eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    ("us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    ("", "amazonaws.com", "api.aws"),
)
_REGION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def endpoint_host(region: str, *, fips: bool = False, dual_stack: bool = False, streams: bool = False) -> str:
    """The host name of a region's DynamoDB, or of its DynamoDB Streams.

    >>> endpoint_host("eu-west-1"), endpoint_host("cn-north-1")
    ('dynamodb.eu-west-1.amazonaws.com', 'dynamodb.cn-north-1.amazonaws.com.cn')
    >>> endpoint_host("us-east-1", fips=True, dual_stack=True)
    'dynamodb-fips.us-east-1.api.aws'
    """
    domain, dual = next((domain, dual) for start, domain, dual in _PARTITIONS if region.startswith(start))
    # The ordinary endpoints of GovCloud are already FIPS endpoints.
    service = "dynamodb-fips" if fips and (dual_stack or not region.startswith("us-gov-")) else "dynamodb"
    if streams:
        service = f"streams{'-' if dual_stack and '-iso' not in region else '.'}{service}"
    return f"{service}.{region}.{dual if dual_stack else domain}"


def find_region(environ: Mapping[str, str]) -> str:
    """AWS_REGION, AWS_DEFAULT_REGION, or the profile's region if botocore is installed."""
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or _from_profile()
    if not region:
        raise NotConfigured(
            "no region: pass it, as in AWS('eu-west-1'), or set AWS_REGION "
            "(a region in ~/.aws/config is read if the `aws` extra is installed)"
        )
    return checked_region(region)


def checked_region(region: str) -> str:
    """Check a region, because it becomes part of a host name."""
    if not _REGION.fullmatch(region):
        raise NotConfigured(f"{region!r} is not a region such as eu-west-1")
    return region


def _from_profile() -> str | None:
    try:
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
        from botocore.session import Session  # type: ignore[import-untyped]
    except ImportError:
        return None
    try:
        region: str | None = Session().get_config_variable("region")
    except BotoCoreError as error:
        raise NotConfigured(f"no region: {error}", cause=error) from error
    return region
