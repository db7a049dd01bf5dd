"""Mistakes of popular libraries, which prejoin must not make."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import msgspec
import pytest
from tests.place import fresh
from tests.table.faulty_proxy import FaultyProxy, lost

from prejoin import (
    AlreadyExists,
    Call,
    Changes,
    Client,
    CursorError,
    Entity,
    Index,
    Key,
    NotFound,
    NotServed,
    NotUnique,
    Schema,
    TableError,
    Unique,
    UnknownValue,
    Version,
    VersionConflict,
    between,
)
from prejoin.engine import Embedded
from prejoin.engine.http import Server
from prejoin.keys import KeyValueError
from prejoin.transport import Endpoint, OutcomeUnknown


@dataclass(frozen=True)
class Member:
    tenant: str
    user: str
    email: str = ""
    name: str | None = None


@dataclass(frozen=True)
class Visit:
    site: str
    day: date
    number: int
    page: str = ""


@dataclass(frozen=True)
class Task:
    task_id: str
    status: Literal["OPEN", "DONE"] = "OPEN"
    rank: int = 0
    price: Decimal = Decimal(0)
    version: int = 0


SCHEMA = Schema(
    Entity(Member, Key("T#{tenant}#U#{user}", "MEMBER"), patterns=[Unique("email")]),
    Entity(Visit, Key("SITE#{site}", "VISIT#{day}#{number:06d}")),
    Entity(
        Task,
        Key("TASK#{task_id}", "TASK"),
        indexes={"gsi1": Key("STATUS#{status}", "{rank}#{task_id}")},
        patterns=[Version()],
    ),
    indexes=[Index("gsi1")],
)


class Table:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.engine = fresh()
        self.db = Client(SCHEMA, "table", self.engine, observe=self.calls.append)
        self.db.create_table()
        self.calls.clear()

    def raw(self, cls: type, **key: Any) -> dict[str, Any]:
        body = msgspec.json.encode({"TableName": "table", "Key": SCHEMA.key(cls, **key)})
        item: dict[str, Any] = msgspec.json.decode(self.engine.send("GetItem", body)).get("Item", {})
        return item

    def count(self) -> int:
        return int(msgspec.json.decode(self.engine.send("Scan", b'{"TableName": "table"}'))["Count"])


@pytest.fixture
def table() -> Table:
    return Table()


def test_composite_keys_do_not_collide(table: Table) -> None:
    table.db.insert(Member("a", "b#U#c", "1"))
    table.db.insert(Member("a#U#b", "c", "2"))
    assert table.db.get(Member, tenant="a", user="b#U#c") == Member("a", "b#U#c", "1")
    assert table.db.get(Member, tenant="a#U#b", user="c") == Member("a#U#b", "c", "2")


def test_ids_keep_their_case(table: Table) -> None:
    table.db.insert(Member("AbC", "x", "1"))
    table.db.insert(Member("aBc", "x", "2"))
    assert table.db.get(Member, tenant="AbC", user="x") == Member("AbC", "x", "1")
    assert table.db.get(Member, tenant="abc", user="x") is None


def test_a_range_of_days_has_its_last_day_and_no_more(table: Table) -> None:
    days = [date(2026, 1, 30), date(2026, 1, 31), date(2026, 2, 1)]
    table.db.put_many(Visit("s", day, number) for day in days for number in (1, 2))
    january = table.db.query(Visit, lambda v: between(v.day, date(2026, 1, 1), date(2026, 1, 31)), site="s")
    assert [(visit.day.day, visit.number) for visit in january] == [(30, 1), (30, 2), (31, 1), (31, 2)]
    after = table.db.query(Visit, lambda v: v.day > date(2026, 1, 31), site="s")
    assert [visit.day for visit in after] == [date(2026, 2, 1)] * 2


def test_an_update_leaves_no_stale_index_key(table: Table) -> None:
    table.db.insert(Task("1", rank=3))
    with table.db.update(Task, task_id="1") as task:
        task.status = "DONE"  # type: ignore[misc]
    assert list(table.db.query(Task, status="OPEN")) == []
    assert [task.status for task in table.db.query(Task, status="DONE")] == ["DONE"]
    assert table.raw(Task, task_id="1")["gsi1pk"] == {"S": "STATUS#DONE"}
    schema = Schema(
        Entity(Task, Key("TASK#{task_id}", "TASK"), indexes={"gsi1": Key("{status}#{rank}", "{task_id}")}),
        indexes=[Index("gsi1")],
    )
    with pytest.raises(
        UnknownValue, match="this update of Task needs the current value of rank, because its key in gsi1"
    ):
        Client(schema, "table", table.engine).apply(Task, Changes({"status": "OPEN"}), task_id="1")


def test_a_counter_in_a_key_is_not_written_as_its_amount(table: Table) -> None:
    table.db.insert(Task("1", rank=3))
    with pytest.raises(UnknownValue, match="rank is part of the key of Task in gsi1, and DynamoDB would compute"):
        table.db.apply(Task, Changes(adds={"rank": 1}), task_id="1")
    table.db.apply(Task, Changes(adds={"rank": 1}), task_id="1", read=True)
    other = Table()
    other.db.insert(Task("1", rank=4))
    assert table.raw(Task, task_id="1")["gsi1sk"] == other.raw(Task, task_id="1")["gsi1sk"]


def test_key_is_never_made_of_missing_values(table: Table) -> None:
    for write in (
        lambda: table.db.insert(Member("t", None, "e")),  # type: ignore[arg-type]
        lambda: table.db.delete(Task),
        lambda: table.db.apply(Task, Changes({"rank": 1}), task_id=None),
        lambda: table.db.put(Visit("s", None, 1)),  # type: ignore[arg-type]
    ):
        with pytest.raises((KeyValueError, TableError)):
            write()
    assert table.calls == []
    assert table.count() == 0


def test_update_of_a_missing_item_makes_no_item(table: Table) -> None:
    with pytest.raises(NotFound):
        table.db.apply(Visit, Changes({"page": "/"}), site="s", day=date(2026, 1, 1), number=1)
    with pytest.raises(NotFound):
        table.db.apply(Task, Changes({"price": Decimal(1)}), task_id="1", read=True)
    assert table.count() == 0


def test_unprocessed_items_are_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)

    engine = fresh()

    class Slow:
        def send(self, operation: str, body: bytes) -> bytes:
            if operation != "BatchWriteItem":
                return engine.send(operation, body)
            requests = msgspec.json.decode(body)["RequestItems"]["table"]
            engine.send(operation, msgspec.json.encode({"RequestItems": {"table": requests[:9]}}))
            return msgspec.json.encode({"UnprocessedItems": {"table": requests[9:]} if requests[9:] else {}})

    db = Client(SCHEMA, "table", Slow())
    db.create_table()
    visits = [Visit("s", date(2026, 1, 1), number) for number in range(40)]
    db.put_many(visits)
    assert list(db.query(Visit, site="s")) == visits


def test_limit_counts_items_that_pass_the_filter(table: Table) -> None:
    table.db.put_many(Visit("s", date(2026, 1, 1), number, "/" if number % 10 == 9 else "x") for number in range(40))
    page = table.db.query(Visit, site="s", limit=3, filter=lambda v: v.page == "/")
    assert [visit.number for visit in page] == [9, 19, 29]
    rest = table.db.query(Visit, site="s", limit=3, filter=lambda v: v.page == "/", after=page.cursor)
    assert [visit.number for visit in rest] == [39]


@pytest.mark.parametrize("cursor", ["garbage", "", "eyJwayI6MX0=", "null", "0" * 50])
def test_a_cursor_of_garbage_is_an_error_and_not_page_one(table: Table, cursor: str) -> None:
    table.db.put_many(Visit("s", date(2026, 1, 1), number) for number in range(5))
    with pytest.raises(CursorError):
        table.db.query(Visit, site="s", limit=2, after=cursor)


@pytest.mark.parametrize("text", ["{tenant}", "${tenant}", "%(tenant)s", ":0", "#0", "{user!r}", "\\u0000", "T#a#U#b"])
def test_values_are_never_read_as_syntax(table: Table, text: str) -> None:
    member = Member(text, text, text, text)
    table.db.insert(member)
    assert table.db.get(Member, tenant=text, user=text) == member
    table.db.apply(Member, Changes({"name": text + "!"}), tenant=text, user=text, where=lambda m: m.name == text)
    assert table.db.get(Member, tenant=text, user=text) == replace(member, name=text + "!")


def test_an_optimistic_lock_loses_no_write(table: Table) -> None:
    seen = table.db.insert(Task("1"))
    table.db.put(replace(seen, rank=1))
    with pytest.raises(VersionConflict):
        table.db.put(replace(seen, price=Decimal(5)))
    with pytest.raises(VersionConflict):
        table.db.apply(Task, Changes({"price": Decimal(5)}), task_id="1", version=seen.version)
    found = table.db.get(Task, task_id="1", consistent=True)
    assert found is not None
    assert (found.rank, found.price) == (1, 0)


def test_uniqueness_is_not_a_read_and_then_a_write(table: Table) -> None:
    def insert(number: int) -> int:
        try:
            table.db.insert(Member("t", str(number), "same@b.com"))
        except NotUnique:
            return 0
        return 1

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(insert, range(20))) == 1
    assert {call.operation for call in table.calls} == {"TransactWriteItems"}
    assert table.count() == 2, "the member, and the guard of its address"


def test_numbers_do_not_go_through_float(table: Table) -> None:
    exact = Decimal("12345678901234567890.123456789")
    table.db.insert(Task("1", price=exact))
    table.db.apply(Task, Changes(adds={"price": Decimal("0.000000001")}), task_id="1")
    found = table.db.get(Task, task_id="1")
    assert found is not None
    assert found.price == Decimal("12345678901234567890.123456790")


def test_a_condition_check_is_never_empty(table: Table) -> None:
    with pytest.raises(NotFound), table.db.transaction() as tx:
        tx.check(Task, task_id="1")
    with pytest.raises(TableError, match="is not a condition"), table.db.transaction() as tx:
        tx.check(Task, task_id="1", where=lambda t: None)  # type: ignore[arg-type, return-value]


def test_a_consistent_read_is_not_sent_to_a_global_index(table: Table) -> None:
    with pytest.raises(NotServed, match="consistent"):
        table.db.query(Task, status="OPEN", consistent=True)
    assert table.calls == []


def test_an_insert_does_not_overwrite_even_when_both_come_at_once(table: Table) -> None:
    def insert(number: int) -> int:
        try:
            table.db.insert(Task("1", rank=number))
        except AlreadyExists:
            return 0
        return 1

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(insert, range(20))) == 1


def test_an_add_retried_after_a_lost_answer_is_not_counted_twice() -> None:
    with Embedded() as engine, Server(engine, port=0, in_memory=True) as url, FaultyProxy(upstream=url) as way:
        direct = Client(SCHEMA, "table", engine)
        direct.create_table()
        direct.insert(Task("1", price=Decimal(10)))
        way.then(lost(0.5))
        with Client(SCHEMA, "table", Endpoint(way.url, proxy=False)) as db, pytest.raises(OutcomeUnknown):
            db.apply(Task, Changes(adds={"price": Decimal(1)}), task_id="1")
        assert way.operations == ["UpdateItem"]
        assert [task.price for task in direct.query(Task, status="OPEN")] == [Decimal(11)]
