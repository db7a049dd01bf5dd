"""Hostile requests of every operation, to an engine in memory, one in a file and one behind HTTP, there also in bad
weather: valid requests of which some members are replaced, repeated or removed, and texts cut up.

A finding is a request that ends with an internal error or an exception other than DynamoDB's, one that takes more than a
second of CPU, or an engine that is damaged afterwards.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from base64 import b64decode, b64encode
from collections import defaultdict, deque
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Protocol

from tests.engine.conftest import SHOP, send
from tests.engine.test_fuzz import VALID

from prejoin.engine import Embedded
from prejoin.engine.http import Limits, Server
from prejoin.engine.operations import STREAM_OPERATIONS
from prejoin.protocol.errors import DynamoDBError

from .requests_by_operation import BUCKET, FILES, KNOWN, OTHER_NAMES, RECOVERY, REQUESTS, STREAM, WEATHER
from .result import Result

SECONDS = 1.0
"""Of CPU: a busy machine does not count."""
_ROUND = 3_000
"""The number of requests until engines are verified, and new ones are used."""
_WEATHER = 50
"""The number of requests to a server until its weather changes."""
_TEXTS = (
    "",
    "shop",
    "gsi1",
    "pk",
    "#n",
    ":v",
    "x" * 300,
    "\u0000",
    "\ud83d\ude00",
    "a.b[0]",
    "-1e126",
    "1" * 50,
    "SET a = a",
    "((",
)
_WORDS = (
    "(",
    ")",
    "[",
    "]",
    "'",
    '"',
    "?",
    "<<",
    ">>",
    "{",
    ",",
    ".",
    "-",
    "1e400",
    " AND ",
    " NOT ",
    " SET ",
    "#n",
    ":v",
    "é",
)
_NUMBERS = (0, -1, 1, 2**31, 2**63, 2**70, 0.5, 1e300)


def hostile(chance: random.Random) -> Any:
    """A value that hardly any member expects."""
    size = chance.choice((1, 10, 100, 1_000)) if chance.random() < 0.95 else 20_000
    match chance.randrange(9):
        case 0:
            return chance.choice(_TEXTS)
        case 1:
            return chance.choice(_NUMBERS)
        case 2:
            return chance.choice((None, True, False, [], {}, [None], {"": None}))
        case 3:
            return {"NS": [str(number) for number in range(size)]}
        case 4:
            return {"L": [{"M": {}}] * size}
        case 5:
            return [chance.choice((*_TEXTS, *_NUMBERS, {"S": "a"}, {"N": "1"}, {}))] * min(size, 1_000)
        case 6:
            return {"S": "é" * size}
        case 7:
            return chance.choice(("a = :v AND ", "NOT ", "(", "a, ", "size(", "a[0].")) * min(size, 5_000)
    nested: Any = {"N": "1"}
    for _ in range(chance.choice((5, 31, 33, 400))):
        nested = {"L": [nested]} if chance.random() < 0.5 else {"M": {"m": nested}}
    return nested


def unexpected(content: Any, chance: random.Random) -> Any:
    """Something hostile in place of a member, mostly of the same JSON type: another type gets no further than decoding."""
    found = hostile(chance)
    for _ in range(6):
        if type(found) is type(content):
            break
        found = hostile(chance)
    return found


def mutated(request: Any, chance: random.Random) -> Any:
    """A copy with a few members changed, at any depth."""
    copy = json.loads(json.dumps(request))
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = copy
        while isinstance(place, dict | list) and place:
            where = chance.choice(list(place)) if isinstance(place, dict) else chance.randrange(len(place))
            if isinstance(place[where], dict | list) and place[where] and chance.random() < 0.7:
                place = place[where]
                continue
            match chance.randrange(5):
                case 0:
                    del place[where]
                case 1 if isinstance(place, list):
                    place += [place[where]] * chance.choice((1, 30))
                case 2 | 3 if isinstance(place[where], str):
                    place[where] = forged(place[where], chance) or cut_up(place[where], chance)
                case _:
                    # Members that repeat one object are made apart: a change within it would repeat, too.
                    place[where] = json.loads(json.dumps(unexpected(place[where], chance)))
            break
    return copy


def forged(text: str, chance: random.Random) -> str:
    """A token or iterator with other content, well encoded; nothing if the text is neither."""
    begin, mark, content = text.rpartition("|")
    try:
        inside = json.loads(b64decode(content, validate=True))
    except ValueError:
        return ""
    return begin + mark + b64encode(json.dumps(mutated(inside, chance)).encode()).decode()


def cut_up(text: str, chance: random.Random) -> str:
    """A text with a few pieces removed, repeated, or replaced by something that means a lot in an expression."""
    for _ in range(chance.choice((1, 1, 3))):
        begin = chance.randrange(len(text) + 1)
        end = min(len(text), begin + chance.randrange(12))
        piece = chance.choice(("", text[begin:end] * 2, chance.choice(_WORDS)))
        text = text[:begin] + piece + text[end:]
    return text


class Memory:
    """What earlier responses had in members that later requests refer to."""

    def __init__(self) -> None:
        self._seen: defaultdict[str, deque[Any]] = defaultdict(lambda: deque(maxlen=8))

    def learn(self, response: Any) -> None:
        waiting = [response]
        while waiting:
            for name, content in _members(waiting.pop()):
                if (name := OTHER_NAMES.get(name, name)) in KNOWN:
                    self._seen[name].append(content)
                elif isinstance(content, dict | list):
                    waiting.append(content)

    def fill_in(self, request: Any, chance: random.Random) -> Any:
        """The request with `<Name>` replaced by something of this name, if there was any."""
        if isinstance(request, dict):
            return {self._known(name, chance): self.fill_in(content, chance) for name, content in request.items()}
        if isinstance(request, list):
            return [self.fill_in(content, chance) for content in request]
        return self._known(request, chance) if isinstance(request, str) else request

    def _known(self, text: str, chance: random.Random) -> Any:
        seen = self._seen.get(text[1:-1]) if text.startswith("<") else None
        return chance.choice(seen) if seen else text


def _members(content: Any) -> list[tuple[str, Any]]:
    return list(content.items()) if isinstance(content, dict) else [("", each) for each in content]


class Target(Protocol):
    def send(self, operation: str, body: bytes) -> bytes: ...


class OverHttp:
    """A server as a target. Now and then its weather changes; in bad weather a response may be lost."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self._chance = chance
        self._connection = HTTPConnection(url.removeprefix("http://"), timeout=120)
        self._count = 0

    def close(self) -> None:
        self._connection.close()

    def send(self, operation: str, body: bytes) -> bytes:
        if self._count % _WEATHER == 0:
            self._change_weather()
        self._count += 1
        service = "DynamoDBStreams" if operation in STREAM_OPERATIONS else "DynamoDB"
        headers = {"X-Amz-Target": f"{service}_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        try:
            return self._request("POST", "/", body, {**headers, "Authorization": "AWS4-x"})
        except ConnectionResetError:
            if not self._in_weather:
                raise
            return b""

    def _change_weather(self) -> None:
        """Set weather, or good weather; and use the other half of the admin endpoint."""
        self._in_weather = self._count % (2 * _WEATHER) == 0
        weather = json.dumps(mutated(WEATHER, self._chance) if self._in_weather else []).encode()
        for method, path, body in (
            ("PUT", "weather", weather),
            ("GET", "weather", b""),
            ("PUT", f"snapshots/{self._chance.choice('ab')}", b""),
            ("POST", "snapshots/a/restore", b""),
        ):
            try:
                self._request(method, f"/_prejoin/{path}", body, {})
            except DynamoDBError as error:
                if error.status >= 500:
                    raise RuntimeError(f"{method} {path} {body!r}: {error}") from error

    def _request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            content = response.read()
        except OSError:
            self._connection.close()
            raise
        if response.status != 200:
            raise DynamoDBError.from_body(content, response.status)
        return content


def attempt(target: Target, operation: str, body: bytes, memory: Memory | None = None) -> str:
    """Send a request. Return what is wrong with the outcome, or nothing."""
    begun = time.process_time()
    try:
        response = json.loads(target.send(operation, body) or b"{}")
        if memory is not None:
            memory.learn(response)
    except DynamoDBError as error:
        if error.status >= 500 and error.code != "ServiceUnavailable":
            return f"internal error: {error.message}"
    except Exception as error:
        return f"{error!r}"
    took = time.process_time() - begun
    return f"{took:.1f} s of CPU" if took > SECONDS else ""


def run(seconds: float, seed: int) -> Result:
    """Try hostile requests for some seconds. The same seed tries the same ones in the same order."""
    chance = random.Random(seed)
    result = Result()
    end = time.monotonic() + seconds
    while time.monotonic() < end or not result.tries:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            _fill_bucket(Path(folder))
            paths = (None, Path(folder) / "shop.db", None)
            engines = [stack.enter_context(Embedded(path, stream_shard_records=5, buckets=folder)) for path in paths]
            for engine in engines:
                send(engine, "CreateTable", **SHOP, StreamSpecification=STREAM)
                send(engine, "UpdateContinuousBackups", PointInTimeRecoverySpecification=RECOVERY)
            url = stack.enter_context(Server(engines[2], port=0, in_memory=True))
            served = stack.enter_context(closing(OverHttp(url, chance)))
            _attack([engines[0], engines[1], served], chance, end, result)
            result.findings += [f"damaged: {text}" for engine in engines for text in engine.verify()]
    return result


def _attack(targets: list[Target], chance: random.Random, end: float, result: Result) -> None:
    """One round of requests, to the targets in turn."""
    memories = [Memory() for _ in targets]
    for number in range(_ROUND):
        operation, valid = chance.choice(chance.choice((VALID, REQUESTS)))
        memory = memories[number % len(targets)]
        request = memory.fill_in(valid, chance)
        if chance.random() < 0.7:
            request = mutated(request, chance)
        body = json.dumps(request, ensure_ascii=chance.random() < 0.5).encode(errors="replace")
        if len(body) > Limits().body:
            continue
        result.tries += 1
        wrong = attempt(targets[number % len(targets)], operation, body, memory)
        if wrong:
            result.findings.append(f"{operation} {body[:500]!r}: {wrong}")
        if time.monotonic() > end:
            break


def _fill_bucket(folder: Path) -> None:
    for key, content in FILES.items():
        path = folder / BUCKET / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
