"""Writes that read first: they need no current values, and never overwrite concurrent changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import examples, fresh

from prejoin import (
    AsyncClient,
    Call,
    Changes,
    Client,
    ConditionFailed,
    Conflict,
    Copy,
    Entity,
    Index,
    Key,
    NotFound,
    NotUnique,
    Schema,
    TableError,
    TransactionCancelled,
    Unique,
    UnknownValue,
)


@dataclass
class Place:
    city: str
    street: str = ""


@dataclass
class Task:
    task_id: str
    project: str
    status: Literal["OPEN", "BUSY", "DONE"] = "OPEN"
    rank: int = 0
    code: str | None = None
    note: str | None = None
    place: Place = field(default_factory=lambda: Place("Bonn"))
    tags: frozenset[str] = frozenset()


SCHEMA = Schema(
    Entity(
        Task,
        Key("TASK#{task_id}", "TASK"),
        indexes={
            "gsi1": Key("PROJECT#{project}", "{status}#{rank}"),
            "gsi2": Key("OPEN#{project}", "{rank}", when=lambda t: t.status != "DONE"),
        },
        patterns=[
            Copy("board", Key("BOARD#{project}", "{rank}#{task_id}"), attributes=["note", "place"]),
            Copy("open", Key("OPEN", "{task_id}", when=lambda t: t.status == "OPEN")),
            Unique("code"),
        ],
    ),
    indexes=[Index("gsi1"), Index("gsi2")],
)


class Between:
    """An engine that runs a function between a read and the following write."""

    def __init__(self, happens: Callable[[Client], None], times: int = 1) -> None:
        self.engine = fresh()
        self.other = Client(SCHEMA, "tasks", self.engine)
        self.happens, self.left = happens, times
        self.read = False

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "GetItem" and b"ConsistentRead" in body:
            answer = self.engine.send(operation, body)
            if self.left:
                self.left -= 1
                self.happens(self.other)
            return answer
        return self.engine.send(operation, body)


class Table:
    def __init__(self, transport: Any = None) -> None:
        self.calls: list[Call] = []
        self.transport = transport or fresh()
        self.db = Client(SCHEMA, "tasks", self.transport, observe=self.calls.append)
        self.db.create_table()
        self.calls.clear()

    @property
    def operations(self) -> list[str]:
        return [call.operation for call in self.calls]

    def items(self) -> list[Any]:
        found = msgspec.json.decode(self.transport.send("Scan", b'{"TableName": "tasks"}'))["Items"]
        return sorted(found, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


def inserted(*records: Any) -> list[Any]:
    other = Table()
    for record in records:
        other.db.insert(record)
    return other.items()


@pytest.fixture
def table() -> Table:
    found = Table()
    found.db.insert(Task("1", "a"))
    found.calls.clear()
    return found


def test_update_needs_only_the_key(table: Table) -> None:
    with table.db.update(Task, task_id="1", read=True) as task:
        task.status = "DONE"
        task.rank += 5
        task.code = "c"
        task.place.city = "Köln"
    assert table.operations == ["GetItem", "TransactWriteItems"]
    assert table.items() == inserted(Task("1", "a", "DONE", 5, "c", place=Place("Köln")))


def test_read_first_is_consistent(table: Table) -> None:
    table.db.apply(Task, Changes({"rank": 1}), task_id="1", read=True)
    assert table.calls[0].request["ConsistentRead"] is True


def test_put_moves_and_delete_frees_copies_and_guards(table: Table) -> None:
    table.db.put(Task("1", "b", "BUSY", 3, "c"), read=True)
    assert table.items() == inserted(Task("1", "b", "BUSY", 3, "c"))
    table.db.put(Task("2", "b", code="d"), read=True)
    table.db.delete(Task, task_id="1", read=True)
    assert table.items() == inserted(Task("2", "b", code="d"))
    table.db.put(Task("3", "x", code="c"), read=True)
    with pytest.raises(NotUnique, match="another Task has code 'c' already"):
        table.db.put(Task("2", "b", code="c"), read=True)


def test_update_of_a_missing_item_is_refused_and_delete_does_nothing(table: Table) -> None:
    with pytest.raises(NotFound, match="there is no Task task_id='9'"):
        table.db.apply(Task, Changes({"rank": 1}), task_id="9", read=True)
    table.db.delete(Task, task_id="9", read=True)
    with pytest.raises(NotFound):
        table.db.delete(Task, task_id="9", read=True, where=lambda t: t.rank == 1)
    assert table.operations == ["GetItem"] * 3


def test_a_change_meanwhile_is_read_again_and_not_lost() -> None:
    def moved(other: Client) -> None:
        other.apply(Task, Changes({"project": "b"}, {"rank": 10}), task_id="1", read=True)

    transport = Between(moved)
    transport.left = 0
    table = Table(transport)
    table.db.insert(Task("1", "a"))
    table.calls.clear()
    transport.left = 1
    with table.db.update(Task, task_id="1", read=True) as task:
        task.rank += 1
    assert table.operations == ["GetItem", "GetItem", "TransactWriteItems"]
    assert table.items() == inserted(Task("1", "b", rank=11))


def test_an_item_that_comes_or_goes_meanwhile_is_noticed() -> None:
    transport = Between(lambda other: other.delete(Task, task_id="1", read=True) or None, 0)
    table = Table(transport)
    table.db.insert(Task("1", "a", code="c"))
    transport.left = 1
    with pytest.raises(NotFound):
        table.db.apply(Task, Changes({"rank": 1}), task_id="1", read=True)
    assert table.items() == []
    transport.happens = lambda other: other.insert(Task("1", "z", code="z")) and None
    transport.left = 1
    table.db.put(Task("1", "a"), read=True)
    assert table.items() == inserted(Task("1", "a"))


def test_writer_that_always_conflicts_gets_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)

    def moved(other: Client) -> None:
        left, transport.left = transport.left, 0
        other.apply(Task, Changes(adds={"rank": 1}), task_id="1", read=True)
        transport.left = left

    transport = Between(moved, 0)
    table = Table(transport)
    table.db.insert(Task("1", "a"))
    transport.left = 1000
    with pytest.raises(Conflict, match="changed between read and write at each of 6 attempts"):
        table.db.apply(Task, Changes({"project": "b"}), task_id="1", read=True)
    found = table.db.get(Task, task_id="1")
    assert found is not None
    assert (found.project, found.rank) == ("a", 6)


def test_concurrent_change_of_an_unrelated_attribute_does_not_conflict() -> None:
    schema = Schema(
        Entity(Task, Key("TASK#{task_id}", "TASK"), indexes={"gsi1": Key("P#{project}", "{status}#{rank}")}),
        indexes=[Index("gsi1")],
    )
    engine = fresh()
    db = Client(schema, "tasks", engine)
    db.create_table()
    db.insert(Task("1", "a"))
    calls: list[str] = []

    class Noted:
        def send(self, operation: str, body: bytes) -> bytes:
            calls.append(operation)
            answer = engine.send(operation, body)
            if operation == "GetItem":
                db.apply(Task, Changes({"note": "meanwhile"}), task_id="1")
            return answer

    Client(schema, "tasks", Noted()).apply(Task, Changes({"status": "DONE"}), task_id="1", read=True)
    assert calls == ["GetItem", "UpdateItem"]
    assert db.get(Task, task_id="1", consistent=True) == Task("1", "a", "DONE", note="meanwhile")


def test_a_condition_that_is_not_met_is_not_tried_again(table: Table) -> None:
    with pytest.raises(ConditionFailed, match="does not fulfil the condition of this update"):
        table.db.apply(Task, Changes({"rank": 1}), task_id="1", read=True, where=lambda t: t.note == "x")
    with pytest.raises(ConditionFailed):
        table.db.apply(Task, Changes({"rank": 1}), task_id="1", project="other", read=True)
    assert table.operations == ["GetItem", "GetItem"], "what fails is not answered"


def test_several_writes_of_a_transaction_may_read_first(table: Table) -> None:
    table.db.insert(Task("2", "b", code="d"))
    table.calls.clear()
    with table.db.transaction() as tx:
        tx.apply(Task, Changes({"project": "c"}), task_id="1", read=True)
        tx.delete(Task, task_id="2", read=True)
        tx.put(Task("3", "d", code="d2"), read=True)
    assert table.operations == ["GetItem"] * 3 + ["TransactWriteItems"]
    assert table.items() == inserted(Task("1", "c"), Task("3", "d", code="d2"))
    with pytest.raises(TransactionCancelled) as failed, table.db.transaction() as tx:
        tx.delete(Task, task_id="77", read=True)
        tx.apply(Task, Changes({"project": "c"}), task_id="1", read=True)
        tx.insert(Task("3", "d"))
    assert [one.position for one in failed.value.failures] == [2]
    with pytest.raises(TableError, match="Leave out the token or read=True"), table.db.transaction(token="t") as tx:
        tx.delete(Task, task_id="3", read=True)
    with pytest.raises(TableError, match="either was= or read=True"):
        table.db.put(Task("3", "d"), was=Task("3", "d"), read=True)


def test_values_that_others_wrote_in_their_own_way_are_compared_as_they_are(table: Table) -> None:
    item = msgspec.json.decode(table.transport.send("Scan", b'{"TableName": "tasks"}'))["Items"]
    own = next(one for one in item if one["sk"]["S"] == "TASK")
    own["rank"], own["code"] = {"N": "0.0"}, {"NULL": True}
    table.transport.send("PutItem", msgspec.json.encode({"TableName": "tasks", "Item": own}))
    table.db.apply(Task, Changes({"project": "b", "code": "c"}), task_id="1", read=True)
    found = table.db.get(Task, task_id="1")
    assert found is not None
    assert (found.project, found.code) == ("b", "c")


def test_async_client_reads_first() -> None:
    async def main() -> Any:
        db = AsyncClient(SCHEMA, "tasks", fresh())
        await db.create_table()
        await db.insert(Task("1", "a"))
        async with db.update(Task, task_id="1", read=True) as task:
            task.rank += 1
        async with db.transaction() as tx:
            tx.delete(Task, task_id="1", read=True)
            tx.put(Task("2", "b"), read=True)
        return await db.get(Task, task_id="1"), await db.get(Task, task_id="2")

    assert asyncio.run(main()) == (None, Task("2", "b"))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "project": st.sampled_from(["a", "b"]),
    "status": st.sampled_from(["OPEN", "BUSY", "DONE"]),
    "rank": st.integers(-2, 2),
    "code": st.none() | st.sampled_from(["c", "d"]),
    "note": st.none() | st.text(max_size=2),
    "tags": st.frozensets(st.sampled_from("xy")),
}
ENGINE = fresh()
_count = iter(range(10**9))


def empty() -> Client:
    db = Client(SCHEMA, f"tasks{next(_count)}", ENGINE)
    db.create_table()
    return db


def items(db: Client) -> list[Any]:
    body = msgspec.json.encode({"TableName": db.table})
    return sorted(
        msgspec.json.decode(ENGINE.send("Scan", body))["Items"], key=lambda item: (item["pk"]["S"], item["sk"]["S"])
    )


STEPS = st.lists(
    st.tuples(st.just("update"), st.fixed_dictionaries({}, optional=VALUES).filter(bool), st.integers(-2, 2))
    | st.tuples(st.sampled_from(["put", "upsert"]), st.fixed_dictionaries(VALUES), st.just(0))
    | st.tuples(st.just("delete"), st.just({}), st.just(0)),
    max_size=6,
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_items_equal_fresh_inserts_after_any_writes(
    steps: list[tuple[str, dict[str, Any], int]],
) -> None:
    db = empty()
    task: Task | None = None
    for verb, values, amount in steps:
        if verb == "put":
            task = Task("1", **values)
            db.put(task, read=True)
        elif verb == "delete":
            db.delete(Task, task_id="1", read=True)
            task = None
        elif verb == "upsert":
            db.apply(Task, Changes(values), task_id="1", read=True, upsert=True)
            task = Task("1", **values)
        elif task is not None:
            adds = {} if "rank" in values else {"rank": amount}
            db.apply(Task, Changes(values, adds), task_id="1", read=True)
            task = replace(task, **values, **dict.fromkeys(adds, task.rank + amount))
    expected = empty()
    if task:
        expected.insert(task)
    assert items(db) == items(expected)


def test_without_it_the_same_writes_are_refused(table: Table) -> None:
    with pytest.raises(UnknownValue, match="or read=True"):
        table.db.apply(Task, Changes({"rank": 1}), task_id="1")
    with pytest.raises(UnknownValue, match="or read=True"):
        table.db.put(Task("1", "a"))
    with pytest.raises(UnknownValue, match="or read=True"):
        table.db.delete(Task, task_id="1")


def test_concurrent_writes_are_counted_once_each() -> None:
    table = Table()
    table.db.insert(Task("1", "a"))

    def count(_: int) -> None:
        while True:
            try:
                with table.db.update(Task, task_id="1", read=True) as task:
                    task.rank += 1
                return
            except Conflict:
                continue

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, range(24)))
    assert table.items() == inserted(Task("1", "a", rank=24))
