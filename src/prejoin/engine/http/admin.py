"""The admin endpoint: weather of a running server, for tests in any language.

It has paths of its own, where no client of DynamoDB sends anything, and answers only clients on this machine.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from prejoin.engine.embedded import Embedded
from prejoin.engine.http.messages import NOT_FOUND, PLAIN_JSON, HttpRequest, HttpResponse
from prejoin.engine.http.origin_policy import is_loopback
from prejoin.engine.weather.conditions import read_conditions

_PATH = b"/_prejoin/"


class Admin:
    """Answers requests to the admin endpoint of one engine."""

    def __init__(self, engine: Embedded) -> None:
        self._engine = engine
        self._actions: dict[tuple[bytes, bytes], Callable[[bytes], object]] = {
            (b"GET", b"weather"): lambda body: self._engine.weather_front().describe(),
            (b"PUT", b"weather"): self._set_weather,
            (b"DELETE", b"weather"): lambda body: self._set_weather(b"[]"),
        }

    def serves(self, request: HttpRequest) -> bool:
        return request.url.startswith(_PATH) and is_loopback(request.peer)

    def respond(self, request: HttpRequest) -> HttpResponse:
        action = self._actions.get((request.method, request.url.removeprefix(_PATH)))
        if action is None:
            return NOT_FOUND
        try:
            return HttpResponse(200, msgspec.json.encode(action(request.body)), PLAIN_JSON)
        except ValueError as error:
            return HttpResponse(400, msgspec.json.encode({"message": str(error)}), PLAIN_JSON)

    def _set_weather(self, body: bytes) -> object:
        front = self._engine.weather_front()
        front.replace_all(read_conditions(body))
        return front.describe()
