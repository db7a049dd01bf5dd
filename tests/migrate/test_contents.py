"""Large contents in a migration: loaded, followed and verified, in parts and in a store, and killed anywhere."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from prejoin import (
    PipelineError,
    TableError,
    TablePlace,
    design_table,
    design_target,
    follow_table,
    load_table,
    open_migration,
    outbox_table,
    plan_load,
    read_document,
    record_changes,
    roll_back,
    verify_table,
    write_design,
)
from prejoin.migrate.follow.apply import Applier
from prejoin.migrate.load.contents import LargeContents
from prejoin.migrate.load.load import opened_table
from prejoin.migrate.load.write import RowWriter
from prejoin.migrate.migration import Migration
from prejoin.patterns.large.content import Contents
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.table.client.client import Client
from tests.migrate.interrupt import interrupted, restoring

DOCUMENT = """# Archive

## Entities

### Paper

- **Attributes**:
  - `paper_id` (integer, generated)
  - `slug` (string, unique, mutable)
  - `body` (binary, optional, mutable, 2 MB)

### Photo

- **Attributes**:
  - `photo_id` (integer, generated)
  - `image` (content, optional, mutable, 60 KB)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Paper | a paper | paper_id | Single | 1/s |
| AP-002 | Photo | a photo | photo_id | Single | 1/s |
"""
STORE = "\n## Decisions\n\n- Paper.body in a store\n- Photo.image in a store\n"
MAPPING = """[entities.Paper]
table = "papers"
attributes = { paper_id = "id", slug = "slug", body = "body" }

[entities.Photo]
table = "photos"
attributes = { photo_id = "id", image = "image" }
"""
FILES = ("archive.db", "table.db", "store", ".prejoin-migrate")


class Base(DeclarativeBase):
    pass


OUTBOX = outbox_table(Base.metadata)


class Paper(Base):
    __tablename__ = "papers"
    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(sa.String(100))
    body: Mapped[bytes | None]


class Photo(Base):
    __tablename__ = "photos"
    id: Mapped[int] = mapped_column(primary_key=True)
    image: Mapped[bytes | None]


def content(seed: int, size: int) -> bytes:
    """Bytes that cannot be compressed."""
    return random.Random(seed).randbytes(size)


def write_project(folder: Path, store: bool) -> None:
    """Writes the document, its design and the mapping."""
    (folder / "access-patterns.md").write_text(DOCUMENT + (STORE if store else ""), encoding="utf-8")
    (folder / "mapping.toml").write_text(MAPPING, encoding="utf-8")
    designed = design_table(read_document(folder / "access-patterns.md"), prove=False, alternatives=0)
    assert designed.fine, designed.diagnostics
    write_design(designed, design_target(folder / "table-design.md"))


def application(url: str) -> sessionmaker[Session]:
    """Creates some papers and photos, and returns the sessions of their application."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    Base.metadata.create_all(engine)
    made = sessionmaker(engine)
    record_changes(made)
    with made.begin() as db:
        db.add_all([Paper(id=n, slug=f"p{n}", body=content(n, n * 100_000)) for n in range(1, 4)])
        db.add_all([Paper(id=4, slug="p4", body=None), Photo(id=1, image=b"small")])
        db.add(Photo(id=2, image=content(9, 50_000)))
    return made


@pytest.fixture(scope="session", params=[False, True], ids=["parts", "store"])
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    write_project(folder, store=request.param)
    return folder


@pytest.fixture
def sessions(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sessionmaker[Session]]:
    """The sessions of an application with papers and photos. Its project is the current folder."""
    shutil.copytree(template, tmp_path / "archive")
    monkeypatch.chdir(tmp_path / "archive")
    monkeypatch.setenv("PREJOIN_SOURCE", "sqlite:///archive.db")
    made = application("sqlite:///archive.db")
    yield made
    made.kw["bind"].dispose()


@pytest.fixture
def place() -> TablePlace:
    return TablePlace(db="table.db", store="store" if "in a store" in Path("access-patterns.md").read_text() else None)


@pytest.fixture
def migration(sessions: sessionmaker[Session], place: TablePlace) -> Iterator[Migration]:
    with open_migration() as found:
        yield found


