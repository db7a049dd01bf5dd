"""Bulk jobs keep patterns and rates, and continue after a kill at any request."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patterns.faults import Faulty, Lost, in_threads, items, with_every_fault
from tests.place import examples, fresh
from tests.table.both import Connect, both

from prejoin import (
    ArgumentError,
    AsyncClient,
    BulkProgress,
    Call,
    Changes,
    Child,
    Client,
    Copy,
    Counted,
    DynamoDBError,
    Entity,
    Failure,
    Index,
    Key,
    OtherTenant,
    PartlyWritten,
    Schema,
    SchemaError,
    SoftDelete,
    Unique,
    Version,
    audit,
    bulk_copy,
    bulk_delete,
    bulk_export,
    bulk_import,
    bulk_load,
    bulk_update,
    delete_collection,
    delete_tenant,
)
from prejoin.patterns.bulk.job import JobRun
from prejoin.patterns.bulk.pace import Pace


@dataclass
class User:
    user_id: str
    email: str
    orders: int = 0


@dataclass
class Order:
    user_id: str
    order_id: str
    total: int = 1
    status: str = "OPEN"


@dataclass
class Note:
    note_id: str
    text: str = ""
    version: int = 0


@dataclass
class Event:
    event_id: str
    text: str = ""


SCHEMA = Schema(
    Entity(User, Key("USER#{user_id}", "USER"), patterns=[Unique("email")]),
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{order_id}"),
        {"status": Key("STATUS#{status}", "{order_id}")},
        patterns=[Copy("by-id", Key("ORDER#{order_id}", "ORDER")), Child(User), Counted(User, "orders")],
    ),
    Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=[Version("version")]),
    Entity(Event, Key("EVENT#{event_id}", "EVENT")),
    indexes=[Index("status")],
)


def objects(users: int = 3, orders: int = 40) -> list[Any]:
    found: list[Any] = [User(f"u{at}", f"{at}@x.com") for at in range(users)]
    found += [Order(f"u{at % users}", f"o{at}", at) for at in range(orders)]
    found += [Note(f"n{at}") for at in range(5)]
    return found + [Event(f"e{at}") for at in range(30)]


def run(db: Client, job: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a job with the client that `AsyncAsSync` wraps, or with the client itself."""
    client = getattr(db, "_client", db)
    found = job(client, *args, **options)
    return asyncio.run(found) if isinstance(client, AsyncClient) else found


def all_of(db: Client, cls: type[Any]) -> list[Any]:
    return sorted((one for page in db.everything(cls) for one in page), key=repr)


def in_order(found: Iterable[Any]) -> list[str]:
    """Items as texts. Servers differ in the order of attributes."""
    return sorted(json.dumps(item, sort_keys=True) for item in found)


def is_whole(db: Client) -> bool:
    """Whether copies, guards and counts are correct."""
    found = audit(getattr(db, "_client", db))
    return (asyncio.run(_none(found)) if hasattr(found, "__aiter__") else list(found)) == []


async def _none(found: Any) -> list[Any]:
    return [one async for one in found]


@both
def test_load_writes_objects_with_their_patterns(connect: Connect) -> None:
    calls: list[Call] = []
    db = connect(SCHEMA, observe=calls.append)
    reported: list[BulkProgress] = []
    given = objects()
    calls.clear()
    result = run(db, bulk_load, given, progress=reported.append)
    # Plain objects are put in batches. The others are in transactions, a version is alone.
    assert {call.operation for call in calls} == {"TransactWriteItems", "PutItem", "BatchWriteItem"}
    assert result.write_units == sum(call.units for call in calls) > 0
    assert reported == [result]
    assert (result.done, result.failed, result.resumed) == (len(given), 0, False)
    assert len(all_of(db, Order)) == 40
    assert len(all_of(db, Event)) == 30
    assert sum(user.orders for user in all_of(db, User)) == 40
    assert is_whole(db)
    # The same objects once more are equal to the stored ones, which have counts and versions.
    assert run(db, bulk_load, given).done == len(given)
    assert is_whole(db)


