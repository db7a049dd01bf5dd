"""Signatures, verified: what botocore signs is right, and whatever is changed afterwards is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from prejoin.engine.http.messages import HttpRequest
from prejoin.engine.http.signature import KeyPair, refusal

KEYS = KeyPair("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")


def signed(
    url: str = "http://127.0.0.1:8000/",
    body: bytes = b"{}",
    keys: KeyPair = KEYS,
    service: str = "dynamodb",
    **more: str,
) -> HttpRequest:
    """A request as botocore signs it."""
    headers = {"Host": "127.0.0.1:8000", "X-Amz-Target": "DynamoDB_20120810.ListTables", **more}
    request = AWSRequest("POST", url, headers, body)
    SigV4Auth(Credentials(keys.access_key, keys.secret_key), service, "eu-west-1").add_auth(request)
    path = url.removeprefix("http://127.0.0.1:8000")
    lines = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
    return HttpRequest(b"POST", path.encode(), lines, body)


def changed(request: HttpRequest, name: str, value: str | None) -> HttpRequest:
    kept = [(known, old) for known, old in request.headers if known != name.encode()]
    added = [] if value is None else [(name.encode(), value.encode())]
    return HttpRequest(request.method, request.url, kept + added, request.body)


def error(request: HttpRequest, **settings: Any) -> tuple[str, str]:
    answer = refusal(request, KEYS, **settings)
    assert answer is not None
    assert answer.status == 400
    body = msgspec.json.decode(answer.body)
    return body["__type"].removeprefix("com.amazon.coral.service#"), body["message"]


def authorization(request: HttpRequest) -> str:
    return (request.header(b"authorization") or b"").decode()


def test_botocore_signature_is_accepted() -> None:
    assert refusal(signed(), KEYS) is None


@given(
    body=st.binary(max_size=200),
    query=st.dictionaries(st.text("abc %+/~é", min_size=1, max_size=5), st.text("xyz %+&=", max_size=5), max_size=3),
    header=st.text("ab  c", min_size=1, max_size=9).filter(str.strip),
)
def test_any_signed_request_is_accepted(body: bytes, query: dict[str, str], header: str) -> None:
    from urllib.parse import quote

    text = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query.items())
    url = "http://127.0.0.1:8000/" + (f"?{text}" if text else "")
    assert refusal(signed(url, body, **{"X-Amz-Other": header}), KEYS) is None


def test_a_body_that_was_changed_is_noticed() -> None:
    request = signed()
    request.body = b'{"Limit":1}'
    kind, message = error(request)
    assert kind == "InvalidSignatureException"
    assert message.startswith("The request signature we calculated does not match the signature you provided.")


def test_a_signed_header_that_was_changed_is_noticed() -> None:
    request = changed(signed(), "x-amz-target", "DynamoDB_20120810.DeleteTable")
    assert error(request)[0] == "InvalidSignatureException"


@pytest.mark.parametrize("between", [",", " ", "  ,  "])
def test_the_parts_of_the_header_are_set_apart_by_commas_or_spaces(between: str) -> None:
    request = signed()
    parts = authorization(request).replace(", ", between)
    assert refusal(changed(request, "Authorization", parts), KEYS) is None


def test_another_secret_is_noticed() -> None:
    assert error(signed(keys=KeyPair(KEYS.access_key, "other")))[0] == "InvalidSignatureException"


def test_another_key_is_not_recognized() -> None:
    kind, message = error(signed(keys=KeyPair("OTHER", KEYS.secret_key)))
    assert (kind, message) == ("UnrecognizedClientException", "The security token included in the request is invalid.")


def test_a_session_token_is_ignored() -> None:
    assert refusal(changed(signed(), "x-amz-security-token", "any"), KEYS) is None


@pytest.mark.parametrize(("minutes", "says"), [(16, "Signature expired: "), (-16, "Signature not yet current: ")])
def test_the_clocks_may_differ_by_a_quarter_of_an_hour(minutes: int, says: str) -> None:
    now = datetime.now(UTC)
    assert refusal(signed(), KEYS, now + timedelta(minutes=14 if minutes > 0 else -14)) is None
    kind, message = error(signed(), now=now + timedelta(minutes=minutes))
    assert kind == "InvalidSignatureException"
    assert message.startswith(says)


def test_the_scope_must_be_dynamodb_and_of_the_day() -> None:
    assert "correct service: 'dynamodb'" in error(signed(service="s3"))[1]
    request = signed()
    day = datetime.now(UTC).strftime("%Y%m%d")
    moved = authorization(request).replace(f"/{day}/", "/20200101/").replace("aws4_request", "aws5_request")
    kind, message = error(changed(request, "authorization", moved))
    assert kind == "InvalidSignatureException"
    assert "valid terminator: 'aws4_request', not 'aws5_request'" in message
    assert "Date in Credential scope does not match YYYYMMDD" in message


@pytest.mark.parametrize("part", ["Credential", "Signature", "SignedHeaders"])
def test_a_header_that_lacks_a_part_is_incomplete(part: str) -> None:
    request = signed()
    less = authorization(request).replace(f"{part}=", f"{part}=, X=")
    kind, message = error(changed(request, "authorization", less))
    assert kind == "IncompleteSignatureException"
    assert message.startswith(f"Authorization header requires '{part}' parameter. Authorization=AWS4-HMAC-SHA256")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("authorization", None, "MissingAuthenticationTokenException"),
        ("authorization", "Bearer x", "MissingAuthenticationTokenException"),
        ("authorization", "AWS4-HMAC-SHA256", "IncompleteSignatureException"),
        ("authorization", "AWS4-HMAC-SHA256 Credential", "IncompleteSignatureException"),
        ("authorization", "AWS4-X Credential=a/b/c/d/e, SignedHeaders=host, Signature=f", "IncompleteSignatureException"),
        ("authorization", "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=f", "IncompleteSignatureException"),
        ("authorization", "AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=date, Signature=f", "InvalidSignatureException"),
        ("x-amz-date", None, "IncompleteSignatureException"),
        ("x-amz-date", "tomorrow", "IncompleteSignatureException"),
        ("x-amz-date", "99999999T999999Z", "IncompleteSignatureException"),
    ],
)  # fmt: skip
def test_broken_authorization_header_has_aws_message(name: str, value: str | None, kind: str) -> None:
    assert error(changed(signed(), name, value))[0] == kind


@given(st.text(max_size=60))
def test_no_header_breaks_the_check(text: str) -> None:
    request = changed(signed(), "authorization", None)
    request.headers.append((b"authorization", b"AWS4-" + text.encode("utf-8", "replace")))
    assert refusal(request, KEYS) is not None


def test_the_secret_is_not_shown() -> None:
    assert KEYS.secret_key not in repr(KEYS)
