"""Access patterns on both sides: joins, prefixes, MAX and MIN, and reads whose SQL follows from the mapping."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prejoin import (
    TablePlace,
    design_table,
    design_target,
    discover_database,
    load_table,
    open_migration,
    read_document,
    verify_table,
    write_design,
)
from prejoin.migrate.migration import Migration
from prejoin.migrate.verify.sides import PatternComparison
from prejoin.pipeline.connection import connect

PLACE = TablePlace(db="table.db")
SCHEMA = """
CREATE TABLE publishers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE books (
    id INTEGER PRIMARY KEY, publisher_id INTEGER REFERENCES publishers(id), shelf TEXT NOT NULL, title TEXT NOT NULL,
    price NUMERIC(10,2) NOT NULL, added DATETIME NOT NULL);
"""
QUERIES = """
SELECT * FROM publishers WHERE id = ?;
SELECT b.*, p.name FROM books b JOIN publishers p ON p.id = b.publisher_id WHERE b.shelf = ?;
SELECT * FROM books WHERE shelf = ? AND title LIKE 'Ab%' ORDER BY title;
SELECT MAX(added) FROM books WHERE shelf = ?;
SELECT MIN(price) FROM books WHERE shelf = ?;
"""


@pytest.fixture(scope="module")
def library_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    with sqlite3.connect(folder / "library.db") as db:
        db.executescript(SCHEMA)
        db.executemany("INSERT INTO publishers VALUES (?, ?, ?)", [(n, f"P{n}", "Bern") for n in range(1, 6)])
        books = [
            (
                n,
                n % 6 or None,
                f"S{n % 4}",
                f"{'aA'[n % 2]}b{n % 5} 100% {n}",
                n * 7 % 50 + 0.5,
                f"2025-01-{n:02} 10:00:00",
            )
            for n in range(1, 29)
        ]
        db.executemany("INSERT INTO books VALUES (?, ?, ?, ?, ?, ?)", books)
    db.close()
    (folder / "app.sql").write_text(QUERIES, encoding="utf-8")
    found = discover_database(f"sqlite:///{folder / 'library.db'}", queries=[str(folder / "app.sql")])
    (folder / "access-patterns.md").write_text(found.document, encoding="utf-8")
    (folder / "mapping.toml").write_text('zone = "UTC"\n' + found.mapping_text, encoding="utf-8")
    designed = design_table(read_document(folder / "access-patterns.md"), prove=False, alternatives=0)
    write_design(designed, design_target(folder / "table-design.md"))
    return folder


@pytest.fixture
def library(library_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Migration]:
    """A small library in SQLite, loaded into `table.db`. Its project is the current folder."""
    shutil.copytree(library_template, tmp_path / "library")
    monkeypatch.chdir(tmp_path / "library")
    with open_migration(url="sqlite:///library.db") as migration:
        load_table(migration, PLACE, create=True)
        yield migration


def compared(library: Migration, words: str) -> PatternComparison:
    """The comparison of the pattern whose SQL contains these words."""
    (name,) = [one for one, source in library.mapping.patterns.items() if words in source.sql]
    return next(one for one in verify_table(library, PLACE).patterns if one.pattern == name)


def put(library: Migration, entity: str, number: int, **changes: Any) -> None:
    """Changes an object in the table, with its index keys, and not in the database."""
    cls = library.package.classes[entity]
    key = {"Book": "book_id", "Publisher": "publisher_id"}[entity]
    with connect(library.package.schema, library.table, PLACE) as client:
        record = client.get(cls, **{key: number})
        assert record is not None
        for name, value in changes.items():
            setattr(record, name, value)
        client.put(record, read=True)


def test_equal_sides_are_equal_and_nothing_is_left_out(library: Migration) -> None:
    result = verify_table(library, PLACE)
    assert result.equal, result.differences[:3]
    assert [(one.pattern, one.skipped) for one in result.patterns if one.skipped] == []
    assert len(library.mapping.patterns) == 5


def test_joined_item_that_differs_is_found(library: Migration) -> None:
    put(library, "Publisher", 2, city="Basel")
    found = compared(library, "JOIN").differences
    assert {(d.kind, d.entity, d.attribute, d.expected, d.found) for d in found} == {
        ("pattern", "Publisher", "city", "Bern", "Basel")
    }


def test_prefix_is_compared_case_by_case(library: Migration) -> None:
    assert compared(library, "LIKE").runs > 2
    put(library, "Book", 5, title="Zb0 moved")
    found = compared(library, "LIKE").differences
    assert {d.expected for d in found if d.attribute == "items"} == {"5"}


@pytest.mark.parametrize(("words", "field"), [("MAX", "added"), ("MIN", "price")])
def test_extreme_is_compared_with_the_first_item(words: str, field: str, library: Migration) -> None:
    with sqlite3.connect("library.db") as db:
        db.execute("UPDATE books SET added = '2026-01-01 00:00:00', price = 0 WHERE id = 5")
    db.close()
    found = compared(library, words).differences
    assert {(d.kind, d.entity, d.attribute) for d in found} == {("pattern", "Book", field)}
