"""Versions: overwriting an unseen change raises an error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import in_processes, in_threads, made, on_a_file, with_every_fault
from tests.place import fresh

from prejoin import (
    AlreadyExists,
    Call,
    Changes,
    Client,
    ConditionFailed,
    Entity,
    Index,
    Key,
    NotFound,
    PartlyWritten,
    Schema,
    SchemaError,
    TableError,
    TransactionCancelled,
    UnknownAttribute,
    Version,
    VersionConflict,
    add,
)
from prejoin.engine import Embedded


@dataclass(frozen=True)
class Note:
    note_id: str
    text: str = ""
    hits: int = 0
    version: int = 0


def schema(*patterns: Any, **more: Any) -> Schema:
    return Schema(
        Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=patterns, **more), indexes=[Index("gsi1")] if more else []
    )


@pytest.fixture
def db() -> Client:
    client = Client(schema(Version()), "notes", fresh())
    client.create_table()
    return client


def test_an_insert_writes_version_1_and_returns_the_object_as_written(db: Client) -> None:
    written = db.insert(Note("1", "a", version=7))
    assert written == Note("1", "a", version=1)
    assert db.get(Note, note_id="1") == written
    with pytest.raises(AlreadyExists):
        db.insert(written)


def test_a_put_counts_up_from_the_version_that_was_seen(db: Client) -> None:
    seen = db.insert(Note("1", "a"))
    second = db.put(replace(seen, text="b"))
    assert second == Note("1", "b", version=2)
    with pytest.raises(VersionConflict, match="Note note_id='1' has version 2, not 1: it was written since"):
        db.put(replace(seen, text="lost?"))
    assert db.get(Note, note_id="1") == second
    assert db.put(second).version == 3


def test_put_of_version_0_needs_an_absent_item(db: Client) -> None:
    assert db.put(Note("1", "a")).version == 1
    with pytest.raises(VersionConflict, match="has version 1, not 0"):
        db.put(Note("1", "b"))
    db.delete(Note, note_id="1")
    with pytest.raises(VersionConflict, match="does not exist any more, and was expected with version 1"):
        db.put(Note("1", "b", version=1))


def test_items_without_a_version_have_version_0() -> None:
    engine = fresh()
    old = Client(schema(), "notes", engine)
    old.create_table()
    engine.send(
        "PutItem",
        b'{"TableName": "notes", "Item": {"pk": {"S": "NOTE#1"}, "sk": {"S": "NOTE"}, "note_id": {"S": "1"}}}',
    )
    db = Client(schema(Version()), "notes", engine)
    found = db.get(Note, note_id="1")
    assert found == Note("1")
    assert db.put(replace(found, text="x")).version == 1


def test_update_increments_the_version_and_checks_it_if_given(db: Client) -> None:
    seen = db.insert(Note("1", "a"))
    db.apply(Note, Changes({"text": "b"}), note_id="1")
    with pytest.raises(VersionConflict, match="has version 2, not 1"):
        db.apply(Note, Changes({"text": "c"}), note_id="1", version=seen.version)
    assert db.apply(Note, Changes({"text": "c"}), note_id="1", version=2, returning="new") == Note("1", "c", version=3)
    with pytest.raises(VersionConflict):
        db.delete(Note, note_id="1", version=2)
    with pytest.raises(TableError, match=r"Note.version is the version, which each write increments"):
        db.apply(Note, Changes({"version": 9}), note_id="1")
    with pytest.raises(NotFound):
        db.apply(Note, Changes({"text": "c"}), note_id="2")
    db.delete(Note, note_id="1", version=3)


def test_another_condition_that_fails_is_not_a_conflict(db: Client) -> None:
    seen = db.insert(Note("1", "a"))
    with pytest.raises(ConditionFailed) as failed:
        db.put(replace(seen, text="b"), where=lambda n: n.hits == 3)
    assert not isinstance(failed.value, VersionConflict)
    assert "does not fulfil the condition of this put" in str(failed.value)


def test_an_upsert_begins_at_1(db: Client) -> None:
    for version in (1, 2):
        upsert = db.upsert(Note, note_id="1", returning="new")
        with upsert as note:
            note.hits = add(note.hits, 1)  # type: ignore[misc]
        assert (upsert.result.version, upsert.result.hits) == (version, version)
    db.apply(Note, Changes({"text": "x"}), note_id="2", upsert=True, read=True)
    assert db.get(Note, note_id="2") == Note("2", "x", version=1)


def test_transaction_failure_names_the_conflicting_write(db: Client) -> None:
    seen = db.insert(Note("1"))
    db.put(seen)
    with pytest.raises(TransactionCancelled) as cancelled, db.transaction() as tx:
        assert tx.insert(Note("2")).version == 1
        tx.put(replace(seen, text="late"))
    (failure,) = cancelled.value.failures
    assert isinstance(failure, VersionConflict)
    assert failure.position == 1
    assert failure.write is not None
    assert failure.write.verb == "put"
    assert db.get(Note, note_id="2") is None


def count_up(db: Client) -> int:
    """Reads, changes and puts until there is no conflict; returns the number of conflicts."""
    late = 0
    while True:
        seen = db.get(Note, note_id="1", consistent=True)
        assert seen is not None
        try:
            db.put(replace(seen, hits=seen.hits + 1))
            return late
        except VersionConflict:
            late += 1


def test_concurrent_writes_lose_nothing(db: Client) -> None:
    db.insert(Note("1"))
    in_threads(4, lambda _: [count_up(db) for _ in range(10)])
    assert db.get(Note, note_id="1", consistent=True) == Note("1", hits=40, version=41)


def count_in_file(_: int, file: str) -> None:
    with Client(schema(Version()), "notes", Embedded(file)) as db:
        for _ in range(20):
            count_up(db)


@pytest.mark.slow
@on_a_file
def test_nor_of_processes_on_one_file(tmp_path: Path) -> None:
    file = str(tmp_path / "notes.db")
    with made(schema(Version()), Embedded(file), "notes") as db:
        db.insert(Note("1"))
        in_processes(3, count_in_file, file)
        assert db.get(Note, note_id="1", consistent=True) == Note("1", hits=60, version=61)


@given(st.lists(st.sampled_from(["read", "put", "update", "update known", "delete", "insert"]), max_size=15))
def test_unseen_changes_are_never_overwritten(operations: list[str]) -> None:
    """Another writer changes the item from time to time, after it was read."""
    db = made(schema(Version()), fresh(), "notes")
    stored: Note | None = None
    seen = Note("1")
    for verb in operations:
        current = stored.version if stored else 0
        try:
            match verb:
                case "read":
                    seen = db.get(Note, note_id="1") or Note("1")
                    assert seen == (stored or Note("1"))
                case "put":
                    seen = stored = db.put(replace(seen, hits=seen.hits + 1))
                    assert stored.version == current + 1
                case "insert":
                    stored = db.insert(Note("1", text="new"))
                case "update":
                    stored = db.apply(Note, Changes({}, {"hits": 10}), note_id="1", returning="new")
                case "update known":
                    known = {"note_id": "1", "version": seen.version}
                    stored = db.apply(Note, Changes({}, {"hits": 100}), returning="new", **known)
                case _:
                    db.delete(Note, note_id="1", version=seen.version)
                    stored = None
        except VersionConflict:
            assert seen.version != current
        except AlreadyExists:
            assert verb == "insert"
            assert stored is not None
        except NotFound:
            assert stored is None
        assert db.get(Note, note_id="1") == stored


def test_count_is_not_applied_twice_after_any_lost_request() -> None:
    def begin() -> Any:
        transport = fresh()
        made(schema(Version()), transport, "notes").insert(Note("1"))
        return transport

    def check(transport: Any) -> None:
        db = Client(schema(Version()), "notes", transport)
        count_up(db)
        found = db.get(Note, note_id="1")
        assert found is not None
        assert found.version == found.hits + 1
        assert found.hits in (1, 2)

    assert with_every_fault(begin, lambda lossy: count_up(Client(schema(Version()), "notes", lossy)), check) == 4


def test_many_are_checked_one_by_one(db: Client) -> None:
    assert db.put_many([Note("1")]) == 1
    with pytest.raises(PartlyWritten) as caught:
        db.put_many([Note("1"), Note("2")])
    assert [(one.position, type(one.error)) for one in caught.value.failures] == [(0, VersionConflict)]


def test_pattern_adds_no_units() -> None:
    calls: list[Call] = []
    db = Client(schema(Version()), "notes", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    seen = db.insert(Note("1"))
    db.put(seen)
    db.apply(Note, Changes({"text": "x"}), note_id="1")
    db.delete(Note, note_id="1", version=3)
    assert [(call.operation, call.units) for call in calls] == [
        ("PutItem", 1),
        ("PutItem", 1),
        ("UpdateItem", 1),
        ("DeleteItem", 1),
    ]


def test_a_version_in_an_index_is_read_first_or_refused() -> None:
    db = Client(schema(Version(), indexes={"gsi1": Key("NOTES", "{version}")}), "notes", fresh())
    db.create_table()
    db.insert(Note("1"))
    with pytest.raises(TableError, match="version is part of the key of Note in gsi1"):
        db.apply(Note, Changes({"text": "x"}), note_id="1")
    db.apply(Note, Changes({"text": "x"}), note_id="1", read=True)
    assert db.get(Note, note_id="1") == Note("1", "x", version=2)


def test_version_must_be_a_number() -> None:
    with pytest.raises(SchemaError, match=r"Note\.text is its version, and must be an int"):
        schema(Version("text"))
    with pytest.raises(UnknownAttribute, match="did you mean version"):
        schema(Version("versin"))
