"""Where a DynamoDB is: AWS, by region; or any server that speaks its protocol, by address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prejoin.transport.credentials import Chain, Credentials, Source, for_this_machine
from prejoin.transport.errors import NotConfigured
from prejoin.transport.regions import checked_region, find_region, host_of
from prejoin.transport.remote import Remote
from prejoin.transport.settings import OnRetry, Retries, Settings
from prejoin.transport.url import Url, read_url

if TYPE_CHECKING:
    from ssl import SSLContext

_RETRIES = Retries()


class AWS(Remote):
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
        """`timeout` is for one attempt, in seconds; `pool` the most connections, for all threads and for each loop.

        `proxy` is the environment's (True), none (False) or an address. `on_retry` is told of each repetition.
        """
        settings = Settings(
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
        return Url("https", host_of(region, fips=fips, dual_stack=dual_stack), 443), region

    def _source(self, url: Url) -> Source:
        return Chain()


class Endpoint(Remote):
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
        """As for `AWS`. The region is part of what is signed."""
        settings = Settings(
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
        return for_this_machine if url.is_loopback else Chain()


def _address(text: str, what: str) -> Url:
    try:
        url = read_url(text)
    except ValueError as error:
        raise NotConfigured(f"{what} {error}") from None
    if url.user is not None:
        raise NotConfigured(f"{what} {url} has a user in it: requests are signed, give credentials=… instead")
    return url


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() == "true"
