"""Processes on a file that are killed in the middle of a request: what a pattern promises holds, or is reached again."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.patterns.faults import items, on_a_file
from tests.patterns.test_follows import User, authors, begun, renamed
from tests.patterns.test_follows import schema as comments
from tests.patterns.test_history import Note, edited
from tests.patterns.test_history import schema as notes
from tests.patterns.test_large import ID, Document, document
from tests.patterns.test_large import schema as documents
from tests.streams.test_totals import SCHEMA as ARCADE
from tests.streams.test_totals import Game, arcade, counted, handlers, totals

from prejoin import (
    Client,
    Copy,
    Counted,
    Embedded,
    Entity,
    FolderStore,
    Key,
    ObjectStore,
    Schema,
    StreamChange,
    StreamConsumer,
    StreamHandlers,
    Unique,
    bulk_load,
    history,
    read_large,
    refresh,
    remove_garbage,
    store_large,
    ulid,
    write_large,
)

pytestmark = [pytest.mark.slow, on_a_file]

KILLS = 6
"""How often each process is killed. Where depends on the seed, and on the moment at which the signal arrives."""


class _Reporting:
    def __init__(self, inner: Any, report: Any) -> None:
        self._inner, self._report = inner, report

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def send(*arguments: Any) -> Any:
            self._report.send(name)
            return method(*arguments)

        return send


def reported(inner: Any, report: Any) -> Any:
    """The engine, or a store, that reports each request before it is made."""
    return _Reporting(inner, report)


def killed(work: Callable[..., None], path: Path, requests: int) -> None:
    """Runs `work(report, path)` in a process, and kills it when it has reported a number of requests, or has ended."""
    context = multiprocessing.get_context("spawn")
    reports, report = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(report, path))
    process.start()
    report.close()
    try:
        for _ in range(requests):
            reports.recv()
    except EOFError:
        process.join()
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()
        reports.close()


def kills(work: Callable[..., None], path: Path, most: int) -> Iterator[int]:
    """Kills a process again and again, within its first `most` requests; yields after each kill."""
    random = Random(19)
    for turn in range(KILLS):
        killed(work, path, random.randint(1, most))
        yield turn


@contextmanager
def table(schema: Schema, path: Path, name: str = "shop") -> Iterator[Client]:
    with Embedded(path / "shop.db") as engine:
        yield Client(schema, name, engine)


def reporting(schema: Schema, path: Path, report: Any, name: str = "shop") -> Client:
    return Client(schema, name, reported(Embedded(path / "shop.db"), report))


# --- Large contents -----------------------------------------------------------------------------------------------------

SIZE = 600_000
"""Three parts in the table, or an object in a store."""


def _large(store: ObjectStore | None = None) -> Schema:
    return documents(store, compress=False, inline=100)


def replace_contents(report: Any, path: Path, store: ObjectStore | None = None) -> None:
    db = reporting(_large(store), path, report)
    while True:
        write_large(db, Document, "body", os.urandom(1) * SIZE, **ID)


def replace_objects(report: Any, path: Path) -> None:
    replace_contents(report, path, reported(FolderStore(path / "objects"), report))


def tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1, minutes=1)


@pytest.mark.parametrize("in_store", [False, True])
def test_content_is_the_old_or_the_new_one_and_garbage_is_removed(tmp_path: Path, in_store: bool) -> None:
    store = FolderStore(tmp_path / "objects") if in_store else None
    with table(_large(store), tmp_path) as db:
        db.create_table()
        db.insert(Document("o", "1", body=store_large(db, Document, "body", b"a" * SIZE, **ID)))
    for _ in kills(replace_objects if in_store else replace_contents, tmp_path, 12):
        with table(_large(store), tmp_path) as db:
            found = document(db)
            content = read_large(db, found, "body")
            assert content == content[:1] * SIZE
            remove_garbage(db, Document, "body", clock=tomorrow)
            assert read_large(db, document(db), "body") == content
            assert found.body is not None
            if store is None:
                left = [item for item in items(db._transport, "shop") if item["sk"]["S"].startswith("~LARGE")]
                assert len(left) == found.body.parts
            else:
                assert len(list(store.keys(""))) == found.body.parts


# --- Follows, History ---------------------------------------------------------------------------------------------------


def rename(report: Any, path: Path) -> None:
    db = reporting(comments(), path, report)
    while True:
        renamed(db, ulid())
        refresh(db, User, user_id="1")


def test_refresh_is_finished_by_repeating_it(tmp_path: Path) -> None:
    with Embedded(tmp_path / "shop.db") as engine:
        begun(comments(), 60, transport=engine)
    for _ in kills(rename, tmp_path, 60):
        with table(comments(), tmp_path) as db:
            refresh(db, User, user_id="1")
            user = db.get(User, user_id="1")
            assert user is not None
            assert authors(db) == [user.name] * 60


def edit(report: Any, path: Path) -> None:
    db = reporting(notes(), path, report)
    while True:
        note = db.get(Note, note_id="1")
        assert note is not None
        edited(db, f"text {note.version + 1}")


def test_history_has_every_version(tmp_path: Path) -> None:
    with table(notes(), tmp_path) as db:
        db.create_table()
        db.insert(Note("1", "text 1"))
    latest = 1
    for _ in kills(edit, tmp_path, 20):
        with table(notes(), tmp_path) as db:
            note = db.get(Note, note_id="1")
            assert note is not None
            found = [note, *history(db, Note, note_id="1")]
            assert [(one.version, one.text) for one in found] == [
                (version, f"text {version}") for version in range(note.version, 0, -1)
            ]
            latest = note.version
    assert latest > KILLS


# --- Totals and events from streams -------------------------------------------------------------------------------------


def consume_totals(report: Any, path: Path) -> None:
    engine = Embedded(path / "shop.db")
    db = Client(ARCADE, "arcade", reported(engine, report))
    StreamConsumer(engine, "arcade", handlers(db), path / "position").run()


def test_totals_count_each_change_once(tmp_path: Path) -> None:
    with Embedded(tmp_path / "shop.db") as engine:
        arcade(engine)
    for turn in kills(consume_totals, tmp_path, 60):
        with table(ARCADE, tmp_path, "arcade") as db:
            for at in range(12):
                db.put(Game(f"{at}", "ann" if (at + turn) % 3 else "bob", at * turn + 1))
    with table(ARCADE, tmp_path, "arcade") as db, Embedded(tmp_path / "shop.db") as engine:
        StreamConsumer(engine, "arcade", handlers(db), tmp_path / "position").run()
        assert totals(db) == counted(db)


@dataclass
class Task:
    task_id: str
    step: int = 0


@dataclass
class TaskEvent:
    task_id: str
    event_id: str
    step: int


TASKS = Schema(
    Entity(Task, Key("TASK#{task_id}", "TASK")), Entity(TaskEvent, Key("TASK#{task_id}", "EVENT#{event_id}"))
)


def advance(report: Any, path: Path) -> None:
    db = reporting(TASKS, path, report)
    while True:
        for name in "ab":
            task = db.get(Task, task_id=name, consistent=True)
            assert task is not None
            with db.transaction() as tx:
                with tx.update(Task, task_id=name, where=lambda one, step=task.step: one.step == step) as change:
                    change.step = task.step + 1
                tx.insert(TaskEvent(name, ulid(), task.step + 1))


def _sending(path: Path, report: Any = None) -> StreamHandlers:
    found = StreamHandlers(TASKS)

    @found.on(TaskEvent, "insert")
    def send(change: StreamChange[TaskEvent]) -> None:
        assert change.new is not None
        if report:
            report.send("event")
        with (path / "sent").open("a") as file:
            file.write(f"{change.new.task_id} {change.new.step}\n")

    return found


def deliver(report: Any, path: Path) -> None:
    StreamConsumer(Embedded(path / "shop.db"), "shop", _sending(path, report), path / "position").run()


def test_events_are_delivered_in_order_if_and_only_if_the_change_was_made(tmp_path: Path) -> None:
    with table(TASKS, tmp_path) as db:
        db.create_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
        for name in "ab":
            db.insert(Task(name))
    for _ in zip(kills(advance, tmp_path, 30), kills(deliver, tmp_path, 8), strict=True):
        pass
    with table(TASKS, tmp_path) as db, Embedded(tmp_path / "shop.db") as engine:
        StreamConsumer(engine, "shop", _sending(tmp_path), tmp_path / "position").run()
        sent = [line.split() for line in (tmp_path / "sent").read_text().splitlines()]
        for name in "ab":
            task = db.get(Task, task_id=name)
            assert task is not None
            first = dict.fromkeys(int(step) for of, step in sent if of == name)  # some came more than once
            assert list(first) == list(range(1, task.step + 1))


# --- Bulk ---------------------------------------------------------------------------------------------------------------


@dataclass
class Shop:
    shop_id: str
    orders: int = 0


@dataclass
class Order:
    shop_id: str
    order_id: str
    number: str


SHOP = Entity(Shop, Key("SHOP#{shop_id}", "SHOP"))
ORDERS = Schema(
    SHOP,
    Entity(
        Order,
        Key("SHOP#{shop_id}", "ORDER#{order_id}"),
        patterns=[Counted(Shop, "orders"), Copy("by-id", Key("ORDER#{order_id}", "ORDER")), Unique("number")],
    ),
)
MANY = 400


def orders() -> list[Order]:
    return [Order(f"{at % 5}", f"{at:04}", f"n{at}") for at in range(MANY)]


def load(report: Any, path: Path) -> None:
    bulk_load(reporting(ORDERS, path, report), orders(), position=path / "position")


def test_load_of_orders_with_copies_guards_and_counts_is_continued(tmp_path: Path) -> None:
    with table(ORDERS, tmp_path) as db:
        db.create_table()
        for number in range(5):
            db.insert(Shop(f"{number}"))
    for _ in kills(load, tmp_path, 6):
        pass
    with table(ORDERS, tmp_path) as db:
        bulk_load(db, orders(), position=tmp_path / "position")
        assert sorted(one.order_id for page in db.everything(Order) for one in page) == [
            one.order_id for one in orders()
        ]
        counts = [db.get(Shop, shop_id=f"{number}") for number in range(5)]
        assert [one.orders for one in counts if one] == [MANY // 5] * 5
        assert sum(1 for _ in items(db._transport, "shop")) == 5 + 3 * MANY
