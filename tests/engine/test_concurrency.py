"""Threads and processes on one store: no update lost, sums hold, everyone sees everyone's tables."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError

from . import transferring
from .conftest import SHOP, item, key_schema, refusal, send, values
from .transferring import ACCOUNTS, EACH, ask, balances, moves, open_accounts


def check_the_bank(dynamodb: Embedded, made: int) -> None:
    assert sum(balances(dynamodb)) == ACCOUNTS * EACH
    assert balances(dynamodb) == sorted(balances(dynamodb))
    assert min(balances(dynamodb)) >= 0
    assert ask(dynamodb, "GetItem", Key={"pk": {"S": "moves"}})["Item"]["n"] == {"N": str(made)}
    assert made > 0


def test_threads_in_memory_move_money_and_none_is_lost() -> None:
    with Embedded() as dynamodb:
        open_accounts(dynamodb)
        check_the_bank(dynamodb, moves(dynamodb, 1, 100, threads=6))


@pytest.mark.slow
def test_threads_of_several_processes_move_money_and_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    with Embedded(path) as dynamodb:
        open_accounts(dynamodb)
        command = [sys.executable, transferring.__file__, str(path)]
        others = [
            subprocess.Popen([*command, str(seed), "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for seed in range(3)
        ]
        made = moves(dynamodb, 9, 60)
        for other in others:
            said, complaint = other.communicate()
            assert other.returncode == 0, complaint.decode()
            made += int(said)
        check_the_bank(dynamodb, made)


_OPENING = """
import sys
from prejoin.engine import Embedded
with Embedded(sys.argv[1]) as dynamodb:
    dynamodb.send("ListTables", b"{}")
"""


@pytest.mark.slow
def test_processes_may_open_a_new_file_at_the_same_moment(tmp_path: Path) -> None:
    for number in range(3):
        command = [sys.executable, "-c", _OPENING, str(tmp_path / f"{number}.db")]
        openers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
        for opener in openers:
            _, complaint = opener.communicate()
            assert opener.returncode == 0, complaint.decode()


def test_index_created_by_one_process_is_maintained_by_another(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with Embedded(path) as one, Embedded(path) as other:
        send(one, "CreateTable", **SHOP)
        send(other, "PutItem", Item=item(pk="a", sk="1", mail="x"))
        send(
            one,
            "UpdateTable",
            AttributeDefinitions=[{"AttributeName": "mail", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[
                {
                    "Create": {
                        "IndexName": "by-mail",
                        "KeySchema": key_schema("mail"),
                        "Projection": {"ProjectionType": "ALL"},
                    }
                }
            ],
        )
        send(other, "PutItem", Item=item(pk="a", sk="2", mail="x"))
        for engine in (one, other):
            answer = send(
                engine,
                "Query",
                IndexName="by-mail",
                KeyConditionExpression="mail = :m",
                ExpressionAttributeValues=values(m="x"),
            )
            assert answer["Count"] == 2
        send(one, "UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-mail"}}])
        assert refusal(send, other, "Scan", IndexName="by-mail").code == "ValidationException"


def test_writer_waits_for_locked_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with Embedded(path) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        holder.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, lambda: holder.execute("ROLLBACK"))
        release.start()
        send(dynamodb, "PutItem", Item=item(pk="a", sk="1"))
        release.join()
        holder.close()
        assert send(dynamodb, "Scan")["Count"] == 1


def test_long_file_lock_raises_readable_dynamodb_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.db"
    monkeypatch.setattr("prejoin.engine.store.file.store._PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr("prejoin.engine.store.file.store.BUSY_MILLISECONDS", 50)
    with Embedded(path) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(DynamoDBError) as caught:
            send(dynamodb, "PutItem", Item=item(pk="a", sk="1"))
        assert caught.value.status == 500
        assert "Another process has locked the file" in caught.value.message
        assert send(dynamodb, "Scan")["Count"] == 0
        holder.close()


@pytest.mark.parametrize("content", [b"this is no database, only text in a file", None])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "notes.db"
    if content is None:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE notes (text)")
        other.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"notes\.db is"):
        Embedded(path)
    assert path.read_bytes() == before
