"""The HTTP front as AWS's clients see it: headers, envelopes, limits, order, patience, and who may not ask."""

from __future__ import annotations

import asyncio
import errno
import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from prejoin.engine import Embedded
from prejoin.engine.http import Limits, OriginPolicy, Server
from prejoin.engine.regions import Regions
from prejoin.protocol.errors import DynamoDBError

from .conftest import SHOP

SHORT = Limits(
    body=4096, head=2048, head_seconds=0.3, pause_seconds=0.3, request_seconds=1.0, idle_seconds=0.6, stop_seconds=5
)
TOKEN = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request"}


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    @property
    def kind(self) -> str:
        return str(self.json["__type"])


class Client:
    """A socket, and no more of HTTP than is needed."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self.host = f"{host}:{port}"
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self._rest = b""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def head(self, operation: str, size: int, **headers: str | None) -> bytes:
        given: dict[str, str | None] = {
            "Host": self.host,
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "Content-Length": str(size),
            **TOKEN,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value is not None)
        return f"POST / HTTP/1.1\r\n{lines}\r\n".encode()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, operation: str, body: Any = None, **headers: str | None) -> Got:
        data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        self.send(self.head(operation, len(data), **headers) + data)
        return self.read()

    def read(self) -> Got:
        while b"\r\n\r\n" not in self._rest:
            self._more()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        size = int(headers.get("content-length", 0))
        while len(self._rest) < size:
            self._more()
        body, self._rest = self._rest[:size], self._rest[size:]
        return Got(int(first.split()[1]), headers, body)

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self._rest += data

    def closed(self) -> bool:
        """Whether the server closes the connection, waiting for it."""
        try:
            return not self._rest and self.socket.recv(1) == b""
        except ConnectionError:
            return True


class Slow:
    """An engine whose Scan takes as long as the test says."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.running = threading.Event()

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "Scan":
            self.running.set()
            assert self.go_on.wait(10)
        if operation == "Query":
            raise ZeroDivisionError("a mistake of ours")
        if operation == "BatchGetItem":
            return b'{"Responses":"' + b"x" * 3_000_000 + b'"}'
        return json.dumps({"operation": operation, "size": len(body)}).encode()


@pytest.fixture
def url(dynamodb: Embedded) -> Iterator[str]:
    with Server(dynamodb, port=0) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@pytest.fixture
def short() -> Iterator[tuple[str, Slow]]:
    """A server with small limits and little patience."""
    engine = Slow()
    with Server(engine, port=0, limits=SHORT) as url:
        yield url, engine
        engine.go_on.set()


# --- Answers --------------------------------------------------------------------------------------------------------


def test_an_answer_has_the_headers_that_dynamodb_sends(client: Client) -> None:
    got = client.ask("ListTables")
    assert (got.status, got.json) == (200, {"TableNames": []})
    assert got.headers["content-type"] == "application/x-amz-json-1.0"
    assert got.headers["x-amz-crc32"] == str(zlib.crc32(got.body))
    assert len(got.headers["x-amzn-requestid"]) == 52
    assert client.ask("ListTables").headers["x-amzn-requestid"] != got.headers["x-amzn-requestid"]


def test_an_error_of_the_engine_has_its_envelope_and_status(client: Client, dynamodb: Embedded) -> None:
    body = b'{"TableName":"nowhere"}'
    with pytest.raises(DynamoDBError) as caught:
        dynamodb.send("DescribeTable", body)
    got = client.ask("DescribeTable", body)
    assert (got.status, got.body) == (400, caught.value.body())
    assert got.kind == "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"


@pytest.mark.parametrize("target", [None, "", "Nonsense", "DynamoDB_20111205.ListTables", "DynamoDB_20120810.Nonsense"])
def test_an_unknown_target_is_an_unknown_operation(client: Client, target: str | None) -> None:
    for authorization in ("AWS4-x", None):
        got = client.ask("", X_Amz_Target=target, Authorization=authorization)
        assert (got.status, got.kind) == (400, "com.amazon.coral.service#UnknownOperationException")


