"""Reading and checking documents, without the designer."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from prejoin.pipeline.check import check_document
from prejoin.pipeline.document import parse_document, read_document
from prejoin.pipeline.errors import InputError
from tests.pipeline.conftest import EXAMPLES

DESIGNER = ("prejoin.design.", "prejoin.proof", "prejoin.render", "highspy", "numpy")
LOADED = """
import sys
from prejoin.cli.run import run
assert run(["check", sys.argv[1]]) == 0
# Constructs know the model of designs, which is data.
print(*sorted(name for name in sys.modules if name.startswith(tuple(sys.argv[2:])) and name != "prejoin.design.model"))
"""


def loaded_by_check(document: Path) -> list[str]:
    command = [sys.executable, "-c", LOADED, str(document), *DESIGNER]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()[-1].split()


def test_check_of_a_document_does_not_load_the_designer(teams: Path) -> None:
    assert all(find_spec(name.rstrip(".")) for name in DESIGNER)
    assert loaded_by_check(teams) == []


def test_check_beside_a_draft_does_not_load_the_designer(teams: Path) -> None:
    design = (EXAMPLES / "teams" / "table-design.md").read_text("utf-8").replace("APPROVED", "DRAFT")
    (teams.parent / "table-design.md").write_text(design, "utf-8")
    assert loaded_by_check(teams) == []


@pytest.mark.slow
def test_check_reports_attributes_that_an_approved_design_lacks(teams: Path) -> None:
    design = (EXAMPLES / "teams" / "table-design.md").read_text("utf-8").replace("DRAFT", "APPROVED", 1)
    (teams.parent / "table-design.md").write_text(design, "utf-8")
    text = teams.read_text("utf-8")
    teams.write_text(text.replace("- **Attributes**:\n", "- **Attributes**:\n  - `nickname` (string)\n", 1), "utf-8")
    assert "prejoin.design.checks" in loaded_by_check(teams)
    document = read_document(teams)
    new = set(check_document(document)) - set(document.diagnostics)
    assert any("nickname" in one.message for one in new)


def test_a_file_that_cannot_be_read_is_a_diagnostic(tmp_path: Path) -> None:
    document = read_document(tmp_path / "missing.md")
    assert document.unusable
    with pytest.raises(InputError, match=r"missing\.md") as caught:
        document.require_no_errors("nothing was done")
    assert caught.value.note == "nothing was done"
    assert caught.value.diagnostics == document.diagnostics


def test_bytes_that_are_not_text_are_a_diagnostic() -> None:
    (diagnostic,) = parse_document(b"# Shop\n\xff").diagnostics
    assert "standard input is not UTF-8 at byte 7" in diagnostic.message
