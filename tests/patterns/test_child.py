"""Children and parents: no child without a parent, also with concurrent writers; trees are deleted from the leaves."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patterns.counting import TREE, File, Folder, Note, again, all_of, wrong_tree
from tests.patterns.faults import in_processes, made, with_every_fault, wrong
from tests.place import examples, fresh
from tests.table.both import Connect, Watched, both

from prejoin import (
    AsyncClient,
    Child,
    Client,
    ConditionFailed,
    Counted,
    Entity,
    Index,
    Key,
    NotFound,
    PartlyWritten,
    Schema,
    SchemaError,
    TableError,
    TransactionCancelled,
    UnknownValue,
    delete_tree,
)
from prejoin.engine import Embedded


@dataclass
class Team:
    team: str


@dataclass
class Player:
    player_id: str
    team: str | None = None
    name: str = ""


LOOSE = Schema(
    Entity(Team, Key("TEAM#{team}", "TEAM")),
    Entity(
        Player,
        Key("PLAYER#{player_id}", "PLAYER"),
        indexes={"gsi1": Key("TEAM#{team}", "PLAYER#{player_id}")},
        patterns=[Child(Team)],
    ),
    indexes=[Index("gsi1")],
)
"""Children that are not counted."""


def teams(connect: Connect) -> Client:
    db = connect(LOOSE)
    db.insert(Team("red"))
    db.insert(Team("blue"))
    return db


@both
def test_child_needs_an_existing_parent(connect: Connect) -> None:
    db = teams(connect)
    db.insert(Player("1", "red"))
    with pytest.raises(NotFound, match="there is no Team team='green'"):
        db.insert(Player("2", "green"))
    with pytest.raises(NotFound, match="green"):
        db.put(Player("2", "green"))
    with pytest.raises(NotFound, match="green"), db.upsert(Player, player_id="2") as player:
        player.team = "green"
    assert db.get(Player, player_id="2") is None
    with pytest.raises(NotFound, match="green"), db.update(Player, player_id="1") as player:
        player.team = "green"
    db.put(Player("1", "blue"))
    with db.update(Player, player_id="1") as player:
        player.team = "red"
    with db.upsert(Player, player_id="3") as player:
        player.team = "blue"
    assert [one.player_id for one in db.query(Player, team="red")] == ["1"]


@both
def test_one_without_a_parent_may_get_one(connect: Connect) -> None:
    db = teams(connect)
    db.insert(Player("1"))
    with db.update(Player, player_id="1") as player:
        player.team = "red"
    with db.update(Player, player_id="1") as player:
        player.team = None
    assert db.get(Player, player_id="1") == Player("1")


@both
def test_write_that_keeps_the_parent_does_not_check_it(connect: Connect) -> None:
    watched = Watched()
    db = connect(LOOSE, observe=watched)
    db.insert(Team("red"))
    first = db.insert(Player("1", "red"))
    assert watched.calls[-1].units == 5  # two items in a transaction, and an entry of the index
    with db.update(Player, player_id="1") as player:
        player.name = "Ann"
    assert watched.calls[-1].operation == "UpdateItem"
    db.put(Player("1", "red", "Bob"), was=first)
    assert watched.calls[-1].operation == "PutItem"
    db.delete(Player, player_id="1")
    assert watched.calls[-1].operation == "DeleteItem"


@both
def test_parent_inserted_in_the_same_transaction_is_enough(connect: Connect) -> None:
    db = teams(connect)
    with db.transaction() as tx:
        tx.insert(Team("green"))
        tx.insert(Player("1", "green"))
        tx.insert(Player("2", "green"))
    with pytest.raises(TransactionCancelled, match="there is no Team team='white'"), db.transaction() as tx:
        tx.insert(Player("3", "red"))
        tx.insert(Player("4", "white"))
    assert db.get(Player, player_id="3") is None


@both
def test_many_children_are_put_where_their_parents_are(connect: Connect) -> None:
    db = teams(connect)
    db.insert(Player("1", "red"))
    with pytest.raises(PartlyWritten) as caught:
        db.put_many([Player("2", "red"), Player("3", "none"), Player("4", "red")])
    assert [(one.position, type(one.error)) for one in caught.value.failures] == [(1, NotFound)]
    assert [db.exists(Player, player_id=at) for at in "1234"] == [True, True, False, True]
    assert db.delete_many(Player, [{"player_id": "1"}]) == 1


def test_a_parent_whose_children_are_not_counted_stays() -> None:
    db = made(LOOSE, fresh())
    db.insert(Team("red"))
    with pytest.raises(TableError, match=r'it is not known whether it has any Player.*Add Counted\(Team, "…"\)'):
        db.delete(Team, team="red")
    with pytest.raises(TableError, match="is not known"):
        delete_tree(db, Team, team="red")


def test_put_without_was_keeps_the_parent() -> None:
    db = made(LOOSE, fresh())
    db.insert(Team("red"))
    db.put(Player("1", "red"))
    assert db.get(Player, player_id="1") == Player("1", "red")


def test_a_reference_of_two_attributes_is_changed_whole() -> None:
    @dataclass
    class Seat:
        seat_id: str
        folder_id: str
        file_id: str

    schema = Schema(
        Entity(Folder, Key("FOLDER#{folder_id}", "FOLDER")),
        Entity(File, Key("FOLDER#{folder_id}", "FILE#{file_id}")),
        Entity(Seat, Key("SEAT#{seat_id}", "SEAT"), patterns=[Child(File)]),
    )
    db = made(schema, fresh())
    for name in "ab":
        db.insert(File("1", name))
    db.insert(Seat("s", "1", "a"))
    with pytest.raises(UnknownValue, match="the key of its File"), db.update(Seat, seat_id="s") as seat:
        seat.file_id = "b"
    with db.update(Seat, seat_id="s", folder_id="1") as seat:
        seat.file_id = "b"
    with db.update(Seat, seat_id="s", read=True) as seat:
        seat.file_id = "a"
    with pytest.raises(NotFound), db.update(Seat, seat_id="s", read=True) as seat:
        seat.file_id = "c"


def test_a_self_reference_is_a_relation_like_any_other() -> None:
    @dataclass
    class Employee:
        employee_id: str
        manager_id: str | None = None
        reports: int = 0

    by = {"employee_id": "manager_id"}
    schema = Schema(
        Entity(
            Employee,
            Key("EMPLOYEE#{employee_id}", "EMPLOYEE"),
            indexes={"gsi1": Key("MANAGER#{manager_id}", "{employee_id}")},
            patterns=[Child(Employee, by=by), Counted(Employee, "reports", by=by)],
        ),
        indexes=[Index("gsi1")],
    )
    db = made(schema, fresh())
    db.insert(Employee("1"))
    db.insert(Employee("2", "1"))
    db.insert(Employee("3", "1"))
    assert db.get(Employee, employee_id="1") == Employee("1", None, 2)
    with pytest.raises(NotFound):
        db.insert(Employee("4", "9"))
    with pytest.raises(ConditionFailed, match="has 2 Employee"):
        db.delete(Employee, employee_id="1", read=True)
    with db.update(Employee, employee_id="3", read=True) as employee:
        employee.manager_id = "2"
    assert [one.reports for one in db.query(Employee, manager_id="1")] == [1]
    db.delete(Employee, employee_id="3", read=True)
    db.delete(Employee, employee_id="2", read=True)
    db.delete(Employee, employee_id="1", read=True)
    assert all_of(db) == []


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (Child(Folder), "Folder is not an entity of this schema"),
        (Child(Team, by={"team": "squad"}), "Player has no attribute squad"),
        (Child(Team, by={"name": "team"}), "name is not in the key of Team"),
    ],
)
def test_impossible_relation_is_refused_when_the_schema_is_built(pattern: Child, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(
            Entity(Team, Key("TEAM#{team}", "TEAM")),
            Entity(Player, Key("PLAYER#{player_id}", "PLAYER"), patterns=[pattern]),
        )


# --- Trees ----------------------------------------------------------------------------------------------------------


def grown(transport: Any = None, files: int = 3, notes: int = 4) -> Client:
    db = made(TREE, transport or fresh())
    for folder in "12":
        db.insert(Folder(folder))
        for file in range(files):
            db.insert(File(folder, str(file)))
            for note in range(notes):
                db.insert(Note(folder, str(file), str(note), f"{folder} {file} {note}"))
    return db


def test_a_tree_is_deleted_with_all_that_belongs_to_it_and_nothing_else() -> None:
    db = grown()
    reported: list[int] = []
    assert delete_tree(db, Folder, folder_id="1", progress=reported.append) == 1 + 3 + 12
    assert reported[-1] == 16
    assert {one.folder_id for one in all_of(db)} == {"2"}
    assert wrong_tree(db) == []
    assert wrong(TREE, db._transport) == []
    assert delete_tree(db, Folder, folder_id="1") == 0


def test_subtree_can_be_deleted() -> None:
    db = grown()
    assert delete_tree(db, File, folder_id="1", file_id="0") == 5
    assert wrong_tree(db) == []


def test_more_children_than_a_transaction_takes_are_deleted_in_several() -> None:
    db = grown(files=1, notes=60)
    assert delete_tree(db, File, folder_id="1", file_id="0") == 61
    assert wrong_tree(db) == []


def test_async_client_deletes_trees() -> None:
    db = grown()
    assert asyncio.run(delete_tree(AsyncClient(TREE, "shop", db._transport), Folder, folder_id="1")) == 16  # type: ignore[arg-type]
    assert wrong_tree(db) == []


@both
def test_a_parent_goes_only_when_it_has_no_children(connect: Connect) -> None:
    db = connect(TREE)
    db.insert(Folder("1"))
    db.insert(File("1", "a"))
    with pytest.raises(ConditionFailed, match=r"Folder folder_id='1' has 1 File. Delete these first, or all with"):
        db.delete(Folder, folder_id="1")
    db.delete(File, folder_id="1", file_id="a", read=True)
    db.delete(Folder, folder_id="1")


def test_interrupted_delete_leaves_no_orphans_and_can_be_continued() -> None:
    def check(transport: Any) -> None:
        db = Client(TREE, "shop", transport)
        assert wrong_tree(db) == []
        assert wrong(TREE, transport) == []
        delete_tree(db, Folder, folder_id="1")
        assert {one.folder_id for one in all_of(db)} == {"2"}
        assert wrong_tree(db) == []

    lost = with_every_fault(
        lambda: grown(files=2, notes=2)._transport,
        lambda transport: delete_tree(Client(TREE, "shop", transport), Folder, folder_id="1"),
        check,
    )
    assert lost > 20


def plant(db: Client, number: int, times: int) -> int:
    """Inserts under a parent that is being deleted; returns the number of inserted children."""
    made_ = 0
    for at in range(times):
        try:
            again(lambda at=at: db.insert(File("1", f"{number}-{at}")))  # type: ignore[misc]
            made_ += 1
        except NotFound:
            return made_
    return made_


def test_children_that_come_while_a_tree_is_deleted_are_deleted_or_refused() -> None:
    db = grown(Embedded(), files=2, notes=1)
    stop = threading.Event()
    with ThreadPoolExecutor(3) as threads:
        planted = [threads.submit(plant, db, number, 30) for number in range(2)]
        again(lambda: delete_tree(db, Folder, folder_id="1"))
        stop.set()
        assert sum(one.result() for one in planted) >= 0
    assert [one for one in all_of(db) if one.folder_id == "1"] == []
    assert wrong_tree(db) == []


def plant_in(number: int, path: str) -> int:
    with Client(TREE, "shop", Embedded(path)) as db:
        if number:
            return plant(db, number, 30)
        again(lambda: delete_tree(db, Folder, folder_id="1"))
        return 0


@pytest.mark.slow
def test_processes_on_one_file_leave_no_child_without_a_parent(tmp_path: Path) -> None:
    path = str(tmp_path / "tree.db")
    with Embedded(path) as engine:
        grown(engine, files=2, notes=1)
    in_processes(2, plant_in, path)
    with Embedded(path) as engine:
        db = Client(TREE, "shop", engine)
        assert [one for one in all_of(db) if one.folder_id == "1"] == []
        assert wrong_tree(db) == []


acts = st.tuples(
    st.sampled_from(["folder", "file", "note", "drop folder", "drop file", "drop note", "tree"]),
    st.sampled_from("12"),
    st.sampled_from("ab"),
)


@given(st.lists(acts, max_size=14))
@settings(max_examples=examples(60))
def test_after_any_writes_no_child_is_without_a_parent(writes: list[tuple[str, str, str]]) -> None:
    db = made(TREE, fresh())
    there: set[tuple[str, ...]] = set()
    for verb, folder, file in writes:
        note = (folder, file, "n")
        before = set(there)
        try:
            match verb:
                case "folder":
                    db.put(Folder(folder, sum(len(one) == 2 and one[0] == folder for one in there)))
                    there.add((folder,))
                case "file" if (folder, file) not in there:
                    db.insert(File(folder, file))
                    there.add((folder, file))
                case "note" if note not in there:
                    db.insert(Note(*note))
                    there.add(note)
                case "drop folder":
                    db.delete(Folder, folder_id=folder)
                    there.discard((folder,))
                case "drop file":
                    db.delete(File, folder_id=folder, file_id=file, read=True)
                    there.discard((folder, file))
                case "drop note":
                    db.delete(Note, folder_id=folder, file_id=file, note_id="n", read=True)
                    there.discard(note)
                case "tree":
                    delete_tree(db, Folder, folder_id=folder)
                    there = {one for one in there if one[0] != folder}
                case _:
                    pass
        except ConditionFailed:
            there = before
        assert all(one[:-1] in there for one in there if len(one) > 1)
    found = {tuple(getattr(one, name) for name in TREE.entity(type(one)).base.attributes) for one in all_of(db)}
    assert found == there
    assert wrong_tree(db) == []