@pytest.mark.parametrize("authorization", [None, "", "Basic abc"])
def test_a_request_without_a_signature_lacks_an_authentication_token(client: Client, authorization: str | None) -> None:
    got = client.ask("ListTables", Authorization=authorization)
    assert (got.status, got.kind) == (400, "com.amazon.coral.service#MissingAuthenticationTokenException")
    assert got.json["message"] == "Request is missing Authentication Token"


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[" * 5000, b"nul", b"[]"])
def test_a_body_that_is_not_a_json_object_cannot_be_serialized(client: Client, body: bytes) -> None:
    got = client.ask("ListTables", body)
    assert (got.status, got.kind) == (400, "com.amazon.coral.service#SerializationException")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_not_found(client: Client, method: str) -> None:
    client.send(f"{method} /tables HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
    got = client.read()
    assert (got.status, got.body) == (404, b"<UnknownOperationException/>\n")


def test_other_content_type_is_not_found(client: Client) -> None:
    got = client.ask("ListTables", b"{}", Content_Type="text/plain")
    assert (got.status, got.body) == (404, b"<UnknownOperationException/>\n")
    assert client.ask("ListTables", b"{}", Content_Type="application/json; charset=utf-8").status == 200


def test_only_the_root_is_served(client: Client) -> None:
    client.send(client.head("ListTables", 2).replace(b"POST /", b"POST /elsewhere") + b"{}")
    assert client.read().status == 404
    client.send(client.head("ListTables", 2).replace(b"POST /", b"POST /?a=b") + b"{}")
    assert client.read().status == 200


def test_describe_endpoints_returns_same_host(client: Client) -> None:
    (endpoint,) = client.ask("DescribeEndpoints").json["Endpoints"]
    assert endpoint["Address"] == client.host


def test_a_body_that_is_not_json_is_reported_before_an_unknown_operation(client: Client) -> None:
    assert client.ask("ListTables", b"{", X_Amz_Target="None.None").kind.endswith("#SerializationException")
    assert client.ask("ListTables", b"{}", X_Amz_Target="None.None").kind.endswith("#UnknownOperationException")


def test_a_response_to_no_content_type_is_plain_json(client: Client) -> None:
    client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    assert client.read().headers["content-type"] == "application/json"


def test_a_signature_in_the_query_is_a_token(client: Client) -> None:
    client.send(
        b"POST /?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        b"Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n\r\n{}"
    )
    assert client.read().json == {"TableNames": []}


def test_regions_and_accounts_may_be_kept_apart() -> None:
    def caller(region: str, key: str = "me") -> dict[str, str]:
        credential = f"Credential={key}/20260102/{region}/dynamodb/aws4_request"
        return {"Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=s"}

    with Embedded() as home, Server(home, port=0, regions=Regions(home)) as url, Client(url) as client:
        client.ask("CreateTable", SHOP, **caller("eu-west-1"))
        callers = [caller("eu-west-1"), caller("eu-west-1", "you"), caller("us-east-1"), caller("eu-west-1", "1" * 12)]
        found = [client.ask("ListTables", {}, **each).json["TableNames"] for each in callers]
        assert found == [["shop"], ["shop"], [], []]
        table = client.ask("DescribeTable", {"TableName": "shop"}, **caller("eu-west-1")).json["Table"]
        assert table["TableArn"] == "arn:aws:dynamodb:eu-west-1:123456789012:table/shop"


def test_health_check(client: Client) -> None:
    client.send(f"GET / HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
    assert client.read().body.startswith(b"healthy")


def test_engine_bug_is_a_500_response(short: tuple[str, Slow]) -> None:
    with Client(short[0]) as client:
        got = client.ask("Query")
        assert (got.status, got.kind) == (500, "com.amazon.coral.service#InternalFailure")
        assert client.ask("GetItem").status == 200


# --- Connections ----------------------------------------------------------------------------------------------------


def test_a_connection_serves_many_requests(client: Client) -> None:
    assert [client.ask("ListTables").status for _ in range(50)] == [200] * 50


def test_requests_sent_ahead_are_answered_in_their_order(short: tuple[str, Slow]) -> None:
    url, engine = short
    engine.go_on.set()
    names = ["Scan", "GetItem", "PutItem", "GetItem", "Scan", "BatchGetItem", "GetItem"] * 15
    with Client(url) as client:
        requests = b"".join(client.head(name, at) + b" " * at for at, name in enumerate(names))
        threading.Thread(target=client.send, args=(requests,)).start()
        for at, name in enumerate(names):
            got = client.read()
            assert got.status == 200
            assert name == "BatchGetItem" or got.json == {"operation": name, "size": at}


def test_a_slow_request_holds_up_no_other_connection(short: tuple[str, Slow]) -> None:
    url, engine = short
    with Client(url) as slow, Client(url) as quick:
        slow.send(slow.head("Scan", 0))
        assert engine.running.wait(5)
        assert quick.ask("GetItem").status == quick.ask("PutItem").status == 200
        engine.go_on.set()
        assert slow.read().json["operation"] == "Scan"


@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_a_request_may_come_in_pieces(client: Client, pieces: int) -> None:
    data = client.head("ListTables", 2) + b"{}"
    for at in range(0, len(data), pieces):
        client.send(data[at : at + pieces])
    assert client.read().status == 200


def test_a_body_may_come_in_chunks(client: Client) -> None:
    head = client.head("DescribeTable", 0, Content_Length=None, Transfer_Encoding="chunked")
    client.send(head + b'c\r\n{"TableName"\r\n' + b'b;x=y\r\n:"nowhere"}\r\n' + b"0\r\nTrailer: t\r\n\r\n")
    assert client.read().kind.endswith("#ResourceNotFoundException")
    assert client.ask("ListTables").status == 200


LIST = b'{"Limit": 1}'
COMPRESSED = {
    "gzip": gzip.compress(LIST),
    "GZIP": gzip.compress(LIST),
    "deflate": zlib.compress(LIST),
    "identity": LIST,
}


@pytest.mark.parametrize("encoding", COMPRESSED)
def test_a_body_may_be_compressed(client: Client, encoding: str) -> None:
    assert client.ask("ListTables", COMPRESSED[encoding], Content_Encoding=encoding).json == {"TableNames": []}


def test_a_gzipped_body_may_be_in_several_members_and_what_follows_them_is_ignored(client: Client) -> None:
    members = gzip.compress(LIST[:5]) + gzip.compress(LIST[5:])
    for body in (members, members + b"and more"):
        assert client.ask("ListTables", body, Content_Encoding="gzip").status == 200


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        pytest.param("gzip", LIST, id="gzip-plain"),
        pytest.param("gzip", b"", id="gzip-empty"),
        pytest.param("gzip", gzip.compress(LIST)[:-1], id="gzip-cut"),
        pytest.param("deflate", LIST, id="deflate-plain"),
        pytest.param("deflate", b"", id="deflate-empty"),
        pytest.param("deflate", gzip.compress(LIST), id="deflate-gzip"),
        pytest.param("br", LIST, id="br-plain"),
    ],
)
def test_wrong_content_encoding_is_internal_error(client: Client, encoding: str, body: bytes) -> None:
    got = client.ask("ListTables", body, Content_Encoding=encoding)
    assert (got.status, got.kind) == (500, "com.amazonaws.dynamodb.v20120810#InternalServerError")


def test_a_small_body_cannot_grow_beyond_the_limit(client: Client) -> None:
    body = gzip.compress(b"{" + b" " * 17 * 1024 * 1024 + b"}")
    assert client.ask("ListTables", body, Content_Encoding="gzip").status == 413


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        (None, None),
        ("identity", None),
        ("br, x-gzip", None),
        ("gzip", "gzip"),
        ("GZIP, identity", "gzip"),
        ("br, deflate, gzip", "deflate"),
        ("gzip;q=0.2, deflate;q=0.5", "deflate"),
        ("gzip;q=0, identity", None),
        ("*", "gzip"),
        ("*, deflate", "deflate"),
        ("*, gzip;q=0.5", "deflate"),
        ("deflate;q=0.5, gzip;q=31", "gzip"),
        ("deflate;q=0.5, gzip;q=x", "gzip"),
        ("deflate;q=-1, gzip;q=0.1", "gzip"),
    ],
)
def test_a_large_answer_is_compressed_as_the_client_likes_it(
    short: tuple[str, Slow], accepted: str | None, encoding: str | None
) -> None:
    with Client(short[0]) as client:
        got = client.ask("BatchGetItem", Accept_Encoding=accepted)
        assert got.headers.get("content-encoding") == encoding
        assert got.headers["x-amz-crc32"] == str(zlib.crc32(got.body))
        assert len(zlib.decompress(got.body, 47) if encoding else got.body) == 3_000_016
        assert "content-encoding" not in client.ask("GetItem", Accept_Encoding=accepted).headers


