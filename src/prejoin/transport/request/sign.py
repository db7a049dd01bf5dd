"""AWS Signature Version 4 for DynamoDB's requests: one path, no query, always the same few headers.

Constant parts are computed once: the first half of the canonical request for an endpoint, the signing key for a day.
"""

from __future__ import annotations

from time import gmtime, strftime

from prejoin.transport.credentials import Credentials

try:  # the same functions as in hashlib and hmac, without loading the other algorithms
    from _hashlib import hmac_digest
    from _hashlib import openssl_sha256 as sha256
except ImportError:
    from hashlib import sha256
    from hmac import digest as hmac_digest  # type: ignore[assignment]

CONTENT_TYPE = "application/x-amz-json-1.0"
TARGET = "DynamoDB_20120810."
STREAMS_TARGET = "DynamoDBStreams_20120810."
_ALGORITHM = "AWS4-HMAC-SHA256"


class _Day:
    """The common part of a day's signatures with one key."""

    __slots__ = ("credentials", "day", "key", "names", "opening", "scope", "token_header", "token_line")

    def __init__(self, credentials: Credentials, day: str, region: str) -> None:
        self.credentials = credentials
        self.day = day
        self.scope = f"{day}/{region}/dynamodb/aws4_request"
        self.key = f"AWS4{credentials.secret_key}".encode()
        for part in self.scope.split("/"):
            self.key = hmac_digest(self.key, part.encode(), "sha256")
        token = credentials.token
        self.token_line = f"x-amz-security-token:{token}\n" if token else ""
        self.token_header = f"X-Amz-Security-Token: {token}\r\n" if token else ""
        self.names = f"content-type;host;x-amz-date;{'x-amz-security-token;' if token else ''}x-amz-target"
        self.opening = (
            f"Authorization: {_ALGORITHM} Credential={credentials.access_key}/{self.scope}, "
            f"SignedHeaders={self.names}, Signature="
        )


class Signer:
    """Signs requests to one endpoint in one region. Threads may share it.

    >>> signer = Signer("dynamodb.us-east-1.amazonaws.com", "/", "us-east-1")
    >>> print(signer.headers("ListTables", b"{}", Credentials("AKIDEXAMPLE", "secret"), 1700000000.5).strip())
    X-Amz-Date: 20231114T221320Z
    Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/us-east-1/dynamodb/aws4_request,
    SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=70ca5b89...
    """

    __slots__ = ("_day", "_head", "_region", "_second", "_target")

    def __init__(self, host: str, path: str, region: str, target: str = TARGET) -> None:
        self._region = region
        self._target = target
        self._head = f"POST\n{path}\n\ncontent-type:{CONTENT_TYPE}\nhost:{host}\nx-amz-date:"
        self._second = (0, "")
        self._day: _Day | None = None

    def headers(self, operation: str, body: bytes, credentials: Credentials, moment: float) -> str:
        """The header lines that sign a request at a time, in seconds since 1970."""
        stamp = self._stamp(int(moment))
        day = self._day
        # Each of the two caches is one object, replaced as a whole, so threads see either the old or the new one.
        if day is None or day.credentials is not credentials or day.day != stamp[:8]:
            self._day = day = _Day(credentials, stamp[:8], self._region)
        canonical = (
            f"{self._head}{stamp}\n{day.token_line}x-amz-target:{self._target}{operation}\n\n"
            f"{day.names}\n{sha256(body).hexdigest()}"
        )
        to_sign = f"{_ALGORITHM}\n{stamp}\n{day.scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac_digest(day.key, to_sign.encode(), "sha256").hex()
        return f"X-Amz-Date: {stamp}\r\n{day.token_header}{day.opening}{signature}\r\n"

    def _stamp(self, second: int) -> str:
        second_of_stamp, stamp = self._second
        if second_of_stamp != second:
            stamp = strftime("%Y%m%dT%H%M%SZ", gmtime(second))
            self._second = (second, stamp)
        return stamp
