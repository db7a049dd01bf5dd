"""Copies are written in the transaction of their item, or the write is refused, so that they never differ."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import in_processes, in_threads, is_right, items, made, on_a_file, with_every_fault, wrong
from tests.patterns.manual_clock import ManualClock
from tests.place import fresh
from tests.table.both import Connect, both

from prejoin import (
    AlreadyExists,
    Call,
    Changes,
    Client,
    ConditionFailed,
    Conflict,
    Copy,
    Entity,
    Key,
    NotFound,
    NotUnique,
    Schema,
    SchemaError,
    TimeToLive,
    TooMany,
    TransactionCancelled,
    UnknownAttribute,
    UnknownValue,
)
from prejoin.engine import Embedded


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str
    status: Literal["OPEN", "DONE"] = "OPEN"
    note: str | None = None
    total: int = 0


BY_USER = Copy("by-user", Key("USER#{user_id}", "ORDER#{order_id}"))
OPEN = Copy("open", Key("USER#{user_id}", "OPEN#{order_id}", when=lambda o: o.status == "OPEN"), attributes=["status"])
SCHEMA = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), patterns=[BY_USER, OPEN]))


def keys(db: Client) -> list[str]:
    return sorted(f"{item['pk']['S']} / {item['sk']['S']}" for item in items(db._transport, "shop"))


@pytest.fixture
def db() -> Client:
    return made(SCHEMA, fresh())


def test_an_insert_writes_all_copies_in_one_transaction() -> None:
    calls: list[Call] = []
    db = Client(SCHEMA, "shop", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    db.insert(Order("1", "7"))
    assert [call.operation for call in calls] == ["TransactWriteItems"]
    assert keys(db) == ["ORDER#7 / ORDER", "USER#1 / OPEN#7", "USER#1 / ORDER#7"]
    with pytest.raises(AlreadyExists):
        db.insert(Order("2", "7"))
    assert wrong(SCHEMA, db._transport) == []


@both
def test_a_copy_is_read_as_the_entity_itself_and_consistently(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert(Order("1", "7", note="x"))
    db.insert(Order("1", "8", "DONE"))
    found = db.query(Order, user_id="1", consistent=True)
    assert list(found) == [Order("1", "7", note="x"), Order("1", "8", "DONE")]
    assert db.get(Order, order_id="7", consistent=True) == Order("1", "7", note="x")


@both
def test_an_update_changes_the_copies_that_have_the_attribute(connect: Connect) -> None:
    calls: list[Call] = []
    db = connect(SCHEMA, observe=calls.append)
    db.insert(Order("1", "7"))
    db.apply(Order, Changes({"note": "x"}, {"total": 5}), order_id="7", user_id="1")
    assert calls[-1].items == 2
    assert list(db.query(Order, user_id="1")) == [Order("1", "7", note="x", total=5)]
    with pytest.raises(ConditionFailed):
        db.apply(Order, Changes({"note": "y"}), order_id="7", user_id="2")
    db.apply(Order, Changes({"note": "y"}), order_id="7", read=True)
    assert list(db.query(Order, user_id="1")) == [db.get(Order, order_id="7")] == [Order("1", "7", note="y", total=5)]


def test_an_update_that_cannot_find_or_would_move_a_copy_is_refused() -> None:
    calls: list[Call] = []
    db = Client(SCHEMA, "shop", fresh(), observe=calls.append)
    db.create_table()
    db.insert(Order("1", "7"))
    calls.clear()
    with pytest.raises(UnknownValue, match="needs the current value of user_id, because its copy by-user"):
        db.apply(Order, Changes({"note": "x"}), order_id="7")
    with pytest.raises(UnknownValue, match="needs the current value of status, because its copy open"):
        db.apply(Order, Changes({"status": "DONE"}), order_id="7", user_id="1")
    with pytest.raises(UnknownValue, match="needs the current value of user_id"):
        db.delete(Order, order_id="7")
    with pytest.raises(UnknownValue, match=r"may change user_id.*Pass the object that it replaces as was="):
        db.put(Order("1", "7", "DONE"))
    with pytest.raises(UnknownValue, match="this upsert of Order changes its copy by-user, which depends"):
        db.apply(Order, Changes({"user_id": "1"}), order_id="7", upsert=True)
    assert calls == []


@both
def test_a_copy_moves_when_all_it_is_made_of_is_known(connect: Connect) -> None:
    db = connect(SCHEMA)
    order = db.insert(Order("1", "7"))
    db.apply(Order, Changes({"status": "DONE"}), order_id="7", user_id="1", status="OPEN")
    assert db.query(Order, user_id="1")[0].status == "DONE"
    db.apply(Order, Changes({"user_id": "2", "status": "OPEN"}), order_id="7", read=True)
    assert list(db.query(Order, user_id="1")) == []
    assert list(db.query(Order, user_id="2")) == [replace(order, user_id="2")]
    known: dict[str, Any] = {"user_id": "2", "status": "OPEN", "note": None, "total": 0}
    db.apply(Order, Changes({"user_id": "3"}), order_id="7", **known)
    assert list(db.query(Order, user_id="3")) == [replace(order, user_id="3")]
    with pytest.raises(UnknownValue, match="needs the current value of total"):
        db.apply(Order, Changes({"user_id": "4"}, {"total": 1}), order_id="7", **{**known, "user_id": "3"})


@both
def test_a_put_over_a_known_item_moves_its_copies(connect: Connect) -> None:
    db = connect(SCHEMA)
    old = db.insert(Order("1", "7"))
    db.put(Order("2", "7", "DONE"), was=old)
    assert list(db.query(Order, user_id="1")) == []
    with pytest.raises(ConditionFailed):
        db.put(Order("3", "7"), was=old)
    db.put(Order("3", "7"), read=True)
    assert list(db.query(Order, user_id="2")) == []
    assert list(db.query(Order, user_id="3")) == [Order("3", "7")]


@both
def test_a_delete_takes_the_copies_along(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert(Order("1", "7"))
    db.delete(Order, order_id="7", user_id="1", status="OPEN")
    db.insert(Order("1", "7"))
    db.delete(Order, order_id="7", read=True)
    db.delete(Order, order_id="7", read=True)
    assert list(db.query(Order, user_id="1")) == []


def test_an_upsert_reads_first(db: Client) -> None:
    for total in (1, 2):
        db.apply(Order, Changes({"user_id": "1"}, {"total": 1}), order_id="7", upsert=True, read=True)
        assert list(db.query(Order, user_id="1")) == [Order("1", "7", total=total)]
    assert wrong(SCHEMA, db._transport) == []


@pytest.mark.slow
def test_many_go_in_transactions_where_their_copies_cannot_be_elsewhere() -> None:
    calls: list[Call] = []
    copy = Copy("all", Key("ORDERS", "{order_id}"))
    schema = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), patterns=[copy]))
    db = Client(schema, "shop", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    assert db.put_many(Order("1", f"{number:02}") for number in range(60)) == 60
    assert [(call.operation, call.items) for call in calls] == [("TransactWriteItems", 100), ("TransactWriteItems", 20)]
    assert db.count(Order, order_id="07") == 1
    assert wrong(schema, db._transport) == []
    assert db.delete_many(Order, [{"order_id": f"{number:02}"} for number in range(59)]) == 59
    assert len(keys(db)) == 2
    moving = made(SCHEMA, fresh())
    with pytest.raises(UnknownValue, match="may change user_id"):
        moving.put_many([Order("1", "7")])


def test_many_of_several_items_each_are_as_many_as_fit_into_4_mb() -> None:
    calls: list[Call] = []
    copy = Copy("all", Key("ORDERS", "{order_id}"))
    schema = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), patterns=[copy]))
    db = Client(schema, "shop", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    db.put_many(Order("1", str(number), note="x" * 390_000) for number in range(7))
    assert [call.items for call in calls] == [10, 4]
    with pytest.raises(TooMany, match="bytes, and the limit is 409,600"):
        db.put_many([Order("1", "8", note="x" * 410_000)])


def test_in_a_transaction_each_write_takes_its_copies_along(db: Client) -> None:
    db.insert(Order("1", "7"))
    with db.transaction() as tx:
        tx.insert(Order("1", "8"))
        tx.delete(Order, order_id="7", read=True)
    assert keys(db) == ["ORDER#8 / ORDER", "USER#1 / OPEN#8", "USER#1 / ORDER#8"]
    with pytest.raises(TransactionCancelled), db.transaction() as tx:
        tx.insert(Order("1", "9"))
        tx.insert(Order("1", "8"))
    assert wrong(SCHEMA, db._transport) == []
    with pytest.raises(TooMany, match="this one has 102"), db.transaction() as tx:
        for number in range(34):
            tx.insert(Order("1", str(number)))


def test_only_a_copy_that_another_item_could_have_is_written_on_condition() -> None:
    patterns = [Copy("own", Key("ALL", "{order_id}")), Copy("one", Key("USER#{user_id}", "OPEN"))]
    schema = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), patterns=patterns))
    calls: list[Call] = []
    db = Client(schema, "shop", fresh(), observe=calls.append)
    db.create_table()
    db.insert(Order("1", "7"))
    puts = [action["Put"] for action in calls[-1].request["TransactItems"]]
    assert ["ConditionExpression" in put for put in puts] == [True, False, True]
    with pytest.raises(NotUnique, match="another Order has a copy one with the same key"):
        db.insert(Order("1", "8"))
    db.put(Order("1", "7", note="again"), was=Order("1", "7"))
    assert db.get(Order, order_id="7") == Order("1", "7", note="again")


def test_deleted_copy_raises_not_found(db: Client) -> None:
    db.insert(Order("1", "7"))
    db.call("DeleteItem", {"Key": {"pk": {"S": "USER#1"}, "sk": {"S": "ORDER#7"}}})
    with pytest.raises(NotFound, match="the copy by-user of Order order_id='7' is not there"):
        db.apply(Order, Changes({"note": "x"}), order_id="7", user_id="1")
    assert [said.partition(" is ")[0] for said in wrong(SCHEMA, db._transport)] == ["USER#1 / ORDER#7"]


def test_cost() -> None:
    calls: list[Call] = []
    schema = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), patterns=[OPEN]))
    db = Client(schema, "shop", fresh(), observe=calls.append)
    db.create_table()

    def units(write: Any) -> float:
        calls.clear()
        write()
        return sum(call.units for call in calls if call.operation != "GetItem")

    assert units(lambda: db.insert(Order("1", "7"))) == 4
    assert units(lambda: db.apply(Order, Changes({"note": "x"}), order_id="7")) == 1
    assert units(lambda: db.apply(Order, Changes({"user_id": "2"}), order_id="7", read=True)) == 6
    assert units(lambda: db.delete(Order, order_id="7", read=True)) == 4


@pytest.mark.parametrize(
    ("copy", "message"),
    [
        (Copy("", Key("A", "{order_id}")), "a copy of Order has no name"),
        (Copy("flat", Key("A#{order_id}")), "needs a sort key, and the others of table have one"),
        (Copy("same", Key("ORDER#{user_id}", "ORDER")), "could have the same key"),
    ],
)
def test_invalid_copy_is_refused(copy: Copy, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), patterns=[copy]))


def test_copy_of_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(UnknownAttribute, match="did you mean note"):
        Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), patterns=[Copy("a", Key("A", "{order_id}"), ["nota"])]))


# --- Against a model ------------------------------------------------------------------------------------------------

orders = st.builds(
    Order,
    st.sampled_from(["1", "2"]),
    st.sampled_from(["7", "8"]),
    st.sampled_from(["OPEN", "DONE"]),
    st.none() | st.just("x"),
    st.integers(0, 3),
)


@given(
    st.lists(st.tuples(st.sampled_from(["insert", "put", "update", "upsert", "add", "delete"]), orders), max_size=12)
)
def test_copies_equal_their_items_after_any_writes(operations: list[tuple[str, Order]]) -> None:
    db = made(SCHEMA, fresh())
    model: dict[str, Order] = {}
    for verb, order in operations:
        key = order.order_id
        there = model.get(key)
        changes = Changes({name: getattr(order, name) for name in ("user_id", "status", "note", "total")})
        if verb == "delete":
            db.delete(Order, order_id=key, read=True)
            model.pop(key, None)
        elif verb == "put":
            model[key] = db.put(order, read=True)
        elif verb == "upsert":
            db.apply(Order, changes, order_id=key, upsert=True, read=True)
            model[key] = order
        elif (verb == "insert") == (there is None):
            if verb == "insert":
                model[key] = db.insert(order)
            elif verb == "add":
                assert there
                db.apply(Order, Changes({}, {"total": 1}), order_id=key, user_id=there.user_id)
                model[key] = replace(there, total=there.total + 1)
            else:
                db.apply(Order, changes, order_id=key, read=True)
                model[key] = order
    for user in ("1", "2"):
        theirs = sorted((one for one in model.values() if one.user_id == user), key=lambda one: one.order_id)
        assert list(db.query(Order, user_id=user)) == theirs
    assert wrong(SCHEMA, db._transport) == []


# --- Concurrency ----------------------------------------------------------------------------------------------------


def shuffle(db: Client, number: int) -> None:
    for step in range(8):
        order = Order(str((number + step) % 3), str(step % 2), ("OPEN", "DONE")[number % 2], total=number)
        writes: list[Callable[[], Any]] = [
            lambda order=order: db.put(order, read=True),
            lambda order=order: db.apply(Order, Changes({"user_id": order.user_id}), order_id="0", read=True),
            lambda order=order: db.apply(Order, Changes({}, {"total": 1}), order_id="1", read=True),
            lambda order=order: db.delete(Order, order_id=order.order_id, read=True),
        ]
        with suppress(Conflict, NotFound):
            writes[(number + step) % 4]()


def test_concurrent_writes_leave_no_stale_copy() -> None:
    db = made(SCHEMA, fresh())
    in_threads(6, lambda number: shuffle(db, number))
    assert wrong(SCHEMA, db._transport) == []


def shuffle_file(number: int, file: str) -> None:
    with Client(SCHEMA, "shop", Embedded(file)) as db:
        for _ in range(3):
            shuffle(db, number)


@pytest.mark.slow
@on_a_file
def test_processes_on_one_file_leave_none_behind(tmp_path: Path) -> None:
    file = str(tmp_path / "shop.db")
    with made(SCHEMA, Embedded(file)) as db:
        in_processes(3, shuffle_file, file)
        assert wrong(SCHEMA, db._transport) == []


# --- Faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.insert(Order("1", "8")),
        lambda db: db.put(Order("2", "7", "DONE"), read=True),
        lambda db: db.apply(Order, Changes({"note": "x", "user_id": "2"}), order_id="7", read=True),
        lambda db: db.delete(Order, order_id="7", read=True),
    ],
    ids=["insert", "put", "update", "delete"],
)
def test_items_and_copies_agree_after_any_lost_request(write: Any) -> None:
    def begin() -> Any:
        transport = fresh()
        made(SCHEMA, transport).insert(Order("1", "7"))
        return transport

    def check(transport: Any) -> None:
        assert wrong(SCHEMA, transport) == []
        with suppress(AlreadyExists):  # an insert whose response was lost
            write(Client(SCHEMA, "shop", transport))
        assert wrong(SCHEMA, transport) == []

    assert with_every_fault(begin, lambda lossy: write(Client(SCHEMA, "shop", lossy)), check) >= 2


def test_bulk_writes_with_lost_requests_are_atomic_each() -> None:
    copy = Copy("all", Key("ORDERS", "{order_id}"))
    schema = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER"), patterns=[copy]))

    def begin() -> Any:
        transport = fresh()
        made(schema, transport)
        return transport

    def act(lossy: Any) -> None:
        Client(schema, "shop", lossy).put_many(Order("1", str(number)) for number in range(120))

    assert with_every_fault(begin, act, is_right(schema)) == 6


# --- With a time to live --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Offer:
    shop: str
    offer_id: str
    ends: datetime | None = None
    note: str = ""


def test_copies_end_with_their_items_also_those_that_hold_little(clock: ManualClock) -> None:
    patterns = [Copy("by-shop", Key("SHOP#{shop}", "{offer_id}"), attributes=[]), TimeToLive("ends", clock=clock)]
    schema = Schema(Entity(Offer, Key("OFFER#{offer_id}", "OFFER"), patterns=patterns))
    db = made(schema, fresh())
    db.insert(Offer("a", "1", clock() + timedelta(hours=1)))
    db.insert(Offer("a", "2"))

    @dataclass
    class Line:
        offer_id: str

    assert [one.offer_id for one in db.query(Offer, shop="a", into=Line)] == ["1", "2"]
    clock.turn(hours=1)
    assert [one.offer_id for one in db.query(Offer, shop="a", into=Line)] == ["2"]
    assert db.count(Offer, shop="a") == 1
    db.insert(Offer("b", "1"))
    assert [one.offer_id for one in db.query(Offer, shop="a", into=Line)] == ["2"]
    assert [one.offer_id for one in db.query(Offer, shop="b", into=Line)] == ["1"]