def unreferenced(migration: Migration, place: TablePlace) -> set[str]:
    """The uploads that are stored and that no item refers to."""
    with opened_table(migration, migration.table, place, WriteThrottle()) as client:
        items = client.call("Scan", {"ConsistentRead": True})["Items"]
        while items and (page := _rest(client, items[-1])):
            items += page
    used = {v["M"]["upload"]["S"] for item in items for v in item.values() if "upload" in v.get("M", {})}
    stored = {item["sk"]["S"].split("#")[-2] for item in items if item["sk"]["S"].startswith("~LARGE#")}
    stored |= {path.parent.name for path in Path("store").rglob("*") if path.is_file()}
    return stored - used


def _rest(client: Client, last: dict[str, Any]) -> list[dict[str, Any]]:
    start = {name: last[name] for name in ("pk", "sk")}
    found: list[dict[str, Any]] = client.call("Scan", {"ConsistentRead": True, "ExclusiveStartKey": start})["Items"]
    return found


def assert_moved(migration: Migration, place: TablePlace) -> None:
    compared = verify_table(migration, place)
    assert compared.equal, compared.differences[:5]
    assert unreferenced(migration, place) == set()


@pytest.mark.slow
def test_contents_of_any_size_are_loaded_and_verified(migration: Migration, place: TablePlace) -> None:
    plan = {one.entity: one for one in plan_load(migration).entities}
    assert not Path("store").exists()  # a plan writes into memory only
    if not place.store:
        assert plan["Paper"].units_per_row > 600_000 / 1024 / 4
    result = load_table(migration, place, create=True)
    assert (result.rows, result.dead) == (6, 0)
    with opened_table(migration, migration.table, place, WriteThrottle()) as client:
        cls = migration.package.classes["Paper"]
        third, fourth = client.get(cls, paper_id=3), client.get(cls, paper_id=4)
        where = "objects" if place.store else "parts"
        assert third is not None
        assert (third.body.place, third.body.size) == (where, 300_000)
        assert fourth is not None
        assert fourth.body is None
    assert_moved(migration, place)


@pytest.mark.slow
def test_damaged_content_is_a_difference(migration: Migration, place: TablePlace) -> None:
    load_table(migration, place, create=True)
    with opened_table(migration, migration.table, place, WriteThrottle()) as client:
        paper = client.get(migration.package.classes["Paper"], paper_id=2)
        assert paper is not None
        client._run(Contents(client.schema, client.table, type(paper), "body", {"paper_id": 2}).remove(paper.body))
    (found,) = verify_table(migration, place).differences
    assert (found.kind, found.entity, found.key, found.attribute) == ("unreadable", "Paper", "2", "body")


@pytest.mark.slow
def test_other_content_is_a_difference(
    migration: Migration, sessions: sessionmaker[Session], place: TablePlace
) -> None:
    load_table(migration, place, create=True)
    with sessions.begin() as db:
        db.get_one(Paper, 1).body = content(100, 150_000)
    (found,) = verify_table(migration, place, patterns=False).differences
    assert (found.kind, found.entity, found.key, found.attribute) == ("different", "Paper", "1", "body")
    assert found.expected.startswith("150,000 bytes with SHA-256 ")


@pytest.mark.slow
def test_row_that_is_refused_leaves_no_content(
    migration: Migration, sessions: sessionmaker[Session], place: TablePlace
) -> None:
    with sessions.begin() as db:
        db.get_one(Paper, 3).slug = "p2"
    assert load_table(migration, place, create=True).dead == 1
    assert unreferenced(migration, place) == set()
    with sessions.begin() as db:
        db.get_one(Paper, 3).slug = "p3"
    assert load_table(migration, place, replay=True).dead == 0
    assert_moved(migration, place)


def changed(sessions: sessionmaker[Session]) -> None:
    """Changes of all kinds: another content, a smaller one, none, one of a new row, none any more, only the slug."""
    with sessions.begin() as db:
        db.get_one(Paper, 1).body = content(50, 300_000)
        db.get_one(Paper, 2).body = b"small"
        db.get_one(Paper, 3).slug = "another"
        db.get_one(Paper, 4).body = content(51, 50_000)
        db.add(Paper(id=5, slug="p5", body=content(52, 50_000)))
        db.get_one(Photo, 1).image = content(53, 50_000)
        db.delete(db.get_one(Photo, 2))


