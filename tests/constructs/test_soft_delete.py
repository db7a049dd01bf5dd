"""Soft delete in documents: checked, designed, priced, shown, generated, proven and allowed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from prejoin import (
    AlreadyExists,
    Call,
    Client,
    ConditionFailed,
    Embedded,
    NotUnique,
    TransactionCancelled,
    purge,
    restore,
)
from prejoin.constructs.soft_delete import DeletionMark
from prejoin.design.cost.bill import bill
from prejoin.design.document.read_document import read_document
from prejoin.design.document.write_document import write_document
from prejoin.design.explain.explanation import explain_design
from prejoin.design.model import Design
from prejoin.diagnostics import has_errors
from prejoin.pipeline.build.generated_tests import run_tests
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.proof.prove import prove
from prejoin.render.documents.key_map import key_map
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.render.infrastructure.options import Infrastructure, Role
from prejoin.render.infrastructure.policies import policies_of, policy_document
from prejoin.render.python.package import Options, render_package, render_python
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import Action, Change, SoftDelete, Value, Verb, Workload
from tests.proof.documented_requests import differences, recorded_calls
from tests.render.infrastructure.iam import ARN, allowed, iam_requests
from tests.solutions import solve

DOCUMENT = (Path(__file__).parent / "notes.md").read_text()
LINE = "**Soft delete**: deletedAt"
MARK = "  - `deletedAt` (datetime, optional, mutable)\n"
RELEASED = [(LINE, f"{LINE}, unique values are released")]
KEPT = [(LINE, f"{LINE}, kept 30 days"), (MARK, f"{MARK}  - `expiresAt` (datetime, optional, mutable, ttl)\n")]
COPIES = [("## Access Patterns", "## Decisions\n\n- at most 0 GSIs\n\n## Access Patterns")]
TENANT = [("## Entities", "## Context\n\n- **Tenant**: orgId\n\n## Entities")]
REPLACE = "| AP-016 | Note | Replace a note | Note | put Note | Yes | - | 1/s |\n"
"""A history does not know the version that a put replaces."""
HISTORY = [(LINE, f"{LINE}\n- **History**: 3 versions"), (MARK, f"{MARK}  - `version` (integer, mutable)\n")]
VARIANTS = {
    "plain": [],
    "released": RELEASED,
    "kept": KEPT,
    "copies": COPIES,
    "tenant": TENANT,
    "history": [*HISTORY, (REPLACE, "")],
    "all": [*KEPT, (", kept 30 days", ", kept 30 days, unique values are released"), *COPIES, *TENANT],
}


def text_of(variant: str) -> str:
    text = DOCUMENT
    for old, new in VARIANTS[variant]:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def workload_of(variant: str) -> Workload:
    reading = read_text(text_of(variant), "md")
    assert not has_errors(reading.diagnostics), reading.diagnostics
    return reading.workload


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.slow if name not in ("plain", "all") else ()) for name in VARIANTS]
)
def notes(request: pytest.FixtureRequest) -> tuple[str, Workload, Design]:
    workload = workload_of(request.param)
    return request.param, workload, solve(workload).design


# --- The document ---------------------------------------------------------------------------------------------------


def test_delete_is_written_out_as_an_update_and_written_back_as_a_delete() -> None:
    workload = workload_of("kept")
    note = workload.entity("Note")
    assert note is not None
    assert note.soft_delete == SoftDelete("deletedAt", 30 * 86_400)
    delete = workload.pattern("AP-020")
    marking = (Change("deletedAt", value=Value(now=0)), Change("expiresAt", value=Value(now=30 * 86_400)))
    assert getattr(delete, "actions", None) == (Action(Verb.UPDATE, "Note", changes=marking),)
    for form in ("md", "yaml", "json"):
        again = write_text(workload, form)
        assert "delete Note" in again or form != "md"
        assert read_text(again, form).workload == workload


@pytest.mark.parametrize("word", ["restore", "purge"])
def test_words_of_the_client_are_refused_with_its_function(word: str) -> None:
    found = read_text(DOCUMENT.replace("| delete Note |", f"| {word} Note |", 1), "md").diagnostics
    assert [one for one in found if f"`{word}(db, " in one.fix]


@pytest.mark.parametrize(
    "line", ["", "deletedAt, forever", "deletedAt, kept long", "deletedAt unique", "deletedAt, kept 3"]
)
def test_unclear_line_is_reported(line: str) -> None:
    found = read_text(DOCUMENT.replace(LINE, f"**Soft delete**: {line}"), "md")
    entity = found.workload.entity("Note")
    assert entity is not None
    assert entity.soft_delete is None
    assert not line or has_errors(found.diagnostics)


# --- The design -----------------------------------------------------------------------------------------------------


def test_documents_say_what_is_sent() -> None:
    workload = workload_of("released")
    design = solve(workload).design
    text = write_document(design, workload)
    assert read_document(text, workload).design.items == design.items
    rows = {row.split("|")[1].strip(): row for row in text.splitlines() if row.startswith("| AP-")}
    assert "`SET deletedAt = now`" in text
    assert "attribute_not_exists(deletedAt)" in rows["AP-002"]
    assert "attribute_not_exists(deletedAt)" in rows["AP-012"]
    assert "attribute_not_exists" not in rows["AP-001"]  # the client looks at the item
    assert "| Note   | `deletedAt` | are released" in text
    assert "`deletedAt`" in key_map(workload, design)
    assert "`restore(db, …)`" in query_interfaces(workload, design, render_package(workload, design).methods, {})
    note = next(one for one in explain_design(workload, design).entities if one.entity == "Note")
    assert any("A delete sets `deletedAt`" in sentence for sentence in note.text)


def test_deleted_items_are_priced() -> None:
    """Queries read items that are deleted. A delete is an update, and leaves the entries of indexes as they are."""
    soft = workload_of("plain")
    note = soft.entity("Note")
    assert note is not None
    hard = replace(soft, entities=tuple(replace(e, soft_delete=None) for e in soft.entities))
    hard = read_text(write_text(hard, "md").replace("update Note (deletedAt = now)", "delete Note"), "md").workload
    design = solve(soft).design
    requests = [r for o in design.operations for r in o.requests if r.filters]
    assert requests
    assert all(group[0].keeps == 90 for request in requests for group in request.filters)
    assert bill(soft, design).total > 0
    deleting = design.operation("AP-020")
    assert deleting is not None
    assert [action.action.value for action in deleting.requests[-1].actions] == ["Update"]
    hard_deleting = solve(hard).design.operation("AP-020")
    assert hard_deleting is not None
    assert "Delete" in [action.action.value for action in hard_deleting.requests[-1].actions]


def test_copies_and_narrow_indexes_hold_the_mark() -> None:
    narrow = DOCUMENT.replace(
        "| AP-003 | Note | The notes in a state |", "| AP-003 | Note | slug of the notes in a state |"
    )
    workload = read_text(narrow, "md").workload
    reads = tuple(replace(r, needs=("slug",)) if r.id == "AP-003" else r for r in workload.reads)
    workload = replace(workload, reads=reads)
    proof = prove(workload, solve(workload).design, Embedded())
    assert [(one.pattern, one.wrong or one.problem) for one in proof.patterns if not one.right] == []


# --- The proof ------------------------------------------------------------------------------------------------------


def test_each_variant_is_proven_with_hidden_items(notes: tuple[str, Workload, Design]) -> None:
    _, workload, design = notes
    proof = prove(workload, design, Embedded())
    assert proof.findings == ()
    assert [(one.pattern, one.wrong or one.problem) for one in proof.patterns if not one.right] == []
    refused = {one.pattern for one in proof.patterns if any("hidden" in text for text in one.refused)}
    assert refused == {"AP-011", "AP-012", "AP-013", "AP-014", "AP-015", "AP-020", "AP-021"}


@pytest.mark.everyday(1)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_documented_requests_are_those_that_are_sent(variant: str) -> None:
    workload = workload_of(variant)
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine)
    assert recorded
    assert differences(recorded, workload, design) == []


def test_documented_test_of_an_item_reads_the_mark() -> None:
    row = next(line for line in DOCUMENT.splitlines() if line.startswith("| AP-004 |"))
    test = row.replace("AP-004", "AP-008").replace("bookId", "bookId, noteId, state", 1)
    workload = read_text(DOCUMENT.replace(row, f"{row}\n{test}"), "md").workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine)
    assert differences(recorded, workload, design) == []


def test_generated_tests_pass(notes: tuple[str, Workload, Design]) -> None:
    _, workload, design = notes
    result = run_tests(render_python(workload, design, Options("notes")), "notes")
    assert result.failed == {}
    assert len(result.passed) > 10


MUTANTS: dict[str, Any] = {
    "no mark": ("rewrite", lambda self, action: action),
    "no filter": ("schema_calls", lambda self, design, twins: iter(())),
    "other time": ("_marking", property(lambda self: (Change("deletedAt", value=Value(now=60)),))),
    "guards stay": ("frees_unique", lambda self, action: False),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_proof_finds_mutants(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeletionMark, *MUTANTS[mutant])
    workload = read_text(
        f"{text_of('released')}\n## Notes\n\n{mutant}\n", "md"
    ).workload  # documents are read and solved once
    proof = prove(workload, solve(workload).design, Embedded())
    wrong = [one for one in proof.patterns if not one.right]
    assert wrong or proof.findings or proof.blocked


# --- The client, beside an oracle -----------------------------------------------------------------------------------


class Oracle:
    """What the reads of the document have to return, from all notes and those that are deleted."""

    def __init__(self) -> None:
        self.notes: dict[tuple[str, str], dict[str, Any]] = {}
        self.deleted: set[tuple[str, str]] = set()

    def visible(self) -> Iterator[dict[str, Any]]:
        return (note for key, note in self.notes.items() if key not in self.deleted)

    def has(self, key: tuple[str, str]) -> bool:
        return key in self.notes and key not in self.deleted

    def is_mine(self, key: tuple[str, str], slug: str) -> bool:
        """Whether a note holds a slug; a deleted one holds it unless another has taken it."""
        others = [note for other, note in self.notes.items() if other != key and other not in self.deleted]
        return key in self.notes and self.notes[key]["slug"] == slug and all(note["slug"] != slug for note in others)

    def is_taken(self, slug: str, releases: bool) -> bool:
        return any(note["slug"] == slug for key, note in self.notes.items() if not releases or key not in self.deleted)


class Shelf:
    """The generated package on the engine, called by the ids of the document's patterns."""

    def __init__(self, variant: str, workload: Workload, design: Design) -> None:
        self.package: LoadedPackage = load_package(workload, design)
        self.engine = Embedded()
        self.db = Client(self.package.schema, design.table, self.engine)
        self.db.create_table()
        self.tenant = "acme" if "tenant" in variant or variant == "all" else None

    def call(self, pattern: str, **arguments: Any) -> Any:
        return self.package.call(self.db, self.package.methods[pattern], arguments, self.tenant)

    def note(self, **values: Any) -> Any:
        mine = {"orgId": self.tenant} if self.tenant else {}
        versions = {"version": 0} if "version" in self.package.fields["Note"] else {}
        return self.package.record("Note", {**mine, **versions, **values})

    def key(self, key: tuple[str, str]) -> dict[str, Any]:
        mine = {"org_id": self.tenant} if self.tenant else {}
        return {**mine, "book_id": key[0], "note_id": key[1]}


