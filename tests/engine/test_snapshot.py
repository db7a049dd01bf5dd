"""Snapshots: all tables, saved and restored, in memory and in files."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine.conftest import SHOP, Ask, item, refusal, send
from tests.work import calls

from prejoin import Server
from prejoin.engine import Embedded, OpenError


def content(engine: Embedded) -> dict[str, Any]:
    """What a client can see. Not ItemCount, which may be a little old."""
    tables = send(engine, "ListTables")["TableNames"]
    return {
        name: (
            send(engine, "Scan", TableName=name)["Items"],
            [
                send(engine, "Scan", TableName=name, IndexName=index)["Items"]
                for index in ("gsi1", "by-city", "by-rank")
            ],
            send(engine, "DescribeTimeToLive", TableName=name),
        )
        for name in tables
    }


@pytest.fixture
def filled(dynamodb: Embedded, shop: Ask) -> Embedded:
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    shop("UpdateTable", StreamSpecification=stream)
    shop("UpdateTimeToLive", TimeToLiveSpecification={"AttributeName": "until", "Enabled": True})
    for number in range(20):
        until = int(time.time()) + 1000
        attributes = item(
            pk=f"p{number % 3}", sk=f"{number:03}", g1pk="x", g1sk=number, city="Ulm", rank=number, until=until
        )
        shop("PutItem", Item=attributes)
    return dynamodb


def change_everything(engine: Embedded) -> None:
    send(engine, "DeleteItem", Key=item(pk="p0", sk="000"))
    send(engine, "PutItem", Item=item(pk="p1", sk="001", g1pk="y", g1sk=1))
    send(engine, "UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi1"}}])
    send(engine, "CreateTable", **{**SHOP, "TableName": "other"})


def test_a_snapshot_brings_everything_back(filled: Embedded) -> None:
    before = content(filled)
    snapshot = filled.snapshot()
    for _ in range(2):
        change_everything(filled)
        filled.restore(snapshot)
        assert content(filled) == before
    assert filled.verify() == []
    send(filled, "PutItem", Item=item(pk="p1", sk="001", g1pk="y", g1sk=1))
    assert [record["eventName"] for record in filled.changes("shop", oldest=True)] == ["INSERT"] * 20 + ["MODIFY"]
    assert filled.expire(time.time() + 2000) == 19


def test_an_engine_restores_the_snapshot_of_another(filled: Embedded, tmp_path: Path) -> None:
    snapshot, before = filled.snapshot(), content(filled)
    for path in (None, tmp_path / "other.db"):
        with Embedded(path) as other:
            send(other, "CreateTable", **{**SHOP, "TableName": "own"})
            other.restore(snapshot)
            assert content(other) == before
            change_everything(other)
            assert other.verify() == []
    assert content(filled) == before, "what others do with a copy is theirs"


def test_a_saved_file_is_a_database(filled: Embedded, tmp_path: Path) -> None:
    before, path = content(filled), tmp_path / "fixture.db"
    filled.save(path)
    change_everything(filled)
    filled.restore(path)
    assert content(filled) == before
    assert filled.verify() == []
    filled.save(path)
    with Embedded(path) as same:
        assert content(same) == before
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("fixture")] == ["fixture.db"]


def test_another_process_sees_a_restored_file(tmp_path: Path) -> None:
    """Two engines stand for two processes: each knows the definitions of tables that it has read."""
    with Embedded(tmp_path / "shop.db") as one, Embedded(tmp_path / "shop.db") as two:
        send(one, "CreateTable", **SHOP)
        snapshot = one.snapshot()
        send(one, "UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi1"}}])
        assert refusal(send, two, "Scan", IndexName="gsi1").code == "ValidationException"
        one.restore(snapshot)
        assert send(two, "Scan", IndexName="gsi1")["Count"] == 0
        send(two, "PutItem", Item=item(pk="a", sk="b", g1pk="x", g1sk=1))
        assert send(one, "Scan", IndexName="gsi1")["Count"] == 1


def test_a_file_that_is_no_snapshot_is_refused(filled: Embedded, tmp_path: Path) -> None:
    before = content(filled)
    (tmp_path / "notes.txt").write_text("not a database" * 100)
    with pytest.raises(OpenError, match="no file"):
        filled.restore(tmp_path / "absent.db")
    for work in (filled.restore, filled.save):
        with pytest.raises(OpenError):
            work(tmp_path / "notes.txt")
    assert content(filled) == before
    assert (tmp_path / "notes.txt").read_text() == "not a database" * 100


def test_snapshots_of_a_server(filled: Embedded) -> None:
    before = content(filled)
    with Server(filled, port=0) as url:
        place = f"{url}/_prejoin/snapshots"
        assert httpx.put(f"{place}/fixture").json() == ["fixture"]
        change_everything(filled)
        assert httpx.post(f"{place}/fixture/restore").json() == ["fixture"]
        assert content(filled) == before
        for wrong in (httpx.post(f"{place}/other/restore"), httpx.post(f"{place}/fixture"), httpx.put(place)):
            assert wrong.status_code == 400
        assert httpx.get(place).json() == ["fixture"]


def test_restoring_in_memory_touches_no_row() -> None:
    """A fixture of many items is restored in milliseconds, because rows are shared."""
    with Embedded() as engine:
        send(engine, "CreateTable", **SHOP)
        for start in range(0, 1000, 25):
            puts = [{"PutRequest": {"Item": item(pk=str(start + n), sk="1")}} for n in range(25)]
            engine.send("BatchWriteItem", json.dumps({"RequestItems": {"shop": puts}}).encode())
        snapshot = engine.snapshot()
        assert calls(engine.restore, snapshot) < 300