@both
@pytest.mark.parametrize(("existing", "total"), [("replace", 9), ("keep", 1), ("fail", 1)])
def test_load_of_objects_that_exist(connect: Connect, existing: Any, total: int) -> None:
    db = connect(SCHEMA)
    run(db, bulk_load, [User("u", "a@x.com"), Order("u", "1"), Order("u", "2"), Event("e", "a")])
    failed: list[Failure] = []
    given = [Order("u", "1", 9), Order("u", "3"), Event("e", "b")]
    result = run(db, bulk_load, given, existing=existing, failed=failed.append)
    stored = db.get(Order, user_id="u", order_id="1")
    assert stored is not None
    assert stored.total == total
    assert db.get(Order, order_id="1") == stored  # by its copy
    event = db.get(Event, event_id="e")
    assert event is not None
    assert event.text == ("b" if existing == "replace" else "a")
    assert [(one.position, one.given) for one in failed] == (
        [(0, given[0]), (2, given[2])] if existing == "fail" else []
    )
    assert (result.done, result.failed) == (3, len(failed))
    assert is_whole(db)


def test_failure_is_raised_without_a_handler() -> None:
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    with pytest.raises(PartlyWritten) as caught:
        bulk_load(db, [Order("nobody", "1"), Event("e", "x" * 500_000), Event("f")])
    assert [(one.position, type(one.error).__name__) for one in caught.value.failures] == [
        (0, "NotFound"),
        (1, "ItemTooLarge"),
    ]
    assert all_of(db, Event) == [Event("f")]


def test_new_objects_with_copies_cost_half() -> None:
    schema = Schema(
        Entity(Order, Key("USER#{user_id}", "O#{order_id}"), patterns=[Copy("c", Key("ORDER#{order_id}", "ORDER"))])
    )
    units = {}
    for new in (False, True):
        db = Client(schema, "shop", fresh())
        db.create_table()
        units[new] = bulk_load(db, [Order("u", str(at)) for at in range(60)], new=new).write_units
        assert len(all_of(db, Order)) == 60
        assert is_whole(db)
    assert units == {False: 240, True: 120}
    # A unique value needs its condition, also if the object is new.
    db = Client(SCHEMA, "other", fresh())
    db.create_table()
    with pytest.raises(PartlyWritten, match="NotUnique"):
        bulk_load(db, [User("1", "a@x.com"), User("2", "a@x.com")], new=True)
    with pytest.raises(ArgumentError, match="leave out existing="):
        bulk_load(db, [], new=True, existing="keep")


@both
def test_update_keeps_patterns_right(connect: Connect) -> None:
    db = connect(SCHEMA)
    run(db, bulk_load, objects())
    done = run(db, bulk_update, Order, lambda o: replace(o, status="PAID"), where=lambda o: o.total >= 30, segments=2)
    assert done.done == 10
    assert len(db.query(Order, status="PAID")) == 10
    assert len(db.query(Order, status="OPEN")) == 30
    assert is_whole(db)
    run(db, bulk_update, Note, lambda n: replace(n, text="x") if n.note_id != "n0" else None)
    assert [note.version for note in all_of(db, Note)] == [1, 2, 2, 2, 2]
    run(db, bulk_update, User, lambda u: replace(u, email=f"new{u.email}"))
    db.insert(User("other", "0@x.com"))  # the old value is free
    assert is_whole(db)


def test_update_refuses_another_key_or_class() -> None:
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    db.put(Event("e"))
    with pytest.raises(PartlyWritten, match="changes event_id, which is part of its key"):
        bulk_update(db, Event, lambda e: replace(e, event_id="f"))
    with pytest.raises(PartlyWritten, match="the change of a Event returned Note"):
        bulk_update(db, Event, lambda _: Note("1"))  # type: ignore[arg-type, return-value]


@both
def test_delete_with_counts_and_conditions(connect: Connect) -> None:
    db = connect(SCHEMA)
    run(db, bulk_load, objects())
    assert run(db, bulk_delete, Order, where=lambda o: o.total < 10).done == 10
    assert len(all_of(db, Order)) == 30
    assert sum(user.orders for user in all_of(db, User)) == 30
    assert run(db, bulk_delete, Event, segments=3).done == 30
    assert all_of(db, Event) == []
    assert is_whole(db)


def test_objects_that_change_meanwhile_are_changed_again() -> None:
    transport = fresh()
    db = Client(SCHEMA, "shop", transport)
    db.create_table()
    bulk_load(db, objects())
    raced: list[str] = []

    def change(order: Order) -> Order:
        if order.order_id == "o7" and not raced:
            raced.append("o7")
            db.apply(Order, Changes({"total": 1_000}), user_id=order.user_id, order_id="o7", read=True)
        return replace(order, status=f"PAID {order.total}")

    bulk_update(db, Order, change)
    assert db.get(Order, order_id="o7") == Order("u1", "o7", 1_000, "PAID 1000")
    assert is_whole(db)