def ulid(number: int) -> str:
    return f"01ARZ3NDEKTSV4RRFFQ69G{number:04}"


def check_reads(shelf: Shelf, oracle: Oracle, books: list[str], slugs: list[str]) -> None:
    def ids(notes: Any) -> list[str]:
        return [note.note_id for note in notes]

    for book in books:
        mine = sorted((n for n in oracle.visible() if n["bookId"] == book), key=lambda n: n["createdAt"], reverse=True)
        assert ids(shelf.call("AP-002", book_id=book)) == [n["noteId"] for n in mine]
        assert shelf.call("AP-004", book_id=book) == len(mine)
        assert ids(shelf.call("AP-005", book_id=book).all(shelf.package.classes["Note"])) == sorted(
            n["noteId"] for n in mine
        )
    for state in shelf.package.fields and ("DRAFT", "SHOWN"):
        in_state = sorted(
            (n for n in oracle.visible() if n["state"] == state), key=lambda n: n["createdAt"], reverse=True
        )
        assert ids(shelf.call("AP-003", state=state)) == [n["noteId"] for n in in_state]
    for slug in slugs:
        found = shelf.call("AP-006", slug=slug)
        assert (found.note_id if found else None) == next(
            (n["noteId"] for n in oracle.visible() if n["slug"] == slug), None
        )
    for book, note in oracle.notes:
        found = shelf.call("AP-001", book_id=book, note_id=note)
        assert (found is not None) == oracle.has((book, note))


