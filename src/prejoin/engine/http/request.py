"""One HTTP request, as it came."""

from __future__ import annotations

from dataclasses import dataclass, field

TARGET = b"DynamoDB_20120810."


@dataclass(slots=True)
class Request:
    method: bytes = b""
    url: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Names in lower case."""
    body: bytes = b""
    keep_alive: bool = True

    def header(self, name: bytes) -> bytes | None:
        """The value of the first header of this name."""
        for known, value in self.headers:
            if known == name:
                return value
        return None

    def count(self, name: bytes) -> int:
        return sum(known == name for known, _ in self.headers)
