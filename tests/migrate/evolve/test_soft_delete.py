"""Designs with and without a soft delete: what is said of the change, and what becomes of deleted items."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from prejoin import Client, Embedded, purge, restore
from prejoin.migrate.evolve.items import evolution_of
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from prejoin.workload.files import read_text
from tests.solutions import solve

SOFT = (Path(__file__).parents[2] / "constructs" / "notes.md").read_text()
LINE = "- **Soft delete**: deletedAt\n"
PLAIN = SOFT.replace(LINE, "").replace("  - `deletedAt` (datetime, optional, mutable)\n", "")
RELEASED = SOFT.replace(LINE, "- **Soft delete**: deletedAt, unique values are released\n")
ANOTHER_READ = "| AP-008 | Note | The notes with a text | text | Collection | createdAt DESC | Yes | 1/s | - |\n"
INDEXED = SOFT.replace("| AP-007 |", f"{ANOTHER_READ}| AP-007 |")
BOOK, NOTE = "01ARZ3NDEKTSV4RRFFQ69G0001", "01ARZ3NDEKTSV4RRFFQ69G0002"


def version(name: str, text: str) -> CodeVersion:
    workload = read_text(text, "md").workload
    return CodeVersion(name, workload, solve(workload).design)


def evolve(engine: Embedded, before: CodeVersion, after: CodeVersion, folder: Path) -> Client:
    """Takes all steps of a change, and returns a client of the new version."""
    transition = plan_transition(before, after)
    db = Client(before.package.schema, before.design.table, engine)
    with evolution_of(transition, db, folder) as evolution:
        evolution.add_indexes()
        evolution.backfill()
        evolution.clean()
    return Client(after.package.schema, after.design.table, engine)


def table_with_deleted_note(code: CodeVersion, engine: Embedded) -> Client:
    db = Client(code.package.schema, code.design.table, engine)
    db.create_table()
    db.insert(code.package.record("Book", {"bookId": BOOK, "title": "t"}))
    values = {"bookId": BOOK, "noteId": NOTE, "slug": "a", "state": "DRAFT", "text": "t"}
    db.insert(code.package.record("Note", {**values, "createdAt": datetime(2080, 1, 1, tzinfo=UTC)}))
    code.package.call(db, code.package.methods["AP-020"], {"book_id": BOOK, "note_id": NOTE})
    return db


def test_a_deleted_note_gets_the_keys_of_a_new_index_and_is_restored_into_it(tmp_path: Path) -> None:
    before, after, engine = version("OLD", SOFT), version("NEW", INDEXED), Embedded()
    table_with_deleted_note(before, engine)
    db = evolve(engine, before, after, tmp_path)
    notes_with_text = after.package.methods["AP-008"]
    assert list(after.package.call(db, notes_with_text, {"text": "t"})) == []
    restore(db, after.package.classes["Note"], book_id=BOOK, note_id=NOTE)
    assert [note.note_id for note in after.package.call(db, notes_with_text, {"text": "t"})] == [NOTE]


CHANGES = {
    "added": (PLAIN, SOFT, "deletes items for good: delete none until only `NEW` runs"),
    "removed": (SOFT, PLAIN, "become visible again, also those whose unique values were released: purge them before"),
    "released": (SOFT, RELEASED, "has unique values that are released by a delete in `NEW`"),
    "no longer released": (RELEASED, SOFT, "has unique values that stay taken by a delete in `NEW`"),
    "another attribute": (SOFT, SOFT.replace("deletedAt", "goneAt"), "has the time of a delete in `goneAt` in `NEW`"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_line_is_noted_with_what_to_do(change: str) -> None:
    before, after, words = CHANGES[change]
    (note,) = plan_transition(version("OLD", before), version("NEW", after)).notes
    assert note.startswith("Note has ")
    assert words in note


def test_the_same_line_is_not_noted() -> None:
    assert plan_transition(version("OLD", SOFT), version("NEW", INDEXED)).notes == ()


def test_without_deleted_notes_the_soft_delete_goes_and_comes_back(tmp_path: Path) -> None:
    """The way on that the notes name: what was deleted is purged before."""
    before, after, engine = version("OLD", SOFT), version("NEW", PLAIN), Embedded()
    db = table_with_deleted_note(before, engine)
    purge(db, before.package.classes["Note"], book_id=BOOK, note_id=NOTE)
    plain = evolve(engine, before, after, tmp_path)
    key = {"book_id": BOOK, "note_id": NOTE}
    assert after.package.call(plain, after.package.methods["AP-001"], key) is None
    values = {"bookId": BOOK, "noteId": NOTE, "slug": "a", "state": "DRAFT", "text": "t"}
    plain.insert(after.package.record("Note", {**values, "createdAt": datetime(2080, 1, 1, tzinfo=UTC)}))
    again = evolve(engine, after, before, tmp_path)
    assert before.package.call(again, before.package.methods["AP-001"], key) is not None
    before.package.call(again, before.package.methods["AP-020"], key)
    assert before.package.call(again, before.package.methods["AP-001"], key) is None
    restore(again, before.package.classes["Note"], **key)
    assert before.package.call(again, before.package.methods["AP-001"], key) is not None