def uploads(migration: Migration, place: TablePlace) -> dict[int, str]:
    with opened_table(migration, migration.table, place, WriteThrottle()) as client:
        papers = [one for page in client.everything(migration.package.classes["Paper"]) for one in page.items]
    return {one.paper_id: one.body.upload for one in papers if one.body}


def test_changes_of_contents_are_followed(
    migration: Migration, sessions: sessionmaker[Session], place: TablePlace
) -> None:
    load_table(migration, place, create=True, outbox=True)
    before = uploads(migration, place)
    changed(sessions)
    assert follow_table(migration, place, until_caught_up=True).dead == 0
    assert_moved(migration, place)
    after = uploads(migration, place)
    assert after[1] != before[1]
    assert after[3] == before[3]  # the content is the same, and is not stored again


@pytest.mark.slow
def test_row_whose_content_cannot_be_stored_is_a_dead_letter(
    migration: Migration, sessions: sessionmaker[Session], place: TablePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Contents.store

    def refusing(self: Contents, source: bytes) -> Any:
        if self.key == {"paper_id": 2}:
            raise TableError("the key is too long for an object")
        return store(self, source)

    with monkeypatch.context() as patch:
        patch.setattr(Contents, "store", refusing)
        loaded = load_table(migration, place, create=True, outbox=True)
        assert (loaded.rows, loaded.dead) == (6, 1)
        with sessions.begin() as db:
            db.get_one(Paper, 2).body = content(60, 200_000)
            db.get_one(Paper, 1).body = content(61, 200_000)
        assert follow_table(migration, place, until_caught_up=True).dead == 1
    assert load_table(migration, place, replay=True).dead == 0
    assert_moved(migration, place)


@pytest.mark.slow
def test_load_over_items_replaces_their_contents(
    migration: Migration, sessions: sessionmaker[Session], place: TablePlace
) -> None:
    load_table(migration, place, create=True)
    changed(sessions)
    with sessions.begin() as db:
        db.add(Photo(id=2, image=b"again"))
    load_table(migration, place, restart=True, force=True)
    assert_moved(migration, place)


@pytest.mark.slow
def test_rollback_deletes_contents(migration: Migration, place: TablePlace) -> None:
    load_table(migration, place, create=True)
    assert roll_back(migration, place).items == 6
    with opened_table(migration, migration.table, place, WriteThrottle()) as client:
        assert client.call("Scan")["Items"] == []
    assert unreferenced(migration, place) == set()


def test_store_is_named_where_the_design_has_one(migration: Migration, place: TablePlace) -> None:
    other = TablePlace(db="table.db", store=None if place.store else "store")
    with pytest.raises(PipelineError, match=r"keeps (large|no) contents in a store") as caught:
        load_table(migration, other, create=True)
    assert [d.code for d in caught.value.diagnostics] == ["PJ727"]


LINES = (LargeContents._place, LargeContents.run, LargeContents.remove, Contents.store, Contents._put, Contents.remove)
EVERY = 5
"""With 1 the tests take ten minutes."""


@pytest.mark.slow
def test_load_that_is_killed_anywhere_leaves_nothing(
    migration: Migration, sessions: sessionmaker[Session], place: TablePlace
) -> None:
    lines = (*LINES, RowWriter._send_with_contents)
    kills = 0
    step = lambda: load_table(migration, place, create=True)  # noqa: E731
    for _ in interrupted(lines, restoring(FILES, migration, sessions), step, EVERY):
        kills += 1
        assert step().dead == 0
        assert_moved(migration, place)
    assert kills > 10


@pytest.mark.slow
def test_follower_that_is_killed_anywhere_leaves_nothing(
    migration: Migration, sessions: sessionmaker[Session], place: TablePlace
) -> None:
    load_table(migration, place, create=True, outbox=True)
    changed(sessions)
    kills = 0
    step = lambda: follow_table(migration, place, until_caught_up=True)  # noqa: E731
    for _ in interrupted((*LINES, Applier._apply), restoring(FILES, migration, sessions), step, EVERY):
        kills += 1
        assert step().dead == 0
        assert_moved(migration, place)
    assert kills > 10