def test_object_that_is_not_concerned_any_more_is_kept() -> None:
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    bulk_load(db, objects())
    changed: list[Call] = []

    def race(call: Call) -> None:
        if call.operation == "Scan" and not changed:
            changed.append(call)
            db.apply(Order, Changes({"status": "PAID"}), user_id="u1", order_id="o1", read=True)
            db.delete(Order, user_id="u2", order_id="o2", read=True)

    watched = Client(SCHEMA, "shop", db._transport, observe=race)
    bulk_delete(watched, Order, where=lambda o: o.status == "OPEN")
    assert all_of(db, Order) == [Order("u1", "o1", 1, "PAID")]
    assert is_whole(db)


def test_writers_and_a_job_at_the_same_time_lose_nothing() -> None:
    transport = fresh()
    db = Client(SCHEMA, "shop", transport)
    db.create_table()
    bulk_load(db, objects(orders=60))

    def write(number: int) -> None:
        if number == 0:
            bulk_update(db, Order, lambda o: o if o.status == "PAID" else replace(o, status="PAID"))
        else:
            for at in range(20):
                with db.update(Order, user_id=f"u{at % 3}", order_id=f"o{at}", read=True) as order:
                    order.total += 1_000

    in_threads(4, write)
    found = {order.order_id: order for order in all_of(db, Order)}
    assert {order.status for order in found.values()} == {"PAID"}
    assert [found[f"o{at}"].total for at in range(20)] == [3_000 + at for at in range(20)]
    assert is_whole(db)


def test_load_continues_after_a_kill_at_any_request(tmp_path: Path) -> None:
    """Each request is lost once, applied or not. The next run ends as if nothing had happened."""
    given = objects(users=1, orders=6)
    count = 0

    def begin() -> Any:
        transport = fresh()
        Client(SCHEMA, "shop", transport).create_table()
        return transport

    def act(transport: Any) -> None:
        nonlocal count
        count += 1
        bulk_load(Client(SCHEMA, "shop", transport), given, position=tmp_path / str(count))

    def check(transport: Any) -> None:
        db = Client(SCHEMA, "shop", transport)
        result = bulk_load(db, given, position=tmp_path / str(count))
        assert (result.done, result.failed) == (len(given), 0)
        assert len(all_of(db, Order)) == 6
        assert is_whole(db)

    assert with_every_fault(begin, act, check) >= 8


@settings(max_examples=examples(20))
@given(kill=st.integers(1, 40), segments=st.integers(1, 3))
def test_scan_jobs_continue_after_a_kill(tmp_path_factory: pytest.TempPathFactory, kill: int, segments: int) -> None:
    path = tmp_path_factory.mktemp("job") / "position"
    transport = fresh()
    db = Client(SCHEMA, "shop", transport)
    db.create_table()
    bulk_load(db, objects())
    faulty = Client(SCHEMA, "shop", Faulty(transport, kill, applied=kill % 2 == 0))
    for client in (faulty, db):
        try:
            bulk_update(client, Order, lambda o: replace(o, status="PAID"), position=path, segments=segments)
        except Lost:
            assert client is faulty
    assert {order.status for order in all_of(db, Order)} == {"PAID"}
    assert is_whole(db)


def test_position_continues_and_names_its_job(tmp_path: Path) -> None:
    path = tmp_path / "position"
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    given = [Event(str(at)) for at in range(2_500)]

    def stop(progress: BulkProgress) -> None:
        if progress.done == 2_000:
            raise Lost

    with pytest.raises(Lost):
        bulk_load(db, given, position=path, progress=stop)
    calls: list[Call] = []
    watched = Client(SCHEMA, "shop", db._transport, observe=calls.append)
    result = bulk_load(watched, iter(given), position=path)
    assert (result.done, result.resumed, result.write_units) == (2_500, True, 500)
    assert sum(call.items for call in calls) == 500
    assert bulk_load(watched, given, position=path).write_units == 0  # it is finished
    with pytest.raises(ArgumentError, match=r"is the position of another job \(load shop\), not of this one"):
        bulk_delete(db, Event, position=path)
    path.write_text("nonsense")
    with pytest.raises(ArgumentError, match="is not the position of a job"):
        bulk_load(db, given, position=path)


def test_load_of_fewer_objects_than_before_is_refused(tmp_path: Path) -> None:
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    path = tmp_path / "position"
    bulk_load(db, [Event(str(at)) for at in range(20)], position=path)
    with pytest.raises(ArgumentError, match="has loaded 20 objects, and only 3 are given"):
        bulk_load(db, [Event(str(at)) for at in range(3)], position=path)


