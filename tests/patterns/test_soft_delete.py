"""Soft deletes hide an item, which can be restored, until it is purged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import in_processes, in_threads, is_right, items, made, on_a_file, with_every_fault, wrong
from tests.patterns.manual_clock import ManualClock
from tests.place import fresh
from tests.table.both import Connect, both

from prejoin import (
    AlreadyExists,
    AsyncClient,
    Call,
    Changes,
    Client,
    ConditionFailed,
    Copy,
    Entity,
    Index,
    Key,
    NotFound,
    NotUnique,
    Schema,
    SchemaError,
    SoftDelete,
    TableError,
    TimeToLive,
    TransactionCancelled,
    Unique,
    UnknownValue,
    Version,
    VersionConflict,
    purge,
    restore,
)
from prejoin.engine import Embedded

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Note:
    note_id: str
    owner: str = "o"
    text: str = ""
    deleted_at: datetime | None = None


@dataclass(frozen=True)
class User:
    user_id: str
    email: str
    team: str = "t"
    ends: datetime | None = None
    deleted_at: datetime | None = None
    version: int = 0


def notes(clock: ManualClock, **how: Any) -> Schema:
    return Schema(
        Entity(
            Note,
            Key("NOTE#{note_id}", "NOTE"),
            indexes={"gsi1": Key("OWNER#{owner}", "NOTE#{note_id}")},
            patterns=[SoftDelete("deleted_at", clock=clock, **how)],
        ),
        indexes=[Index("gsi1")],
    )


def users(clock: ManualClock, *more: Any, **how: Any) -> Schema:
    patterns = [
        Unique("email"),
        Copy("by-team", Key("TEAM#{team}", "USER#{user_id}"), attributes=["email"]),
        *more,
        SoftDelete("deleted_at", clock=clock, **how),
    ]
    return Schema(Entity(User, Key("USER#{user_id}", "USER"), patterns=patterns))


@both
def test_deleted_item_is_hidden_and_kept(connect: Connect, clock: ManualClock) -> None:
    db = connect(notes(clock))
    db.put_many(Note(str(number)) for number in range(4))
    db.delete(Note, note_id="1")
    assert db.delete(Note, note_id="2", returning="old") == Note("2")
    assert [db.get(Note, note_id=one) is None for one in "0123"] == [False, True, True, False]
    assert [one.note_id for one in db.query(Note, owner="o")] == ["0", "3"]
    assert db.count(Note, owner="o") == 2
    assert [one is None for one in db.get_many(Note, [{"note_id": one} for one in "012"])] == [False, True, True]
    assert not db.exists(Note, note_id="1")
    hidden = [one for page in db.everything(Note, hidden=True) for one in page if one.deleted_at]
    assert sorted(hidden, key=lambda note: note.note_id) == [
        Note("1", deleted_at=clock()),
        Note("2", deleted_at=clock()),
    ]


@both
def test_deleted_item_cannot_be_updated_or_inserted(connect: Connect, clock: ManualClock) -> None:
    db = connect(notes(clock))
    db.insert(Note("1"))
    db.delete(Note, note_id="1", text="")
    gone = "there is no Note note_id='1': it is marked as deleted, and can be restored"
    for read in (False, True):
        with pytest.raises(NotFound, match=gone):
            db.delete(Note, note_id="1", read=read)
        with pytest.raises(NotFound, match=gone):
            db.apply(Note, Changes({"text": "x"}), note_id="1", read=read)
        with pytest.raises(AlreadyExists, match=r"is marked as deleted\. restore\(\) or purge\(\) it first"):
            db.apply(Note, Changes({"text": "x"}), note_id="1", upsert=True, read=read)
    with pytest.raises(AlreadyExists, match="is marked as deleted"):
        db.insert(Note("1"))
    with pytest.raises(NotFound, match=r"^there is no Note note_id='9'$"):
        db.delete(Note, note_id="9")
    assert db.put(Note("1", text="over it")) == db.get(Note, note_id="1")


def test_deleted_item_is_restored_or_purged(clock: ManualClock) -> None:
    db = made(notes(clock), fresh())
    note = db.insert(Note("1", text="x"))
    for none in (restore, purge):
        with pytest.raises(NotFound, match="there is no Note note_id='1' that is marked as deleted"):
            none(db, Note, note_id="1")
    db.delete(Note, note_id="1")
    restore(db, Note, note_id="1")
    assert db.get(Note, note_id="1") == note
    db.delete(Note, note_id="1")
    purge(db, Note, note_id="1")
    assert list(items(db._transport, "shop")) == []
    with pytest.raises(NotFound, match="there is no"):
        restore(db, Note, note_id="1")


def test_async_client_restores(clock: ManualClock) -> None:
    async def main() -> list[Note | None]:
        db = AsyncClient(notes(clock), "shop", fresh())
        await db.create_table()
        await db.insert(Note("1"))
        await db.delete(Note, note_id="1")
        found = [await db.get(Note, note_id="1")]
        await restore(db, Note, note_id="1")
        found.append(await db.get(Note, note_id="1"))
        await db.delete(Note, note_id="1")
        await purge(db, Note, note_id="1")
        return [*found, *[one async for page in db.everything(Note, hidden=True) for one in page]]

    assert asyncio.run(main()) == [None, Note("1")]


def test_it_is_part_of_transactions(clock: ManualClock) -> None:
    db = made(notes(clock), fresh())
    db.put_many([Note("1"), Note("2"), Note("3")])
    with db.transaction() as tx:
        tx.delete(Note, note_id="1")
        tx.delete(Note, note_id="2")
    with db.transaction() as tx:
        restore(tx, Note, note_id="1")
        purge(tx, Note, note_id="2")
        tx.delete(Note, note_id="3")
    assert [one.note_id for one in db.query(Note, owner="o")] == ["1"]
    assert len(list(items(db._transport, "shop"))) == 2
    with pytest.raises(TransactionCancelled, match="it is marked as deleted"), db.transaction() as tx:
        tx.insert(Note("4"))
        tx.delete(Note, note_id="3")


def test_many_are_marked(clock: ManualClock) -> None:
    db = made(notes(clock), fresh())
    db.put_many([Note("1"), Note("2")])
    assert db.delete_many(Note, [{"note_id": "1"}]) == 1
    assert db.get(Note, note_id="1") is None
    assert [one.deleted_at for page in db.everything(Note, hidden=True) for one in page].count(None) == 1


def test_caller_cannot_set_the_deletion_mark(clock: ManualClock) -> None:
    db = made(notes(clock), fresh())
    for write in (
        lambda: db.insert(Note("1", deleted_at=clock())),
        lambda: db.put(Note("1", deleted_at=clock())),
        lambda: db.apply(Note, Changes({"deleted_at": None}), note_id="1"),
    ):
        with pytest.raises(TableError, match=r"Note.deleted_at is maintained by SoftDelete"):
            write()
    with pytest.raises(TableError, match="User has no SoftDelete"):
        plain = Schema(Entity(User, Key("USER#{user_id}", "USER")))
        restore(Client(plain, "shop", db._transport), User, user_id="1")


def test_unique_values_stay_taken_and_copies_are_marked_too(clock: ManualClock) -> None:
    schema = users(clock)
    db = made(schema, fresh())
    user = db.insert(User("1", "a@b.com"))
    with pytest.raises(UnknownValue, match="needs the current value of team, because its copy by-team"):
        db.delete(User, user_id="1")
    db.delete(User, user_id="1", team="t")
    assert db.count(User, team="t") == 0
    assert wrong(schema, db._transport) == []
    with pytest.raises(NotUnique):
        db.insert(User("2", "a@b.com"))
    restore(db, User, user_id="1")
    assert db.get(User, user_id="1") == user
    assert db.count(User, team="t") == 1
    db.delete(User, user_id="1", read=True)
    purge(db, User, user_id="1")
    assert list(items(db._transport, "shop")) == []


def test_released_values_may_be_taken_before_a_restore(clock: ManualClock) -> None:
    schema = users(clock, release=True)
    db = made(schema, fresh())
    db.insert(User("1", "a@b.com"))
    db.delete(User, user_id="1", read=True)
    db.insert(User("2", "a@b.com"))
    assert wrong(schema, db._transport) == []
    with pytest.raises(NotUnique):
        restore(db, User, user_id="1")
    db.delete(User, user_id="2", read=True)
    restore(db, User, user_id="1")
    assert wrong(schema, db._transport) == []
    with pytest.raises(NotUnique):
        restore(db, User, user_id="2")
    purge(db, User, user_id="2")
    with pytest.raises(NotUnique):
        db.insert(User("3", "a@b.com"))
    assert wrong(schema, db._transport) == []


def test_old_deleted_items_are_left_to_dynamodb(clock: ManualClock) -> None:
    schema = users(clock, TimeToLive("ends", clock=clock), keep=30 * DAY)
    db = made(schema, fresh())
    db.insert(User("1", "a@b.com"))
    db.delete(User, user_id="1", read=True)
    assert wrong(schema, db._transport) == []
    ends = {"N": str(int((clock() + 30 * DAY).timestamp()))}
    assert [item.get("ends") for item in items(db._transport, "shop")] == [ends, ends, ends]  # the item, copy and guard
    clock.turn(days=29)
    restore(db, User, user_id="1")
    assert db.get(User, user_id="1") == User("1", "a@b.com")
    assert wrong(schema, db._transport) == []
    db.delete(User, user_id="1", read=True)
    clock.turn(days=30)
    db.insert(User("2", "a@b.com"))
    db.insert(User("1", "b@b.com"))


def test_version_check_refuses_to_overwrite_an_unseen_delete(clock: ManualClock) -> None:
    schema = Schema(
        Entity(User, Key("USER#{user_id}", "USER"), patterns=[Version(), SoftDelete("deleted_at", clock=clock)])
    )
    db = made(schema, fresh())
    seen = db.insert(User("1", "a@b.com"))
    with pytest.raises(VersionConflict):
        db.delete(User, user_id="1", version=7)
    db.delete(User, user_id="1", version=1)
    with pytest.raises(VersionConflict):
        db.put(replace(seen, email="late"))
    restore(db, User, user_id="1")
    assert db.get(User, user_id="1") == replace(seen, version=3)


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([SoftDelete("owner")], r"Note\.owner is the time of the delete, and must be datetime"),
        ([SoftDelete("deleted_at"), SoftDelete("deleted_at")], "SoftDelete twice"),
        ([SoftDelete("deleted_at", keep=DAY)], "needs TimeToLive with an optional attribute"),
    ],
)
def test_invalid_soft_delete_is_refused(patterns: list[Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=patterns))


def test_cost(clock: ManualClock) -> None:
    calls: list[Call] = []
    schema = Schema(Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=[SoftDelete("deleted_at", clock=clock)]))
    db = Client(schema, "shop", fresh(), observe=calls.append)
    db.create_table()
    db.insert(Note("1"))
    calls.clear()
    db.delete(Note, note_id="1")
    restore(db, Note, note_id="1")
    db.delete(Note, note_id="1")
    purge(db, Note, note_id="1")
    told = [(call.operation, call.units) for call in calls]
    assert told == [
        ("UpdateItem", 1),
        ("GetItem", 1),
        ("UpdateItem", 1),
        ("UpdateItem", 1),
        ("GetItem", 1),
        ("DeleteItem", 1),
    ]


# --- Against a model ------------------------------------------------------------------------------------------------


def do(db: Client, verb: str, key: str, email: str) -> None:
    match verb:
        case "insert":
            db.insert(User(key, email))
        case "put":
            db.put(User(key, email), read=True)
        case "update":
            db.apply(User, Changes({"email": email}), user_id=key, read=True)
        case "delete":
            db.delete(User, user_id=key, read=True)
        case "restore":
            restore(db, User, user_id=key)
        case _:
            purge(db, User, user_id=key)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["insert", "put", "update", "delete", "restore", "purge"]),
            st.sampled_from(["1", "2", "3"]),
            st.sampled_from(["a", "b"]),
        ),
        max_size=14,
    ),
    st.booleans(),
)
def test_soft_delete_equals_a_model_of_two_dictionaries(operations: list[tuple[str, str, str]], release: bool) -> None:
    clock = ManualClock()
    schema = users(clock, release=release)
    db = made(schema, fresh())
    live: dict[str, str] = {}
    dead: dict[str, str] = {}
    for verb, key, email in operations:
        holders = {**live} if release else {**live, **dead}
        free = email not in [held for holder, held in holders.items() if holder != key]
        again = dead.get(key) not in live.values() if release else True
        allowed = {
            "insert": key not in live and key not in dead and free,
            "put": free,
            "update": key in live and free,
            "delete": key in live,
            "restore": key in dead and again,
            "purge": key in dead,
        }[verb]
        if not allowed:
            with pytest.raises(ConditionFailed):
                do(db, verb, key, email)
            continue
        do(db, verb, key, email)
        match verb:
            case "delete":
                dead[key] = live.pop(key)
            case "restore":
                live[key] = dead.pop(key)
            case "purge":
                del dead[key]
            case _:
                dead.pop(key, None)
                live[key] = email
    found = [one for page in db.everything(User, consistent=True) for one in page]
    assert {one.user_id: one.email for one in found} == live
    assert {one.user_id for one in db.query(User, team="t", consistent=True, into=Named)} == set(live)
    assert wrong(schema, db._transport) == []


@dataclass(frozen=True)
class Named:
    user_id: str


# --- Concurrency and faults -----------------------------------------------------------------------------------------


def toggle(db: Client, number: int) -> None:
    for step in range(8):
        try:
            if (number + step) % 2:
                db.delete(User, user_id="1", read=True)
            else:
                restore(db, User, user_id="1")
        except (ConditionFailed, TableError):
            pass


def test_concurrent_deletes_and_restores_leave_a_consistent_item(clock: ManualClock) -> None:
    schema = users(clock, release=True)
    db = made(schema, fresh())
    db.insert(User("1", "a@b.com"))
    in_threads(4, lambda number: toggle(db, number))
    assert wrong(schema, db._transport) == []


class Meanwhile:
    """A transport that runs a function after the first item was read."""

    def __init__(self, place: Any, happens: Callable[[], object]) -> None:
        self._place, self._happens = place, happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._place, name)

    def send(self, operation: str, body: bytes, *more: Any, **named: Any) -> Any:
        answer = self._place.send(operation, body, *more, **named)
        happens, self._happens = self._happens, lambda: None
        if operation == "GetItem":
            happens()
        else:
            self._happens = happens
        return answer


def test_restore_after_a_concurrent_delete_restores_everything(clock: ManualClock) -> None:
    """The item that was read has a guard; the one that is written has none any more."""
    schema = users(clock, release=True)
    place = fresh()
    db = made(schema, place)
    db.insert(User("1", "a@b.com"))
    other = Client(schema, db.table, Meanwhile(place, lambda: db.delete(User, user_id="1", read=True)))
    restore(other, User, user_id="1")
    assert db.get(User, user_id="1") is not None
    assert wrong(schema, place) == []


def toggle_file(number: int, file: str) -> None:
    with Client(users(ManualClock(), release=True), "shop", Embedded(file)) as db:
        toggle(db, number)


@pytest.mark.slow
@on_a_file
def test_processes_on_one_file_do_too(tmp_path: Path) -> None:
    file = str(tmp_path / "shop.db")
    schema = users(ManualClock(), release=True)
    with made(schema, Embedded(file)) as db:
        db.insert(User("1", "a@b.com"))
        in_processes(3, toggle_file, file)
        assert wrong(schema, db._transport) == []


@pytest.mark.parametrize("release", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.delete(User, user_id="1", read=True),
        lambda db: restore(db, User, user_id="2"),
        lambda db: purge(db, User, user_id="2"),
    ],
    ids=["delete", "restore", "purge"],
)
def test_item_copy_and_guard_agree_after_any_lost_request(write: Any, release: bool) -> None:
    schema = users(ManualClock(), release=release)

    def begin() -> Any:
        transport = fresh()
        db = made(schema, transport)
        db.insert(User("1", "1"))
        db.insert(User("2", "2"))
        db.delete(User, user_id="2", read=True)
        return transport

    assert with_every_fault(begin, lambda lossy: write(Client(schema, "shop", lossy)), is_right(schema)) == 4
