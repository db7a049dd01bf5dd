"""An approved design grows with its document: no key changes, and a second build changes nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prejoin.design.document.read_document import parse_document
from prejoin.design.layout.growth import keeps
from prejoin.design.model import Design
from prejoin.workload.files import read_text
from tests.cli.conftest import Prejoin
from tests.design.test_large_contents import TEXT as ARCHIVE
from tests.solutions import solve

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


def document(name: str) -> str:
    """An example's document, without the section of optional patterns."""
    text = (EXAMPLES / name / "access-patterns.md").read_text("utf-8")
    return re.sub(r"(?ms)^## Item Collection Candidates.*?(?=^## )", "", text)


def without(text: str, *patterns: str) -> str:
    rows = tuple(f"| {pattern} " for pattern in patterns)
    lines = text.splitlines(keepends=True)
    return "".join(one for one in lines if not one.startswith(rows) and not (one[:2] == "- " and one[2:8] in patterns))


def design(folder: Path) -> Design:
    return parse_document(page(folder)).design


def page(folder: Path) -> str:
    return (folder / "table-design.md").read_text("utf-8")


def approve(folder: Path) -> None:
    (folder / "table-design.md").write_text(page(folder).replace("Status: DRAFT", "Status: APPROVED"), "utf-8")


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("metrics", ["AP-006", "AP-003"]),
        ("teams", ["AP-003", "AP-004", "AP-005"]),
        ("teams", ["AP-001", "AP-002"]),
        ("organisation", ["AP-003"]),
    ],
)
def test_approved_design_grows_without_changes(prejoin: Prejoin, here: Path, name: str, later: list[str]) -> None:
    text, file = document(name), here / "access-patterns.md"
    file.write_text(without(text, *later), "utf-8")
    assert prejoin("build", "--yes").status == 0
    approve(here)
    approved = page(here)
    assert prejoin("build", "--check").status == 0
    assert prejoin("build", "--yes").status == 0
    assert page(here) == approved
    before = design(here)
    while later:
        later = later[1:]
        file.write_text(without(text, *later), "utf-8")
        assert prejoin("build", "--yes").status == 0
        assert keeps(before, design(here))
        assert "Status: APPROVED" in page(here)
        assert prejoin("build", "--check").status == 0
        before = design(here)


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("blog", ["AP-002", "AP-004", "AP-006", "AP-008"]),  # an index projects too few attributes for later patterns
        ("organisation", ["AP-002", "AP-004", "AP-006"]),  # other entities in a partition are in the way
    ],
)
def test_new_pattern_gets_a_key_beside_the_approved_ones(name: str, later: list[str]) -> None:
    text = document(name)
    kept = solve(read_text(without(text, *later), "md").workload).design
    for at in reversed(range(len(later))):
        workload = read_text(without(text, *later[:at]), "md").workload
        grown = solve(workload, kept).design
        assert keeps(kept, grown)
        assert all(operation.served for operation in grown.operations)
        kept = grown


def test_growth_is_reported_with_its_steps(prejoin: Prejoin, here: Path) -> None:
    text, file = document("teams"), here / "access-patterns.md"
    file.write_text(without(text, "AP-003", "AP-004"), "utf-8")
    prejoin("build", "--yes")
    approve(here)
    file.write_text(text, "utf-8")
    ran = prejoin("build", "--yes")
    assert "`gsi2` is new" in ran.out
    assert "Changes to the table in use:\n  - create the index `gsi2`" in ran.out
    assert "User items that may exist, write gsi2pk and gsi2sk in each" in ran.out
    assert "Next: `prejoin evolve plan OLD .` plans the change while the application runs; OLD is" in ran.out
    repairs = "`db.add_indexes()` and then `prejoin audit teams.schema:SCHEMA --table teams --repair` will do"
    assert f"If nothing writes to the table meanwhile, {repairs}" in ran.out
    assert "table-design.md stays APPROVED" in ran.out
    assert "> Not reviewed: gsi2; User in gsi2" in page(here)
    reviewed = re.sub(r"> Not reviewed: .*\n", "", page(here))
    (here / "table-design.md").write_text(reviewed, "utf-8")
    assert prejoin("build", "--check").status == 0
    assert prejoin("build", "--yes").status == 0
    assert page(here) == reviewed


def test_json_output_lists_the_growth(prejoin: Prejoin, here: Path) -> None:
    text, file = document("teams"), here / "access-patterns.md"
    file.write_text(without(text, "AP-004"), "utf-8")
    assert prejoin("build", "--yes", "--format", "json").json["result"]["growth"] is None
    approve(here)
    file.write_text(text, "utf-8")
    grown = prejoin("build", "--yes", "--format", "json").json["result"]["growth"]
    assert [slot["name"] for slot in grown["indexes"]] == ["gsi2"]
    assert [backfill["entity"] for backfill in grown["backfills"]] == ["User"]


def test_a_question_that_the_keys_answer_changes_no_key(prejoin: Prejoin, here: Path) -> None:
    text, file = document("teams"), here / "access-patterns.md"
    file.write_text(without(text, "AP-003"), "utf-8")
    prejoin("build", "--yes")
    approve(here)
    file.write_text(text, "utf-8")
    ran = prejoin("build", "--yes")
    assert "The keys of the table in use need no change." in ran.out
    assert "Not reviewed" not in page(here)
    assert "| AP-003 |" in page(here)
    assert prejoin("build", "--check").status == 0


