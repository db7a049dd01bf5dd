"""Signatures equal botocore's, and a server that verifies them accepts them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from prejoin.engine.http.messages import HttpRequest
from prejoin.engine.http.signature import KeyPair, refusal
from prejoin.transport import Credentials
from prejoin.transport.connection.http import RequestHead
from prejoin.transport.request.sign import Signer
from prejoin.transport.url import read_url

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEYS = Credentials("AKIDEXAMPLE", SECRET)
TEMPORARY = Credentials("ASIAEXAMPLE", SECRET, "IQoJb3JpZ2luX2VjEXAMPLE//////////wEaCXVzLWVhc3QtMSJ=")
SECOND = 1_700_000_000

texts = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)
keys = st.builds(Credentials, st.from_regex(r"[A-Z0-9]{16,20}", fullmatch=True), texts, st.none() | texts)


def read(request: bytes) -> HttpRequest:
    head, _, body = request.partition(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    method, path, _ = line.split(b" ")
    pairs = [(name.lower(), value) for name, _, value in (line.partition(b": ") for line in lines)]
    return HttpRequest(method, path, pairs, body)


def ours(url: str, operation: str, body: bytes, keys: Credentials, region: str = "eu-west-1") -> HttpRequest:
    address = read_url(url)
    signature = Signer(address.authority, address.path, region).headers(operation, body, keys, SECOND + 0.7)
    return read(RequestHead(address, None).request(operation, signature, body))


def botocores(url: str, operation: str, body: bytes, keys: Credentials, region: str = "eu-west-1") -> AWSRequest:
    request = AWSRequest(
        "POST",
        url,
        {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}"},
        body,
    )
    signer = SigV4Auth(BotocoreCredentials(keys.access_key, keys.secret_key, keys.token), "dynamodb", region)
    with patch("botocore.auth.get_current_datetime", lambda: datetime.fromtimestamp(SECOND, UTC)):
        signer.add_auth(request)
    return request


@pytest.mark.parametrize("keys", [KEYS, TEMPORARY], ids=["for good", "with a token"])
@pytest.mark.parametrize(
    "url",
    [
        "https://dynamodb.eu-west-1.amazonaws.com",
        "http://127.0.0.1:8000",
        "http://[::1]:8000/",
        "https://proxy.example:443",
        "http://gateway.example/dynamo/v1",
    ],
)
def test_headers_and_signature_are_botocores(url: str, keys: Credentials) -> None:
    mine = ours(url, "GetItem", b'{"TableName":"shop"}', keys)
    theirs = botocores(url, "GetItem", b'{"TableName":"shop"}', keys)
    for name in ("Authorization", "X-Amz-Date", "X-Amz-Target", "X-Amz-Security-Token", "Content-Type"):
        value = mine.header(name.lower().encode())
        assert (value.decode() if value else None) == theirs.headers.get(name)


@given(st.binary(max_size=300), keys, st.sampled_from(["GetItem", "TransactWriteItems"]))
def test_any_body_and_key_are_signed_as_botocore_does(body: bytes, keys: Credentials, operation: str) -> None:
    mine = ours("http://127.0.0.1:8000", operation, body, keys).header(b"authorization")
    assert mine is not None
    assert mine.decode() == botocores("http://127.0.0.1:8000", operation, body, keys).headers["Authorization"]


def test_a_whole_request_is_signed_as_by_boto3s_client() -> None:
    caught: list[Any] = []

    def catch(request: Any, **_: Any) -> AWSResponse:
        caught.append(request)

        class Raw:
            def stream(self, *_: Any, **__: Any) -> list[bytes]:
                return [b"{}"]

        return AWSResponse(request.url, 200, {}, Raw())

    client = boto3.client(
        "dynamodb", region_name="eu-west-1", aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key=SECRET
    )
    client.meta.events.register("before-send.dynamodb", catch)
    with patch("botocore.auth.get_current_datetime", lambda: datetime.fromtimestamp(SECOND, UTC)):
        client.get_item(TableName="shop", Key={"pk": {"S": "a"}})
    theirs = caught[0]
    mine = ours(theirs.url, "GetItem", theirs.body, KEYS)
    assert mine.header(b"authorization") == theirs.headers["Authorization"]
    assert mine.header(b"x-amz-target") == theirs.headers["X-Amz-Target"]
    assert mine.header(b"content-type") == theirs.headers["Content-Type"]


@given(st.binary(max_size=100), keys)
def test_verifying_server_accepts_signature(body: bytes, keys: Credentials) -> None:
    request = ours("http://127.0.0.1:8000", "PutItem", body, keys)
    now = datetime.fromtimestamp(SECOND, UTC)
    assert refusal(request, KeyPair(keys.access_key, keys.secret_key), now) is None
    assert refusal(request, KeyPair(keys.access_key, keys.secret_key + "x"), now) is not None


def test_signing_key_matches_aws_example() -> None:
    # docs.aws.amazon.com, "Signature Version 4: examples of how to derive a signing key", for iam; ours is for dynamodb,
    # so only the chain is compared, on the published secret and day.
    import hmac

    published = hmac.digest(b"AWS4" + SECRET.encode(), b"20120215", "sha256")
    assert published.hex() == "969fbb94feb542b71ede6f87fe4d5fa29c789342b0f407474670f0c2489e0a0d"
    expected = published
    for part in (b"us-east-1", b"dynamodb", b"aws4_request"):
        expected = hmac.digest(expected, part, "sha256")
    signer = Signer("host", "/", "us-east-1")
    signer.headers("GetItem", b"{}", KEYS, datetime(2012, 2, 15, tzinfo=UTC).timestamp())
    assert signer._day is not None
    assert signer._day.key == expected


def test_the_day_and_the_keys_may_change_between_requests() -> None:
    signer = Signer("127.0.0.1:8000", "/", "eu-west-1")
    cases = [(KEYS, SECOND), (KEYS, SECOND + 86_400), (TEMPORARY, SECOND + 86_400), (KEYS, SECOND)]
    made = [signer.headers("GetItem", b"{}", keys, moment) for keys, moment in cases]
    fresh = [Signer("127.0.0.1:8000", "/", "eu-west-1").headers("GetItem", b"{}", keys, at) for keys, at in cases]
    assert made == fresh
    assert len(set(made)) == 3
