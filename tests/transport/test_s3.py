"""S3 requests: signatures equal botocore's, temporary errors are retried, and the API is followed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials

from prejoin import ConnectionFailed, Credentials, S3Error, S3Store
from prejoin.transport.s3 import S3Request, signed_headers


class Bucket(ThreadingHTTPServer):
    """A server with the part of S3's API that stores need. Two keys are in a page of a list."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.failures: list[int] = []
        """Statuses of the next responses."""
        self.requests: list[tuple[str, str]] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Bucket

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        key = unquote(url.path.removeprefix("/docs/")) if url.path.startswith("/docs/") else ""
        if not self._begin():
            return
        if not key:
            self._list(parse_qs(url.query))
        elif key not in self.server.objects:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            data, wanted = self.server.objects[key], self.headers["Range"]
            low, _, high = (wanted or "bytes=0-").removeprefix("bytes=").partition("-")
            part = data[int(low) : int(high) + 1 if high else None]
            self._answer(206 if part or wanted is None else 416, part)

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._begin():
            self.server.objects[unquote(self.path.removeprefix("/docs/"))] = body
            self._answer(200, b"")

    def do_DELETE(self) -> None:
        if self._begin():
            self.server.objects.pop(unquote(self.path.removeprefix("/docs/")), None)
            self._answer(204, b"")

    def _list(self, query: dict[str, list[str]]) -> None:
        after = query.get("continuation-token", [""])[0]
        keys = sorted(key for key in self.server.objects if key.startswith(query["prefix"][0]) and key > after)
        more = f"<NextContinuationToken>{keys[1]}</NextContinuationToken>" if len(keys) > 2 else ""
        found = "".join(f"<Contents><Key>{key}</Key></Contents>" for key in keys[:2])
        text = f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{found}{more}</ListBucketResult>'
        self._answer(200, text.encode())

    def _begin(self) -> bool:
        self.server.requests.append((self.command, self.path))
        if self.server.failures:
            self._answer(self.server.failures.pop(0), b"<Error><Code>Unhappy</Code></Error>")
            return False
        return True

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    server = Bucket()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(bucket: Bucket) -> Iterator[S3Store]:
    made = S3Store("docs", prefix="large/", endpoint=f"http://127.0.0.1:{bucket.server_port}")
    yield made
    made.close()


def test_objects_are_put_read_listed_and_deleted(store: S3Store, bucket: Bucket) -> None:
    for number in range(5):
        store.put(f"a/{number}", b"hello %d" % number)
    store.put("b/1", b"")
    assert bucket.objects.keys() == {*(f"large/a/{n}" for n in range(5)), "large/b/1"}
    assert (store.get("a/3"), store.get("a/3", 1, 4), store.get("a/3", 5)) == (b"hello 3", b"ell", b" 3")
    assert (store.get("a/9"), store.get("b/1"), store.get("a/3", 4, 4), store.get("b/1", 0, 10)) == (
        None,
        b"",
        b"",
        b"",
    )
    assert list(store.keys("a/")) == [f"a/{n}" for n in range(5)]  # of three pages
    assert list(store.keys("c/")) == []
    store.delete("a/3")
    store.delete("a/3")
    assert store.get("a/3") is None


def test_busy_server_is_asked_again_and_a_refusal_is_not(store: S3Store, bucket: Bucket) -> None:
    bucket.failures = [503, 500]
    store.put("a", b"x")
    assert len(bucket.requests) == 3
    bucket.failures = [403]
    with pytest.raises(S3Error, match=r"PUT of /docs/large/a in S3Store\('docs'\) was refused: 403 Unhappy") as caught:
        store.put("a", b"y")
    assert (caught.value.code, caught.value.attempts) == ("Unhappy", 1)
    assert bucket.objects["large/a"] == b"x"
    bucket.failures = [503] * 20
    with pytest.raises(S3Error, match="503"):
        store.get("a")


def test_missing_server_raises() -> None:
    with pytest.raises(ConnectionFailed, match="GET of /docs/a in S3Store"):
        S3Store("docs", endpoint="http://127.0.0.1:1").get("a")


@pytest.mark.parametrize("token", [None, "token"])
@pytest.mark.parametrize(
    "request_",
    [
        S3Request("GET", "/docs/a b/ä+1"),
        S3Request("PUT", "/docs/a", body=b"hello"),
        S3Request("GET", "/docs", {"list-type": "2", "prefix": "a/b c", "continuation-token": "x=/+"}),
    ],
    ids=["path", "body", "query"],
)
def test_signature_is_that_of_botocore(request_: S3Request, token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI", token)
    moment = datetime.fromisoformat("2026-05-04T12:00:00+00:00")
    host = "127.0.0.1:9000"
    ours = signed_headers(request_, host, "eu-west-1", keys, moment.timestamp())
    query = f"?{urlencode(request_.query, quote_via=quote, safe='-_.~')}" if request_.query else ""
    url = f"http://{host}{quote(request_.path, safe='-_.~/')}{query}"
    theirs = AWSRequest(request_.method, url, data=request_.body, headers={"Host": host})
    theirs.context["payload_signing_enabled"] = True
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda remove_tzinfo=True: moment.replace(tzinfo=None))
    S3SigV4Auth(BotoCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI", token), "s3", "eu-west-1").add_auth(theirs)
    assert ours["Authorization"] == theirs.headers["Authorization"]
    assert ours["x-amz-date"] == theirs.headers["X-Amz-Date"]
