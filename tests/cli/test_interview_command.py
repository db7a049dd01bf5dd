"""`prejoin interview` with answers from a file or a pipe, a wrong answer, and the next question."""

from __future__ import annotations

from pathlib import Path

import pytest

from prejoin.diagnostics import Severity
from prejoin.workload.files import read_file
from tests.cli.conftest import Prejoin
from tests.workload.test_interview import ANSWERS


@pytest.fixture
def answers(here: Path) -> Path:
    path = here / "answers.txt"
    path.write_text("# a shelf of tools\n" + "\n".join(ANSWERS) + "\n", encoding="utf-8")
    return path


def test_a_file_of_answers_gives_a_document_that_is_fine(prejoin: Prejoin, answers: Path) -> None:
    ran = prejoin("interview", "a.md", "--answers", "answers.txt")
    assert (ran.status, ran.out) == (0, "")
    assert "`prejoin check a.md` has" in ran.err
    checked = prejoin("check", "a.md", "--strict")
    assert checked.status == 0, checked.out
    assert "Interview" not in read_file(answers.parent / "a.md").workload.header


@pytest.mark.slow
@pytest.mark.parametrize("form", ["md", "yaml", "json"])
def test_answers_come_by_a_pipe_too_and_in_pieces(prejoin: Prejoin, answers: Path, form: str) -> None:
    prejoin("interview", f"whole.{form}", "--answers", "answers.txt")
    for at in range(0, len(ANSWERS), 20):
        piece = "\n".join(ANSWERS[at : at + 20]) + "\n"
        assert prejoin("interview", f"pieces.{form}", stdin=piece.encode()).status == 0
    folder = answers.parent
    assert (folder / f"pieces.{form}").read_bytes() == (folder / f"whole.{form}").read_bytes()


def test_wrong_answer_is_reported_with_its_line_and_earlier_answers_are_saved(prejoin: Prejoin, here: Path) -> None:
    (here / "x.txt").write_text("Shop\n\n# entities\nUser, Order!\n", encoding="utf-8")
    ran = prejoin("interview", "a.md", "--answers", "x.txt")
    assert ran.status == 1
    assert "x.txt:4:12: error PJ005: `!` is not understood here (the question is: What does it store?" in ran.err
    assert read_file(here / "a.md").workload.title == "Shop"
    envelope = prejoin("interview", "b.md", "--answers", "x.txt", "--format", "json").json
    assert envelope["result"]["next"]["key"] == "entities"
    assert envelope["diagnostics"][0]["line"] == 4


def test_next_question_is_printed_when_the_answers_end(prejoin: Prejoin, here: Path) -> None:
    ran = prejoin("interview", "a.md", "--format", "json", stdin=b"Shop\n")
    assert ran.status == 0
    result = ran.json["result"]
    assert (result["finished"], result["answered"]) == (False, 1)
    assert result["next"]["text"] == "What is it for? A sentence or two."
    assert result["next"]["default"] == "-"


@pytest.mark.slow
def test_superfluous_answer_is_an_error(prejoin: Prejoin, answers: Path) -> None:
    with answers.open("a", encoding="utf-8") as file:
        file.write("\nand more\n")
    ran = prejoin("interview", "a.md", "--answers", "answers.txt")
    assert ran.status == 1
    assert "the interview is over before this answer" in ran.err


def test_without_a_terminal_and_without_answers_it_says_so(prejoin: Prejoin, here: Path) -> None:
    ran = prejoin("interview", "a.md")
    assert ran.status == 2
    assert "there is no terminal to ask on" in ran.err
    assert list(here.iterdir()) == []


def test_a_document_that_cannot_be_read_is_left_alone(prejoin: Prejoin, here: Path) -> None:
    (here / "a.yaml").write_text("[", encoding="utf-8")
    assert prejoin("interview", "a.yaml", stdin=b"Shop\n").status == 1
    assert (here / "a.yaml").read_text(encoding="utf-8") == "["


def test_handwritten_document_keeps_its_prose(prejoin: Prejoin, wrong: Path) -> None:
    text = wrong.read_text(encoding="utf-8") + "\n## Who was there\n\nAnna and Bo.\n"
    wrong.write_text(text, encoding="utf-8")
    assert prejoin("interview", "wrong.md", stdin=b"\n").status == 0
    after = wrong.read_text(encoding="utf-8")
    assert "Anna and Bo." in after
    assert "strng" in after


def test_comments_in_yaml_are_kept_aside(prejoin: Prejoin, here: Path) -> None:
    (here / "a.yaml").write_text("# agreed\ntitle: Shop\n", encoding="utf-8")
    ran = prejoin("interview", "a.yaml", stdin=b"User\n")
    assert ran.status == 0
    assert "a.yaml.orig" in ran.err
    assert (here / "a.yaml.orig").read_text(encoding="utf-8").startswith("# agreed")


@pytest.mark.parametrize("path", ["none/a.md", "folder.md"])
def test_unwritable_path_is_reported_before_the_first_question(prejoin: Prejoin, here: Path, path: str) -> None:
    (here / "folder.md").mkdir()
    ran = prejoin("interview", path, stdin=b"Shop\n")
    assert ran.status in {1, 2}
    assert "error PJ" in ran.err


@pytest.mark.slow
def test_the_checks_find_nothing_but_hints_in_it(prejoin: Prejoin, answers: Path) -> None:
    prejoin("interview", "a.md", "--answers", "answers.txt")
    found = read_file(answers.parent / "a.md").diagnostics
    assert {d.severity for d in found} <= {Severity.HINT}
