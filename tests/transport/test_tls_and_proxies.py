"""TLS and proxies, with a temporary certificate."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from prejoin.transport import ConnectionFailed, NotConfigured

from .conftest import Connect, Send, Serve
from .scripted import OK, item, resets
from .tunnel import TunnelProxy

READ = ("GetItem", item(Key={}))
INSERT = ("PutItem", item(Item={}, ConditionExpression="attribute_not_exists(pk)"))

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1, signed by itself, and its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test"
    subprocess.run(
        [*command.split(), "-addext", names, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True
    )
    both = folder / "both.pem"
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    return both


@pytest.fixture
def of_server(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def of_client(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


@needs_openssl
class TestTLS:
    def test_a_server_that_is_trusted_is_talked_to(
        self, serve: Serve, connect: Connect, send: Send, of_server: ssl.SSLContext, of_client: ssl.SSLContext
    ) -> None:
        server = serve(context=of_server)
        endpoint = connect(server.url, ssl_context=of_client)
        assert [send(endpoint, *INSERT) for _ in range(3)] == [OK] * 3
        assert (server.connections, server.applied) == (1, 3)

    def test_a_bundle_of_authorities_can_be_set(
        self,
        serve: Serve,
        connect: Connect,
        send: Send,
        of_server: ssl.SSLContext,
        certificate: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
        assert send(connect(serve(context=of_server).url), *READ) == OK

    def test_a_bundle_that_is_not_there_is_named(
        self, serve: Serve, connect: Connect, send: Send, of_server: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_CA_BUNDLE", "/no/such/bundle.pem")
        with pytest.raises(NotConfigured, match=r"AWS_CA_BUNDLE cannot be used: /no/such/bundle\.pem"):
            send(connect(serve(context=of_server).url), *READ)

    def test_a_server_that_is_not_trusted_is_told_nothing_and_not_tried_again(
        self, serve: Serve, connect: Connect, send: Send, of_server: ssl.SSLContext
    ) -> None:
        server = serve(context=of_server)
        with pytest.raises(ConnectionFailed, match="certificate verify failed"):
            send(connect(server.url), *READ)
        assert (server.connections, server.requests) == (1, [])

    def test_a_server_without_tls_is_told_nothing(self, serve: Serve, connect: Connect, send: Send) -> None:
        def answer_in_clear(number: int, sock: object) -> None:
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")  # type: ignore[attr-defined]
            raise ConnectionResetError

        server = serve(on_connection=answer_in_clear)
        with pytest.raises(ConnectionFailed):
            send(connect(server.url.replace("http:", "https:")), *READ)
        assert server.requests == []

    def test_a_server_that_never_shakes_hands_is_not_waited_for(
        self, serve: Serve, connect: Connect, send: Send
    ) -> None:
        server = serve(on_connection=lambda number, sock: server.wait(5))
        endpoint = connect(server.url.replace("http:", "https:"), connect_timeout=0.1)
        with pytest.raises(ConnectionFailed) as caught:
            send(endpoint, *READ)
        assert isinstance(caught.value.cause, TimeoutError)

    def test_a_kept_connection_that_dies_is_replaced(
        self, serve: Serve, connect: Connect, send: Send, of_server: ssl.SSLContext, of_client: ssl.SSLContext
    ) -> None:
        server = serve(resets(), context=of_server)
        endpoint = connect(server.url, ssl_context=of_client)
        assert send(endpoint, *READ) == OK
        server.hang_up()
        assert send(endpoint, *READ) == OK


@needs_openssl
class TestTunnels:
    def test_tls_goes_through_a_proxy(
        self, serve: Serve, connect: Connect, send: Send, of_server: ssl.SSLContext, of_client: ssl.SSLContext
    ) -> None:
        server = serve(context=of_server)
        with TunnelProxy() as proxy:
            endpoint = connect(server.url, ssl_context=of_client, proxy=f"http://me:p%40ss@{proxy.address}")
            assert [send(endpoint, *INSERT) for _ in range(2)] == [OK] * 2
        (head,) = proxy.heads
        assert head.startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n")
        assert "Proxy-Authorization: Basic bWU6cEBzcw==\r\n" in head
        assert "proxy-authorization" not in server.requests[0].headers

    def test_a_proxy_that_refuses_is_quoted_and_not_tried_again(
        self, serve: Serve, connect: Connect, send: Send, of_server: ssl.SSLContext
    ) -> None:
        server = serve(context=of_server)
        with TunnelProxy(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as proxy:
            with pytest.raises(ConnectionFailed, match="407 Proxy Authentication Required") as caught:
                send(connect(server.url, proxy=f"http://me:secret@{proxy.address}"), *READ)
            assert len(proxy.heads) == 1
        assert "secret" not in f"{caught.value} {caught.value!r}"
        assert server.connections == 0

    def test_a_proxy_that_fails_is_tried_again(
        self, serve: Serve, connect: Connect, send: Send, of_server: ssl.SSLContext
    ) -> None:
        with TunnelProxy(b"HTTP/1.1 502 Bad Gateway\r\n\r\n") as proxy:
            with pytest.raises(ConnectionFailed, match="502 Bad Gateway"):
                send(connect(serve(context=of_server).url, proxy=f"http://{proxy.address}"), *READ)
            assert len(proxy.heads) == 4

    def test_a_proxy_that_is_not_there_was_not_passed(self, connect: Connect, send: Send, unused_port: int) -> None:
        endpoint = connect("https://dynamodb.example", proxy=f"http://127.0.0.1:{unused_port}")
        with pytest.raises(ConnectionFailed, match=f"through http://127.0.0.1:{unused_port}"):
            send(endpoint, *READ)


def test_plain_http_request_to_proxy_has_full_address(serve: Serve, connect: Connect, send: Send) -> None:
    proxy = serve()
    endpoint = connect("http://dynamodb.example:8000/path", proxy=f"http://me:secret@127.0.0.1:{proxy.port}")
    assert send(endpoint, *READ) == OK
    (request,) = proxy.requests
    assert request.line == "POST http://dynamodb.example:8000/path HTTP/1.1"
    assert request.headers["host"] == "dynamodb.example:8000"
    assert request.headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"


def test_environment_proxy_is_used_by_default(
    serve: Serve, connect: Connect, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve()
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
    assert send(connect("http://dynamodb.invalid"), *READ) == OK
    with pytest.raises(ConnectionFailed):
        send(connect("http://dynamodb.invalid", proxy=False), *READ)
    assert len(proxy.requests) == 1
