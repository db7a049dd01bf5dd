"""Asking our engine in this process: bytes in and out, or the typed client from call to object."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prejoin.engine import Embedded

if TYPE_CHECKING:
    from .asking import Row

    Thunk = Callable[[], Any]


class Bytes:
    """Requests that are encoded already; answers are not decoded."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._folder = tempfile.TemporaryDirectory(dir=order["scratch"]) if order["engine"] == "file" else None
        self._engine = Embedded(Path(self._folder.name) / "bench.db" if self._folder else None)

    def create(self) -> None:
        from .workload import CREATE_TABLE

        self._send("CreateTable", CREATE_TABLE)

    def first(self) -> None:
        for operation, body in self._order["first"]:
            self._send(operation, body)

    def load(self) -> None:
        from .workload import batches, population

        for body in batches(population(self._order["users"], large=self._order["large"])):
            self._send("BatchWriteItem", body)

    def calls(self) -> dict[str, list[Thunk]]:
        from .workload import requests

        return {
            operation: [self._call(name, json.dumps(body).encode()) for name, body in asked]
            for operation, asked in requests(self._order["users"], large=self._order["large"]).items()
        }

    def _call(self, name: str, body: bytes) -> Thunk:
        send = self._engine.send
        if name != "TransactWriteItems":
            return partial(send, name, body)
        begin = body[:-1] + b', "ClientRequestToken": "'
        return lambda: send(name, begin + urandom(16).hex().encode() + b'"}')

    def rows(self, answer: Any) -> list[Row]:
        found = json.loads(answer)
        return [
            [i["user"]["S"], int(i["number"]["N"]), i["status"]["S"], int(i["total"]["N"])]
            for i in found.get("Items", [found.get("Item")])
        ]

    def orders(self, user: str) -> Any:
        body = {
            "TableName": self._order["table"],
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": f"USER#{user}"}},
        }
        return self._send("Query", body)

    def stored(self) -> int:
        return sum(file.stat().st_size for file in Path(self._folder.name).iterdir()) if self._folder else 0

    def processes(self) -> list[str]:
        return []

    def close(self) -> None:
        self._engine.close()
        if self._folder:
            self._folder.cleanup()

    def _send(self, operation: str, body: dict[str, Any]) -> bytes:
        return self._engine.send(operation, json.dumps(body).encode())


class Typed(Bytes):
    """Attributes in, objects out."""

    def __init__(self, order: dict[str, Any]) -> None:
        from prejoin import Client

        from .workload import SCHEMA, TABLE

        super().__init__(order)
        self._db = Client(SCHEMA, TABLE, self._engine)

    def first(self) -> None:
        from .workload import Order, order

        self._db.create_table()
        self._db.put(order("u1", 1))
        assert self._db.get(Order, user="u1", number=1)

    def calls(self) -> dict[str, list[Thunk]]:
        from .workload import calls

        return calls(self._db, self._order["users"], large=self._order["large"])

    def rows(self, answer: Any) -> list[Row]:
        found = answer if hasattr(answer, "items") else [answer]
        return [[o.user, o.number, o.status, o.total] for o in found]

    def orders(self, user: str) -> Any:
        from .workload import Order

        return self._db.query(Order, user=user)
