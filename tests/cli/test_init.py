"""`prejoin init` writes a document to start from, and never overwrites one."""

from __future__ import annotations

from pathlib import Path

import pytest

from prejoin.diagnostics import Severity, has_errors
from prejoin.workload.files import read_file
from prejoin.workload.model import Combine, Result, Status
from prejoin.workload.starter import starter
from tests.cli.conftest import Prejoin

_USER = "User: userId (uuid, id), email (string, unique), name (string, mutable)"
_ORDER = "Order: orderId (ulid, generated), userId (uuid, → User), placedAt (datetime) - when, by our clock"


@pytest.mark.parametrize("name", ["access-patterns.md", "a.yaml", "a.json"])
def test_without_flags_it_writes_the_starter(prejoin: Prejoin, here: Path, name: str) -> None:
    ran = prejoin("init", name)
    assert (ran.status, ran.out) == (0, "")
    assert f"`prejoin check {name}`" in ran.err
    reading = read_file(here / name)
    assert not has_errors(reading.diagnostics)
    assert reading.workload.title == "Tool Library"


def test_the_title_is_the_one_given(prejoin: Prejoin, here: Path) -> None:
    assert prejoin("init", "--title", r"Bicycle \1 Shop").status == 0
    assert read_file(here / "access-patterns.md").workload.title == r"Bicycle \1 Shop"
    assert prejoin("init", "b.md", "--title", "two\nlines").status == 2
    assert not (here / "b.md").exists()


def test_nothing_is_overwritten_without_force(prejoin: Prejoin, here: Path) -> None:
    path = here / "access-patterns.md"
    path.write_text("mine", encoding="utf-8")
    ran = prejoin("init")
    assert ran.status == 4
    assert "4 bytes" in ran.err
    assert path.read_text(encoding="utf-8") == "mine"
    assert prejoin("init", "--force").status == 0
    assert path.read_text(encoding="utf-8") == starter()


def test_entities_come_with_their_obvious_patterns(prejoin: Prejoin, here: Path) -> None:
    assert prejoin("init", "a.md", "--title", "Shop", "--entity", _USER, "--entity", _ORDER).status == 0
    reading = read_file(here / "a.md")
    w = reading.workload
    assert [d for d in reading.diagnostics if d.severity is not Severity.HINT] == []
    assert (w.title, w.status) == ("Shop", Status.DRAFT)
    assert [e.name for e in w.entities] == ["User", "Order"]
    assert w.entities[1].attributes[2].text == "when, by our clock"
    assert [r.description for r in w.reads] == [
        "Get one User by userId",
        "Find a User by email",
        "Get one Order by orderId",
        "List the Orders of one User",
    ]
    assert [p.description for p in w.writes] == ["Create a User", "Change name of a User", "Create an Order"]
    assert [p.description for p in w.deletes] == ["Delete a User", "Delete an Order"]
    assert [p.id for p in w.patterns] == [f"AP-{n:03}" for n in range(1, 10)]


def test_reads_and_writes_are_given_in_a_line_each(prejoin: Prejoin, here: Path) -> None:
    lines = ["Order by userId sort placedAt DESC", "all User", "count Order by userId", "User, Order by userId"]
    flags = [part for line in lines for part in ("--read", line)]
    change = ("--write", "create Order; update User (name = x)")
    assert prejoin("init", "a.md", "--entity", _USER, "--entity", _ORDER, *flags, *change).status == 0
    reading = read_file(here / "a.md")
    assert not has_errors(reading.diagnostics)
    w = reading.workload
    assert [r.description for r in w.reads][-4:] == lines
    assert [r.result for r in w.reads][-4:] == [Result.MANY, Result.MANY, Result.COUNT, Result.MANY]
    assert w.reads[-1].combine is Combine.COLLECTION
    assert "List the Orders of one User" not in [r.description for r in w.reads]
    assert w.writes[-1].atomic is True


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--entity", "User userId"], "`User: userId (uuid, id), email (string, unique)`"),
        (["--entity", "User: userId (uuidd, id)"], "write `uuid`"),
        (["--entity", "User: userId (uuid)"], "PJ009"),
        (["--entity", _USER, "--entity", _USER], "there again"),
        (["--entity", _USER, "--read", "User"], "does not say by what"),
        (["--entity", _USER, "--read", "Usr by userId"], "did you mean `User`?"),
        (["--entity", _USER, "--write", "User"], "PJ009"),
        (["--read", "all User"], "need entities"),
    ],
)
def test_inexact_option_is_refused_and_nothing_is_written(
    prejoin: Prejoin, here: Path, flags: list[str], message: str
) -> None:
    ran = prejoin("init", "a.md", *flags)
    assert ran.status == 2
    assert message in ran.err
    assert list(here.iterdir()) == []


def test_from_another_document(prejoin: Prejoin, here: Path) -> None:
    prejoin("init", "a.yaml")
    assert prejoin("init", "b.md", "--from", "a.yaml", "--title", "Other", "--entity", _USER).status == 0
    w = read_file(here / "b.md").workload
    assert w.title == "Other"
    assert [e.name for e in w.entities] == ["Member", "Tool", "Loan", "Reservation", "User"]
    assert "Get one User by userId" in [r.description for r in w.reads]
    (here / "broken.yaml").write_text("[", encoding="utf-8")
    assert prejoin("init", "c.md", "--from", "broken.yaml").status == 1
    assert not (here / "c.md").exists()