def test_the_client_does_as_the_oracle(notes: tuple[str, Workload, Design]) -> None:
    variant, workload, design = notes
    shelf, oracle, dice = Shelf(variant, workload, design), Oracle(), random.Random(7)
    releases = variant in ("released", "all")
    books, slugs = [ulid(n) for n in (1, 2)], ["a", "b", "c", "d", "e"]
    mine = {"orgId": shelf.tenant} if shelf.tenant else {}
    for book in books:
        shelf.call("AP-010", book=shelf.package.record("Book", {**mine, "bookId": book, "title": "t"}))
    keys = [(book, ulid(100 + number)) for book in books for number in range(3)]
    start, refused, done = datetime(2080, 1, 1, tzinfo=UTC), 0, 0
    for step in range(140):
        key = dice.choice(keys)
        book, note = key
        verb = dice.choice(
            ["create", "create", "put", "text", "show", "slug", "title", "delete", "draft", "all", "restore", "purge"]
        )
        there = oracle.notes.get(key)
        slug = dice.choice(slugs)
        try:
            match verb:
                case "create" | "put" if verb == "create" or "AP-016" in shelf.package.methods:
                    values = {
                        "bookId": book,
                        "noteId": note,
                        "slug": slug,
                        "state": "DRAFT",
                        "text": "t",
                        "createdAt": start + timedelta(minutes=step),
                    }
                    if verb == "create":
                        must = there is None and not oracle.is_taken(slug, releases)
                        shelf.call("AP-011", note=shelf.note(**values))
                    else:  # it replaces a note, deleted or not
                        must = oracle.is_mine(key, slug) or not oracle.is_taken(slug, releases)
                        shelf.call("AP-016", note=shelf.note(**values))
                        oracle.deleted.discard(key)
                    oracle.notes[key] = values
                case "put":
                    continue
                case "text":
                    must = oracle.has(key)
                    shelf.call("AP-012", book_id=book, note_id=note, text="new")
                case "show" | "draft":
                    must = oracle.has(key) and oracle.notes[key]["state"] == "DRAFT"
                    shelf.call("AP-013" if verb == "show" else "AP-021", book_id=book, note_id=note)
                    if verb == "show":
                        oracle.notes[key]["state"] = "SHOWN"
                    else:
                        oracle.deleted.add(key)
                case "slug":
                    must = oracle.has(key) and (
                        oracle.notes[key]["slug"] == slug or not oracle.is_taken(slug, releases)
                    )
                    shelf.call("AP-014", book_id=book, note_id=note, slug=slug)
                    oracle.notes[key]["slug"] = slug
                case "title":
                    must = oracle.has(key) and oracle.notes[key]["state"] == "SHOWN"
                    shelf.call("AP-015", book_id=book, note_id=note, title="new")
                case "delete":
                    must = oracle.has(key)
                    shelf.call("AP-020", book_id=book, note_id=note)
                    oracle.deleted.add(key)
                case "all":
                    must = True
                    shelf.call("AP-022", book_id=book)
                    oracle.deleted |= {one for one in oracle.notes if one[0] == book}
                case "restore":
                    must = key in oracle.deleted and not (
                        releases and oracle.is_taken(oracle.notes[key]["slug"], releases)
                    )
                    restore(shelf.db, shelf.package.classes["Note"], **shelf.key(key))
                    oracle.deleted.discard(key)
                case _:
                    must = key in oracle.deleted
                    purge(shelf.db, shelf.package.classes["Note"], **shelf.key(key))
                    oracle.deleted.discard(key)
                    del oracle.notes[key]
        except (ConditionFailed, TransactionCancelled, AlreadyExists, NotUnique):
            assert not must, (step, verb, key)
            refused += 1
        else:
            assert must, (step, verb, key)
            done += 1
        check_reads(shelf, oracle, books, slugs)
    assert refused > 20
    assert done > 20


