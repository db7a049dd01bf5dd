"""Laws of the client on the engine: no value reaches other items; a query equals a filter."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import examples, fresh

from prejoin import Changes, Client, Entity, Index, Key, NotFound, Schema
from prejoin.keys import KeyValueError

NASTY = st.sampled_from(
    ["#", "##", "ORDER", "ORDER#", "a#ORDER#b", "USER#1", "#PROFILE", "PROFILE", "1", "10", "$", "$23", ":0", "#0"]
) | st.sampled_from(
    ["{user_id}", "{", "%", "%s", "'", '"', "\n", "\x00", " ", "~", "é", "🙂", "\U0010ffff", "x" * 200],
)
IDS = st.one_of(
    NASTY,
    st.builds(str.__add__, NASTY, NASTY),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
)


@dataclass(frozen=True)
class User:
    user_id: str
    name: str


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str
    rank: int
    status: Literal["OPEN", "DONE"]


@dataclass(frozen=True)
class Note:
    user_id: str
    order_id: str
    text: str


SCHEMA = Schema(
    Entity(User, Key("USER#{user_id}", "PROFILE"), indexes={"gsi1": Key("NAME#{name}", "{user_id}")}),
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{order_id}"),
        indexes={"gsi1": Key("RANKED#{status}#{user_id}", "{rank}#{order_id}")},
    ),
    Entity(Note, Key("USER#{user_id}", "NOTE#{order_id}#{text}")),
    indexes=[Index("gsi1")],
)
ENGINE = fresh()
RECORDS = st.lists(
    st.builds(User, IDS, IDS)
    | st.builds(Order, IDS, IDS, st.integers(-20, 20), st.sampled_from(["OPEN", "DONE"]))
    | st.builds(Note, IDS, IDS, IDS),
    max_size=10,
)
_count = iter(range(10**9))


def stored(records: list[User | Order | Note]) -> tuple[Client, list[User | Order | Note]]:
    db = Client(SCHEMA, f"table{next(_count)}", ENGINE)
    db.create_table()
    kept = {}
    for record in records:
        kept[str(SCHEMA.key(type(record), **vars(record)))] = record
        db.put(record)
    return db, list(kept.values())


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(RECORDS, st.data())
def test_each_id_reaches_its_own_items_and_no_others(records: list[User | Order | Note], data: st.DataObject) -> None:
    db, kept = stored(records)
    ids = [record.user_id for record in kept]
    user_id = data.draw(st.sampled_from(ids) | IDS if ids else IDS)
    ours = [record for record in kept if record.user_id == user_id]
    assert db.get(User, user_id=user_id) == next((r for r in ours if isinstance(r, User)), None)
    orders = sorted((r for r in ours if isinstance(r, Order)), key=lambda order: order.order_id)
    assert list(db.query(Order, user_id=user_id)) == orders
    notes = sorted((r for r in ours if isinstance(r, Note)), key=lambda note: (note.order_id, note.text))
    assert list(db.query(Note, user_id=user_id)) == notes
    found = db.collect((User, Order, Note), user_id=user_id)
    assert (found.all(Order), found.all(Note), len(found)) == (orders, notes, len(ours))
    assert found.unmatched == ()
    if notes:
        first = notes[0].order_id
        assert list(db.query(Note, user_id=user_id, order_id=first)) == [n for n in notes if n.order_id == first]


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(RECORDS, st.data(), st.integers(-20, 20), st.integers(-20, 20), st.booleans(), st.integers(1, 4))
def test_a_ranked_query_in_pages_is_a_filter_and_a_sort(
    records: list[User | Order | Note], data: st.DataObject, low: int, high: int, reverse: bool, limit: int
) -> None:
    db, kept = stored(records)
    ids = [record.user_id for record in kept]
    user_id = data.draw(st.sampled_from(ids) | IDS if ids else IDS)
    expected = sorted(
        (
            r
            for r in kept
            if isinstance(r, Order) and r.user_id == user_id and r.status == "OPEN" and low <= r.rank < high
        ),
        key=lambda order: (order.rank, order.order_id),
        reverse=reverse,
    )
    found: list[Order] = []
    cursor: str | None = None
    while True:
        page = db.query(
            Order,
            lambda o: (o.rank >= low) & (o.rank < high),
            user_id=user_id,
            status="OPEN",
            reverse=reverse,
            limit=limit,
            after=cursor,
        )
        found += page
        cursor = page.cursor
        if cursor is None:
            break
    assert found == expected


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow])
@given(RECORDS, IDS, IDS, st.sampled_from(["update", "upsert", "delete", "put_many", "delete_many"]))
def test_a_write_by_an_id_touches_its_own_item_and_no_other(
    records: list[User | Order | Note], user_id: str, order_id: str, verb: str
) -> None:
    db, kept = stored(records)
    others = {str(r): r for r in kept if not (isinstance(r, Order) and (r.user_id, r.order_id) == (user_id, order_id))}
    changes = Changes({"rank": 7, "status": "DONE"})
    match verb:
        case "update":
            with contextlib.suppress(NotFound):
                db.apply(Order, changes, user_id=user_id, order_id=order_id)
        case "upsert":
            db.apply(Order, changes, user_id=user_id, order_id=order_id, upsert=True)
        case "delete":
            db.delete(Order, user_id=user_id, order_id=order_id)
        case "put_many":
            db.put_many([Order(user_id, order_id, 7, "DONE")])
        case _:
            db.delete_many(Order, [{"user_id": user_id, "order_id": order_id}])
    for record in others.values():
        assert db.get(type(record), **{name: getattr(record, name) for name in KEYS[type(record)]}) == record
    mine = db.get(Order, user_id=user_id, order_id=order_id)
    there = len(kept) > len(others)
    written = verb in ("upsert", "put_many") or (verb == "update" and there)
    assert mine == (Order(user_id, order_id, 7, "DONE") if written else None)


KEYS: dict[type, tuple[str, ...]] = {
    User: ("user_id",),
    Order: ("user_id", "order_id"),
    Note: ("user_id", "order_id", "text"),
}


def test_ids_of_2_kb_are_whole_or_refused() -> None:
    db, _ = stored([])
    long = "é" * 1021
    notes = [Note(long + "a", "1", "x"), Note(long, "1", "x"), Note(long, "1", "y" * 1016), Note(long, "1", "y" * 1015)]
    for note in notes:
        db.insert(note)
    assert [db.get(Note, user_id=one.user_id, order_id="1", text=one.text) for one in notes] == notes
    assert list(db.query(Note, user_id=long + "a")) == notes[:1]
    with pytest.raises(KeyValueError, match="longer than 2048 bytes"):
        db.insert(Note(long + "ab", "1", "x"))
    with pytest.raises(KeyValueError, match="longer than 1024 bytes"):
        db.delete(Order, user_id="1", order_id="#" * 1000)
