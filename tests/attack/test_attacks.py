"""A second or two of the attacks that are cheap, and each finds what is planted.

A few kills and transfers are in tests/engine (test_crash, test_concurrency).
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from tests.attack import cancellations, documents, keys, kills, operations, patterns, server_kills
from tests.attack.requests_by_operation import REQUESTS
from tests.attack.result import Result
from tests.engine.crashing import Writer
from tests.engine.test_fuzz import VALID
from tests.patterns.faults import items

from prejoin import Client
from prejoin.engine import Embedded
from prejoin.engine.http import Server
from prejoin.engine.operations import OPERATIONS
from prejoin.transport import Endpoint


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_kills_notice_an_acknowledged_write_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "kills.db"
    writer = Writer(path, "normal", "table")
    while writer.done < 20:
        writer.start()
        writer.wait_until_ready()
        time.sleep(0.05)
        writer.kill()
        writer.check()
    with Embedded(path) as engine:
        (item, *_) = items(engine, "table")
        key = {name: item[name] for name in ("pk", "sk")}
        engine.send("DeleteItem", msgspec.json.encode({"TableName": "table", "Key": key}))
    with pytest.raises(AssertionError, match="table is in no state it ever was in"):
        writer.check()


def test_kills_notice_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "kills.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("CREATE INDEX i ON t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [(f"{number:0100}",) for number in range(500)])
    assert kills.damage(str(path)) == []
    data = bytearray(path.read_bytes())
    at = len(data) - 2000
    data[at : at + 50] = bytes(50)
    path.write_bytes(data)
    assert kills.damage(str(path)) != []


def test_server_kills_notice_what_is_not_as_clients_were_told() -> None:
    with Embedded() as engine:
        db = Client(cancellations.SCHEMA, "kills", engine)
        db.create_table()
        db.put_many([cancellations.Part("a 0", part) for part in range(cancellations.PARTS)])
        db.put_many([cancellations.Part("a 1", 0), cancellations.Hits("a", 1)])
        writer = server_kills.Writer("a", done={"a 0", "hit 0"}, unknown={"hit 1"})
        assert server_kills.wrong(db, [writer]) == ["a 1 has 1 of 3 parts"]
        writer = server_kills.Writer("a", done={"a 2", "hit 0", "hit 1"}, not_done={"a 0"})
        assert server_kills.wrong(db, [writer])[1:] == [
            "a 2 was acknowledged, and is gone",
            "a 0 was called not done, and is there",
            "a has Hits(name='a', n=1), and should have 2 to 2",
        ]


@pytest.mark.parametrize("name", patterns.RACES)
def test_race_of_a_pattern(name: str) -> None:
    result = Result()
    with Embedded() as engine:
        patterns.result_of(result, name, engine, "race")
    assert result.findings == []
    assert result.tries == patterns.THREADS * patterns.STEPS


class LosesHalf:
    """A transport that applies the first half of every fifth transaction, and says that it applied all."""

    def __init__(self, engine: Embedded) -> None:
        self._engine = engine
        self._count = 0

    def send(self, operation: str, body: bytes) -> bytes:
        self._count += operation == "TransactWriteItems"
        if operation == "TransactWriteItems" and self._count % 5 == 0:
            request: dict[str, Any] = msgspec.json.decode(body)
            request["TransactItems"] = request["TransactItems"][: len(request["TransactItems"]) // 2]
            body = msgspec.json.encode(request)
        return self._engine.send(operation, body)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)


@pytest.mark.parametrize("name", ["once", "sharded counters", "soft deletes"])
def test_race_notices_half_a_transaction(name: str) -> None:
    result = Result()
    for turn in range(10):  # a race may end well by chance
        with Embedded() as engine:
            patterns.result_of(result, name, LosesHalf(engine), f"race{turn}")
        if result.findings:
            break
    assert result.findings


@pytest.mark.parametrize("place", ["memory", "file", "http"])
def test_cancelled_tasks(place: str, tmp_path: Path) -> None:
    result = Result()
    chance = Random(1)
    if place == "http":
        with (
            Embedded() as engine,
            Server(engine, port=0) as url,
            Endpoint(url, pool=cancellations.POOL) as http,
            Endpoint(url) as other,
        ):
            cancellations.storm_on(result, place, http, other, "storm", chance)
    else:
        with Embedded(tmp_path / "storm.db" if place == "file" else None) as engine:
            cancellations.storm_on(result, place, engine, engine, "storm", chance)
    assert result.findings == []
    assert result.tries == cancellations.TASKS


def test_cancellations_notice_half_a_transaction() -> None:
    result = Result()
    with Embedded() as engine:
        cancellations.storm_on(result, "memory", LosesHalf(engine), engine, "storm", Random(1))  # type: ignore[arg-type]
    assert any("of 3 parts" in finding for finding in result.findings)


def test_hostile_keys() -> None:
    result = Result()
    keys.attack_once(result, Random(1), "test")
    assert result.findings == []
    assert result.tries > 100


class Unescaped:
    """A transport that takes the escape of `#` out of every key, so that `a#b, c` and `a, b#c` have the same."""

    def __init__(self, engine: Embedded) -> None:
        self._engine = engine

    def send(self, operation: str, body: bytes) -> bytes:
        return self._engine.send(operation, body.replace(b"$23", b"#"))


def test_hostile_keys_notice_an_encoding_that_is_not_one_to_one() -> None:
    result = Result()
    keys.attack_once(result, Random(1), "test", Unescaped)
    assert any("refused, and nothing like it is there" in finding for finding in result.findings)


def test_mutated_documents(tmp_path: Path) -> None:
    found = documents.sources("examples/teams/access-patterns.md", "tests/corpus/aws_bookmarks/access-patterns.md")
    problems = [documents.attack_once(found, Random(number), tmp_path) for number in range(25)]
    assert set(problems) == {""}


@pytest.mark.parametrize(
    ("status", "text", "problem"),
    [
        (70, json.dumps({"diagnostics": []}), "status 70"),
        (0, "Traceback (most recent call last):", "no envelope"),
        (1, json.dumps({"diagnostics": []}), "does not say why"),
        (0, json.dumps({"diagnostics": [{"code": "PJ1", "message": "m", "fix": ""}]}), "lacks its code, text or fix"),
        (0, json.dumps({"diagnostics": [{"code": "PJ1", "message": "m", "fix": "f", "line": 9}]}), "line 9"),
    ],
)
def test_improper_response_is_detected(status: int, text: str, problem: str) -> None:
    assert problem in documents.problem(status, text, b"one\ntwo\n")


def test_operations_notice_an_engine_that_fails_or_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with Embedded() as engine:
        assert operations.attempt(engine, "ListTables", b"{}") == ""
        assert operations.attempt(engine, "GetItem", b"{}") == ""
        monkeypatch.setattr(operations, "SECONDS", -1.0)
        assert "of CPU" in operations.attempt(engine, "ListTables", b"{}")
        monkeypatch.setattr(engine, "send", lambda operation, body: {}[operation])
        assert operations.attempt(engine, "ListTables", b"{}") == "KeyError('ListTables')"


def test_operations_notice_a_server_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with Embedded() as engine, Server(engine, port=0) as url, closing(operations.OverHttp(url, Random(1))) as served:
        assert operations.attempt(served, "ListTables", b"{}") == ""
        assert operations.attempt(served, "GetRecords", b"{}") == "", "an operation of the other service"
        monkeypatch.setattr(engine, "send", lambda operation, body: 1 / 0)
        assert "ZeroDivisionError" in operations.attempt(served, "Scan", b"{}")
    with Embedded() as engine, Server(engine, port=0) as url, closing(operations.OverHttp(url, Random(1))) as served:
        monkeypatch.setattr(engine, "weather_front", lambda: 1 / 0)
        assert "PUT weather" in operations.attempt(served, "ListTables", b"{}")


def test_operations_use_what_responses_had() -> None:
    memory, chance = operations.Memory(), Random(1)
    request = {"BackupArn": "<BackupArn>", "Keys": [{"<TableArn>": 1}]}
    assert memory.fill_in(request, chance) == request
    memory.learn({"BackupDetails": {"BackupArn": "a"}, "Tables": [{"TableArn": "b"}]})
    assert memory.fill_in(request, chance) == {"BackupArn": "a", "Keys": [{"b": 1}]}


def test_every_operation_is_attacked() -> None:
    assert {operation for operation, _ in (*VALID, *REQUESTS)} == set(OPERATIONS)


def test_mutated_requests_are_the_same_for_a_seed() -> None:
    request = {"TableName": "shop", "Item": {"pk": {"S": "a"}, "l": {"L": [{"N": "1"}, {"N": "2"}]}}}
    first, second = ([operations.mutated(request, Random(seed)) for seed in range(50)] for _ in range(2))
    assert first == second
    assert sum(each != request for each in first) > 40
