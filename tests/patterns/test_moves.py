"""Updates that change the table key put the item under another key, with all of its attributes and patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patterns.faults import items, made, with_every_fault, wrong
from tests.place import examples, fresh
from tests.table.both import Connect, Watched, both

from prejoin import (
    AlreadyExists,
    Changes,
    Client,
    ConditionFailed,
    Copy,
    Counted,
    Entity,
    Index,
    Key,
    NotFound,
    Schema,
    TableError,
    Timestamps,
    TransactionCancelled,
    Unique,
    Version,
    between,
)


@dataclass
class Board:
    board: str
    tasks: int = 0


@dataclass
class Task:
    board: str
    status: str
    task_id: str
    title: str = ""
    code: str | None = None
    due: date | None = None
    tags: frozenset[str] = frozenset()
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


START = datetime(2026, 5, 4, tzinfo=UTC)
SCHEMA = Schema(
    Entity(Board, Key("BOARD#{board}", "BOARD")),
    Entity(
        Task,
        Key("BOARD#{board}", "TASK#{status}#{task_id}"),
        indexes={"gsi1": Key("DUE", "{due}#{task_id}"), "gsi2": Key("{status}", "{due}#{task_id}")},
        patterns=[
            Unique("code"),
            Copy("by-id", Key("TASK#{task_id}", "TASK"), attributes=["title"]),
            Copy("by-status", Key("STATUS#{status}", "{task_id}")),
            Counted(Board, "tasks"),
            Version("version"),
            Timestamps(clock=lambda: START),
        ],
    ),
    indexes=[Index("gsi1"), Index("gsi2")],
)
OLD = {"board": "1", "status": "OPEN", "task_id": "a"}
NEW = {**OLD, "status": "DONE"}


def boards(connect: Connect, **more: Any) -> Client:
    db = connect(SCHEMA, **more)
    db.insert(Board("1"))
    db.insert(Board("2"))
    db.insert(Task("1", "OPEN", "a", "Paint", "c1", date(2026, 5, 9), frozenset({"x"})))
    return db


@both
def test_a_new_status_in_the_key_moves_the_item_with_all_it_has(connect: Connect) -> None:
    db = boards(connect)
    with db.update(Task, read=True, **OLD) as task:
        task.status = "DONE"
        task.title = "Painted"
    assert db.get(Task, **OLD) is None
    assert db.get(Task, **NEW) == Task(
        "1", "DONE", "a", "Painted", "c1", date(2026, 5, 9), frozenset({"x"}), 2, START, START
    )
    assert db.get(Board, board="1") == Board("1", 1)
    assert [one.status for one in db.query(Task, status="DONE", due=date(2026, 5, 9))] == ["DONE"]


def test_its_copies_and_unique_values_go_with_it() -> None:
    db = made(SCHEMA, fresh())
    db.insert(Board("1"))
    db.insert(Task("1", "OPEN", "a", "Paint", "c1"))
    with db.update(Task, read=True, **OLD) as task:
        task.status = "DONE"
    assert wrong(SCHEMA, db._transport) == []
    with db.update(Task, read=True, **NEW) as task:
        task.status = "OPEN"
        task.code = "c2"
    assert wrong(SCHEMA, db._transport) == []
    db.insert(Task("1", "OPEN", "b", code="c1"))


def test_unknown_attributes_move_along() -> None:
    db = made(SCHEMA, fresh())
    db.insert(Board("1"))
    db.insert(Task("1", "OPEN", "a", due=date(2026, 5, 9)))
    key = SCHEMA.key(Task, **OLD)
    more = {"UpdateExpression": "SET extra = :e", "ExpressionAttributeValues": {":e": {"S": "kept"}}}
    db.call("UpdateItem", {"Key": key, **more})
    with db.update(Task, read=True, **OLD) as task:
        task.status = "DONE"
        task.due = None
    (item,) = [one for one in items(db._transport, "shop") if one["entityType"] == {"S": "Task"}]
    assert item["extra"] == {"S": "kept"}
    assert "gsi1pk" not in item


@both
def test_move_to_another_parent_moves_the_count(connect: Connect) -> None:
    db = boards(connect)
    with db.update(Task, read=True, **OLD) as task:
        task.board = "2"
    assert (db.get(Board, board="1"), db.get(Board, board="2")) == (Board("1", 0), Board("2", 1))
    with (
        pytest.raises(NotFound, match="there is no Board board='3'"),
        db.update(Task, read=True, **{**OLD, "board": "2"}) as task,
    ):
        task.board = "3"
    assert db.get(Board, board="2") == Board("2", 1)


@both
def test_it_does_not_move_onto_another(connect: Connect) -> None:
    db = boards(connect)
    db.insert(Task("2", "OPEN", "a2"))
    db.insert(Task("1", "OPEN", "b"))
    with (
        pytest.raises(AlreadyExists, match="Task board='1', status='OPEN', task_id='b' exists already"),
        db.update(Task, read=True, **OLD) as task,
    ):
        task.task_id = "b"
    found = db.get(Task, **OLD)
    assert found is not None
    assert found.version == 1


@both
def test_key_set_to_its_current_value_moves_nothing(connect: Connect) -> None:
    watched = Watched()
    db = boards(connect, observe=watched)
    with db.update(Task, read=True, **OLD) as task:
        task.status = "OPEN"
        task.title = "New"
    found = db.get(Task, **OLD)
    assert found is not None
    assert (found.title, found.version) == ("New", 2)


@both
def test_without_reading_first_it_is_refused_and_says_how(connect: Connect) -> None:
    db = boards(connect)
    with (
        pytest.raises(TableError, match=r"status is part of the key of Task.*read=True"),
        db.update(Task, **OLD) as task,
    ):
        task.status = "DONE"
    with pytest.raises(TableError, match="status is part of the key"), db.upsert(Task, read=True, **OLD) as task:
        task.status = "DONE"


@both
def test_missing_item_does_not_move_and_conditions_hold(connect: Connect) -> None:
    db = boards(connect)
    with pytest.raises(NotFound), db.update(Task, read=True, **{**OLD, "task_id": "zz"}) as task:
        task.status = "DONE"
    with pytest.raises(ConditionFailed), db.update(Task, read=True, where=lambda t: t.title == "Other", **OLD) as task:
        task.status = "DONE"
    with pytest.raises(ConditionFailed), db.update(Task, read=True, version=7, **OLD) as task:
        task.status = "DONE"
    assert db.get(Task, **NEW) is None


@both
def test_in_a_transaction_with_others_all_move_or_none(connect: Connect) -> None:
    db = boards(connect)
    db.insert(Task("1", "OPEN", "b"))
    with db.transaction() as tx:
        for name in "ab":
            with tx.update(Task, read=True, **{**OLD, "task_id": name}) as task:
                task.status = "DONE"
        tx.insert(Task("1", "OPEN", "c"))
    assert db.get(Board, board="1") == Board("1", 3)
    db.insert(Task("1", "OPEN", "d"))
    with pytest.raises(TransactionCancelled, match="exists already"), db.transaction() as tx:
        with tx.update(Task, read=True, **{**OLD, "status": "DONE"}) as task:
            task.status = "GONE"
        with tx.update(Task, read=True, **{**OLD, "task_id": "c"}) as task:
            task.task_id = "d"
    assert db.get(Task, **NEW) is not None


def test_returning_is_refused_for_transactions() -> None:
    db = made(SCHEMA, fresh())
    db.insert(Board("1"))
    db.insert(Task("1", "OPEN", "a"))
    with pytest.raises(TableError, match="returns no items from that"):
        db.apply(Task, Changes({"status": "DONE"}), read=True, returning="new", **OLD)


class Meanwhile:
    """A transport that runs a function after each item that is read."""

    def __init__(self, inner: Any, happens: Callable[[], object], times: int = 1) -> None:
        self._inner, self._happens, self._left = inner, happens, times

    def send(self, operation: str, body: bytes) -> bytes:
        answer: bytes = self._inner.send(operation, body)
        if operation == "GetItem" and self._left:
            self._left -= 1
            self._happens()
        return answer


def test_concurrent_changes_are_not_lost() -> None:
    """Changes of any attribute count, because the whole item is written again."""
    db = made(SCHEMA, fresh())
    db.insert(Board("1"))
    db.insert(Task("1", "OPEN", "a"))

    def happens() -> None:
        with db.update(Task, **OLD) as task:
            task.tags = frozenset({"late"})

    other = Client(SCHEMA, "shop", Meanwhile(db._transport, happens))
    with other.update(Task, read=True, **OLD) as task:
        task.status = "DONE"
    found = db.get(Task, **NEW)
    assert found is not None
    assert (found.tags, found.version) == (frozenset({"late"}), 3)


def test_second_of_two_moves_raises_not_found() -> None:
    db = made(SCHEMA, fresh())
    db.insert(Board("1"))
    db.insert(Task("1", "OPEN", "a"))

    def happens() -> None:
        with db.update(Task, read=True, **OLD) as task:
            task.status = "DONE"

    other = Client(SCHEMA, "shop", Meanwhile(db._transport, happens))
    with pytest.raises(NotFound), other.update(Task, read=True, **OLD) as task:
        task.status = "GONE"
    assert db.get(Board, board="1") == Board("1", 1)
    assert wrong(SCHEMA, db._transport) == []


def test_one_item_exists_after_any_lost_request() -> None:
    def begin() -> Any:
        db = made(SCHEMA, fresh())
        db.insert(Board("1"))
        db.insert(Task("1", "OPEN", "a", code="c"))
        return db._transport

    def act(transport: Any) -> None:
        with Client(SCHEMA, "shop", transport).update(Task, read=True, **OLD) as task:
            task.status = "DONE"

    def check(transport: Any) -> None:
        db = Client(SCHEMA, "shop", transport)
        found = [one for page in db.everything(Task) for one in page]
        assert len(found) == 1
        assert db.get(Board, board="1") == Board("1", 1)
        assert wrong(SCHEMA, transport) == []

    assert with_every_fault(begin, act, check) >= 4


values = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["OPEN", "DONE"]),
        "board": st.sampled_from("12"),
        "task_id": st.sampled_from("ab"),
        "title": st.sampled_from(["x", "y"]),
        "code": st.sampled_from([None, "p", "q"]),
        "due": st.sampled_from([None, date(2026, 1, 1), date(2026, 1, 2)]),
    },
)


@given(st.lists(st.tuples(st.integers(0, 3), values.filter(bool)), max_size=10))
@settings(max_examples=examples(60))
def test_after_any_moves_everything_is_where_it_belongs(moves: list[tuple[int, dict[str, Any]]]) -> None:
    db = made(SCHEMA, fresh())
    for name in "12":
        db.insert(Board(name))
    there = [db.insert(Task("1", "OPEN", "a", code="p")), db.insert(Task("2", "OPEN", "b"))]
    for at, changes in moves:
        old = there[at % len(there)]
        key = {name: getattr(old, name) for name in ("board", "status", "task_id")}
        try:
            db.apply(Task, Changes(changes), read=True, **key)
        except ConditionFailed:
            continue
        there[at % len(there)] = replace(old, version=old.version + 1, **changes)
    found = [one for page in db.everything(Task) for one in page]
    assert sorted(map(repr, found)) == sorted(map(repr, there))
    assert wrong(SCHEMA, db._transport) == []
    for board in (one for page in db.everything(Board) for one in page):
        assert board.tasks == sum(one.board == board.board for one in there)
    for one in there:
        assert one in db.query(Task, status=one.status) or one.due is None


# --- Levels ---------------------------------------------------------------------------------------------------------


@dataclass
class Ticket:
    team: str
    ticket_id: str
    status: str
    due: date


LEVELS = Schema(
    Entity(
        Ticket,
        Key("TEAM#{team}", "TICKET#{ticket_id}"),
        indexes={"gsi1": Key("TEAM#{team}", "{status}#{due}#{ticket_id}")},
    ),
    indexes=[Index("gsi1")],
)
DAYS = [date(2026, 5, day) for day in range(1, 6)]
tickets = st.builds(
    Ticket,
    st.sampled_from("rb"),
    st.text("ab", min_size=1, max_size=3),
    st.sampled_from(["O", "OP"]),
    st.sampled_from(DAYS),
)


@given(
    st.lists(tickets, max_size=12, unique_by=lambda t: (t.team, t.ticket_id)),
    st.sampled_from(DAYS),
    st.sampled_from(DAYS),
)
@settings(max_examples=examples(40))
def test_any_key_prefix_equals_a_filter(found: list[Ticket], low: date, high: date) -> None:
    db = made(LEVELS, fresh())
    db.put_many(found)
    own = sorted((t for t in found if t.team == "r"), key=lambda t: (t.status, t.due, t.ticket_id))
    opened = [t for t in own if t.status == "O"]
    assert list(db.query(Ticket, team="r", order=("status", "due"))) == own
    assert list(db.query(Ticket, team="r", status="O")) == opened
    assert list(db.query(Ticket, lambda t: t.due < high, team="r", status="O")) == [t for t in opened if t.due < high]
    ranged = db.query(Ticket, lambda t: between(t.due, *sorted([low, high])), team="r", status="O")
    assert list(ranged) == [t for t in opened if min(low, high) <= t.due <= max(low, high)]
    assert list(db.query(Ticket, team="r", status="O", due=low)) == [t for t in opened if t.due == low]
    assert list(db.query(Ticket, team="r", status="O", reverse=True)) == opened[::-1]


@both
def test_a_new_status_moves_the_item_in_the_index(connect: Connect) -> None:
    db = connect(LEVELS)
    db.insert(Ticket("r", "1", "OPEN", DAYS[0]))
    with db.update(Ticket, team="r", ticket_id="1", read=True) as ticket:
        ticket.status = "DONE"
    assert list(db.query(Ticket, team="r", status="OPEN")) == []
    assert list(db.query(Ticket, team="r", status="DONE")) == [Ticket("r", "1", "DONE", DAYS[0])]
