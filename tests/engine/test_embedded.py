"""The engine as a whole: files, threads, processes, durabilities, and bytes that are no request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest

from prejoin.engine import Durability, Embedded

from .conftest import SHOP, item, refusal, send, values

COUNT: dict[str, Any] = {
    "Key": item(pk="counter", sk="1"),
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": values(one=1),
}


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_file_content_survives_reopening(tmp_path: Path, durability: Durability) -> None:
    path = tmp_path / "shop.db"
    with Embedded(path, durability=durability) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        send(dynamodb, "PutItem", Item=item(pk="a", sk="1", city="Bern"))
    with Embedded(path) as dynamodb:
        assert send(dynamodb, "GetItem", Key=item(pk="a", sk="1"))["Item"] == item(pk="a", sk="1", city="Bern")
        assert send(dynamodb, "Scan", IndexName="by-city")["Count"] == 1


def test_memory_engines_are_independent() -> None:
    with Embedded() as one, Embedded() as other:
        send(one, "CreateTable", **SHOP)
        assert send(other, "ListTables") == {"TableNames": []}


def test_durability_and_path_go_together(tmp_path: Path) -> None:
    assert get_args(Durability) == ("memory", "normal", "full")
    with pytest.raises(ValueError, match="needs a path"):
        Embedded(durability="full")
    with pytest.raises(ValueError, match="has no path"):
        Embedded(tmp_path / "x.db", durability="memory")


def test_closed_engine_raises_error() -> None:
    dynamodb = Embedded()
    dynamodb.close()
    assert refusal(dynamodb.send, "ListTables", b"{}").code == "InternalServerError"
    dynamodb.close()


@pytest.mark.parametrize("in_file", [False, True])
def test_threads_lose_no_update(tmp_path: Path, in_file: bool) -> None:
    with Embedded(tmp_path / "shop.db" if in_file else None) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: send(dynamodb, "UpdateItem", **COUNT), range(200)))
        assert send(dynamodb, "GetItem", Key=COUNT["Key"])["Item"]["n"] == {"N": "200"}


_COUNTING = """
import json, sys
from prejoin.engine import Embedded
with Embedded(sys.argv[1]) as dynamodb:
    for _ in range(50):
        dynamodb.send("UpdateItem", sys.argv[2].encode())
"""


def test_processes_on_one_file_lose_no_update_and_see_one_anothers_tables(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with Embedded(path) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        body = json.dumps({"TableName": "shop", **COUNT})
        counters = [subprocess.Popen([sys.executable, "-c", _COUNTING, str(path), body]) for _ in range(3)]
        assert [counter.wait() for counter in counters] == [0, 0, 0]
        assert send(dynamodb, "GetItem", Key=COUNT["Key"])["Item"]["n"] == {"N": "150"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_writes_with_a_connection_of_its_own(tmp_path: Path) -> None:
    with Embedded(tmp_path / "shop.db") as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        child = os.fork()
        if child == 0:
            try:
                send(dynamodb, "UpdateItem", **COUNT)
            finally:
                os._exit(0)
        send(dynamodb, "UpdateItem", **COUNT)
        os.waitpid(child, 0)
        assert send(dynamodb, "GetItem", Key=COUNT["Key"])["Item"]["n"] == {"N": "2"}


def test_an_engine_sees_a_table_that_another_deleted_and_made_again(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with Embedded(path) as one, Embedded(path) as other:
        send(one, "CreateTable", **SHOP)
        send(other, "PutItem", Item=item(pk="a", sk="1"))
        send(one, "DeleteTable")
        send(
            one,
            "CreateTable",
            **{**SHOP, "LocalSecondaryIndexes": None, "AttributeDefinitions": SHOP["AttributeDefinitions"][:-1]},
        )
        assert send(other, "Scan")["Count"] == 0
        assert refusal(send, other, "Scan", IndexName="by-rank").code == "ValidationException"


def test_an_operation_that_does_not_exist_is_unknown(dynamodb: Embedded) -> None:
    error = refusal(dynamodb.send, "MakeCoffee", b"{}")
    assert (error.code, error.status) == ("UnknownOperationException", 400)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"TableName":"\xff"}',
        b'{"TableName":"\\ud800"}',
        b'{"TableName":1}',
        b'{"TableName":{}}',
        b'{"TableName":"shop","Item":{"a":{"S":1}}}',
        b'{"TableName":"shop","Item":{"a":{"B":"*"}}}',
        b'{"TableName":"shop","Item":' + b'{"a":{"M":' * 20_000,
    ],
)
def test_invalid_bytes_raise_serialization_error(dynamodb: Embedded, body: bytes) -> None:
    assert refusal(dynamodb.send, "PutItem", body).code == "SerializationException"
