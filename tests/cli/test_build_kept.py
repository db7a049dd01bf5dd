"""A design made with `--keep` stays kept: `build`, `design`, `check` and `query` change none of its keys."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, Embedded, design_table, design_target, read_document, write_design
from prejoin.design.document.read_document import parse_document
from prejoin.design.layout.growth import keeps
from prejoin.design.model import Design
from tests.cli.conftest import Prejoin

DOCUMENT = """# School

{tenants}
## Entities

### Student

- `studentId` (string, id)
- `klass` (string)
- `name` (string, mutable)
- `email` (string, mutable)

### Submission

- `submissionId` (string, id)
- `studentId` (string, → Student)
- `handedIn` (datetime)
- `state` (OPEN | GRADED, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Student | Get student | studentId | Single | - | 10/s |
| AP-002 | Student | Students of class | klass | Collection | name | 10/s |
| AP-003 | Submission | Submissions of student | studentId | Collection | handedIn | 10/s |
{reads}
### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Student | Enrol | studentId, klass, name, email | create Student | 1/s |
| AP-011 | Submission | Hand in | submissionId, studentId, handedIn, state | create Submission | 5/s |
"""
TENANTS = "\n## Context\n\n- **Tenant**: schoolId\n"
BY_STATE = "| AP-004 | Submission | Submissions by state | state | Collection | handedIn | 500/s |\n"
BY_EMAIL = "| AP-005 | Student | Students by email | email | Collection | - | 900/s |\n"
KINDS = ("one", "tenants")

pytestmark = pytest.mark.slow


def document(kind: str, reads: str = "") -> str:
    return DOCUMENT.format(tenants=TENANTS if kind == "tenants" else "", reads=reads)


def page(folder: Path) -> str:
    return (folder / "table-design.md").read_text("utf-8")


def design(folder: Path) -> Design:
    return parse_document(page(folder)).design


def change_page(folder: Path, *changes: tuple[str, str]) -> None:
    text = page(folder)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (folder / "table-design.md").write_text(text, "utf-8")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def school(prejoin: Prejoin, here: Path, kind: str) -> Path:
    """v1, built and in use; v2 reads more, so that a design from nothing exchanges the indexes of v1."""
    for version, reads in (("v1", ""), ("v2", BY_EMAIL)):
        (here / version).mkdir()
        (here / version / "access-patterns.md").write_text(document(kind, reads), "utf-8")
    assert prejoin("build", "v1/access-patterns.md", "--yes", "--no-tests").status == 0
    return here


def keep(prejoin: Prejoin, version: str = "v2", kept: str = "v1/table-design.md", *more: str) -> None:
    ran = prejoin("design", f"{version}/access-patterns.md", "--keep", kept, "--yes", "--no-proof", *more)
    assert ran.status == 0, ran.err


def build(prejoin: Prejoin, version: str = "v2") -> None:
    ran = prejoin("build", f"{version}/access-patterns.md", "--yes", "--no-tests")
    assert ran.status == 0, ran.err


# --- Build ------------------------------------------------------------------------------------------------------------


def test_a_design_from_nothing_has_other_keys(prejoin: Prejoin, school: Path) -> None:
    """Otherwise the tests below could not fail."""
    build(prejoin)
    assert not keeps(design(school / "v1"), design(school / "v2"))


@pytest.mark.parametrize("status", ["DRAFT", "REVIEWED", "APPROVED"])
def test_build_keeps_a_kept_design(prejoin: Prejoin, school: Path, status: str) -> None:
    keep(prejoin)
    assert "> Keeps: ../v1/table-design.md\n" in page(school / "v2")
    change_page(school / "v2", ("Status: DRAFT", f"Status: {status}"))
    before = design(school / "v2")
    build(prejoin)
    assert keeps(design(school / "v1"), design(school / "v2"))
    assert keeps(before, design(school / "v2"))
    assert f"> Status: {status}\n" in page(school / "v2")
    assert "> Keeps: ../v1/table-design.md\n" in page(school / "v2")
    assert prejoin("build", "v2/access-patterns.md", "--check", "--no-tests").status == 0


def test_build_keeps_it_without_the_other_file(prejoin: Prejoin, school: Path) -> None:
    keep(prejoin)
    before = design(school / "v1")
    (school / "v1" / "table-design.md").unlink()
    build(prejoin)
    assert keeps(before, design(school / "v2"))


def test_a_new_pattern_extends_a_kept_draft(prejoin: Prejoin, school: Path, kind: str) -> None:
    keep(prejoin)
    before = design(school / "v2")
    (school / "v2" / "access-patterns.md").write_text(document(kind, BY_EMAIL + BY_STATE), "utf-8")
    ran = prejoin("build", "v2/access-patterns.md", "--yes", "--no-tests")
    assert ran.status == 0, ran.err
    assert "Changes to the table in use:\n  - create the index `gsi2`" in ran.out  # since v1, not since the last design
    assert "APPROVED" not in ran.out
    assert keeps(before, design(school / "v2"))
    assert "| AP-004 |" in page(school / "v2")
    assert "> Status: DRAFT\n" in page(school / "v2")


def test_a_kept_design_is_kept_again(prejoin: Prejoin, school: Path, kind: str) -> None:
    keep(prejoin)
    build(prejoin)
    (school / "v3").mkdir()
    (school / "v3" / "access-patterns.md").write_text(document(kind, BY_EMAIL + BY_STATE), "utf-8")
    keep(prejoin, "v3", "v2/table-design.md")
    build(prejoin, "v3")
    assert "> Keeps: ../v2/table-design.md\n" in page(school / "v3")
    assert keeps(design(school / "v1"), design(school / "v2"))
    assert keeps(design(school / "v2"), design(school / "v3"))


def test_build_keeps_a_design_in_yaml(prejoin: Prejoin, school: Path) -> None:
    keep(prejoin, "v2", "v1/table-design.md", "-o", "v2/table-design.yaml")
    text = (school / "v2" / "table-design.yaml").read_text("utf-8")
    assert text.startswith("keeps: ../v1/table-design.md\n")
    build(prejoin)
    assert (school / "v2" / "table-design.yaml").read_text("utf-8").startswith("keeps: ../v1/table-design.md\n")
    converted = prejoin("convert", "v2/table-design.yaml", "--to", "md").out
    assert "> Keeps: ../v1/table-design.md\n" in converted
    assert keeps(design(school / "v1"), parse_document(converted).design)
    (school / "v2" / "table-design.yaml").write_text(
        text.replace("keeps: ../v1/table-design.md", "keeps: [1]"), "utf-8"
    )
    ran = prejoin("build", "v2/access-patterns.md", "--yes", "--no-tests")
    assert (ran.status, "v2/table-design.yaml exists and is not a table design" in ran.err) == (4, True)


def test_python_keeps_the_design_of_a_file(prejoin: Prejoin, school: Path) -> None:
    target = design_target(school / "v2" / "table-design.md")
    result = design_table(read_document("v2/access-patterns.md"), keep="v1/table-design.md", prove=False)
    assert write_design(result, target)
    build(prejoin)
    assert keeps(design(school / "v1"), design(school / "v2"))
    assert "> Keeps: ../v1/table-design.md\n" in page(school / "v2")


# --- The other commands -----------------------------------------------------------------------------------------------


def test_design_keeps_it_again_unless_told_otherwise(prejoin: Prejoin, school: Path, kind: str) -> None:
    keep(prejoin)
    first = design(school / "v2")
    assert prejoin("design", "v2/access-patterns.md", "--yes", "--no-proof").status == 0
    assert keeps(first, design(school / "v2"))
    before = page(school / "v2")
    same = prejoin("design", "v2/access-patterns.md", "--yes", "--no-proof")
    assert "v2/table-design.md is up to date" in same.err
    assert page(school / "v2") == before
    shown = prejoin("design", "v2/access-patterns.md", "--fresh", "--no-proof")
    assert "without `--fresh`, the keys of v2/table-design.md stay" in shown.err
    assert page(school / "v2") == before
    assert prejoin("design", "v2/access-patterns.md", "--fresh", "--yes", "--no-proof").status == 0
    assert "> Keeps:" not in page(school / "v2")
    assert not keeps(design(school / "v1"), design(school / "v2"))
    both = prejoin("design", "v2/access-patterns.md", "--fresh", "--keep", "v1/table-design.md")
    assert (both.status, "leave out `--keep`" in both.err) == (2, True)


def test_without_the_line_all_keys_are_designed_again(prejoin: Prejoin, school: Path) -> None:
    """Nothing that somebody wrote is lost by that."""
    keep(prejoin)
    change_page(school / "v2", ("> Keeps: ../v1/table-design.md\n", ""))
    build(prejoin)
    assert not keeps(design(school / "v1"), design(school / "v2"))


def test_a_decision_against_a_kept_draft_is_refused(prejoin: Prejoin, school: Path, kind: str) -> None:
    keep(prejoin)
    before = page(school / "v2")
    decided = document(kind, BY_EMAIL) + "\n## Decisions\n\n- at most 0 GSIs\n"
    (school / "v2" / "access-patterns.md").write_text(decided, "utf-8")
    for command in (("build", "--no-tests"), ("design", "--no-proof")):
        ran = prejoin(command[0], "v2/access-patterns.md", "--yes", *command[1:])
        assert ran.status == 1
        assert "the design that is kept has the index gsi" in ran.err
        assert "or design all keys again: `prejoin design --fresh`" in ran.err
    assert page(school / "v2") == before


def test_check_reports_a_required_attribute_that_a_kept_draft_lacks(prejoin: Prejoin, school: Path) -> None:
    keep(prejoin)
    file = school / "v2" / "access-patterns.md"
    more = "- `email` (string, mutable)\n- `born` (string)\n"
    file.write_text(file.read_text("utf-8").replace("- `email` (string, mutable)\n", more), "utf-8")
    assert "PJ526" in prejoin("check", "v2/access-patterns.md").out
    change_page(school / "v2", ("> Keeps: ../v1/table-design.md\n", ""))
    assert "PJ526" not in prejoin("check", "v2/access-patterns.md").out


def test_query_runs_on_the_kept_keys(prejoin: Prejoin, school: Path) -> None:
    keep(prejoin)
    ran = prejoin("query", "AP-002", "--for", "v2/access-patterns.md", "--format", "json")
    assert ran.status == 0, ran.err
    assert '"gsi1"' in ran.out
    assert "PJ" not in ran.err


# --- The next step ---------------------------------------------------------------------------------------------------


def test_design_and_build_name_the_next_step_and_what_it_takes(prejoin: Prejoin, school: Path) -> None:
    given = ("design", "v2/access-patterns.md", "--keep", "v1/table-design.md", "--no-proof")
    takes = "1 new index, 2 deployments (`prepare`, then the new code), a backfill of existing items. "
    price = "With the place of the table (`--db`, `--endpoint`, `--aws`) it says how long that takes, and the price."
    expected = f"Next: `prejoin evolve plan v1 v2` plans the change while the application runs: {takes}{price}\n"
    assert expected in prejoin(*given).out
    assert prejoin(*given, "--format", "json").json["result"]["next"] == ["prejoin evolve plan v1 v2"]
    keep(prejoin)
    assert expected in prejoin("build", "v2/access-patterns.md", "--yes", "--no-tests").out
    assert prejoin("evolve", "plan", "v1", "v2").status == 0
    assert expected in prejoin("design", "v2/access-patterns.md", "--no-proof").out


def test_only_a_new_entity_needs_no_backfill(prejoin: Prejoin, school: Path, kind: str) -> None:
    entity = "### Room\n\n- `roomId` (string, id)\n- `floor` (integer)\n\n## Access Patterns"
    read = "| AP-006 | Room | Get room | roomId | Single | - | 1/s |\n"
    grown = document(kind, read).replace("## Access Patterns", entity)
    (school / "v2" / "access-patterns.md").write_text(grown, "utf-8")
    ran = prejoin("design", "v2/access-patterns.md", "--keep", "v1/table-design.md", "--no-proof")
    assert "while the application runs: 1 deployment (the new code), no backfill.\n" in ran.out
    assert "add_indexes" not in ran.out


CHANGES_OF_ATTRIBUTES = {
    "a default": (
        "optional, mutable",
        'mutable, default="x"',
        "2 deployments (`prepare`, then the new code), a backfill",
    ),
    "without the default": ('mutable, default="x"', "mutable", "1 deployment (the new code), a backfill"),
    "dropped": ("optional, mutable", "", "no backfill; at the end `clean` deletes the attribute nick of Student."),
    "dropped at once": ("mutable", "", "says what has to change first: Student.nick is required"),
}


@pytest.mark.parametrize(("was", "now", "takes"), CHANGES_OF_ATTRIBUTES.values(), ids=list(CHANGES_OF_ATTRIBUTES))
def test_a_change_of_attributes_alone_has_a_next_step(
    prejoin: Prejoin, school: Path, was: str, now: str, takes: str
) -> None:
    """The keys need no change, but the stored items or the code before do."""
    text = (school / "v1" / "access-patterns.md").read_text("utf-8")
    for folder, flags in (("v1", was), ("v2", now)):
        nick = f"- `email` (string, mutable)\n- `nick` (string, {flags})\n"
        changed = text.replace("- `email` (string, mutable)\n", nick) if flags else text
        (school / folder / "access-patterns.md").write_text(changed, "utf-8")
    design = ("design", "v2/access-patterns.md", "--keep", "v1/table-design.md", "--no-proof")
    ran = prejoin(*design)
    assert "The keys of the table in use need no change." in ran.out
    assert "Next: `prejoin evolve plan v1 v2` " in ran.out
    assert takes in ran.out
    assert prejoin(*design, "--format", "json").json["result"]["next"] == ["prejoin evolve plan v1 v2"]


def test_the_same_document_has_no_next_step(prejoin: Prejoin, school: Path) -> None:
    same = (school / "v1" / "access-patterns.md").read_text("utf-8")
    (school / "v2" / "access-patterns.md").write_text(same, "utf-8")
    assert "evolve" not in prejoin("design", "v2/access-patterns.md", "--keep", "v1/table-design.md", "--no-proof").out


def test_a_plan_that_is_refused_says_why(prejoin: Prejoin, school: Path) -> None:
    change_page(school / "v1", ("Access patterns: access-patterns.md", "Access patterns: gone.md"))
    given = ("design", "v2/access-patterns.md", "--keep", "v1/table-design.md", "--no-proof")
    (school / "v1" / "access-patterns.md").unlink()
    assert "with the document of v1/table-design.md beside it.\n" in prejoin(*given).out


def test_moved_items_are_a_change_of_the_table(prejoin: Prejoin, school: Path) -> None:
    keep(prejoin)
    move_students(school / "v2")
    ran = prejoin("build", "v2/access-patterns.md", "--yes", "--no-tests")
    assert "  - Student has another type or other keys: all its items have to be written again\n" in ran.out
    assert "Next: `prejoin evolve plan v1 v2` " in ran.out


# --- Hand-written keys ------------------------------------------------------------------------------------------------


def move_students(folder: Path) -> None:
    """Another key for students, as the guide of `evolve` describes it: another type, key and index."""
    change_page(folder, ("- **Type**: `Student`", "- **Type**: `Student2`"), ("`STUDENT` ", "`PUPIL` "))


@pytest.mark.parametrize("status", ["DRAFT", "APPROVED"])
def test_another_type_by_hand_survives(prejoin: Prejoin, school: Path, status: str) -> None:
    keep(prejoin)
    change_page(school / "v2", ("Status: DRAFT", f"Status: {status}"))
    move_students(school / "v2")
    moved = design(school / "v2")
    for command in (("build", "--no-tests"), ("design", "--no-proof"), ("build", "--no-tests")):
        if command[0] == "design" and status == "APPROVED":
            change_page(school / "v2", ("Status: APPROVED", "Status: DRAFT"))
        ran = prejoin(command[0], "v2/access-patterns.md", "--yes", *command[1:])
        assert ran.status == 0, ran.err
        student = design(school / "v2").item("Student")
        assert student is not None
        assert student.tag == "Student2"
        assert keeps(moved, design(school / "v2"))
    schema = next((school / "v2").glob("*/schema.py")).read_text("utf-8")
    assert "Student2" in schema


def test_another_type_in_a_copied_design_is_no_longer_overwritten(prejoin: Prejoin, school: Path) -> None:
    (school / "v2" / "table-design.md").write_text(page(school / "v1"), "utf-8")
    move_students(school / "v2")
    before = page(school / "v2")
    ran = prejoin("build", "v2/access-patterns.md", "--yes", "--no-tests")
    assert ran.status == 1
    assert "its keys or settings were written by hand" in ran.err
    assert "Student has the type `Student`, was `Student2`" in ran.out
    assert page(school / "v2") == before
    keep(prejoin, "v2", "v2/table-design.md")  # as the message says
    build(prejoin)
    assert keeps(parse_document(before).design, design(school / "v2"))


# --- The package on the table in use ----------------------------------------------------------------------------------


def repository(folder: Path, package: str, engine: Embedded, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The repository of a generated package; that of a tenant, if there are tenants."""
    monkeypatch.syspath_prepend(str(folder))
    schema = importlib.import_module(f"{package}.schema").SCHEMA
    of_table = importlib.import_module(f"{package}.repository").SchoolRepository(Client(schema, "school", engine))
    return of_table.of_tenant("s1") if hasattr(of_table, "of_tenant") else of_table


@pytest.mark.parametrize("status", ["DRAFT", "APPROVED"])
def test_the_built_package_finds_all_items_of_the_old_one(
    prejoin: Prejoin, school: Path, kind: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(prejoin)
    change_page(school / "v2", ("Status: DRAFT", f"Status: {status}"))
    names = [f"school_{kind}_{status.lower()}_{version}" for version in ("v1", "v2")]
    for version, name in zip(("v1", "v2"), names, strict=True):
        ran = prejoin("build", f"{version}/access-patterns.md", "--yes", "--no-tests", "--prune", "--package", name)
        assert ran.status == 0, ran.err
    with Embedded() as engine:
        old = repository(school / "v1", names[0], engine, monkeypatch)
        Client(importlib.import_module(f"{names[0]}.schema").SCHEMA, "school", engine).create_table()
        student = importlib.import_module(f"{names[0]}.entities").Student
        tenant = {"school_id": "s1"} if kind == "tenants" else {}
        for number in range(40):
            old.enrol(
                student(klass="5a", student_id=f"n{number}", name=f"Name {number}", email=f"{number}@x", **tenant)
            )
        new = repository(school / "v2", names[1], engine, monkeypatch)
        found = {one.student_id for one in new.students_of_class("5a", limit=100).items}
        assert found == {f"n{number}" for number in range(40)}
        assert [new.get_student(f"n{number}").name for number in range(40)] == [f"Name {n}" for n in range(40)]


def test_a_package_of_a_design_from_nothing_says_that_it_does_not_fit(
    prejoin: Prejoin, school: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (school / "v2" / "access-patterns.md").write_text(document(kind, BY_EMAIL), "utf-8")
    names = [f"fresh_{kind}_{version}" for version in ("v1", "v2")]
    for version, name in zip(("v1", "v2"), names, strict=True):
        ran = prejoin("build", f"{version}/access-patterns.md", "--yes", "--no-tests", "--prune", "--package", name)
        assert ran.status == 0, ran.err
        monkeypatch.syspath_prepend(str(school / version))
    old, new = (importlib.import_module(f"{name}.schema").SCHEMA for name in names)
    student = importlib.import_module(f"{names[0]}.entities").Student
    tenant = {"school_id": "s1"} if kind == "tenants" else {}
    with Embedded() as engine:
        db = Client(old, "school", engine)
        db.create_table()
        db.put_many([student(student_id=f"n{at}", klass="5a", name="N", email="x", **tenant) for at in range(40)])
        found = [(one.kind, one.what) for one in Client(new, "school", engine).drift()]
        assert found[0] == ("missing index", "the index gsi2")
        assert ("item keys", "Student in gsi1, 40 of 40 items") in found
        assert db.drift() == []
