"""The admin endpoint: weather and snapshots of a running server, for tests in any language.

It has paths of its own, where no client of DynamoDB sends anything, and answers only clients on this machine.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from prejoin.engine.embedded import Embedded
from prejoin.engine.http.messages import NOT_FOUND, PLAIN_JSON, HttpRequest, HttpResponse
from prejoin.engine.http.origin_policy import is_loopback
from prejoin.engine.snapshot import Snapshot
from prejoin.engine.weather.conditions import read_conditions
from prejoin.protocol.errors import DynamoDBError

_PATH = b"/_prejoin/"


class Admin:
    """Answers requests to the admin endpoint of one engine."""

    def __init__(self, engine: Embedded) -> None:
        self._engine = engine
        self._snapshots: dict[bytes, Snapshot] = {}
        self._actions: dict[tuple[bytes, bytes], Callable[[bytes], object]] = {
            (b"GET", b"weather"): lambda body: self._engine.weather_front().describe(),
            (b"PUT", b"weather"): self._set_weather,
            (b"DELETE", b"weather"): lambda body: self._set_weather(b"[]"),
            (b"GET", b"snapshots"): self._names,
            (b"PUT", b"snapshots"): self._take_snapshot,
            (b"POST", b"snapshots"): self._restore,
        }

    def serves(self, request: HttpRequest) -> bool:
        # A snapshot replaces all tables, so nobody else on the network may restore one.
        return request.url.startswith(_PATH) and is_loopback(request.peer)

    def respond(self, request: HttpRequest) -> HttpResponse:
        kind, _, name = request.url.removeprefix(_PATH).partition(b"/")
        action = self._actions.get((request.method, kind))
        if action is None or (kind == b"weather" and name):
            return NOT_FOUND
        try:
            return HttpResponse(
                200, msgspec.json.encode(action(name if kind == b"snapshots" else request.body)), PLAIN_JSON
            )
        except (ValueError, DynamoDBError) as error:
            return HttpResponse(400, msgspec.json.encode({"message": str(error)}), PLAIN_JSON)

    def _take_snapshot(self, name: bytes) -> object:
        if not name:
            raise ValueError("a snapshot has a name: /_prejoin/snapshots/NAME")
        self._snapshots[name] = self._engine.snapshot()
        return self._names()

    def _restore(self, name: bytes) -> object:
        # The name of a snapshot may have slashes: only the last part is the verb.
        name, _, verb = name.rpartition(b"/")
        if verb != b"restore" or name not in self._snapshots:
            raise ValueError(f"there is no snapshot to restore; there are: {', '.join(self._names()) or 'none'}")
        self._engine.restore(self._snapshots[name])
        return self._names()

    def _names(self, _: bytes = b"") -> list[str]:
        return sorted(name.decode("latin-1") for name in self._snapshots)

    def _set_weather(self, body: bytes) -> object:
        front = self._engine.weather_front()
        front.replace_all(read_conditions(body))
        return front.describe()