def test_rate_of_consumed_units_is_kept() -> None:
    now = [0.0]
    pace = Pace(100, clock=lambda: now[0])
    pace.add(50)
    assert pace.ahead() == 0.5
    now[0] = 0.25
    assert pace.ahead() == 0.25
    now[0] = 60
    assert pace.ahead() == 0  # unused capacity is not saved
    pace.add(200)
    assert pace.ahead() == 2
    assert Pace(None).ahead() == 0


def test_job_pauses_and_writes_parts_that_fit_the_rate() -> None:
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    slept: list[float] = []
    written: list[int] = []

    class Slow(Client):
        def _several(self, step: Any) -> Any:
            if hasattr(step, "seconds"):
                slept.append(step.seconds)
                return None
            return super()._several(step)

    slow = Slow(SCHEMA, "shop", db._transport, observe=lambda call: written.append(call.items))
    result = bulk_load(slow, [Event(str(at)) for at in range(600)], write_units=200)
    assert result.write_units == 600
    # The first part tells what an object costs. Then each part is half a second, and the pauses add up to three seconds.
    assert max(sum(part) for part in _parts(written)) <= 100
    assert len(slept) >= 5
    with pytest.raises(ArgumentError, match="write_units is 0, and has to be a number of units above 0"):
        bulk_load(db, [], write_units=0)


def _parts(written: list[int]) -> list[list[int]]:
    """Requests of 25 items each, four of which are a part."""
    return [written[at : at + 4] for at in range(1, len(written), 4)]


def test_throttled_part_is_written_again() -> None:
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    refused: list[int] = []

    class Busy:
        def send(self, operation: str, body: bytes) -> bytes:
            if operation == "Scan" or len(refused) >= 2:
                return db._transport.send(operation, body)
            refused.append(1)
            raise DynamoDBError("ThrottlingException", "too fast")

    class Patient(Client):
        def _several(self, step: Any) -> Any:
            return None if hasattr(step, "seconds") else super()._several(step)

    patient = Patient(SCHEMA, "shop", Busy())
    assert bulk_load(patient, [Note(str(at)) for at in range(5)]).done == 5
    assert len(all_of(db, Note)) == 5
    assert refused


@both
def test_copy_of_a_table_as_it_is(connect: Connect) -> None:
    db = connect(SCHEMA)
    run(db, bulk_load, objects())
    client = getattr(db, "_client", db)
    target = type(client)(SCHEMA, "copy", client._transport)
    plain = Client(SCHEMA, "copy", client._transport)
    plain.create_table()
    count = run(db, lambda source: bulk_copy(source, target, segments=2)).done
    there = [in_order(items(client._transport, name)) for name in ("shop", "copy")]
    assert there[0] == there[1]
    assert count == len(there[0])
    with pytest.raises(ArgumentError, match="are the same table"):
        run(db, lambda source: bulk_copy(source, source))


def test_copy_with_another_schema() -> None:
    @dataclass
    class Sale:
        order_id: str
        total: int

    transport = fresh()
    db = Client(SCHEMA, "shop", transport)
    db.create_table()
    bulk_load(db, objects())
    other = Schema(Entity(Sale, Key("SALE#{order_id}", "SALE"), patterns=[Copy("all", Key("SALES", "{order_id}"))]))
    target = Client(other, "sales", transport)
    target.create_table()
    result = bulk_copy(
        db, target, lambda one: Sale(one.order_id, one.total) if isinstance(one, Order) and one.total % 2 else None
    )
    assert len(all_of(target, Sale)) == 20
    assert result.done == 78  # all objects that were read
    assert is_whole(target)


