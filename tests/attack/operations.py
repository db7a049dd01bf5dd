"""Hostile requests of every operation, to an engine in memory and one in a file: valid requests of which some members are
replaced, repeated or removed.

A finding is a request that ends with an internal error or an exception other than DynamoDB's, one that takes more than a
second of CPU, or an engine that is damaged afterwards.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.engine.conftest import SHOP, send
from tests.engine.test_fuzz import VALID

from prejoin.engine import Embedded
from prejoin.engine.http import Limits
from prejoin.protocol.errors import DynamoDBError

from .result import Result

SECONDS = 1.0
"""Of CPU: a busy machine does not count."""
_VERIFIED = 2_000
"""The number of requests between two verifications of the engines."""
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
            match chance.randrange(4):
                case 0:
                    del place[where]
                case 1 if isinstance(place, list):
                    place += [place[where]] * chance.choice((1, 30))
                case _:
                    # Members that repeat one object are made apart: a change within it would repeat, too.
                    place[where] = json.loads(json.dumps(hostile(chance)))
            break
    return copy


def attempt(engine: Embedded, operation: str, body: bytes) -> str:
    """Send a request. Return what is wrong with the outcome, or nothing."""
    begun = time.thread_time()
    try:
        json.loads(engine.send(operation, body) or b"{}")
    except DynamoDBError as error:
        if error.code == "InternalServerError":
            return f"internal error: {error.message}"
    except Exception as error:
        return f"{error!r}"
    took = time.thread_time() - begun
    return f"{took:.1f} s of CPU" if took > SECONDS else ""


def run(seconds: float, seed: int) -> Result:
    """Try hostile requests for some seconds. The same seed tries the same ones in the same order."""
    chance = random.Random(seed)
    result = Result()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder, Embedded() as memory, Embedded(Path(folder) / "shop.db") as file:
        engines = (memory, file)
        while time.monotonic() < end or not result.tries:
            engine = engines[result.tries % 2]
            if result.tries % _VERIFIED < 2:
                result.findings += [f"damaged: {text}" for text in engine.verify()]
                _restore(engine)
            operation, valid = chance.choice(VALID)
            body = json.dumps(mutated(valid, chance), ensure_ascii=chance.random() < 0.5).encode(errors="replace")
            if len(body) > Limits().body:
                continue
            result.tries += 1
            wrong = attempt(engine, operation, body)
            if wrong:
                result.findings.append(f"{operation} {body[:500]!r}: {wrong}")
    return result


def _restore(engine: Embedded) -> None:
    """Begin again with the table that the requests are about."""
    for name in json.loads(engine.send("ListTables", b"{}"))["TableNames"]:
        try:
            send(engine, "UpdateTable", TableName=name, DeletionProtectionEnabled=False)
            send(engine, "DeleteTable", TableName=name)
        except DynamoDBError:
            continue
    send(engine, "CreateTable", **SHOP)
