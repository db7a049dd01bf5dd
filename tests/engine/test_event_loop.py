"""The engine in an event loop: the loop goes on whatever another process or thread does to the store."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.engine import Embedded
from prejoin.engine.http import Server
from prejoin.engine.store.file import FileStore, session, store
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.sizes import item_size

from .conftest import SHOP, item, send

TICKS = 50
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
print("released", flush=True)
"""


class Holder:
    """Another process, with the write lock of a file."""

    def __init__(self, path: Path, first: str) -> None:
        command = [sys.executable, "-c", HOLDER, str(path), first]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._line() == "held\n"

    def release(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self._line() == "released\n"

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()


@contextmanager
def holding(path: Path, first: str = "") -> Iterator[Holder]:
    holder = Holder(path, first)
    try:
        yield holder
    finally:
        holder.process.kill()
        holder.process.communicate()


async def ask(dynamodb: Embedded, operation: str, **members: Any) -> dict[str, Any]:
    return dict(json.loads(await dynamodb.send_async(operation, json.dumps(members).encode())))


def put(dynamodb: Embedded, pk: str) -> asyncio.Task[dict[str, Any]]:
    return asyncio.create_task(ask(dynamodb, "PutItem", TableName="shop", Item=item(pk=pk, sk="1")))


async def get(dynamodb: Embedded, pk: str) -> dict[str, Any]:
    return await ask(dynamodb, "GetItem", TableName="shop", Key=item(pk=pk, sk="1"), ConsistentRead=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@pytest.fixture
def dynamodb(path: Path) -> Iterator[Embedded]:
    with Embedded(path) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        send(dynamodb, "PutItem", TableName="shop", Item=item(pk="there", sk="1"))
        yield dynamodb


def test_loop_goes_on_while_another_process_writes(path: Path, dynamodb: Embedded) -> None:
    async def main() -> None:
        with holding(path) as holder:
            writes = [put(dynamodb, str(number)) for number in range(20)]
            for _ in range(TICKS):  # each a turn of the loop, in which a read is answered
                await asyncio.sleep(0)
                assert "Item" in await get(dynamodb, "there")
                assert await get(dynamodb, "0") == {}
            described = await ask(dynamodb, "DescribeTable", TableName="shop")
            assert described["Table"]["ItemCount"] == 1
            assert not any(write.done() for write in writes)
            holder.release()
            await asyncio.gather(*writes)
        for number in range(20):
            assert "Item" in await get(dynamodb, str(number))

    asyncio.run(main())


def test_write_in_loop_never_queues_behind_threads(dynamodb: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may enter the queue after the loop has looked at it, and wait there for another process."""

    class TakenAfterTheLook:
        def locked(self) -> bool:
            return False

        def __enter__(self) -> None:
            raise AssertionError("the loop would wait")

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(dynamodb._store, "_writer", TakenAfterTheLook())
    body = json.dumps({"TableName": "shop", "Item": item(pk="a", sk="1")}).encode()
    assert dynamodb.send_now("PutItem", body) == b"{}"


def test_connecting_in_loop_does_not_wait_for_another_process(
    path: Path, dynamodb: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections are opened again after a fork, and another process may hold the whole file then."""
    for module in (session, store):  # so long that a busy machine is not taken for a wait
        monkeypatch.setattr(module, "BUSY_MILLISECONDS", 60_000)
    assert isinstance(dynamodb._store, FileStore)
    dynamodb._store.close_sessions()
    with holding(path, "PRAGMA locking_mode=EXCLUSIVE") as holder:
        begun = time.monotonic()
        body = json.dumps({"TableName": "shop", "Key": item(pk="there", sk="1")}).encode()
        assert dynamodb.send_now("GetItem", body) is None
        assert time.monotonic() - begun < 30
        holder.release()


def test_write_goes_on_when_its_task_is_cancelled(path: Path, dynamodb: Embedded) -> None:
    async def main() -> None:
        with holding(path) as holder:
            write = put(dynamodb, "cancelled")
            while not any(thread.name.startswith("prejoin-writes") for thread in threading.enumerate()):
                await asyncio.sleep(0.001)
            write.cancel()
            with pytest.raises(asyncio.CancelledError):
                await write
            holder.release()
        await put(dynamodb, "after")  # no lock was lost
        assert "Item" in await get(dynamodb, "after")
        assert "Item" in await get(dynamodb, "cancelled")

    asyncio.run(main())


def test_requests_of_one_task_are_done_in_order(path: Path, dynamodb: Embedded) -> None:
    async def main() -> None:
        with holding(path) as holder:

            async def one_after_the_other() -> list[Any]:
                await put(dynamodb, "x")
                found = await get(dynamodb, "x")
                await ask(dynamodb, "DeleteItem", TableName="shop", Key=item(pk="x", sk="1"))
                return [found, await get(dynamodb, "x")]

            task = asyncio.create_task(one_after_the_other())
            await asyncio.sleep(0)
            assert not task.done()
            holder.release()
            first, second = await task
            assert "Item" in first
            assert second == {}

    asyncio.run(main())


def test_uncontended_requests_need_no_thread(dynamodb: Embedded) -> None:
    async def main(engine: Embedded, *more: str) -> None:
        await put(engine, "1")
        await get(engine, "1")
        await ask(
            engine,
            "Query",
            TableName="shop",
            KeyConditionExpression="pk = :p",
            ExpressionAttributeValues={":p": {"S": "1"}},
        )
        with pytest.raises(DynamoDBError, match="ResourceNotFound"):
            await ask(engine, "Scan", TableName="none")
        for operation in more:
            await ask(engine, operation, TableName="shop")
        assert not engine._threads._pools

    asyncio.run(main(dynamodb))
    with Embedded() as memory:
        send(memory, "CreateTable", **SHOP)
        asyncio.run(main(memory, "DescribeTable"))


def test_loop_goes_on_while_a_thread_holds_the_memory() -> None:
    with Embedded() as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            assert go_on.wait(60)

        holder = threading.Thread(target=dynamodb._store.write, args=(hold,))
        holder.start()
        held.wait()

        async def main() -> None:
            write = put(dynamodb, "1")
            for _ in range(TICKS):
                await asyncio.sleep(0)
            assert not write.done()
            assert dynamodb.send_now("GetItem", b"{}") is None
            go_on.set()
            await write
            assert "Item" in await get(dynamodb, "1")

        asyncio.run(main())
        holder.join()


def test_long_operations_are_never_done_in_the_loop(dynamodb: Embedded) -> None:
    table = json.dumps({"TableName": "shop"}).encode()
    for operation in ("UpdateTable", "DeleteTable", "UpdateTimeToLive", "DescribeTable", "NoSuchOperation"):
        assert dynamodb.send_now(operation, table) is None
    asyncio.run(dynamodb.send_async("DeleteTable", table))
    assert send(dynamodb, "ListTables") == {"TableNames": []}
    with pytest.raises(DynamoDBError, match="UnknownOperation"):
        asyncio.run(dynamodb.send_async("NoSuchOperation", b"{}"))


def test_server_answers_others_while_another_process_writes(path: Path, dynamodb: Embedded) -> None:
    from .test_server import Client

    with Server(dynamodb, port=0) as url, Client(url) as writer, Client(url) as reader, holding(path) as holder:
        body = json.dumps({"TableName": "shop", "Item": item(pk="1", sk="1")}).encode()
        writer.send(writer.head("PutItem", len(body)) + body)
        for _ in range(TICKS):
            assert reader.ask("DescribeTable", {"TableName": "shop"}).json["Table"]["ItemCount"] == 1
        holder.release()
        assert writer.read().status == 200


# --- Totals -----------------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "delete", "transact", "cancelled", "drop", "ttl"]),
        st.integers(0, 5),
        st.text(max_size=5),
    )
)


@given(steps=STEPS)
def test_totals_match_items_after_any_operation(steps: list[tuple[str, int, str]]) -> None:
    with Embedded() as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        for step, number, name in steps:
            new = (
                item(pk=str(number), sk="1", city="Bern", rank=number, name=name)
                if number % 2
                else item(pk=str(number), sk="1")
            )
            key = {"TableName": "shop", "Key": item(pk=str(number), sk="1")}
            match step:
                case "put":
                    send(dynamodb, "PutItem", TableName="shop", Item=new)
                case "delete":
                    send(dynamodb, "DeleteItem", **key)
                case "transact" | "cancelled":
                    more = {"ConditionExpression": "attribute_exists(nothing)"} if step == "cancelled" else {}
                    puts = [{"Put": {"TableName": "shop", "Item": new}}]
                    puts.append(
                        {"Put": {"TableName": "shop", "Item": item(pk=str(number), sk="2", g1pk="x", g1sk=1), **more}}
                    )
                    refused = pytest.raises(DynamoDBError, match="Canceled") if more else nullcontext()
                    with refused:
                        send(dynamodb, "TransactWriteItems", TransactItems=puts)
                case "drop":
                    if number == 0:
                        send(dynamodb, "DeleteTable", TableName="shop")
                        send(dynamodb, "CreateTable", **SHOP)
                case _:
                    dynamodb.expire(0)
        table = send(dynamodb, "DescribeTable", TableName="shop")["Table"]
        items = send(dynamodb, "Scan", TableName="shop")["Items"]
        assert (table["ItemCount"], table["TableSizeBytes"]) == (len(items), sum(map(item_size, items)))
        for index in (*table["GlobalSecondaryIndexes"], *table["LocalSecondaryIndexes"]):
            items = send(dynamodb, "Scan", TableName="shop", IndexName=index["IndexName"])["Items"]
            assert (index["ItemCount"], index["IndexSizeBytes"]) == (len(items), sum(map(item_size, items)))


def test_loop_leaves_the_checkpoint_of_a_long_log_to_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prejoin.engine.store.file.store._LOG_BYTES", 0)
    write = json.dumps({"TableName": "shop", "Item": {"pk": {"S": "1"}, "sk": {"S": "1"}}}).encode()
    with Embedded(tmp_path / "shop.db") as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        checkpoints: list[None] = []
        monkeypatch.setattr(dynamodb._store, "_checkpoint", lambda: checkpoints.append(None))
        while dynamodb.send_now("PutItem", write) is not None:
            assert not checkpoints
        dynamodb.send("PutItem", write)
        assert len(checkpoints) == 1
        assert dynamodb.send_now("PutItem", write) is not None
