"""Law: after any writes, every index query equals a filter and a sort, for all kinds of keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples, fresh

from prejoin import Client, Entity, Index, Key, Schema


@dataclass(frozen=True)
class Task:
    task_id: str
    state: Literal["OPEN", "DONE"]
    owner: str | None = None
    rank: int | None = None
    due: date | None = None


SCHEMA = Schema(
    Entity(
        Task,
        Key("TASKS", "TASK#{task_id}"),
        indexes={
            "half-ours": Key("{state}", "DUE#{due?}#{task_id}"),
            "ours": Key("OWNER#{owner}", "{rank?:desc}#{task_id}"),
            "local": Key("TASKS", "{state}#{due?}#{task_id}", when=lambda t: t.state == "OPEN"),
        },
    ),
    indexes=[
        Index("half-ours", pk="state"),
        Index("ours"),
        Index("natural", pk=("state", "owner"), sk=("rank", "task_id")),
        Index("local", local=True),
    ],
)
IDS = ["a", "b", "c"]
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "state": st.sampled_from(["OPEN", "DONE"]),
    "owner": st.sampled_from([None, "ann", "bob"]),
    "rank": st.sampled_from([None, -1, 2, 10]),
    "due": st.sampled_from([None, date(2026, 5, 4), date(2026, 5, 5)]),
}
TASKS = st.builds(Task, st.sampled_from(IDS), **FIELDS)
CHANGES = st.dictionaries(st.sampled_from(sorted(FIELDS)), st.none(), min_size=1).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in names})
)
STEPS = st.lists(st.tuples(st.just("put"), TASKS) | st.tuples(st.sampled_from(IDS), CHANGES) | st.just(("gone", "a")))


def least(value: Any) -> tuple[bool, Any]:
    return (value is not None, value)


@settings(max_examples=examples(60))
@given(STEPS)
def test_indexes_are_right_after_any_writes(steps: list[tuple[str, Any]]) -> None:
    db = Client(SCHEMA, "tasks", fresh())
    db.create_table()
    tasks: dict[str, Task] = {}
    for what, value in steps:
        if what == "put":
            tasks[value.task_id] = value
            db.put(value)
        elif what == "gone":
            tasks.pop(value, None)
            db.delete(Task, task_id=value)
        elif what in tasks:
            with db.update(Task, **asdict(tasks[what])) as task:
                for name, new in value.items():
                    setattr(task, name, new)
            tasks[what] = replace(tasks[what], **value)

    def wanted(test: Callable[[Task], bool], by: Callable[[Task], Any], reverse: bool = False) -> list[str]:
        return [t.task_id for t in sorted(filter(test, tasks.values()), key=by, reverse=reverse)]

    def found(order: list[str], **equal: Any) -> list[str]:
        return [t.task_id for t in db.query(Task, **equal, order=order)]

    for state in ("OPEN", "DONE"):
        due = wanted(lambda t: t.state == state, lambda t: (least(t.due), t.task_id))  # noqa: B023
        assert found(["due", "task_id"], state=state) == due
        for owner in ("ann", "bob"):
            ranked = wanted(
                lambda t: (t.state, t.owner) == (state, owner) and t.rank is not None,  # noqa: B023
                lambda t: (t.rank, t.task_id),
            )
            page = db.query(Task, lambda t: t.rank >= -1, state=state, owner=owner, order="rank")
            assert [t.task_id for t in page] == ranked
    for owner in ("ann", "bob"):
        down = wanted(lambda t: t.owner == owner, lambda t: least(t.rank), reverse=True)  # noqa: B023
        assert {*found(["-rank"], owner=owner)} == {*down}
        ranks = [tasks[one].rank for one in found(["-rank"], owner=owner)]
        assert ranks == [tasks[one].rank for one in down]
    for task in tasks.values():
        assert db.get(Task, task_id=task.task_id) == task
