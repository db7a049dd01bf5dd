"""Bulk writes with guards, copies and counters: few transactions, with the result of single calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples, fresh
from tests.table.both import Connect, awaited, waiting

from prejoin import (
    AlreadyExists,
    AsyncClient,
    Call,
    Client,
    CodecError,
    Copy,
    Counted,
    Entity,
    Highest,
    Key,
    NotUnique,
    PartlyWritten,
    Schema,
    TableError,
    Unique,
    UnknownValue,
    Version,
    VersionConflict,
    audit,
)
from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import OutcomeUnknown


@dataclass
class User:
    user_id: str
    email: str
    orders: int = 0
    largest: int | None = None


@dataclass
class Order:
    user_id: str
    order_id: str
    total: int = 1
    code: str | None = None


@dataclass
class Note:
    note_id: str
    text: str = ""
    version: int = 0


@dataclass
class Plain:
    plain_id: str
    text: str = ""


SCHEMA = Schema(
    Entity(User, Key("USER#{user_id}", "USER"), patterns=[Unique("email")]),
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{order_id}"),
        patterns=[
            Unique("code"),
            Counted(User, "orders"),
            Highest(User, "largest", of="total"),
            Copy("by-id", Key("ORDER#{order_id}", "ORDER#{user_id}")),
        ],
    ),
    Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=[Version("version")]),
    Entity(Plain, Key("PLAIN#{plain_id}", "PLAIN")),
)


@pytest.fixture(params=[waiting, awaited])
def connect(request: pytest.FixtureRequest) -> Connect:
    found: Connect = request.param
    return found


def all_of(db: Client, cls: type[Any]) -> list[Any]:
    return sorted((one for page in db.everything(cls) for one in page), key=repr)


def failures(write: Callable[[], int]) -> dict[int, str]:
    """Positions and kinds of failed writes."""
    try:
        write()
    except PartlyWritten as error:
        return {failure.position: type(failure.error).__name__ for failure in error.failures}
    return {}


def test_objects_with_guards_share_transactions(connect: Connect) -> None:
    calls: list[Call] = []
    db = connect(SCHEMA, observe=calls.append)
    calls.clear()
    assert db.insert_many(User(str(at), f"{at}@x.com") for at in range(120)) == 120
    # Concurrent, so a server may answer them in any order.
    sent = sorted((call.operation, call.items) for call in calls)
    assert sent == [("TransactWriteItems", n) for n in (40, 100, 100)]
    assert len(all_of(db, User)) == 120


def test_children_of_one_parent_are_counted_by_one_action(connect: Connect) -> None:
    calls: list[Call] = []
    db = connect(SCHEMA, observe=calls.append)
    db.insert(User("1", "a@x.com"))
    calls.clear()
    assert db.insert_many(Order("1", str(at), at) for at in range(49)) == 49
    user = db.get(User, user_id="1")
    assert user == User("1", "a@x.com", 49, 48)
    assert sum(call.operation == "TransactWriteItems" for call in calls) <= 2
    assert not list(audit(waiting_on(db)))


def waiting_on(db: Any) -> Client:
    """The sync client of the same table."""
    client = getattr(db, "_client", db)
    return Client(client.schema, client.table, client._transport)


def test_objects_of_one_item_are_plain_calls(connect: Connect) -> None:
    calls: list[Call] = []
    db = connect(SCHEMA, observe=calls.append)
    db.insert(Plain("3", "there"))
    calls.clear()
    with pytest.raises(PartlyWritten) as caught:
        db.insert_many(Plain(str(at)) for at in range(6))
    (failure,) = caught.value.failures
    assert (failure.position, failure.given) == (3, Plain("3"))
    assert isinstance(failure.error, AlreadyExists)
    assert caught.value.written == 5
    assert str(caught.value) == (
        "5 objects were written, and 1 failed or are unknown. The first is number 3: AlreadyExists: Plain plain_id='3' exists already"
    )
    assert {call.operation for call in calls} == {"PutItem"}
    assert db.get(Plain, plain_id="3") == Plain("3", "there")


def test_refused_objects_do_not_hold_up_the_others(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert(User("3", "3@x.com"))
    db.insert(User("old", "7@x.com"))
    users = [User(str(at), f"{at}@x.com") for at in range(10)]
    users[9] = User("9", "5@x.com")
    users.append(User("bad", 5))  # type: ignore[arg-type]
    with pytest.raises(PartlyWritten) as caught:
        db.insert_many(users)
    assert [(failure.position, type(failure.error)) for failure in caught.value.failures] == [
        (3, AlreadyExists),
        (7, NotUnique),
        (9, NotUnique),
        (10, CodecError),
    ]
    assert caught.value.written == 7
    assert list(caught.value.rest) == []
    assert {one.user_id for one in all_of(db, User)} == {"old", *"01234568"}
    assert not list(audit(waiting_on(db)))


def test_children_without_a_parent_are_reported_separately(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert(User("1", "a@x.com"))
    orders = [Order(user, str(at)) for at, user in enumerate("1212212")]
    assert failures(lambda: db.insert_many(orders)) == dict.fromkeys([1, 3, 4, 6], "NotFound")
    assert db.get(User, user_id="1") == User("1", "a@x.com", 3, 1)
    assert len(all_of(db, Order)) == 3


def test_put_many_with_read_reads_the_replaced_items(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert_many(User(str(at), f"{at}@x.com") for at in range(5))
    moved = [User(str(at), f"{at}@y.com") for at in range(8)]
    with pytest.raises(UnknownValue, match="read=True"):
        db.put_many(moved)
    assert db.put_many(moved, read=True) == 8
    assert {one.email for one in all_of(db, User)} == {f"{at}@y.com" for at in range(8)}
    assert db.insert_many([User("new", "0@x.com")]) == 1
    assert not list(audit(waiting_on(db)))


def test_deletes_free_guards_and_counts(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert_many(User(str(at), f"{at}@x.com") for at in range(3))
    db.insert_many(Order("1", str(at), code=f"c{at}") for at in range(30))
    keys = [{"user_id": "1", "order_id": str(at)} for at in range(40)]
    with pytest.raises(UnknownValue, match="read=True"):
        db.delete_many(Order, keys)
    assert db.delete_many(Order, keys[:20], read=True) == 20
    user = db.get(User, user_id="1")
    assert user
    assert user.orders == 10
    assert db.delete_many(Order, all_of(db, Order), read=True) == 10
    assert db.insert_many(Order("2", str(at), code=f"c{at}") for at in range(30)) == 30
    assert not list(audit(waiting_on(db)))


def test_versions_are_checked_one_by_one(connect: Connect) -> None:
    db = connect(SCHEMA)
    first = [db.insert(Note(str(at))) for at in range(3)]
    db.put(replace(first[1], text="newer"))
    with pytest.raises(PartlyWritten) as caught:
        db.put_many([replace(note, text="mine") for note in first])
    assert [(failure.position, type(failure.error)) for failure in caught.value.failures] == [(1, VersionConflict)]
    assert [note.text for note in all_of(db, Note)] == ["mine", "newer", "mine"]


def test_later_object_of_one_key_comes_later(connect: Connect) -> None:
    db = connect(SCHEMA)
    assert db.put_many([User("1", "a@x.com"), Plain("1"), User("1", "b@x.com"), User("2", "a@x.com")], read=True) == 4
    assert all_of(db, User) == [User("1", "b@x.com"), User("2", "a@x.com")]
    assert failures(lambda: db.insert_many([Plain("x", "1"), Plain("x", "2")])) == {1: "AlreadyExists"}


def test_mixed_entities_go_each_their_way(connect: Connect) -> None:
    calls: list[Call] = []
    db = connect(SCHEMA, observe=calls.append)
    calls.clear()
    assert db.put_many([*(Plain(str(at)) for at in range(30)), *(Note(str(at)) for at in range(3)), Plain("x")]) == 34
    operations = [call.operation for call in calls]
    assert [operations.count(one) for one in ("BatchWriteItem", "PutItem")] == [3, 3]


def test_progress_is_reported(connect: Connect) -> None:
    db = connect(SCHEMA)
    reported: list[int] = []
    db.insert_many((User(str(at), f"{at}@x.com") for at in range(450)), reported.append)
    assert reported == [200, 400, 450]


class Losing:
    """A DynamoDB whose responses are lost after a number of writes."""

    lossless = False

    def __init__(self, writes: int) -> None:
        self._engine = fresh()
        self.left = writes

    def send(self, operation: str, body: bytes) -> bytes:
        answer = self._engine.send(operation, body)
        if operation == "TransactWriteItems":
            self.left -= 1
            if self.left == 0:
                raise OutcomeUnknown("lost", operation=operation, attempts=3)
        return answer


def test_lost_answer_is_unknown_for_its_objects_and_the_rest_is_not_tried() -> None:
    db = waiting(SCHEMA, Losing(2))
    given: Iterator[User] = (User(str(at), f"{at}@x.com") for at in range(250))
    with pytest.raises(PartlyWritten) as caught:
        db.insert_many(given)
    error = caught.value
    assert [failure.position for failure in error.failures] == list(range(50, 100))
    assert {type(failure.error) for failure in error.failures} == {OutcomeUnknown}
    assert error.written == 150
    assert [user.user_id for user in error.rest] == [str(at) for at in range(200, 250)]
    assert len(all_of(db, User)) == 200


class Busy:
    """A DynamoDB where some transactions conflict."""

    def __init__(self, every: int) -> None:
        self._engine = fresh()
        self._every = every
        self._count = 0

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "TransactWriteItems":
            self._count += 1
            if self._count % self._every == 0:
                items = len(msgspec.json.decode(body)["TransactItems"])
                reasons = [{"Code": "TransactionConflict"}] + [{"Code": "None"}] * (items - 1)
                raise DynamoDBError("TransactionCanceledException", fields={"CancellationReasons": reasons})
        return self._engine.send(operation, body)


def test_conflicts_are_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    db = waiting(SCHEMA, Busy(2))
    assert db.insert_many(User(str(at), f"{at}@x.com") for at in range(300)) == 300
    assert len(all_of(db, User)) == 300


USERS = st.builds(User, st.sampled_from("abcd"), st.sampled_from(["1@x", "2@x", "3@x"]))
ORDERS = st.builds(
    Order,
    st.sampled_from("abcd"),
    st.sampled_from("12345"),
    st.integers(0, 9),
    st.none() | st.sampled_from(["k", "l", "m"]),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(USERS, max_size=4), st.lists(USERS | ORDERS, max_size=30), st.sampled_from(["insert", "put", "delete"]))
def test_result_is_that_of_one_call_after_the_other(before: list[User], given: list[Any], verb: str) -> None:
    """Against brute force: the same objects, written one by one."""
    many, single = waiting(SCHEMA), waiting(SCHEMA)
    for user in before:
        for db in (many, single):
            failures(lambda db=db, user=user: db.insert_many([user]))  # type: ignore[misc]
    if verb == "delete":
        given = [one for one in given if isinstance(one, Order)]
        many.insert_many([], None)
        for db in (many, single):
            failures(lambda db=db: db.insert_many(given[::2]))  # type: ignore[misc]

    def one_by_one(one: Any) -> None:
        if verb == "insert":
            single.insert(one)
        elif verb == "put":
            single.put(one, read=True)
        else:
            single.delete(Order, user_id=one.user_id, order_id=one.order_id, read=True)

    expected: dict[int, str] = {}
    for at, one in enumerate(given):
        try:
            one_by_one(one)
        except TableError as error:
            expected[at] = type(error).__name__
    bulk = {
        "insert": lambda: many.insert_many(given),
        "put": lambda: many.put_many(given, read=True),
        "delete": lambda: many.delete_many(Order, given, read=True),
    }
    assert failures(bulk[verb]) == expected
    assert [all_of(many, cls) for cls in (User, Order)] == [all_of(single, cls) for cls in (User, Order)]
    assert not list(audit(many))


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.lists(USERS | ORDERS, max_size=25), min_size=2, max_size=4), st.sampled_from(["insert", "put"]))
def test_many_writers_at_once_keep_guards_copies_and_counts(lists: list[list[Any]], verb: str) -> None:
    transport = fresh()
    db = waiting(SCHEMA, transport)
    db.insert_many(User(name, f"{name}@y") for name in "ab")

    async def write(given: list[Any]) -> list[Any]:
        client = AsyncClient(SCHEMA, "shop", transport)
        try:
            await (client.insert_many(given) if verb == "insert" else client.put_many(given, read=True))
        except PartlyWritten as error:
            failed = {failure.position for failure in error.failures}
            assert error.written == len(given) - len(failed)  # noqa: PT017
            return [one for at, one in enumerate(given) if at not in failed]
        return given

    async def all_at_once() -> list[list[Any]]:
        return await asyncio.gather(*map(write, lists))

    written = [one for part in asyncio.run(all_at_once()) for one in part]
    assert not list(audit(db))
    there = {(one.user_id, one.order_id): one for one in all_of(db, Order)}
    if verb == "insert":
        keys = [(one.user_id, one.order_id) for one in written if isinstance(one, Order)]
        assert sorted(keys) == sorted(there)
        for one in written:
            if isinstance(one, Order):
                assert there[one.user_id, one.order_id] == one
    for user in all_of(db, User):
        assert user.orders == sum(one.user_id == user.user_id for one in there.values())
    codes = [one.code for one in there.values() if one.code]
    assert len(codes) == len(set(codes))


@pytest.mark.slow
def test_threads_write_side_by_side() -> None:
    class Concurrent(Embedded):
        concurrent = True

    db = waiting(SCHEMA, Concurrent())
    assert db.insert_many(User(str(at), f"{at}@x.com") for at in range(500)) == 500
    assert len(all_of(db, User)) == 500
    assert not list(audit(db))