def test_expect_100_continue(client: Client) -> None:
    client.send(client.head("ListTables", 2, Expect="100-continue"))
    assert client.read().status == 100
    client.send(b"{}")
    assert client.read().status == 200


def test_a_connection_closes_when_the_client_says_so(client: Client) -> None:
    got = client.ask("ListTables", Connection="close")
    assert (got.status, got.headers["connection"]) == (200, "close")
    assert client.closed()


def test_a_client_that_stops_sending_still_gets_its_answer(short: tuple[str, Slow]) -> None:
    url, engine = short
    with Client(url) as client:
        client.send(client.head("Scan", 0))
        client.socket.shutdown(socket.SHUT_WR)
        assert engine.running.wait(5)
        engine.go_on.set()
        assert client.read().status == 200
        assert client.closed()


# --- Limits ---------------------------------------------------------------------------------------------------------


def test_a_body_that_says_it_is_too_large_is_refused_before_it_comes(client: Client) -> None:
    client.send(client.head("PutItem", 17 * 1024 * 1024))
    assert client.read().status == 413
    assert client.closed()


@pytest.mark.slow
def test_a_body_of_sixteen_megabytes_is_read(client: Client) -> None:
    got = client.ask("ListTables", b"{" + b" " * (16 * 1024 * 1024 - 2) + b"}")
    assert got.status == 200


