"""Verifies AWS Signature Version 4: headers, payload and time. Errors have AWS's wording and order."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import quote, unquote_to_bytes

from prejoin.engine.http.messages import NO_TOKEN, HttpRequest, HttpResponse, outer_error

_ALGORITHM = "AWS4-HMAC-SHA256"
_SKEW = timedelta(minutes=15)
_BASIC = re.compile(r"\d{8}T\d{6}Z")
_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)


@dataclass(frozen=True, slots=True)
class KeyPair:
    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"KeyPair({self.access_key!r}, …)"


@dataclass(frozen=True, slots=True)
class _Authorization:
    algorithm: str
    access_key: str
    scope: tuple[str, str, str, str]
    """Day, region, service, terminator."""
    signed: tuple[str, ...]
    signature: str
    moment: datetime

    @property
    def date(self) -> str:
        return self.moment.strftime("%Y%m%dT%H%M%SZ")


class _RefusedError(Exception):
    def __init__(self, kind: str, message: str) -> None:
        self.response = outer_error(f"{kind}Exception", message)


def has_token(request: HttpRequest) -> bool:
    """Whether a request carries any signature."""
    header = request.header(b"authorization")
    return (header or b"").lstrip().startswith(b"AWS4-") or (header is None and b"X-Amz-Signature=" in request.url)


_CREDENTIAL = re.compile(rb"Credential=([^/,\s]+)/[^/,\s]*/([^/,\s]+)/")


def caller(request: HttpRequest) -> tuple[str, str]:
    """The region and the access key of a request, as it claims; "local" and nothing if it does not say."""
    credential = _CREDENTIAL.search(request.header(b"authorization") or b"")
    if credential is None:
        return "local", ""
    return credential.group(2).decode("latin-1"), credential.group(1).decode("latin-1")


def refusal(request: HttpRequest, keys: KeyPair, now: datetime | None = None) -> HttpResponse | None:
    """The response to a request that is not signed with these keys; None if it is. Session tokens are ignored."""
    if not has_token(request):
        return NO_TOKEN
    try:
        # AWS's order: the form of the header, then time and scope, then the key, and the signature last.
        authorization = _authorization(request)
        _check_scope(authorization, now or datetime.now(UTC))
        # In constant time, so that the time of a response says nothing about the right key.
        if not hmac.compare_digest(authorization.access_key.encode(), keys.access_key.encode()):
            raise _RefusedError("UnrecognizedClient", "The security token included in the request is invalid.")
        signature = _expected_signature(request, authorization, keys.secret_key)
        if not hmac.compare_digest(signature.encode(), authorization.signature.encode()):
            raise _RefusedError("InvalidSignature", _MISMATCH)
    except _RefusedError as error:
        return error.response
    return None


def _authorization(request: HttpRequest) -> _Authorization:
    header = (request.header(b"authorization") or b"").decode("latin-1").strip()
    algorithm, _, parameters = header.partition(" ")
    parts: dict[str, str] = {}
    for part in re.split(r"[,\s]+", parameters.strip(", ")):
        name, equals, value = part.partition("=")
        if not equals:
            raise _RefusedError(
                "IncompleteSignature",
                f"'{name}' not a valid key=value pair (missing equal-sign) in Authorization header: '{header}'.",
            )
        parts[name] = value
    date = request.header(b"x-amz-date") or request.header(b"date")
    missing = [
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if not parts.get(name)
    ]
    if date is None:
        missing.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    # AWS lists everything that is missing at once, before it looks at what is there.
    if missing or date is None:
        raise _RefusedError("IncompleteSignature", f"{''.join(missing)}Authorization={header}")
    signed_headers = tuple(parts["SignedHeaders"].lower().split(";"))
    if "host" not in signed_headers:
        raise _RefusedError("InvalidSignature", "'Host' must be a 'SignedHeader' in the AWS Authorization.")
    if algorithm != _ALGORITHM:
        raise _RefusedError(
            "IncompleteSignature", f"Unsupported AWS 'algorithm': '{algorithm}' (only AWS4-HMAC-SHA256 for now). "
        )
    credential = parts["Credential"].rstrip("/")
    elements = credential.rsplit("/", 4)
    if len(elements) != 5:
        raise _RefusedError(
            "IncompleteSignature",
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            f"got '{credential}'",
        )
    key, day, region, service, term = elements
    return _Authorization(
        algorithm,
        key,
        (day, region, service, term),
        signed_headers,
        parts["Signature"],
        _parse_date(date.decode("latin-1")),
    )


def _parse_date(date: str) -> datetime:
    try:
        if _BASIC.fullmatch(date):
            return datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        # AWS also accepts the form of dates in HTTP headers.
        return parsedate_to_datetime(date).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _RefusedError(
            "IncompleteSignature",
            f"Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601",
        ) from None


def _check_scope(authorization: _Authorization, now: datetime) -> None:
    stamp = "%Y%m%dT%H%M%SZ"
    now = now.replace(microsecond=0)
    if authorization.moment < now - _SKEW:
        limit, current = (now - _SKEW).strftime(stamp), now.strftime(stamp)
        raise _RefusedError(
            "InvalidSignature",
            f"Signature expired: {authorization.date} is now earlier than {limit} ({current} - 15 min.)",
        )
    if authorization.moment > now + _SKEW:
        limit, current = (now + _SKEW).strftime(stamp), now.strftime(stamp)
        raise _RefusedError(
            "InvalidSignature",
            f"Signature not yet current: {authorization.date} is still later than {limit} ({current} + 15 min.)",
        )
    day, _, service, term = authorization.scope
    mistakes = []
    if service != "dynamodb":
        mistakes.append("Credential should be scoped to correct service: 'dynamodb'. ")
    if term != "aws4_request":
        mistakes.append(f"Credential should be scoped with a valid terminator: 'aws4_request', not '{term}'. ")
    if day != authorization.date[:8]:
        mistakes.append(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{day}' != '{authorization.date[:8]}', from '{authorization.date}'."
        )
    if mistakes:
        raise _RefusedError("InvalidSignature", "".join(mistakes))


def _expected_signature(request: HttpRequest, authorization: _Authorization, secret: str) -> str:
    # The canonical request of Signature Version 4. Its hash is signed with a key that is derived from the secret key by
    # the day, the region, the service and a terminator, one after the other.
    path, _, query = request.url.partition(b"?")
    values = _header_values(request)
    names = [name.encode("latin-1") for name in authorization.signed]
    lines = [
        request.method,
        _canonical_path(path),
        _canonical_query(query),
        *(name + b":" + values.get(name, b"") for name in names),
        b"",
        ";".join(authorization.signed).encode("latin-1"),
        hashlib.sha256(request.body).hexdigest().encode(),
    ]
    digest = hashlib.sha256(b"\n".join(lines)).hexdigest()
    scope = "/".join(authorization.scope)
    to_sign = "\n".join((authorization.algorithm, authorization.date, scope, digest))
    key = f"AWS4{secret}".encode()
    for part in (*authorization.scope, to_sign):
        key = hmac.digest(key, part.encode("latin-1"), "sha256")
    return key.hex()


def _header_values(request: HttpRequest) -> dict[bytes, bytes]:
    """The values of each header, by its name."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in request.headers:
        values.setdefault(name, []).append(b" ".join(value.split()))
    return {name: b",".join(header_values) for name, header_values in values.items()}


def _canonical_path(path: bytes) -> bytes:
    return quote(unquote_to_bytes(path or b"/"), safe="/-_.~").encode()


def _canonical_query(query: bytes) -> bytes:
    pairs = []
    for part in query.split(b"&") if query else ():
        name, _, value = part.partition(b"=")
        # Decoded and encoded again, because clients differ in the characters that they encode.
        pairs.append(tuple(quote(unquote_to_bytes(text), safe="-_.~") for text in (name, value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs)).encode()
