"""Sparse indexes contain exactly the items whose condition holds, after any sequence of writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.place import fresh
from tests.table.both import Connect, Watched, both

from prejoin import (
    Changes,
    Client,
    Entity,
    Index,
    Key,
    NotServed,
    Schema,
    SchemaError,
    SoftDelete,
    UnknownValue,
    Version,
    exists,
    one_of,
)
from prejoin.engine import Embedded

Status = Literal["NEW", "PAID", "SENT", "DONE"]
OPEN = ("NEW", "PAID")


@dataclass(frozen=True)
class Address:
    city: str


@dataclass(frozen=True)
class Order:
    order_id: str
    status: Status = "NEW"
    assignee: str | None = None
    rank: int = 0
    address: Address | None = None


ORDER = Entity(
    Order,
    Key("ORDER#{order_id}", "ORDER"),
    indexes={
        "open": Key("OPEN", "{rank}#{order_id}", when=lambda o: one_of(o.status, OPEN)),
        "assigned": Key("ASSIGNEE#{assignee}", "{order_id}"),
        "urgent": Key("URGENT#{assignee}", "{order_id}", when=lambda o: (o.status == "NEW") & exists(o.address)),
    },
)
SCHEMA = Schema(ORDER, indexes=[Index("open"), Index("assigned"), Index("urgent")])


def connected(schema: Schema = SCHEMA, **more: Any) -> Client:
    db = Client(schema, "shop", fresh(), **more)
    db.create_table()
    return db


def in_index(db: Client, index: str) -> set[str]:
    return {item["order_id"]["S"] for item in db.call("Scan", {"IndexName": index})["Items"]}


MEMBERS: dict[str, Callable[[Order], bool]] = {
    "open": lambda o: o.status in OPEN,
    "assigned": lambda o: o.assignee is not None,
    "urgent": lambda o: o.assignee is not None and o.status == "NEW" and o.address is not None,
}


def changes(order: Order) -> Changes:
    return Changes({"status": order.status, "assignee": order.assignee, "rank": order.rank, "address": order.address})


def in_transaction(db: Client, order: Order) -> None:
    with db.transaction() as tx:
        tx.put(order)


def updated_by_assignment(db: Client, order: Order) -> None:
    with db.upsert(Order, order_id=order.order_id, read=True) as draft:
        draft.status, draft.assignee, draft.rank, draft.address = (
            order.status,
            order.assignee,
            order.rank,
            order.address,
        )


WAYS: dict[str, Callable[[Client, Order], Any]] = {
    "put": lambda db, order: db.put(order),
    "put read": lambda db, order: db.put(order, read=True),
    "batch": lambda db, order: db.put_many([order]),
    "upsert": lambda db, order: db.apply(Order, changes(order), order_id=order.order_id, upsert=True),
    "upsert read": lambda db, order: db.apply(Order, changes(order), order_id=order.order_id, upsert=True, read=True),
    "transaction": in_transaction,
    "assignment": updated_by_assignment,
    "delete": lambda db, order: db.delete(Order, order_id=order.order_id),
    "delete batch": lambda db, order: db.delete_many(Order, [{"order_id": order.order_id}]),
}
ORDERS = st.builds(
    Order,
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from(["NEW", "PAID", "SENT", "DONE"]),
    st.sampled_from([None, "ann", "bob"]),
    st.integers(-2, 2),
    st.sampled_from([None, Address("Bonn")]),
)


@given(st.lists(st.tuples(st.sampled_from(sorted(WAYS)), ORDERS), max_size=12))
def test_after_any_writes_an_index_has_the_items_its_condition_holds_for(writes: list[tuple[str, Order]]) -> None:
    db = Client(SCHEMA, "shop", Embedded())
    db.create_table()
    model: dict[str, Order] = {}
    for way, order in writes:
        WAYS[way](db, order)
        if way.startswith("delete"):
            model.pop(order.order_id, None)
        else:
            model[order.order_id] = order
    for index, holds in MEMBERS.items():
        assert in_index(db, index) == {order.order_id for order in model.values() if holds(order)}
    for name in ("ann", "bob"):
        expected = {order for order in model.values() if order.assignee == name}
        assert set(db.query(Order, assignee=name)) == expected


@both
def test_sparse_index_is_used_only_if_the_query_implies_it(connect: Connect) -> None:
    watched = Watched()
    db = connect(SCHEMA, observe=watched)
    db.put_many([Order("1", "NEW", "ann", address=Address("Bonn")), Order("2", "DONE", "ann"), Order("3")])
    assert [order.order_id for order in db.query(Order, assignee="ann")] == ["1", "2"]
    assert watched.calls[-1].index == "assigned"
    with pytest.raises(NotServed, match="it has only the items where status = NEW or PAID"):
        db.query(Order, status="DONE")
    with pytest.raises(NotServed, match="status would be left to a filter"):
        db.query(Order, status="NEW")


def test_leaving_a_sparse_index_needs_no_values_and_entering_needs_its_key() -> None:
    db = connected()
    db.insert(Order("1", "NEW", "ann", address=Address("Bonn")))
    db.apply(Order, Changes({("address", "city"): "Köln"}), order_id="1")
    assert in_index(db, "urgent") == {"1"}
    db.apply(Order, Changes({"status": "DONE"}), order_id="1")
    assert (in_index(db, "open"), in_index(db, "urgent"), in_index(db, "assigned")) == (set(), set(), {"1"})
    with pytest.raises(UnknownValue, match="needs the current value"):
        db.apply(Order, Changes({"status": "NEW"}), order_id="1")
    db.apply(Order, Changes({"status": "NEW"}), order_id="1", read=True)
    assert (in_index(db, "open"), in_index(db, "urgent")) == ({"1"}, {"1"})


@dataclass(frozen=True)
class Task:
    task_id: str
    owner: str | None = None
    version: int = 0
    deleted_at: datetime | None = None


def test_other_patterns_do_not_change_the_index() -> None:
    schema = Schema(
        Entity(
            Task,
            Key("TASK#{task_id}", "TASK"),
            indexes={"owned": Key("OWNER#{owner}", "{task_id}")},
            patterns=[Version("version"), SoftDelete("deleted_at")],
        ),
        indexes=[Index("owned")],
    )
    db = Client(schema, "shop", fresh())
    db.create_table()
    task = db.insert(Task("1", "ann"))
    db.put(replace(task, owner=None))
    assert not db.query(Task, owner="ann")


@pytest.mark.parametrize(
    ("when", "message"),
    [
        (lambda o: o.rank > 3, "cannot decide which items are in an index. Use ==, one_of, exists or == None"),
        (lambda o: (o.status == "NEW") | (o.rank == 1), "cannot decide which items are in an index"),
        (lambda o: o.assignee != "ann", "cannot decide which items are in an index"),
    ],
)
def test_condition_that_no_query_can_imply_is_refused(when: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(
            Entity(Order, Key("ORDER#{order_id}", "ORDER"), {"open": Key("X", "{order_id}", when=when)}),
            indexes=[Index("open")],
        )


def test_item_outside_a_sparse_index_costs_nothing_there() -> None:
    watched = Watched()
    db = connected(
        Schema(
            Entity(
                Order,
                Key("ORDER#{order_id}", "ORDER"),
                {"open": Key("OPEN", "{order_id}", when=lambda o: one_of(o.status, OPEN))},
            ),
            indexes=[Index("open")],
        ),
        observe=watched,
    )
    units = []
    for order in (Order("1", "DONE"), Order("1", "DONE"), Order("1", "NEW"), Order("1", "PAID"), Order("1", "SENT")):
        db.put(order)
        units.append(watched.calls[-1].units)
    assert units == [1.0, 1.0, 2.0, 2.0, 2.0], "1 for the table; 1 to enter the index, to change there, and to leave it"
