"""Trees of paths: reads at, below and above a path, and moves of subtrees that can be interrupted and finished."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patterns.faults import Faulty, Lost
from tests.place import examples, fresh
from tests.table.both import Connect, Watched, both

from prejoin import (
    AlreadyExists,
    Changes,
    Client,
    Copy,
    Entity,
    Index,
    Key,
    MoveUnfinished,
    NotFound,
    Schema,
    SchemaError,
    TableError,
    Tree,
    Unique,
    Version,
    ancestors,
    audit,
    children,
    move,
    repair,
    resume_moves,
    subtree,
)
from prejoin.engine import Embedded
from prejoin.keys import KeyValueError


@dataclass(frozen=True)
class File:
    drive: str
    path: str
    parent: str | None = None
    depth: int = 0
    size: int = 0
    label: str | None = None


FILE = Entity(
    File,
    Key("DRIVE#{drive}", "FILE#{path:tree}"),
    indexes={
        "children": Key("DRIVE#{drive}#{parent}", "{path}"),
        "levels": Key("DRIVE#{drive}", "{depth:03d}#{path:tree}"),
        "labelled": Key("LABEL#{label}", "{path}"),
    },
    patterns=[Tree("path", parent="parent", depth="depth")],
)
SCHEMA = Schema(FILE, indexes=[Index("children"), Index("levels"), Index("labelled")])
PATHS = ["/docs", "/docs/a", "/docs/a/b", "/docs/a#b", "/docs-old", "/docs-old/x", "/docs2", "/docs2/y"]


def placed(drive: str, path: str, **more: Any) -> File:
    names = [name for name in path.split("/") if name]
    parent = "/" + "/".join(names[:-1]) if names else None
    return File(drive, path, parent, len(names), **more)


def filled(connect: Connect, paths: list[str] = PATHS, schema: Schema = SCHEMA, **more: Any) -> Any:
    db = connect(schema, **more)
    db.put_many([File("d", path) for path in paths])
    return db


def on(db: Any, function: Callable[..., Any], *args: Any, **known: Any) -> Any:
    """Calls a function of the package with either client."""
    found = function(getattr(db, "_client", db), *args, **known)
    return asyncio.run(found) if inspect.iscoroutine(found) else found


def paths(found: Any) -> list[str]:
    return [file.path for file in found]


# Reading


@both
def test_subtree_has_the_items_below_a_path(connect: Connect) -> None:
    db = filled(connect)
    assert paths(on(db, subtree, File, "/docs", drive="d")) == ["/docs", "/docs/a#b", "/docs/a", "/docs/a/b"]
    assert paths(on(db, subtree, File, "/docs/a", drive="d")) == ["/docs/a", "/docs/a/b"]
    assert set(paths(on(db, subtree, File, "/", drive="d"))) == set(PATHS)
    assert not on(db, subtree, File, "/do", drive="d")
    assert not on(db, subtree, File, "/docs", drive="e")


@both
def test_children_are_those_directly_below(connect: Connect) -> None:
    db = filled(connect)
    assert paths(on(db, children, File, "/docs", drive="d")) == ["/docs/a", "/docs/a#b"]
    assert paths(on(db, children, File, "/", drive="d")) == ["/docs", "/docs-old", "/docs2"]
    assert db.query(File, drive="d", depth=2, limit=2).items == (placed("d", "/docs-old/x"), placed("d", "/docs/a#b"))
    assert paths(on(db, ancestors, File, "/docs/a/b", drive="d")) == ["/docs", "/docs/a"]
    page = on(db, subtree, File, "/docs", drive="d", limit=3)
    assert paths(on(db, subtree, File, "/docs", drive="d", after=page.cursor)) == ["/docs/a/b"]


NAMES = st.sampled_from(["a", "b", "a b", "a-", "aa", "ä", "#", "$23", "a#", "0", ".", "ab"])
PLACES = st.lists(NAMES, max_size=4).map(lambda names: "/" + "/".join(names))


@given(st.sets(PLACES, max_size=12), PLACES)
def test_tree_equals_a_model_of_paths(there: set[str], top: str) -> None:
    def connect(schema: Schema) -> Client:
        db = Client(schema, "files", Embedded())
        db.create_table()
        return db

    def is_below(path: str) -> bool:
        return top == "/" or path == top or path.startswith(top + "/")

    db = filled(connect, sorted(there))
    found = paths(subtree(db, File, top, drive="d"))
    assert sorted(found) == sorted(filter(is_below, there))
    for at, path in enumerate(found):
        assert not any(is_above(path, before) for before in found[:at]), "parents come first"
    assert paths(subtree(db, File, top, drive="d", reverse=True)) == found[::-1]
    expected = {path for path in there if path != "/" and placed("d", path).parent == top}
    assert set(paths(children(db, File, top, drive="d"))) == expected
    above = [path for path in there if path != top and is_above(path, top)]
    assert paths(ancestors(db, File, top, drive="d")) == sorted(above, key=len)


def is_above(path: str, other: str) -> bool:
    """Whether `path` is above `other`."""
    return path != other and (path == "/" or other.startswith(path + "/"))


# Writing


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.insert(File("d", "/docs/a", parent="wrong", depth=9)),
        lambda db: db.put(File("d", "/docs/a")),
        lambda db: db.put(File("d", "/docs/a"), read=True),
        lambda db: db.put_many([File("d", "/docs/a")]),
        lambda db: db.apply(File, Changes({"size": 0}), drive="d", path="/docs/a", upsert=True),
        lambda db: db.apply(File, Changes({"size": 0}), drive="d", path="/docs/a", upsert=True, read=True),
        lambda db: in_transaction(db, File("d", "/docs/a")),
    ],
)
def test_every_write_maintains_attributes_derived_from_the_path(write: Callable[[Client], Any]) -> None:
    db = Client(SCHEMA, "files", fresh())
    db.create_table()
    write(db)
    assert db.get(File, drive="d", path="/docs/a") == placed("d", "/docs/a")
    assert paths(children(db, File, "/docs", drive="d")) == ["/docs/a"]


def in_transaction(db: Client, file: File) -> None:
    with db.transaction() as tx:
        tx.insert(file)


def test_attributes_derived_from_the_path_cannot_be_changed() -> None:
    db = Client(SCHEMA, "files", fresh())
    db.create_table()
    db.insert(File("d", "/docs"))
    with (
        pytest.raises(TableError, match="parent of File follows from path, and is maintained by Tree"),
        db.update(File, drive="d", path="/docs") as file,
    ):
        file.parent = "/x"
    with pytest.raises(KeyValueError, match="is not a path"):
        db.insert(File("d", "docs/"))


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Entity(File, Key("D#{drive}", "{path}"), patterns=[Tree("path")]), r"end with \{path:tree\}"),
        (lambda: Entity(File, Key("D#{drive}", "{path:tree}"), patterns=[Tree("path", parent="size")]), "a string"),
        (lambda: Entity(File, Key("D#{drive}", "{path:tree}"), patterns=[Tree("path", depth="label")]), "an? integer"),
        (
            lambda: Entity(File, Key("D#{drive}#{depth}", "{path:tree}"), patterns=[Tree("path", depth="depth")]),
            "Leave it out of the key",
        ),
    ],
)
def test_impossible_tree_is_refused(declare: Callable[[], Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(declare())


def test_missing_tree_or_parent_raises() -> None:
    bare = Client(Schema(Entity(File, Key("D#{drive}", "{path}"))), "files", fresh())
    with pytest.raises(SchemaError, match="Declare it with"):
        subtree(bare, File, "/")
    alone = Client(Schema(Entity(File, Key("D#{drive}", "{path:tree}"), patterns=[Tree()])), "files", fresh())
    with pytest.raises(SchemaError, match="needs a Tree with parent="):
        children(alone, File, "/")


# Moving


@both
def test_a_small_subtree_is_moved_by_one_transaction(connect: Connect) -> None:
    watched = Watched()
    db = filled(connect, observe=watched)
    watched.calls.clear()
    assert on(db, move, File, "/docs", "/docs2/z", drive="d") == 4
    assert [call.operation for call in watched.calls] == ["Query", "Query", "TransactWriteItems"]
    moved = [path.replace("/docs", "/docs2/z", 1) for path in ["/docs", "/docs/a#b", "/docs/a", "/docs/a/b"]]
    assert paths(on(db, subtree, File, "/docs2/z", drive="d")) == moved
    assert not on(db, subtree, File, "/docs", drive="d")
    assert db.get(File, drive="d", path="/docs2/z/a") == placed("d", "/docs2/z/a")
    assert paths(on(db, children, File, "/docs2", drive="d")) == ["/docs2/y", "/docs2/z"]


@both
def test_large_subtree_is_moved_by_several_transactions(connect: Connect) -> None:
    watched = Watched()
    many = ["/big", *(f"/big/{number:03d}" for number in range(120))]
    db = filled(connect, [*many, "/bigger"], observe=watched)
    watched.calls.clear()
    assert on(db, move, File, "/big", "/archive/big", drive="d") == 121
    done = [call.operation for call in watched.calls]
    assert done.count("TransactWriteItems") == 3
    assert (done.count("PutItem"), done.count("DeleteItem")) == (1, 1), "the journal"
    assert len(on(db, subtree, File, "/archive/big", drive="d")) == 121
    assert paths(on(db, subtree, File, "/bigger", drive="d")) == ["/bigger"]
    assert on(db, resume_moves) == 0


@both
def test_refused_move_leaves_the_items(connect: Connect) -> None:
    db = filled(connect)
    for source, target, error, message in [
        ("/docs", "/docs", TableError, "at or below it"),
        ("/docs", "/docs/a/c", TableError, "at or below it"),
        ("/", "/x", TableError, "at or below it"),
        ("/docs", "/docs2", AlreadyExists, "there are items at /docs2"),
        ("/docs/a", "/docs", AlreadyExists, "there are items at /docs"),
        ("/docs/a/b", "/", AlreadyExists, "there are items at / or"),
        ("/nothing", "/x", NotFound, "no File at /nothing"),
        ("docs", "/x", TableError, "is not a path"),
    ]:
        with pytest.raises(error, match=message):
            on(db, move, File, source, target, drive="d")
    with pytest.raises(TableError, match=r"needs its paths and drive=…"):
        on(db, move, File, "/docs", "/x")
    assert set(paths(on(db, subtree, File, "/", drive="d"))) == set(PATHS)


RICH = Schema(
    Entity(
        File,
        Key("DRIVE#{drive}", "FILE#{path:tree}"),
        indexes={"labelled": Key("LABEL#{label}", "{path}")},
        patterns=[
            Tree("path", parent="parent"),
            Unique("label"),
            Version("depth"),
            Copy("by-size", Key("SIZE#{size}", "{drive}#{path}")),
        ],
    ),
    indexes=[Index("labelled")],
)


@pytest.mark.parametrize("count", [3, 80])
def test_items_of_patterns_move_along(count: int) -> None:
    db = Client(RICH, "files", fresh())
    db.create_table()
    for number in range(count):
        db.insert(File("d", f"/a/{number}", size=number, label=f"l{number}"))
    db.call(
        "UpdateItem",
        {
            "Key": RICH.key(File, drive="d", path="/a/0"),
            "UpdateExpression": "SET extra = :e",
            "ExpressionAttributeValues": {":e": {"S": "kept"}},
        },
    )
    assert move(db, File, "/a", "/b/c", drive="d") == count
    for number in range(count):
        expected = File("d", f"/b/c/{number}", "/b/c", 1, number, f"l{number}")
        assert db.get(File, drive="d", path=expected.path) == expected, "the version is what it was"
        assert db.query(File, label=f"l{number}").items == (expected,)
        assert db.query(File, size=number).items == (expected,)
    items = db.call("Scan")["Items"]
    assert len(items) == 3 * count
    assert [item for item in items if "extra" in item and item["entityType"] == {"S": "File"}]
    guards = [item["owner"]["M"]["sk"]["S"] for item in items if "owner" in item]
    assert sorted(guards) == sorted(f"FILE#/b/c/{number}/" for number in range(count)), "guards know where it is"
    with pytest.raises(TableError, match="already"):
        db.insert(File("d", "/x", size=1, label="l1"))


def test_items_with_the_same_unique_value_move_and_one_has_the_guard() -> None:
    """Items had the same value before it was unique. The guard stays with its owner."""
    for source, moved in (("/a/1", 1), ("/a/2", 1), ("/a", 2)):
        transport = fresh()
        before = Client(SCHEMA, "files", transport)
        before.create_table()
        before.insert_many([File("d", path, label="same") for path in ("/a/1", "/a/2", "/c")])
        guarded = Entity(File, FILE.key, FILE.indexes, patterns=[*FILE.patterns, Unique("label")])
        indexes = [Index("children"), Index("levels"), Index("labelled")]
        db = Client(Schema(guarded, indexes=indexes), "files", transport)
        for finding in list(audit(db)):
            repair(db, finding)
        (guard,) = [item for item in db.call("Scan")["Items"] if "owner" in item]
        owner = guard["owner"]["M"]["sk"]["S"].removeprefix("FILE#")
        assert move(db, File, source, "/b", drive="d") == moved
        (guard,) = [item for item in db.call("Scan")["Items"] if "owner" in item]
        expected = f"/b{owner.removeprefix(source)}" if owner.startswith(f"{source}/") else owner
        assert guard["owner"]["M"]["sk"]["S"] == f"FILE#{expected}"
        assert [finding.kind for finding in audit(db)] == ["taken", "taken"]


# Interrupted


def names(db: Client) -> list[str]:
    """The names of all files."""
    return sorted(path.rsplit("/", 1)[1] for path in paths(subtree(db, File, "/", drive="d", consistent=True)))


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("count", [5, pytest.param(120, marks=pytest.mark.slow)])
def test_interrupted_move_keeps_each_item_once_and_can_be_resumed(count: int, done: bool) -> None:
    everything = [f"f{number:03d}" for number in range(count)]
    before = [f"/old/{name}" for name in everything]
    interrupted = 0
    for calls in range(30):
        engine = Embedded()
        db = Client(SCHEMA, "files", engine)
        db.create_table()
        db.put_many([File("d", path) for path in before])
        try:
            assert (
                move(Client(SCHEMA, "files", Faulty(engine, calls + 1, done)), File, "/old", "/new", drive="d") == count
            )
            break
        except Lost:
            interrupted += 1
        assert names(db) == everything
        again = Client(SCHEMA, "files", Faulty(engine, calls + 1, done))
        try:  # it may be interrupted again
            resume_moves(again)
        except Lost:
            assert names(db) == everything
        resume_moves(db)
        assert names(db) == everything
        places = {path.rsplit("/", 1)[0] for path in paths(subtree(db, File, "/", drive="d"))}
        assert places in ({"/old"}, {"/new"}), "all of it or nothing"
        assert resume_moves(db, File) == 0
    assert interrupted == (3 if count == 5 else 11)


def test_second_move_in_a_tree_waits_for_the_first() -> None:
    engine = Embedded()
    db = filled(lambda schema: created(schema, engine), [f"/old/{number}" for number in range(120)] + ["/x", "/x/y"])
    with pytest.raises(Lost):
        move(Client(SCHEMA, "files", Faulty(engine, 6, True)), File, "/old", "/new", drive="d")
    for source in ("/x", "/old"):
        with pytest.raises(
            MoveUnfinished, match=r"from /old to /new in the same tree is running, or was interrupted. resume_moves"
        ):
            move(db, File, source, "/z", drive="d")
    db.insert(File("e", "/x"))
    assert move(db, File, "/x", "/z", drive="e") == 1, "another tree"
    assert resume_moves(db) == 1
    assert move(db, File, "/x", "/z", drive="d") == 2


def created(schema: Schema, engine: Any) -> Client:
    db = Client(schema, "files", engine)
    db.create_table()
    return db


class Between:
    """A DynamoDB that runs a function before some call."""

    def __init__(self, engine: Any, at: int, happens: Callable[[], Any]) -> None:
        self.engine, self.left, self.happens = engine, at, happens

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "TransactWriteItems":
            if self.left == 0:
                self.happens()
            self.left -= 1
        return self.engine.send(operation, body)


@pytest.mark.parametrize("count", [5, 120])
def test_a_change_made_meanwhile_is_moved_too(count: int) -> None:
    engine = Embedded()
    db = filled(lambda schema: created(schema, engine), [f"/old/{number:03d}" for number in range(count)])

    def change() -> None:
        with db.update(File, drive="d", path="/old/002") as file:
            file.size = 77
        db.delete(File, drive="d", path="/old/003")
        db.insert(File("d", "/old/late"))

    found = move(Client(SCHEMA, "files", Between(engine, 0, change)), File, "/old", "/new", drive="d")
    assert found == count
    assert db.get(File, drive="d", path="/new/002") == placed("d", "/new/002", size=77)
    assert not db.exists(File, drive="d", path="/new/003")
    assert db.exists(File, drive="d", path="/new/late")
    assert not subtree(db, File, "/old", drive="d")


def test_item_inserted_at_the_target_is_not_overwritten() -> None:
    engine = Embedded()
    db = filled(lambda schema: created(schema, engine), [f"/old/{number:03d}" for number in range(120)])
    in_the_way = File("d", "/new/100", size=5)
    slow = Client(SCHEMA, "files", Between(engine, 1, lambda: db.insert(in_the_way)))
    with pytest.raises(AlreadyExists, match=r"path='/new/100' was inserted since.*resume_moves\(\) continues"):
        move(slow, File, "/old", "/new", drive="d")
    assert db.get(File, drive="d", path="/new/100") == placed("d", "/new/100", size=5)
    db.delete(File, drive="d", path="/new/100")
    assert resume_moves(db) == 1
    assert len(subtree(db, File, "/new", drive="d")) == 120


@pytest.mark.slow
def test_items_of_any_size_are_moved() -> None:
    watched = Watched()
    db = Client(SCHEMA, "files", fresh(), observe=watched)
    db.create_table()
    large = [File("d", f"/old/{number}", label="x" * 1000, size=number) for number in range(30)]
    item = "y" * 300_000
    for file in large:
        db.insert(file)
        db.call(
            "UpdateItem",
            {
                "Key": SCHEMA.key(File, drive="d", path=file.path),
                "UpdateExpression": "SET body = :b",
                "ExpressionAttributeValues": {":b": {"S": item}},
            },
        )
    watched.calls.clear()
    assert move(db, File, "/old", "/new", drive="d") == 30
    sizes = [len(msgspec.json.encode(c.request)) for c in watched.calls if c.operation == "TransactWriteItems"]
    assert len(sizes) >= 5
    assert max(sizes) < 4 * 2**20
    assert {len(one["body"]["S"]) for one in db.call("Query", below_new())["Items"]} == {len(item)}


def below_new() -> dict[str, Any]:
    return {
        "KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
        "ExpressionAttributeValues": {":p": {"S": "DRIVE#d"}, ":s": {"S": "FILE#/new/"}},
        "Limit": 2,
    }


@settings(max_examples=examples(25))
@given(st.sets(PLACES.filter(lambda path: path != "/"), min_size=1, max_size=15), st.data())
def test_moves_equal_moves_in_a_model_of_paths(there: set[str], data: st.DataObject) -> None:
    db = filled(lambda schema: created(schema, Embedded()), sorted(there))
    model = set(there)
    for _ in range(4):
        source, target = data.draw(PLACES), data.draw(PLACES)
        inside = {path for path in model if path == source or is_above(source, path)}
        taken = any(path == target or is_above(target, path) for path in model)
        if not inside or taken or target == source or is_above(source, target):
            with pytest.raises(TableError):
                move(db, File, source, target, drive="d")
        else:
            assert move(db, File, source, target, drive="d") == len(inside)
            model = model - inside | {target + path.removeprefix(source) for path in inside}
        found = subtree(db, File, "/", drive="d")
        assert set(found) == {placed("d", path) for path in model}


def test_writers_readers_and_movers_at_once() -> None:
    engine = Embedded()
    db = filled(lambda schema: created(schema, engine), [f"/a/{number:03d}" for number in range(110)])
    failed: list[BaseException] = []
    over = threading.Event()

    def count_up() -> None:
        mine, chance = Client(SCHEMA, "files", engine), Random(5)
        while not over.wait(0.001):  # slowly, otherwise the move gives up with a Conflict
            name = f"{chance.randrange(110):03d}"
            for folder in ("/a", "/b"):
                try:
                    with mine.update(File, drive="d", path=f"{folder}/{name}") as file:
                        file.size += 1
                    done.append(name)
                    break
                except NotFound:
                    continue
                except BaseException as error:
                    failed.append(error)
                    return

    def resume() -> None:
        try:
            while not over.is_set():
                resume_moves(Client(SCHEMA, "files", engine))
        except BaseException as error:
            failed.append(error)

    done: list[str] = []
    threads = [threading.Thread(target=count_up), threading.Thread(target=resume)]
    for thread in threads:
        thread.start()
    try:
        for source, target in (("/a", "/b"), ("/b", "/a"), ("/a", "/b")):
            move(Client(SCHEMA, "files", engine), File, source, target, drive="d")
            resume_moves(db)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failed
    found = subtree(db, File, "/", drive="d")
    assert paths(found) == [f"/b/{number:03d}" for number in range(110)]
    assert sum(file.size for file in found) == len(done), "no change was lost"


def move_in_process(place: str) -> None:
    move(Client(SCHEMA, "files", Embedded(place)), File, "/a", "/b", drive="d")


@pytest.mark.slow
def test_killed_process_leaves_work_that_another_finishes(tmp_path: Path) -> None:
    place = str(tmp_path / "files.db")
    db = filled(lambda schema: created(schema, Embedded(place)), [f"/a/{number:04d}" for number in range(400)])
    process = multiprocessing.get_context("spawn").Process(target=move_in_process, args=(place,))
    process.start()
    while process.is_alive() and not db.exists(File, drive="d", path="/b/0000", consistent=True):
        pass
    process.kill()
    process.join()
    found = names(db)
    assert found == [f"{number:04d}" for number in range(400)]
    assert resume_moves(db) <= 1
    assert paths(subtree(db, File, "/", drive="d")) == [f"/b/{number:04d}" for number in range(400)]


# Cost


def test_a_move_costs_four_units_an_item_two_for_the_look_at_the_journal_and_the_indexes() -> None:
    watched = Watched()
    plain = Schema(Entity(File, Key("DRIVE#{drive}", "FILE#{path:tree}"), patterns=[Tree("path")]))
    db = Client(plain, "files", fresh(), observe=watched)
    db.create_table()
    db.put_many([File("d", f"/a/{number}") for number in range(5)])
    watched.calls.clear()
    move(db, File, "/a", "/b", drive="d")
    assert [call.units for call in watched.calls] == [1.0, 1.0, 22.0]


def test_reads_cost_the_size_of_their_items() -> None:
    watched = Watched()
    db = Client(SCHEMA, "files", fresh(), observe=watched)
    db.create_table()
    db.put_many([File("d", path) for path in PATHS])
    watched.calls.clear()
    subtree(db, File, "/docs", drive="d")
    children(db, File, "/docs", drive="d")
    ancestors(db, File, "/docs/a/b", drive="d")
    assert [(call.operation, call.units) for call in watched.calls] == [
        ("Query", 0.5),
        ("Query", 0.5),
        ("BatchGetItem", 1.5),
    ]


def test_replaced_item_stays_in_the_tree() -> None:
    db = filled(lambda schema: created(schema, fresh()), ["/docs"])
    there = db.get(File, drive="d", path="/docs")
    assert there is not None
    db.put(replace(there, label="new", parent=None))
    assert db.query(File, label="new").items == (placed("d", "/docs", label="new"),)


def test_in_a_table_of_tenants_each_finishes_its_own_moves() -> None:
    schema = Schema(
        Entity(File, Key("TENANT#{drive}", "FILE#{path:tree}"), patterns=[Tree("path", parent="parent")]),
        tenant="drive",
    )
    engine = Embedded()
    db = created(schema, engine)
    for drive in ("d", "e"):
        db.put_many([File(drive, f"/old/{number:03d}") for number in range(110)])
        with pytest.raises(Lost):
            move(Client(schema, "files", Faulty(engine, 5, True)).tenant(drive), File, "/old", "/new")
    with pytest.raises(TableError, match=r"each drive has its own moves of File. Pass drive=…"):
        resume_moves(db)
    assert resume_moves(db.tenant("d")) == 1
    assert len(subtree(db.tenant("d"), File, "/new")) == 110
    assert len(subtree(db.tenant("e"), File, "/new")) < 110
    assert resume_moves(db, drive="e") == 1


def test_a_single_item_is_moved_by_an_update_that_reads_it_first() -> None:
    db = filled(lambda schema: created(schema, fresh()), ["/docs", "/docs/a"])
    with db.update(File, drive="d", path="/docs/a", read=True) as file:
        file.path = "/b"
    assert db.get(File, drive="d", path="/b") == placed("d", "/b")
    assert paths(children(db, File, "/", drive="d")) == ["/b", "/docs"]
