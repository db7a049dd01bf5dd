"""Proxies: which one the environment names for an address, and the CONNECT tunnel through it. No I/O."""

from __future__ import annotations

from collections.abc import Mapping

from prejoin.transport.url import Url, read_url

_LARGEST_HEAD = 65536


class ProxyRefusal(OSError):  # noqa: N818 - like ConnectionRefusedError
    """The proxy did not open a tunnel. A refusal is permanent, unless the proxy itself failed."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def from_environment(url: Url, environ: Mapping[str, str]) -> Url | None:
    """The proxy in HTTP_PROXY or HTTPS_PROXY, unless NO_PROXY excludes the host. Never for this machine itself.

    >>> environ = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".internal, 10.0.0.0/8"}
    >>> from_environment(read_url("https://dynamodb.eu-west-1.amazonaws.com"), environ)
    Url('http://proxy:3128')
    >>> from_environment(read_url("https://dynamodb.internal"), environ)
    """
    if url.is_loopback or _is_excepted(url, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return None
    name = f"{url.scheme}_proxy"
    text = environ.get(name)
    # A CGI script gets a visitor's `Proxy:` header as HTTP_PROXY.
    if text is None and not (name == "http_proxy" and "REQUEST_METHOD" in environ):
        text = environ.get(name.upper())
    text = text or environ.get("all_proxy") or environ.get("ALL_PROXY")
    return read_proxy(text) if text else None


def read_proxy(text: str) -> Url:
    """Parse a proxy's address; `host:port` is enough."""
    try:
        proxy = read_url(text if "://" in text else f"http://{text}")
    except ValueError as error:
        raise ValueError(f"the proxy {error}") from None
    if proxy.tls:
        raise ValueError(f"the proxy {proxy} is reached by TLS, which is not supported: give it as http://")
    return proxy


def authorization(proxy: Url) -> str:
    """The header line for a proxy with a user; otherwise empty."""
    if proxy.user is None:
        return ""
    from base64 import b64encode
    from urllib.parse import unquote

    pair = f"{unquote(proxy.user)}:{unquote(proxy.password or '')}"
    return f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}\r\n"


def tunnel_request(proxy: Url, url: Url) -> bytes:
    """The request that asks a proxy for a tunnel to a server."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"CONNECT {host}:{url.port} HTTP/1.1\r\nHost: {host}:{url.port}\r\n{authorization(proxy)}\r\n".encode()


class Tunnel:
    """The proxy's response, piece by piece. `feed` returns True once the tunnel is open.

    >>> tunnel = Tunnel()
    >>> tunnel.feed(b"HTTP/1.1 200 Connection est"), tunnel.feed(b"ablished\\r\\n\\r\\n")
    (False, True)
    """

    def __init__(self) -> None:
        self._head = b""

    def feed(self, data: bytes) -> bool:
        self._head += data
        if b"\r\n\r\n" not in self._head:
            if not data:
                raise ProxyRefusal("the proxy closed the connection")
            if len(self._head) > _LARGEST_HEAD:
                raise ProxyRefusal("the proxy's response does not end")
            return False
        line = self._head.partition(b"\r\n")[0].decode("latin-1")
        version, _, status_line = line.partition(" ")
        if not version.startswith("HTTP/1.") or not status_line[:3].isdigit():
            raise ProxyRefusal(f"the proxy does not speak HTTP: {line[:60]!r}")
        if status_line[0] != "2":
            raise ProxyRefusal(f"the proxy answered {status_line[:60]}", int(status_line[:3]))
        return True


def _is_excepted(url: Url, text: str) -> bool:
    for entry in text.replace(",", " ").split():
        if entry == "*":
            return True
        name = entry.lower()
        if name == f"{url.host}:{url.port}" or name.strip("[]") == url.host:
            return True
        if "/" in name:
            if _is_within(url.host, name):
                return True
        elif url.host.endswith("." + name.lstrip("*").lstrip(".")):
            return True
    return False


def _is_within(host: str, network: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