def test_a_role_with_the_deletes_may_update_and_not_delete() -> None:
    workload = workload_of("released")
    design = solve(workload).design
    package = load_package(workload, design)
    calls: list[Call] = []
    db = Client(package.schema, design.table, Embedded(), observe=calls.append)
    db.create_table()
    key = {"book_id": ulid(1), "note_id": ulid(2)}
    db.insert(package.record("Book", {"bookId": ulid(1), "title": "t"}))
    values = {"bookId": ulid(1), "noteId": ulid(2), "slug": "a", "state": "DRAFT", "text": "t"}
    db.insert(package.record("Note", {**values, "createdAt": datetime(2080, 1, 1, tzinfo=UTC)}))
    calls.clear()
    package.call(db, package.methods["AP-020"], key)
    (policy,) = policies_of(workload, design, Infrastructure(roles=(Role("Cleaner", ("AP-020",)),)))
    table = ARN.format(table=design.table)
    document = policy_document(policy, {"table": table, **{s.name: f"{table}/index/{s.name}" for s in design.indexes}})
    asked = [one for call in calls for one in iam_requests(call.operation, call.request, {"": "pk"})]
    assert asked
    assert [one for one in asked if not allowed(document, one)] == []


def _policy_of(workload: Workload, design: Design, *roles: Role) -> dict[str, Any]:
    (policy,) = policies_of(workload, design, Infrastructure(roles=roles))
    table = ARN.format(table=design.table)
    return policy_document(policy, {"table": table, **{s.name: f"{table}/index/{s.name}" for s in design.indexes}})