def test_a_value_that_is_to_be_unique_from_now_on_gets_its_item(prejoin: Prejoin, here: Path) -> None:
    text, file = document("teams"), here / "access-patterns.md"
    file.write_text(text.replace(", unique", "").replace("email unique", "-"), "utf-8")
    assert prejoin("build", "--yes").status == 0
    assert not design(here).guards
    approve(here)
    file.write_text(text, "utf-8")
    ran = prejoin("build", "--yes")
    assert "the item that makes its email unique" in ran.out
    assert [guard.attributes for guard in design(here).guards] == [("email",)]
    assert "Status: APPROVED" in page(here)
    assert prejoin("build", "--check").status == 0


def test_changed_rates_are_reported_for_an_approved_design(prejoin: Prejoin, here: Path) -> None:
    text, file = document("teams"), here / "access-patterns.md"
    file.write_text(text, "utf-8")
    prejoin("build", "--yes")
    approve(here)
    before, costs = design(here), re.search(r"It costs \$[\d.]+ a month", page(here))
    file.write_text(text.replace("| 2/s |", "| 90/s |"), "utf-8")
    assert prejoin("build", "--yes").status == 0
    assert keeps(before, design(here))
    assert costs
    assert costs[0] not in page(here)
    assert prejoin("build", "--check").status == 0


def test_decision_about_an_approved_key_is_refused_until_the_design_is_a_draft(prejoin: Prejoin, here: Path) -> None:
    text, file = document("teams"), here / "access-patterns.md"
    file.write_text(text, "utf-8")
    prejoin("build", "--yes")
    approve(here)
    approved = page(here)
    decision = "- Team has key `GROUP#{teamId}` and `GROUP`"
    file.write_text(text.replace("## Decisions\n", f"## Decisions\n\n{decision}\n"), "utf-8")
    ran = prejoin("build", "--yes")
    assert ran.status == 1
    assert "or design all keys again: `prejoin design --fresh`" in ran.err
    assert page(here) == approved
    (here / "table-design.md").write_text(approved.replace("> Status: APPROVED", "> Status: DRAFT"), "utf-8")
    assert prejoin("build", "--yes").status == 0
    assert "GROUP#{teamId}" in page(here)


def test_a_decision_that_the_approved_keys_contradict_says_that_they_are_kept(prejoin: Prejoin, here: Path) -> None:
    text, file = document("teams"), here / "access-patterns.md"
    file.write_text(text, "utf-8")
    prejoin("build", "--yes")
    approve(here)
    approved = page(here)
    file.write_text(text.replace("## Decisions\n", "## Decisions\n\n- Assignment lives under Team\n"), "utf-8")
    ran = prejoin("build", "--yes")
    assert ran.status == 1
    assert "cannot all hold: the design that is kept has the key `USER#{userId}` and `ASSIGNMENT#{teamId}`" in ran.err
    assert "or design all keys again: `prejoin design --fresh`" in ran.err
    assert page(here) == approved


def test_a_limit_that_the_approved_design_is_beyond_is_refused(prejoin: Prejoin, here: Path) -> None:
    text, file = document("teams"), here / "access-patterns.md"
    file.write_text(text, "utf-8")
    prejoin("build", "--yes")
    approve(here)
    approved = page(here)
    limited = text.replace("## Decisions\n", "## Decisions\n\n- at most 1 GSIs\n")
    file.write_text(limited, "utf-8")
    ran = prejoin("build", "--yes")
    assert ran.status == 1
    line = limited.splitlines().index("- at most 1 GSIs") + 1
    both = "the design that is kept has the index gsi1; the design that is kept has the index gsi2"
    assert f"{line}:3: error PJ030: these cannot all hold: {both}; the decision: at most 1 GSIs" in ran.err
    assert page(here) == approved
    assert "decides `at most 1 GSIs`, and there are `gsi1`, `gsi2`" in prejoin("check", "table-design.md").out
    (here / "table-design.md").write_text(approved.replace("APPROVED", "DRAFT"), "utf-8")
    assert prejoin("build", "--yes").status == 0
    assert [slot.name for slot in design(here).indexes] == ["gsi1"]


def test_store_is_added_to_an_approved_design_and_stays(prejoin: Prejoin, here: Path) -> None:
    file = here / "access-patterns.md"
    file.write_text(ARCHIVE, "utf-8")
    assert prejoin("build", "--yes", "--no-tests").status == 0
    approve(here)
    assert "AWS::S3::Bucket" not in (here / "template.yaml").read_text("utf-8")
    file.write_text(f"{ARCHIVE}\n## Decisions\n\n- Document.body in a store\n", "utf-8")
    ran = prejoin("build", "--yes", "--no-tests")
    assert ran.status == 0, ran.err
    assert "create a bucket for Document.body: contents that are in the table stay there" in ran.out
    assert "Not reviewed: Document.body in a store" in page(here)
    file.write_text(ARCHIVE, "utf-8")
    assert prejoin("build", "--yes", "--no-tests").status == 0
    assert "AWS::S3::Bucket" in (here / "template.yaml").read_text("utf-8")
