"""Parsing of addresses of servers and proxies. It avoids the import of urllib."""

from __future__ import annotations

import re

import msgspec

_URL = (
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?:(?P<user>[^:/?#@]*)(?::(?P<password>[^/?#@]*))?@)?"
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+))"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[A-Za-z0-9/._~-]*)?"
)
_PORTS = {"http": 80, "https": 443}


class Url(msgspec.Struct, frozen=True):
    """An address.

    >>> url = read_url("http://[::1]:8000")
    >>> url.host, url.port, url.authority, str(url)
    ('::1', 8000, '[::1]:8000', 'http://[::1]:8000')
    >>> read_url("https://dynamodb.eu-west-1.amazonaws.com:443/").authority
    'dynamodb.eu-west-1.amazonaws.com'
    """

    scheme: str
    host: str
    port: int
    path: str = "/"
    user: str | None = None
    password: str | None = None

    @property
    def authority(self) -> str:
        """The value of the Host header. The port is included unless it is the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS.get(self.scheme) else f"{host}:{self.port}"

    @property
    def tls(self) -> bool:
        return self.scheme == "https"

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.") or self.host.endswith(".localhost")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path if self.path != '/' else ''}"

    def __repr__(self) -> str:
        return f"Url({str(self)!r})"  # a proxy's password stays out of it


def read_url(text: str) -> Url:
    """Parse an address. A ValueError never shows a password."""
    match = re.fullmatch(_URL, text.strip())
    if match is None:
        raise ValueError(f"is not an address such as http://host:port: {_without_password(text)!r}")
    scheme = match["scheme"].lower()
    if scheme not in _PORTS:
        raise ValueError(f"is http:// or https://, not {scheme}://")
    port = int(match["port"]) if match["port"] else _PORTS[scheme]
    if not 0 < port < 65536:
        raise ValueError(f"has no port {port}")
    host = (match["six"] or match["host"]).lower()
    return Url(scheme, host, port, match["path"] or "/", match["user"], match["password"])


def _without_password(text: str) -> str:
    before, separator, after = text.rpartition("@")
    return f"{before.partition('://')[0]}://…@{after}" if separator else text