def test_a_body_that_turns_out_too_large_is_refused_while_it_comes(short: tuple[str, Slow]) -> None:
    with Client(short[0]) as client:
        client.send(client.head("PutItem", 0, Content_Length=None, Transfer_Encoding="chunked"))
        for _ in range(5):
            client.send(b"400\r\n" + b"x" * 1024 + b"\r\n")
        assert client.read().status == 413
        assert client.closed()


def test_the_refusal_arrives_although_the_client_is_still_sending(short: tuple[str, Slow]) -> None:
    with Client(short[0]) as client:
        client.send(client.head("PutItem", 2_000_000) + b"x" * 2_000_000)
        assert client.read().status == 413


@pytest.mark.parametrize("end", [b"", b": v\r\n\r\n"], ids=["endless", "complete"])
def test_headers_have_a_limit(short: tuple[str, Slow], end: bytes) -> None:
    with Client(short[0]) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + b"x" * 3000 + end)
        assert client.read().status == 400
        assert client.closed()


def test_non_http_bytes_are_refused_after_earlier_requests(short: tuple[str, Slow]) -> None:
    url, engine = short
    with Client(url) as client:
        client.send(client.head("Scan", 0) + b"\x16\x03\x01 what?\r\n\r\n")
        engine.go_on.set()
        assert [client.read().status, client.read().status] == [200, 400]
        assert client.closed()


@pytest.mark.parametrize(
    "lengths",
    ["Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nTransfer-Encoding: chunked", "Content-Length: -1"],
)
def test_request_with_conflicting_lengths_is_refused(client: Client, lengths: str) -> None:
    client.send(f"POST / HTTP/1.1\r\nHost: {client.host}\r\n{lengths}\r\n\r\n".encode())
    assert client.read().status == 400
    assert client.closed()