@both
def test_export_and_import(connect: Connect, tmp_path: Path) -> None:
    db = connect(SCHEMA)
    run(db, bulk_load, objects())
    count = run(db, bulk_export, tmp_path / "items", segments=3).done
    lines = [
        json.loads(line)["Item"]
        for path in sorted((tmp_path / "items").iterdir())
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    transport = getattr(db, "_client", db)._transport
    assert in_order(lines) == in_order(items(transport, "shop"))
    assert count == len(lines)
    other = Client(SCHEMA, "other", transport)
    other.create_table()
    client = getattr(db, "_client", db)
    assert run(db, lambda _: bulk_import(type(client)(SCHEMA, "other", transport), tmp_path / "items")).done == count
    assert in_order(items(transport, "other")) == in_order(items(transport, "shop"))
    with pytest.raises(ArgumentError, match="has no files of an export"):
        bulk_import(other, tmp_path)


def test_export_continues_after_a_kill_between_file_and_position(tmp_path: Path) -> None:
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    text = "x" * 30_000
    db.put_many(Event(str(at), text) for at in range(200))  # six pages of 1 MB
    runs = 0
    while True:
        runs += 1
        try:
            with pytest.MonkeyPatch.context() as patch:
                saved: list[int] = []
                save = JobRun._save

                def dying(self: JobRun, saved: list[int] = saved, save: Any = save) -> None:
                    saved.append(1)
                    if len(saved) == 2:
                        raise Lost
                    save(self)

                patch.setattr(JobRun, "_save", dying)
                bulk_export(db, tmp_path / "items", position=tmp_path / "position")
            break
        except Lost:
            pass
    assert runs > 3
    (file,) = (tmp_path / "items").iterdir()
    found = [json.loads(line)["Item"]["event_id"]["S"] for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert sorted(found) == sorted(str(at) for at in range(200))


@both
def test_collection_is_deleted_with_what_belongs_to_it(connect: Connect) -> None:
    db = connect(SCHEMA)
    run(db, bulk_load, objects())
    reported: list[int] = []
    assert run(db, delete_collection, User, user_id="u1", progress=reported.append) == 1 + 13
    assert reported[-1] == 14
    assert {order.user_id for order in all_of(db, Order)} == {"u0", "u2"}
    assert [user.user_id for user in all_of(db, User)] == ["u0", "u2"]
    assert run(db, delete_collection, User, user_id="u1") == 0
    assert is_whole(db)
    with pytest.raises(ArgumentError, match="the partition of a User is given by user_id, and not by email"):
        run(db, delete_collection, User, email="a")


@dataclass
class Page:
    page_id: str
    number: int
    deleted: datetime | None = None


def test_collection_leaves_copies_of_others_and_marked_items() -> None:
    schema = Schema(
        Entity(Event, Key("EVENT#{event_id}", "EVENT"), patterns=[Copy("c", Key("PAGE#{event_id}", "E"))]),
        Entity(Page, Key("PAGE#{page_id}", "PAGE#{number}"), patterns=[SoftDelete("deleted")]),
    )
    transport = fresh()
    db = Client(schema, "shop", transport)
    db.create_table()
    db.put_many([Page("1", 1), Page("1", 2)], read=True)
    db.insert(Event("1"))
    assert delete_collection(db, Page, page_id="1") == 2
    assert delete_collection(db, Page, page_id="1") == 0
    assert list(db.query(Page, page_id="1")) == []
    assert db.get(Event, event_id="1") is not None
    assert list(audit(db)) == []


@dataclass
class Member:
    tenant_id: str
    member_id: str
    email: str


@dataclass
class Plan:
    plan: str
    members: int = 0


BY = {"plan": "email"}
TENANTS = Schema(
    Entity(Member, Key("TENANT#{tenant_id}#MEMBER#{member_id}", "MEMBER"), patterns=[Unique("email")]),
    Entity(Event, Key("EVENT#{event_id}", "EVENT")),
    tenant="tenant_id",
    exempt=[Event],
)


@both
def test_tenant_is_deleted_with_all_items(connect: Connect) -> None:
    db = connect(TENANTS)
    run(db, bulk_load, [Member(tenant, str(at), f"{at}@x.com") for tenant in ("a", "ab") for at in range(40)])
    run(db, bulk_load, [Event("1")])
    result = run(db, delete_tenant, "a", segments=2)
    assert (result.done, result.write_units) == (80, 80)  # with the guards
    assert {member.tenant_id for member in all_of(db, Member)} == {"ab"}
    assert len(all_of(db, Member)) == 40
    assert all_of(db, Event) == [Event("1")]
    assert is_whole(db)


def test_tenant_cannot_be_deleted_by_itself_or_if_others_count_it() -> None:
    db = Client(TENANTS, "shop", fresh())
    with pytest.raises(OtherTenant, match="a job over all items cannot be confined to one tenant"):
        delete_tenant(db.tenant("a"), "a")
    with pytest.raises(SchemaError, match="the schema has no tenants"):
        delete_tenant(Client(SCHEMA, "shop", fresh()), "a")
    with pytest.raises(ArgumentError, match="segments is 0"):
        delete_tenant(db, "a", segments=0)
    counted = Schema(
        Entity(Plan, Key("PLAN#{plan}", "PLAN")),
        Entity(Member, Key("TENANT#{tenant_id}#MEMBER#{member_id}", "M"), patterns=[Counted(Plan, "members", by=BY)]),
        tenant="tenant_id",
        exempt=[Plan],
    )
    with pytest.raises(SchemaError, match=r"Plan.members belongs to no tenant and depends on each Member"):
        delete_tenant(Client(counted, "shop", fresh()), "a")