def test_the_application_may_restore_and_purge_and_a_role_with_deletes_may_not_purge(
    notes: tuple[str, Workload, Design],
) -> None:
    """No pattern restores or purges, so that only the role for all patterns has the rights."""
    variant, workload, design = notes
    shelf, key = Shelf(variant, workload, design), (ulid(1), ulid(2))
    mine = {"orgId": shelf.tenant} if shelf.tenant else {}
    values = {"bookId": key[0], "noteId": key[1], "slug": "a", "state": "DRAFT", "text": "t"}
    shelf.call("AP-010", book=shelf.package.record("Book", {**mine, "bookId": key[0], "title": "t"}))
    shelf.call("AP-011", note=shelf.note(**values, createdAt=datetime(2080, 1, 1, tzinfo=UTC)))
    calls: list[Call] = []
    db = Client(shelf.package.schema, design.table, shelf.engine, observe=calls.append)
    names = [key.name for key in design.slots[0].pk]
    application = _policy_of(workload, design)
    cleaner = _policy_of(workload, design, Role("Cleaner", ("AP-020", "AP-021", "AP-022")))
    for function in (restore, purge):
        shelf.call("AP-020", book_id=key[0], note_id=key[1])
        calls.clear()
        function(db, shelf.package.classes["Note"], **shelf.key(key))
        asked = [one for call in calls for one in iam_requests(call.operation, call.request, {"": names[0]})]
        assert asked
        assert [one for one in asked if not allowed(application, one)] == []
    assert [one for one in asked if not allowed(cleaner, one)] != []