# --- Patience -------------------------------------------------------------------------------------------------------


def test_a_client_that_never_ends_its_headers_is_timed_out(short: tuple[str, Slow]) -> None:
    with Client(short[0]) as client:
        end = time.monotonic() + 60
        with pytest.raises((ConnectionError, StopIteration)):
            client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n")
            while time.monotonic() < end:  # never silent for long, never done
                client.send(b"A: b\r\n")
                client.socket.settimeout(0.05)
                try:
                    assert client.read().status == 408
                    raise StopIteration
                except TimeoutError:
                    continue
        assert time.monotonic() < end


def test_a_client_that_stops_in_its_body_is_timed_out(short: tuple[str, Slow]) -> None:
    with Client(short[0]) as client:
        client.send(client.head("PutItem", 10) + b"{")
        assert client.read().status == 408
        assert client.closed()


def test_a_client_that_sends_its_body_byte_by_byte_is_timed_out(short: tuple[str, Slow]) -> None:
    with Client(short[0]) as client:
        client.send(client.head("PutItem", 1000) + b"{")
        client.socket.settimeout(0.05)
        answer = None
        for _ in range(400):  # each byte comes in time, the body as a whole does not
            try:
                answer = client.read()
                break
            except TimeoutError:
                client.send(b" ")
        assert answer is not None
        assert answer.status == 408


