"""A writer to be killed at any moment, and what must be true of its file afterwards.

Every operation follows from its number. So the state after n operations is known, and a file is right when it is that
state, or the next: the writer says a number when its operation is acknowledged, and may die between the two.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import time
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from prejoin.engine import Durability, Embedded

Items = dict[str, dict[str, Any]]
LATE = "late"

_processes: Any = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
# Each writer is forked from a process that has imported everything and opened nothing: a kill takes milliseconds.
_processes.set_forkserver_preload([__name__])


def _item(number: int, chance: random.Random) -> dict[str, Any]:
    item = {"pk": {"S": f"p{chance.randrange(12)}"}, "sk": {"N": str(chance.randrange(3))}, "by": {"N": str(number)}}
    if chance.random() < 0.7:
        item["g"] = {"S": f"g{chance.randrange(4)}"}
    if chance.random() < 0.1:
        item["fat"] = {"S": "x" * chance.randrange(20_000)}
    return item


def _key(item: dict[str, Any]) -> dict[str, Any]:
    return {"pk": item["pk"], "sk": item["sk"]}


def _distinct(number: int, chance: random.Random, wanted: int) -> list[dict[str, Any]]:
    found = {str(_key(item)): item for item in (_item(number, chance) for _ in range(wanted))}
    return list(found.values())


class Model:
    """What the table holds, kept in a dict."""

    def __init__(self) -> None:
        self.items: Items = {}
        self.has_late = False

    def operation(self, table: str, number: int) -> tuple[str, dict[str, Any]]:
        """The request with this number. The model is then as the table will be."""
        chance = random.Random(number)
        kind = chance.choices(["put", "update", "delete", "batch", "transaction", "index"], [6, 6, 3, 2, 6, 1])[0]
        items = _distinct(number, chance, 6)
        first = items[0]
        named = {"TableName": table}
        if kind == "put":
            self._put(first)
            return "PutItem", {**named, "Item": first}
        if kind == "update":
            old = self.items.get(str(_key(first)), _key(first))
            visits = int(old.get("visits", {"N": "0"})["N"]) + 1
            self._put({**old, "visits": {"N": str(visits)}, "g": {"S": f"u{number % 3}"}})
            return "UpdateItem", {
                **named,
                "Key": _key(first),
                "UpdateExpression": "SET g = :g ADD visits :one",
                "ExpressionAttributeValues": {":g": {"S": f"u{number % 3}"}, ":one": {"N": "1"}},
            }
        if kind == "delete":
            self.items.pop(str(_key(first)), None)
            return "DeleteItem", {**named, "Key": _key(first)}
        if kind == "batch":
            for item in items:
                self._put(item)
            return "BatchWriteItem", {"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in items]}}
        if kind == "transaction":
            *puts, last = items
            for item in puts:
                self._put(item)
            self.items.pop(str(_key(last)), None)
            actions: list[dict[str, Any]] = [{"Put": {**named, "Item": item}} for item in puts]
            return "TransactWriteItems", {"TransactItems": [*actions, {"Delete": {**named, "Key": _key(last)}}]}
        self.has_late = not self.has_late
        if not self.has_late:
            return "UpdateTable", {**named, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": LATE}}]}
        index = {
            "IndexName": LATE,
            "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        return "UpdateTable", {
            **named,
            "AttributeDefinitions": [{"AttributeName": "by", "AttributeType": "N"}],
            "GlobalSecondaryIndexUpdates": [{"Create": index}],
        }

    def _put(self, item: dict[str, Any]) -> None:
        self.items[str(_key(item))] = item

    def state(self) -> Any:
        late = [{**_key(item), "by": item["by"]} for item in self.items.values() if "by" in item]
        return (
            _in_order(list(self.items.values())),
            _in_order([item for item in self.items.values() if "g" in item]),
            _in_order(late) if self.has_late else None,
        )


def _in_order(items: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(item, sort_keys=True) for item in items)


def create(path: Path, durability: Durability, table: str) -> None:
    with Embedded(path, durability=durability) as dynamodb:
        request = {
            "TableName": table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in {"pk": "S", "sk": "N", "g": "S"}.items()
            ],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-g",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        }
        dynamodb.send("CreateTable", json.dumps(request).encode())


def found_state(dynamodb: Embedded, table: str) -> Any:
    def scan(index: str | None) -> list[str]:
        request: dict[str, Any] = {"TableName": table, "IndexName": index}
        items: list[dict[str, Any]] = []
        while True:
            answer = json.loads(dynamodb.send("Scan", json.dumps(request).encode()))
            items += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return _in_order(items)
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    described = json.loads(dynamodb.send("DescribeTable", json.dumps({"TableName": table}).encode()))["Table"]
    names = [index["IndexName"] for index in described["GlobalSecondaryIndexes"]]
    return scan(None), scan("by-g"), scan(LATE) if LATE in names else None


def write_until_killed(path: Path, durability: Durability, table: str, first: int, to: Connection) -> None:
    """Performs operations from number `first` on. Writes a line when it is ready, and each number when it is done."""
    out = to.fileno()
    model = Model()
    for number in range(first):
        model.operation(table, number)
    with Embedded(path, durability=durability) as dynamodb:
        os.write(out, b"ready\n")
        for number in count(first):
            operation, request = model.operation(table, number)
            dynamodb.send(operation, json.dumps(request).encode())
            os.write(out, b"%d\n" % number)


class Writer:
    """A process that writes to one table, killed and started again and again."""

    def __init__(self, path: Path, durability: Durability, table: str) -> None:
        self._path, self._durability, self._table = path, durability, table
        self._model = Model()
        self.done = 0
        create(path, durability, table)

    def start(self) -> None:
        receive, send = _processes.Pipe(duplex=False)
        arguments = (self._path, self._durability, self._table, self.done, send)
        self._process = _processes.Process(target=write_until_killed, args=arguments, daemon=True)
        self._process.start()
        send.close()
        self._from = open(os.dup(receive.fileno()), "rb")  # noqa: SIM115 - closed when it is killed
        receive.close()

    def wait_until_ready(self) -> None:
        assert self._from.readline() == b"ready\n", "the writer did not start"

    def kill(self) -> None:
        """Kill the process, and count what it had acknowledged."""
        self._process.kill()
        with self._from:
            said = self._from.read()
        self._process.join()
        self._process.close()
        # What is said last may be cut off; the number before it was whole.
        for line in said.split(b"\n")[:-1]:
            assert int(line) == self.done
            self._model.operation(self._table, self.done)
            self.done += 1

    def check(self) -> None:
        """The file holds what was acknowledged, and of what came next all or nothing."""
        with Embedded(self._path) as dynamodb:
            found = found_state(dynamodb, self._table)
        if found != self._model.state():
            self._model.operation(self._table, self.done)
            self.done += 1
            assert found == self._model.state(), f"{self._table} is in no state it ever was in"


def kill_and_check(path: Path, durability: Durability, rounds: int, seed: int, writers: int = 2) -> int:
    """Rounds of several writers on one file, each killed at a moment of its own; returns how much they wrote."""
    chance = random.Random(seed)
    crew = [Writer(path, durability, f"table-{number}") for number in range(writers)]
    for _ in range(rounds):
        for writer in crew:
            writer.start()
        for writer in crew:
            writer.wait_until_ready()
        for writer in crew:
            time.sleep(chance.random() ** 2 * 0.15)
            writer.kill()
        for writer in crew:
            writer.check()
    return sum(writer.done for writer in crew)
