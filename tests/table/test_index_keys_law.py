"""Law of index keys: after any updates, an item equals a fresh put of the same object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import eq
from typing import Any, Literal

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import examples, fresh

from prejoin import Changes, Client, Copy, Entity, Index, Key, Schema, UnknownValue


@dataclass(frozen=True)
class Task:
    task_id: str
    project: str
    status: Literal["OPEN", "BUSY", "DONE"]
    rank: int
    assignee: str | None = None
    tags: frozenset[str] = frozenset()
    note: str | None = None


SCHEMA = Schema(
    Entity(
        Task,
        Key("TASK#{task_id}", "TASK"),
        indexes={
            "gsi1": Key("PROJECT#{project}", "{status}#{rank}"),
            "gsi2": Key("OPEN#{project}", "{rank:desc}", when=lambda t: t.status != "DONE"),
            "gsi3": Key("TASKS#{assignee}", "{project}"),
            "gsi4": Key("FREE#{project}", "{rank}", when=lambda t: eq(t.assignee, None)),
        },
        patterns=[Copy("board", Key("BOARD", "{task_id}"), attributes=["rank", "note"])],
    ),
    indexes=[Index("gsi1"), Index("gsi2"), Index("gsi3"), Index("gsi4")],
)
ENGINE = fresh()
_count = iter(range(10**9))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "project": st.sampled_from(["a", "b#c", "b"]),
    "status": st.sampled_from(["OPEN", "BUSY", "DONE"]),
    "rank": st.integers(-3, 3),
    "assignee": st.none() | st.sampled_from(["ann", "bob"]),
    "tags": st.frozensets(st.sampled_from("xy")),
    "note": st.none() | st.text(max_size=2),
}
TASKS = st.builds(Task, st.just("1"), **VALUES)
UPDATES = st.lists(
    st.tuples(
        st.fixed_dictionaries({}, optional=VALUES).filter(bool), st.sets(st.sampled_from(sorted(VALUES)), max_size=6)
    ),
    max_size=5,
)


def table() -> Client:
    db = Client(SCHEMA, f"table{next(_count)}", ENGINE)
    db.create_table()
    return db


def items(db: Client) -> list[Any]:
    body = msgspec.json.encode({"TableName": db.table})
    return sorted(msgspec.json.decode(ENGINE.send("Scan", body))["Items"], key=lambda item: str(item["pk"]))


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TASKS, UPDATES)
def test_update_equals_a_put_or_is_refused(task: Task, updates: list[tuple[dict[str, Any], set[str]]]) -> None:
    updated, inserted = table(), table()
    updated.insert(task)
    for changes, known in updates:
        before = items(updated)
        told = {name: getattr(task, name) for name in sorted(known) if name != "tags"}
        try:
            updated.apply(Task, Changes(changes), task_id="1", **told)
        except UnknownValue:
            assert items(updated) == before
            updated.apply(Task, Changes(changes), task_id="1", **{n: getattr(task, n) for n in VALUES if n != "tags"})
        task = replace(task, **changes)
    inserted.insert(task)
    assert items(updated) == items(inserted)
    assert updated.get(Task, task_id="1") == task
