"""Requests to S3, or to any server with its API: GET, PUT, DELETE and LIST of objects, signed and retried.

They use the connections, credentials and retry quota that requests to DynamoDB use. All four may be repeated.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from hashlib import sha256
from hmac import digest as hmac_digest
from time import gmtime, strftime, time
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import ParseError, fromstring

import msgspec

from prejoin._version import __version__
from prejoin.transport.connection.http import WireResponse
from prejoin.transport.connection.proxy import authorization
from prejoin.transport.connection.sync import SyncDriver
from prejoin.transport.credentials import Credentials, Source
from prejoin.transport.endpoints import Endpoint, endpoint_host, find_region
from prejoin.transport.errors import AnswerLost, ConnectionFailed, NotConfigured, TransportError
from prejoin.transport.request.exchange import BlockingCall, Channel, RetryDelay, SendAttempt, SendProgress, Step

_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_SAFE = "-_.~/"
_TIMEOUT = 60.0
"""Seconds for one attempt: an object has up to 8 MB."""


class S3Error(TransportError):
    """S3 refused a request. `code` is its error code, such as AccessDenied."""

    def __init__(self, message: str, code: str = "", *, operation: str = "", attempts: int = 0) -> None:
        super().__init__(message, operation=operation, attempts=attempts)
        self.code = code


class S3Request(msgspec.Struct, frozen=True):
    """One request, without its signature."""

    method: str
    path: str
    """With slashes, not encoded."""
    query: Mapping[str, str] = {}
    body: bytes = b""
    headers: Mapping[str, str] = {}
    """Further headers, which are not signed."""


def signed_headers(
    request: S3Request, host: str, region: str, credentials: Credentials, moment: float
) -> dict[str, str]:
    """Return the headers of a request, with its signature (AWS Signature Version 4).

    >>> keys = Credentials("AKIDEXAMPLE", "secret")
    >>> found = signed_headers(S3Request("GET", "/a"), "bucket.s3.us-east-1.amazonaws.com", "us-east-1", keys, 1.7e9)
    >>> found["x-amz-date"], found["Authorization"].partition(",")[0]
    ('20231114T221320Z', 'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/us-east-1/s3/aws4_request')
    """
    stamp = strftime("%Y%m%dT%H%M%SZ", gmtime(moment))
    content = sha256(request.body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": content, "x-amz-date": stamp}
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = f"{request.method}\n{quote(request.path, safe=_SAFE)}\n{_query(request)}\n{lines}\n{names}\n{content}"
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac_digest(key, part.encode(), "sha256")
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    signature = hmac_digest(key, to_sign.encode(), "sha256").hex()
    fields = f"Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, **request.headers, "Authorization": f"AWS4-HMAC-SHA256 {fields}"}


def _query(request: S3Request) -> str:
    return "&".join(
        f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(request.query.items())
    )


class S3Store:
    """An object store in an S3 bucket: `Large("body", S3Store("my-bucket"))`.

    The region, where it is not given, is AWS_REGION's or the profile's. `endpoint` is the address of another server
    with the API of S3: MinIO, moto. Objects have keys that begin with `prefix`. Credentials are found as for `AWS`.
    The bucket has to exist; it needs s3:GetObject, PutObject, DeleteObject and ListBucket.
    """

    def __init__(
        self,
        bucket: str,
        *,
        prefix: str = "",
        region: str | None = None,
        endpoint: str | None = None,
        credentials: Credentials | Source | None = None,
    ) -> None:
        self._bucket, self._prefix = bucket, prefix
        self._region, self._endpoint, self._credentials = region, endpoint, credentials
        self._transport: Endpoint | None = None
        self._driver: SyncDriver | None = None
        self._host, self._base = "", ""

    def __repr__(self) -> str:
        return f"S3Store({self._bucket!r})"

    def put(self, key: str, data: bytes) -> None:
        """Write an object completely, or not at all."""
        self._send("PUT", key, body=data)

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        """Return the bytes from `start` up to `end` of an object; None if it does not exist."""
        if end is not None and end <= start:
            return b""
        headers = {} if start == 0 and end is None else {"Range": f"bytes={start}-{'' if end is None else end - 1}"}
        return self._send("GET", key, headers=headers, missing=True)

    def delete(self, key: str) -> None:
        """Delete an object. A missing one is no error."""
        self._send("DELETE", key, missing=True)

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with a prefix."""
        query = {"list-type": "2", "prefix": self._prefix + prefix}
        while True:
            answer = self._send("GET", None, query=query)
            try:
                page = fromstring(answer or b"")  # noqa: S314 - of the bucket's own server
            except ParseError as error:
                raise S3Error(f"{self} did not list its objects in XML: {error}", operation="GET") from None
            space = page.tag.partition("}")[0] + "}" if page.tag.startswith("{") else ""
            for element in page.iterfind(f"{space}Contents/{space}Key"):
                yield (element.text or "").removeprefix(self._prefix)
            token = page.findtext(f"{space}NextContinuationToken")
            if not token:
                return
            query["continuation-token"] = token

    def close(self) -> None:
        """Close the connections."""
        if self._transport is not None:
            self._transport.close()
        if self._driver is not None:
            self._driver.close()

    def _send(
        self,
        method: str,
        key: str | None,
        *,
        query: Mapping[str, str] = {},
        headers: Mapping[str, str] = {},
        body: bytes = b"",
        missing: bool = False,
    ) -> bytes | None:
        driver = self._driver or self._open()
        path = self._base if key is None else f"{self._base.rstrip('/')}/{self._prefix}{key}"
        return driver.run(self._exchange(driver.channel, S3Request(method, path, query, body, headers), missing))

    def _open(self) -> SyncDriver:
        region = self._region or ("us-east-1" if self._endpoint else find_region(os.environ))
        if self._endpoint is None:
            host = endpoint_host(region).replace("dynamodb.", "s3.", 1)
            # A bucket with dots has no certificate of its own.
            has_own_host = "." not in self._bucket
            if has_own_host:
                address, self._base = f"https://{self._bucket}.{host}", "/"
            else:
                address, self._base = f"https://{host}", f"/{self._bucket}"
        else:
            address, self._base = self._endpoint, f"/{self._bucket}"
        self._transport = Endpoint(address, region=region, credentials=self._credentials, timeout=_TIMEOUT)
        channel = self._transport._open()
        self._host = channel.url.authority
        self._region = region
        self._driver = SyncDriver(channel)
        return self._driver

    def _exchange(self, channel: Channel, request: S3Request, missing: bool) -> Generator[Step, Any, bytes | None]:
        attempts = 0
        while True:
            credentials = channel.keyring.current(time()) or (yield BlockingCall(channel.keyring.renew))
            outcome = yield SendAttempt(self._bytes(channel, request, credentials), attempts > 0)
            attempts += 1
            response = outcome if isinstance(outcome, WireResponse) else None
            if response is not None:
                if response.status < 300:
                    channel.quota.earn(attempts - 1)
                    return response.body
                if response.status == 404 and missing and _code(response) != "NoSuchBucket":
                    return None
                if response.status == 416:  # the range begins at the end of the object
                    return b""
            # Each of these operations has the same result if it is done twice.
            may_retry = response is None or response.status in _BUSY
            if not may_retry or attempts >= channel.settings.retries.attempts or not channel.quota.spend():
                raise self._failure(request, response, outcome, attempts)
            yield RetryDelay(channel._delay(attempts))

    def _bytes(self, channel: Channel, request: S3Request, credentials: Credentials) -> bytes:
        assert self._region is not None
        url, proxy = channel.url, channel.proxy
        query = _query(request)
        target = quote(request.path, safe=_SAFE) + (f"?{query}" if query else "")
        through = proxy is not None and not url.tls
        headers = signed_headers(request, self._host, self._region, credentials, time())
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        extra = authorization(proxy) if proxy is not None and through else ""
        first = f"{url.scheme}://{url.authority}{target}" if through else target
        head = (
            f"{request.method} {first} HTTP/1.1\r\n{lines}User-Agent: prejoin/{__version__}\r\n{extra}"
            f"Content-Length: {len(request.body)}\r\n\r\n"
        )
        return head.encode("ascii") + request.body

    def _failure(
        self, request: S3Request, response: WireResponse | None, outcome: Any, attempts: int
    ) -> TransportError:
        request_text = f"{request.method} of {request.path} in {self}"
        if response is not None:
            code = _code(response)
            kind = NotConfigured if response.status < 400 else None
            message = f"{request_text} was refused: {response.status} {code}"
            return kind(message) if kind else S3Error(message, code, operation=request.method, attempts=attempts)
        error_class = AnswerLost if outcome.how is SendProgress.LOST else ConnectionFailed
        return error_class(
            f"{request_text} failed: {outcome.cause}", operation=request.method, attempts=attempts, cause=outcome.cause
        )


def _code(response: WireResponse) -> str:
    """Return the code of an error, such as NoSuchKey; empty if there is none."""
    try:
        page = fromstring(response.body)  # noqa: S314 - of the bucket's own server
    except ParseError:
        return ""
    return page.findtext("Code") or ""
