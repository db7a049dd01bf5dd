"""A transport that loses answers to writes: the write never happened, happened, or happens a little later."""

from __future__ import annotations

import threading
from contextlib import suppress
from random import Random
from typing import Any

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import OutcomeUnknown

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
LATEST = 0.01
"""Seconds after which a late write happens."""


class Lossy:
    """Around a transport. One thread uses it; `finish` waits for late writes."""

    def __init__(self, inner: Any, chance: Random, probability: float = 0.04) -> None:
        self._inner = inner
        self._chance = chance
        self._probability = probability
        self._late: list[threading.Timer] = []

    def send(self, operation: str, body: bytes) -> bytes:
        if operation not in WRITES or self._chance.random() >= self._probability:
            answer: bytes = self._inner.send(operation, body)
            return answer
        match self._chance.choice(["never", "now", "late"]):
            case "now":
                self._apply(operation, body)
            case "late":
                timer = threading.Timer(self._chance.random() * LATEST, self._apply, (operation, body))
                timer.start()
                self._late.append(timer)
        raise OutcomeUnknown("the answer was lost", operation=operation, attempts=1)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)

    def finish(self) -> None:
        for timer in self._late:
            timer.join()

    def _apply(self, operation: str, body: bytes) -> None:
        with suppress(DynamoDBError):  # refused: nobody is told
            self._inner.send(operation, body)
