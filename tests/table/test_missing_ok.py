"""`delete(…, missing_ok=True)`: each stored item crossed with what the call says of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from prejoin import Client, ConditionFailed, Embedded, Entity, Key, Schema, TableError

CLUBS, STATES = ("c1", "c2"), ("NEW", "END")


@dataclass
class Task:
    task_id: str
    club_id: str
    state: str


def tasks(stored: Task | None) -> Client:
    db = Client(Schema(Entity(Task, Key("TASK#{task_id}", "TASK"))), "tasks", Embedded())
    db.create_table()
    db.insert(Task("b", "c1", "NEW"))
    if stored is not None:
        db.insert(stored)
    return db


STORED = [None, *(Task("a", club, state) for club in CLUBS for state in STATES)]


@pytest.mark.parametrize("is_conditional", [False, True])
@pytest.mark.parametrize("stored", STORED, ids=str)
def test_what_is_deleted(stored: Task | None, is_conditional: bool) -> None:
    """An item of another club is passed over; one of this club whose condition does not hold is refused."""
    db = tasks(stored)
    where = (lambda task: task.state == "NEW") if is_conditional else None
    is_own = stored is not None and stored.club_id == "c1"
    is_refused = is_own and is_conditional and stored is not None and stored.state != "NEW"
    if is_refused:
        with pytest.raises(ConditionFailed):
            db.delete(Task, task_id="a", club_id="c1", where=where, missing_ok=True)
    else:
        db.delete(Task, task_id="a", club_id="c1", where=where, missing_ok=True)
    left = db.get(Task, task_id="a")
    assert left == (None if is_own and not is_refused else stored)
    assert db.get(Task, task_id="b") == Task("b", "c1", "NEW")


def test_a_transaction_does_not_have_it() -> None:
    db = tasks(None)
    with pytest.raises(TableError, match="missing_ok"), db.transaction() as tx:
        tx.delete(Task, task_id="a", club_id="c1", missing_ok=True)