def test_head_is_answered_without_a_body(client: Client) -> None:
    client.send(f"HEAD / HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
    assert client.read().body == b""
    assert client.ask("ListTables").status == 200  # nothing of a body is left on the connection


def test_json_is_answered_in_kind(client: Client) -> None:
    answer = client.ask("ListTables", Content_Type="application/json; charset=utf-8")
    assert answer.headers["content-type"] == "application/json"
    error = client.ask("GetItem", Content_Type="application/json")
    assert (error.status, error.headers["content-type"]) == (400, "application/json")
    error = client.ask("GetItem", Content_Type="application/json", Authorization=None)
    assert (error.kind, error.headers["content-type"]) == (
        "com.amazon.coral.service#MissingAuthenticationTokenException",
        "application/json",
    )
    assert client.ask("ListTables").headers["content-type"] == "application/x-amz-json-1.0"


def test_localhost_is_served_on_ipv6_too(url: str) -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    port = int(url.rpartition(":")[2])
    try:
        connection = socket.create_connection(("::1", port), timeout=10)
    except OSError as error:
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            pytest.skip("this machine has no IPv6")
        raise
    with connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: [::1]:{port}\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_port_that_is_taken_on_ipv6_is_refused() -> None:
    try:
        taken = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with taken, Embedded() as engine, pytest.raises(OSError, match="in use"):
        Server(engine, port=taken.getsockname()[1]).listen()


def test_out_of_file_descriptors_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(server: Server) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(3):
            server._report(loop, {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")})

    with Embedded() as engine:
        asyncio.run(fail(Server(engine)))
    (record,) = caplog.records
    assert "Too many open files" in record.getMessage()
    assert record.exc_info is None


def test_idle_connection_is_closed_silently(short: tuple[str, Slow]) -> None:
    with Client(short[0]) as client:
        assert client.ask("GetItem").status == 200
        assert client.closed()


def test_a_request_that_takes_long_is_not_timed_out(short: tuple[str, Slow]) -> None:
    url, engine = short
    with Client(url) as client:
        client.send(client.head("Scan", 0))
        time.sleep(1.2)
        engine.go_on.set()
        assert client.read().status == 200


def test_client_that_reads_nothing_is_disconnected(short: tuple[str, Slow]) -> None:
    for patience in (1, 4, 16):  # a busy machine may cut off late
        with Client(short[0]) as client, suppress(ConnectionError, EOFError):
            client.send(client.head("BatchGetItem", 0) * 10)
            time.sleep(patience)
            for _ in range(10):
                client.read()
            continue
        return
    pytest.fail("all answers came")


# --- Stopping -------------------------------------------------------------------------------------------------------


def test_stopping_finishes_what_runs_and_closes_what_is_idle() -> None:
    engine = Slow()
    server = Server(engine, port=0)
    url = server.start()
    with Client(url) as busy, Client(url) as idle:
        assert idle.ask("GetItem").status == 200
        busy.send(busy.head("Scan", 0))
        assert engine.running.wait(5)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert idle.closed()
        with pytest.raises(ConnectionRefusedError):
            Client(url)
        engine.go_on.set()
        got = busy.read()
        assert (got.status, got.headers["connection"]) == (200, "close")
        stopping.join(5)
        assert not stopping.is_alive()


def test_a_port_in_use_is_an_error_at_once(url: str, dynamodb: Embedded) -> None:
    port = int(url.rpartition(":")[2])
    with pytest.raises(OSError, match="in use"):
        Server(dynamodb, port=port).start()


def test_it_listens_on_ipv6_too(dynamodb: Embedded) -> None:
    if not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    try:
        server = Server(dynamodb, host="::1", port=0)
        url = server.start()
    except OSError:
        pytest.skip("there is no IPv6 loopback here")
    assert url.startswith("http://[::1]:")
    server.stop()


# --- Web pages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "localhost:x"])
def test_rebound_host_name_is_refused(client: Client, host: str) -> None:
    got = client.ask("ListTables", Host=host)
    assert (got.status, got.kind) == (403, "com.amazon.coral.service#AccessDeniedException")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000", "db.localhost", "10.0.0.7"]
)
def test_loopback_names_and_addresses_are_served(client: Client, host: str) -> None:
    assert client.ask("ListTables", Host=host).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", ""])
def test_a_request_of_a_web_page_is_refused(client: Client, origin: str) -> None:
    assert client.ask("ListTables", Origin=origin).status == 403


def test_a_preflight_is_never_agreed_to(client: Client) -> None:
    client.send(
        f"OPTIONS / HTTP/1.1\r\nHost: {client.host}\r\nOrigin: https://evil.example\r\n"
        "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-amz-target\r\n\r\n".encode()
    )
    got = client.read()
    assert got.status == 403
    assert not [name for name in got.headers if name.startswith("access-control")]


def test_allowed_host_is_served(dynamodb: Embedded) -> None:
    policy = OriginPolicy(hosts=frozenset({"dynamodb"}), origins=frozenset({"http://localhost:3000"}))
    with Server(dynamodb, port=0, policy=policy) as url, Client(url) as client:
        assert client.ask("ListTables", Host="dynamodb:8000", Origin="http://localhost:3000").status == 200
        assert client.ask("ListTables", Host="other:8000").status == 403


def test_allowed_origin_gets_cors_headers(dynamodb: Embedded) -> None:
    page = "http://localhost:3000"
    with Server(dynamodb, port=0, policy=OriginPolicy(origins=frozenset({page}))) as url, Client(url) as client:
        client.send(
            f"OPTIONS / HTTP/1.1\r\nHost: {client.host}\r\nOrigin: {page}\r\n"
            "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-amz-target\r\n\r\n".encode()
        )
        got = client.read()
        assert (got.status, got.body) == (200, b"")
        assert {name: value for name, value in got.headers.items() if name.startswith("access-control-allow")} == {
            "access-control-allow-origin": "*",
            "access-control-allow-methods": "POST",
            "access-control-allow-headers": "x-amz-target",
        }
        assert got.headers["access-control-max-age"] == "172800"
        for operation in ("ListTables", "Nonsense"):
            got = client.ask(operation, Origin=page)
            assert got.headers["access-control-allow-origin"] == "*"
            assert "x-amzn-RequestId" in got.headers["access-control-expose-headers"]
            assert "access-control-max-age" not in got.headers
        got = client.ask("ListTables")
        assert not [name for name in got.headers if name.startswith("access-control")]


def test_a_request_needs_exactly_one_host(client: Client) -> None:
    assert client.ask("ListTables", Host=None).status == 400
    assert client.ask("ListTables", host="evil.example").status == 400
