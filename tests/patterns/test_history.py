"""Version history: every replaced version can be read, also after races, faults and restores."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import in_threads, items, with_every_fault
from tests.patterns.manual_clock import ManualClock
from tests.place import fresh
from tests.table.both import Connect, both

from prejoin import (
    AlreadyExists,
    AsyncClient,
    Call,
    Client,
    Conflict,
    Copy,
    Entity,
    History,
    Index,
    Key,
    NotFound,
    Schema,
    SchemaError,
    SoftDelete,
    TableError,
    TransactionCancelled,
    Unique,
    UnknownValue,
    Version,
    VersionConflict,
    audit,
    compare_versions,
    history,
    restore,
    restore_version,
    version_of,
)


@dataclass
class Note:
    note_id: str
    text: str
    author: str | None = None
    version: int = 0


@dataclass
class Page:
    page_id: str
    version: int = 0
    deleted_at: datetime | None = None


KEY = Key("NOTE#{note_id}", "NOTE")
VERSIONS = Key("NOTE#{note_id}#HISTORY", "{version}")


def schema(*more: Any, key: Key = VERSIONS, ttl: str = "", **options: Any) -> Schema:
    patterns = [Version("version"), History(key, **options), *more]
    # The index is on the attribute itself: earlier versions must not be in it.
    return Schema(Entity(Note, KEY, patterns=patterns), indexes=[Index("gsi1", pk="author", sk=())], ttl=ttl)


def edited(db: Client, *texts: str) -> None:
    for text in texts:
        with db.update(Note, read=True, note_id="1") as note:
            note.text = text


def texts(found: list[Note]) -> list[tuple[int, str]]:
    return [(note.version, note.text) for note in found]


@both
@pytest.mark.parametrize("key", [VERSIONS, Key("NOTE#{note_id}", "VERSION#{version:06}")])
def test_each_write_keeps_the_version_that_it_replaces(connect: Connect, key: Key) -> None:
    db = connect(schema(key=key))
    first = db.insert(Note("1", "a", "Ann"))
    db.insert(Note("2", "other"))
    assert _history(db) == []
    edited(db, "b")
    db.put(Note("1", "c", "Ann", 2), read=True)
    db.put(Note("1", "d", "Ann", 3), was=Note("1", "c", "Ann", 3))
    assert texts(_history(db)) == [(3, "c"), (2, "b"), (1, "a")]
    assert texts(_history(db, limit=2)) == [(3, "c"), (2, "b")]
    assert _history(db)[-1] == first
    assert [note.text for note in db.query(Note, author="Ann").items] == ["d"]
    db.delete(Note, read=True, note_id="1")
    assert texts(_history(db))[0] == (4, "d")
    assert list(_run(db, audit)) == []


def _client(db: Client) -> Any:
    """The client that `AsyncAsSync` wraps, or the client itself."""
    return getattr(db, "_client", db)


def _run(db: Client, function: Any, *args: Any, **key: Any) -> Any:
    client = _client(db)
    found = function(client, *args, **key)
    if isinstance(client, AsyncClient):
        return asyncio.run(_all(found) if hasattr(found, "__aiter__") else found)
    return found


async def _all(found: Any) -> list[Any]:
    return [one async for one in found]


def _history(db: Client, **options: Any) -> list[Note]:
    found: list[Note] = _run(db, history, Note, note_id="1", **options)
    return found


@both
def test_any_version_is_read_and_restored(connect: Connect) -> None:
    db = connect(schema())
    db.insert(Note("1", "a"))
    edited(db, "b", "c")
    assert [_run(db, version_of, Note, n, note_id="1") for n in (1, 3, 4)] == [
        Note("1", "a", None, 1),
        Note("1", "c", None, 3),
        None,
    ]
    assert _run(db, restore_version, Note, 1, note_id="1") == Note("1", "a", None, 4)
    assert db.get(Note, note_id="1") == Note("1", "a", None, 4)
    assert texts(_history(db)) == [(3, "c"), (2, "b"), (1, "a")]
    assert _run(db, restore_version, Note, 4, note_id="1") == Note("1", "a", None, 4)  # it is the current one
    with pytest.raises(NotFound, match="version 9 of Note is not kept"):
        _run(db, restore_version, Note, 9, note_id="1")


@both
def test_deleted_item_is_restored_with_its_next_version(connect: Connect) -> None:
    db = connect(schema(Unique("text")))
    db.insert(Note("1", "a"))
    edited(db, "b")
    db.delete(Note, read=True, note_id="1")
    assert _run(db, restore_version, Note, 1, note_id="1") == Note("1", "a", None, 3)
    edited(db, "c")
    assert texts(_history(db)) == [(3, "a"), (2, "b"), (1, "a")]
    assert list(_run(db, audit)) == []


@both
def test_versions_of_an_item_follow_those_of_a_deleted_one_with_its_id(connect: Connect) -> None:
    db = connect(schema(Copy("all", Key("NOTES", "{note_id}")), Unique("text")))
    db.insert(Note("1", "a"))
    edited(db, "b")
    db.delete(Note, read=True, note_id="1")
    again = db.insert(Note("1", "again"))
    assert again.version == 1
    edited(db, "c")
    assert texts(_history(db)) == [(3, "again"), (2, "b"), (1, "a")]
    assert db.get(Note, note_id="1") == Note("1", "c", None, 4)
    with pytest.raises(VersionConflict, match="has version 4, not 1"):
        db.put(Note("1", "late", None, 1), read=True)
    db.delete(Note, read=True, note_id="1")
    assert texts(_history(db)) == [(4, "c"), (3, "again"), (2, "b"), (1, "a")]
    db.insert(Note("1", "third"))
    db.delete(Note, read=True, note_id="1")  # also at once
    assert texts(_history(db))[0] == (5, "third")
    assert list(_run(db, audit)) == []


def test_write_with_a_known_object_says_that_its_version_has_changed() -> None:
    db = Client(schema(), "shop", fresh())
    db.create_table()
    db.insert(Note("1", "a"))
    db.delete(Note, read=True, note_id="1")
    for number, write in enumerate((db.put, db.transaction)):
        again = db.insert(Note("1", f"again {number}"))
        with pytest.raises((VersionConflict, TransactionCancelled)) as caught:
            if write == db.put:
                db.put(replace(again, text="b"), was=again)
            else:
                with db.transaction() as tx:
                    tx.put(replace(again, text="b"), was=again)
        failures = caught.value.failures if isinstance(caught.value, TransactionCancelled) else [caught.value]
        assert [type(one) for one in failures] == [VersionConflict]
        current = db.get(Note, note_id="1")
        assert current is not None
        db.put(replace(current, text="c"), was=current)
        db.delete(Note, read=True, note_id="1")
    kept = texts(history(db, Note, note_id="1"))
    assert kept == [(5, "c"), (4, "again 1"), (3, "c"), (2, "again 0"), (1, "a")]


@pytest.mark.parametrize("keep", [None, 3])
def test_item_that_many_insert_change_and_delete_loses_no_version(keep: int | None) -> None:
    """Each object that was replaced is in the history once, and none is stuck."""
    db = Client(schema(keep=keep), "shop", fresh())
    db.create_table()
    written: list[str] = []

    def work(number: int) -> None:
        for step in range(6):
            text = f"{number} {step}"
            with suppress(AlreadyExists):
                db.insert(Note("1", f"{text} new"))
                written.append(f"{text} new")
            with suppress(NotFound, Conflict), db.update(Note, read=True, note_id="1") as note:
                note.text = text
            with suppress(NotFound, Conflict):
                if step % 2:
                    db.delete(Note, read=True, note_id="1")

    in_threads(3, work)
    with suppress(NotFound):
        db.delete(Note, read=True, note_id="1")
    kept = texts(history(db, Note, note_id="1"))
    numbers = [number for number, _ in kept]
    assert numbers == sorted(numbers, reverse=True)
    assert len({text for _, text in kept}) == len(kept)
    if keep is None:
        assert numbers == list(range(len(kept), 0, -1))
        assert {text for _, text in kept} >= set(written)
    db.insert(Note("1", "last"))
    edited(db, *"abcdef")
    assert "last" in {text for _, text in texts(history(db, Note, note_id="1"))} or keep
    assert db.get(Note, note_id="1") is not None


def test_old_versions_are_pruned_by_count_and_age(clock: ManualClock) -> None:
    db = Client(schema(keep=2, keep_for=timedelta(days=30), clock=clock, ttl="expires_at"), "shop", fresh())
    db.create_table()
    db.insert(Note("1", "a"))
    edited(db, *"bcde")
    assert texts(history(db, Note, note_id="1")) == [(4, "d"), (3, "c")]
    stored = [item for item in items(db._transport, "shop") if "object" in item]
    end = int((clock() + timedelta(days=30)).timestamp())
    assert [item["expires_at"] for item in stored] == [{"N": str(end)}] * 2


def test_soft_delete_and_restore_keep_versions_too() -> None:
    kept = [Version(), History(Key("PAGE#{page_id}", "VERSION#{version}")), SoftDelete("deleted_at")]
    db = Client(Schema(Entity(Page, Key("PAGE#{page_id}", "PAGE"), patterns=kept)), "shop", fresh())
    db.create_table()
    db.insert(Page("1"))
    db.delete(Page, read=True, page_id="1")
    restore(db, Page, page_id="1")
    marks = [(page.version, page.deleted_at is not None) for page in history(db, Page, page_id="1")]
    assert marks == [(2, True), (1, False)]
    assert db.get(Page, page_id="1") == Page("1", 3)


def test_write_without_the_stored_item_is_refused() -> None:
    db = Client(schema(), "shop", fresh())
    db.create_table()
    db.insert(Note("1", "a"))
    with pytest.raises(UnknownValue, match="its history"), db.update(Note, note_id="1") as note:
        note.text = "b"
    with pytest.raises(UnknownValue, match="its history"):
        db.put(Note("1", "b", None, 1))
    with pytest.raises(UnknownValue, match="its history"):
        db.delete(Note, note_id="1")
    with pytest.raises(TableError, match="cannot be compared"):
        compare_versions(db, Note("1", "a"), 7)


@pytest.mark.parametrize(("keep", "units"), [(None, 4), (1, 6)])
def test_an_update_costs_what_is_said(keep: int | None, units: int) -> None:
    calls: list[Call] = []
    db = Client(schema(keep=keep), "shop", fresh(), observe=calls.append)
    db.create_table()
    db.insert(Note("1", "a"))
    edited(db, "b")
    calls.clear()
    edited(db, "c")
    assert {call.operation: call.units for call in calls} == {"GetItem": 1, "TransactWriteItems": units}


def test_versions_are_compared() -> None:
    db = Client(schema(), "shop", fresh())
    assert compare_versions(db, Note("1", "a", None, 1), Note("1", "b", None, 2)) == {
        "text": ("a", "b"),
        "version": (1, 2),
    }


@pytest.mark.parametrize(
    ("patterns", "ttl", "message"),
    [
        ([History(VERSIONS)], "", "needs a version"),
        ([Version(), History(Key("NOTE#{note_id}", "HISTORY"))], "", "of version in the sort key"),
        ([Version(), History(Key("NOTE#{version}", "HISTORY#{note_id}"))], "", "of version in the sort key"),
        ([Version(), History(Key("NOTE#{note_id}#{author}", "{version}"))], "", "consists of note_id"),
        ([Version(), History(Key("NOTE#{note_id}", "{version:desc}"))], "", "in ascending order"),
        ([Version(), History(VERSIONS, keep=0)], "", "at least one version"),
        ([Version(), History(VERSIONS, keep_for=timedelta(days=1))], "", "time to live attribute"),
    ],
)
def test_wrong_history_is_refused(patterns: list[Any], ttl: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(Entity(Note, KEY, patterns=patterns), ttl=ttl)


@given(st.lists(st.sampled_from(["update", "put", "delete", "restore"]), max_size=12))
def test_history_has_the_written_versions(steps: list[str]) -> None:
    db = Client(schema(), "shop", fresh())
    db.create_table()
    db.insert(Note("1", "0"))
    versions = [Note("1", "0", None, 1)]
    for at, step in enumerate(steps, 1):
        current = db.get(Note, note_id="1")
        last = versions[-1]
        if current is None or step == "restore":
            found = restore_version(db, Note, 1, note_id="1")
            if current is not None and last.version == 1:
                assert found == last
                continue
            versions.append(replace(versions[0], version=last.version + 1))
            assert found == versions[-1]
        elif step == "delete":
            db.delete(Note, read=True, note_id="1")
        elif step == "put":
            versions.append(db.put(replace(last, text=str(at)), read=True))
        else:
            edited(db, str(at))
            versions.append(replace(last, text=str(at), version=last.version + 1))
    current = db.get(Note, note_id="1")
    earlier = versions if current is None else versions[:-1]
    assert history(db, Note, note_id="1") == earlier[::-1]
    assert current in (None, versions[-1])
    assert [version_of(db, Note, one.version, note_id="1") for one in versions] == versions


def test_racing_writers_lose_no_version() -> None:
    db = Client(schema(), "shop", fresh())
    db.create_table()
    db.insert(Note("1", "0"))

    def write(number: int) -> int:
        done = 0
        for at in range(5):
            try:
                edited(db, f"{number}.{at}")
            except TableError:  # too many conflicts: it was not written
                continue
            done += 1
        return done

    done = sum(in_threads(4, write))
    current = db.get(Note, note_id="1")
    assert current is not None
    assert current.version == done + 1
    assert [note.version for note in history(db, Note, note_id="1")] == list(range(done, 0, -1))


def test_no_fault_leaves_a_gap() -> None:
    def begin() -> Any:
        transport = fresh()
        db = Client(schema(), "shop", transport)
        db.create_table()
        db.insert(Note("1", "a"))
        return transport

    def check(transport: Any) -> None:
        db = Client(schema(), "shop", transport)
        current = db.get(Note, note_id="1")
        assert current is not None
        assert texts([current, *history(db, Note, note_id="1")]) in ([(1, "a")], [(2, "b"), (1, "a")])

    assert with_every_fault(begin, lambda lossy: edited(Client(schema(), "shop", lossy), "b"), check) >= 2


@pytest.mark.slow
def test_lost_request_leaves_an_item_with_an_id_of_a_deleted_one_that_can_be_changed() -> None:
    def begin() -> Any:
        transport = fresh()
        db = Client(schema(), "shop", transport)
        db.create_table()
        db.insert(Note("1", "old"))
        db.delete(Note, read=True, note_id="1")
        db.insert(Note("1", "a"))
        return transport

    def check(transport: Any) -> None:
        db = Client(schema(), "shop", transport)
        edited(db, "c")
        kept = [text for _, text in texts(history(db, Note, note_id="1"))]
        assert kept in (["a", "old"], ["b", "a", "old"])

    # Read, refused transaction, Query, read and new number, read and transaction.
    assert with_every_fault(begin, lambda lossy: edited(Client(schema(), "shop", lossy), "b"), check) >= 14
