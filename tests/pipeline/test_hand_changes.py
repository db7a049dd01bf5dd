"""A design that somebody changed by hand is not replaced without saying so: every kind of line × a change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from prejoin.design.document.write_document import rewrite_document
from prejoin.design.explain import annotate, explain_design
from prejoin.design.files import write_design as write_data
from prejoin.design.model import Design
from prejoin.pipeline.build.build import build_project
from prejoin.pipeline.build.record import RECORD, BuildRecord, read_record, write_record
from prejoin.pipeline.design.design_document import DesignTarget, design_target, write_design
from prejoin.pipeline.design.design_table import design_table
from prejoin.pipeline.design.hand_changes import lost_changes
from prejoin.pipeline.document import read_document
from prejoin.pipeline.errors import ChangedByHandError
from prejoin.workload.document.write_document import UnwritableError
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload
from tests.solutions import solve

SMALL = Path(__file__).parents[1] / "small.md"
BLOG = Path(__file__).parents[2] / "examples" / "blog" / "access-patterns.md"
DOCUMENTS = [SMALL, pytest.param(BLOG, marks=pytest.mark.slow)]
MARK = "byHand"
Change = Callable[[str], Iterator[str]]


def written(document: Path) -> tuple[str, Workload, Design]:
    """The design of a document as prejoin writes it."""
    workload = read_text(document.read_text("utf-8"), "md").workload
    design = solve(workload).design
    design = annotate(design, explain_design(workload, design))
    return rewrite_document("", design, workload), workload, design


def append_word(line: str) -> Iterator[str]:
    if line.startswith("|"):
        cells = re.split(r"(?<!\\)\|", line)
        for at in range(1, len(cells) - 1):
            yield "|".join([*cells[:at], f"{cells[at].rstrip()} {MARK} ", *cells[at + 1 :]])
    else:
        yield f"{line} {MARK}"


def change_word(line: str) -> Iterator[str]:
    words = list(re.finditer(r"[A-Za-z]{2,}", line))
    for word in words if len(words) < 3 else (words[0], words[len(words) // 2], words[-1]):
        yield f"{line[: word.start()]}{MARK}{line[word.end() :]}"


def add_line(line: str) -> Iterator[str]:
    yield f"{line}\n{MARK}"


def delete(line: str) -> Iterator[str]:
    yield ""


def lines_with(text: str, change: Change) -> Iterator[tuple[int, str]]:
    """The document with one line changed, for each line and each way to change it."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        for changed in change(line) if line.strip() else ():
            yield at + 1, "\n".join([*lines[:at], changed, *lines[at + 1 :]])


@pytest.mark.parametrize("change", [append_word, change_word, add_line])
@pytest.mark.parametrize("document", DOCUMENTS)
def test_text_by_hand_is_kept_or_reported(document: Path, change: Change) -> None:
    text, workload, design = written(document)
    silent, unwritable, cases = [], 0, 0
    for line, changed in lines_with(text, change):
        cases += 1
        try:
            new = rewrite_document(changed, design, workload)
        except UnwritableError:  # reported in another way: nothing is written
            unwritable += 1
            continue
        lost = lost_changes(text, changed, new)
        is_reported = any(loss.line == line or MARK in loss.text for loss in lost)
        if new.count(MARK) < changed.count(MARK) and not is_reported:
            silent.append(changed.split("\n")[line - 1])
    assert cases > 100
    assert unwritable < cases / 20
    assert silent == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_deleted_lines_are_reported_if_they_come_back(document: Path) -> None:
    text, workload, design = written(document)
    silent, cases = [], 0
    for line, changed in lines_with(text, delete):
        content = text.split("\n")[line - 1]
        try:
            new = rewrite_document(changed, design, workload)
        except UnwritableError:
            continue
        marks_only = not re.search(r"[A-Za-z{}]", content) or content.startswith(("#", "```"))
        if not marks_only and new.count(content) > changed.count(content):
            cases += 1
            if not lost_changes(text, changed, new):
                silent.append(content)
    assert cases > 50
    # A header without a value says nothing: every other line is reported.
    assert [content for content in silent if not content.startswith("> Status")] == []


def test_each_line_of_yaml_is_reported() -> None:
    _, workload, design = written(SMALL)
    text = write_data(design, "yaml", workload)
    for line, changed in lines_with(text, lambda content: iter([f"{content} # {MARK}"])):
        assert [loss.line for loss in lost_changes(text, changed, text, "yaml")] == [line]


# --- Additions that are kept -----------------------------------------------------------------------------------------

ADDED_HEADER = "> Reviewed by: Ann"
ADDITIONS = (
    ("> Summary", f"{ADDED_HEADER}\n> Summary"),
    ("> Status: DRAFT", "> Status: REVIEWED"),
    ("## Keys\n", "## Keys\n\nAsk Ann about these keys.\n"),
    ("\n| Setting ", "\n| Owner | Setting "),
    ("\n| Table name ", "\n| Ann | Table name "),
    (
        "## Requests\n",
        "## Our notes\n\n- Ann said so.\n  - Twice.\n\n| Team | Size |\n| --- | --- |\n| A | 7 |\n\n## Requests\n",
    ),
)


def with_additions(text: str) -> str:
    """A design document with all that authors may add; a column of their own is the first one."""
    before, settings, after = re.split(r"(\n\| Setting.*?)(?=\n\n)", text, maxsplit=1, flags=re.DOTALL)
    settings = settings.replace("\n|", "\n| - |").replace("\n| - | Setting", "\n| Setting")
    text = before + settings.replace("\n| - | Table name", "\n| Table name") + after
    for plain, added in ADDITIONS:
        text = text.replace(plain, added, 1)
    return text


def test_additions_that_are_kept_are_no_alarm() -> None:
    text, _, _ = written(SMALL)
    added = with_additions(text)
    assert "| Owner | Setting" in added
    assert "Our notes" in added
    other = read_text(
        SMALL.read_text("utf-8").replace("Collection | -", "Collection | teamId DESC").replace("5/s", "900/s"), "md"
    ).workload
    changed_design = solve(other).design
    new = rewrite_document(added, annotate(changed_design, explain_design(other, changed_design)), other)
    assert new != added
    for addition in ("Ann said so.", "Twice.", "Ask Ann", ADDED_HEADER, "| Owner"):
        assert addition in new
    assert lost_changes(text, added, new) == ()


# --- Commands --------------------------------------------------------------------------------------------------------


def design_again(document: Path, replace: bool = False) -> None:
    target = design_target(document.parent / "table-design.md")
    write_design(design_table(read_document(document)), target, replace=replace)


def build_again(document: Path, replace: bool = False) -> None:
    plan = build_project(document, replace_design=replace)
    if plan.stuck:
        raise ChangedByHandError.__new__(ChangedByHandError)
    plan.write()


COMMANDS = [design_again, pytest.param(build_again, marks=pytest.mark.slow)]
HAND_CHANGES = {
    "the text of a request": ("Limit = 20", "Limit = 9"),
    "sample JSON": ('"name": "', '"name": "by hand '),
    "a reason": ("## Design Decisions\n", "## Design Decisions\n\n- **By hand**: because.\n"),
    "the operation of a pattern": ("| GetItem ", "| Query "),
    "the status line": ("> Status: DRAFT", "> Status: DRAFT, checked by Ann"),
    "a key": ("`TEAM#{teamId}`", "`CLUB#{teamId}`"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", HAND_CHANGES)
def test_change_by_hand_stops_the_command(small: Path, command: Callable[..., None], what: str) -> None:
    command(small)
    design = small.parent / "table-design.md"
    before, after = HAND_CHANGES[what]
    text = design.read_text("utf-8")
    assert before in text
    changed = text.replace(before, after, 1)
    design.write_text(changed, "utf-8")
    with pytest.raises(ChangedByHandError):
        command(small)
    assert design.read_text("utf-8") == changed
    command(small, replace=True)
    assert design.read_text("utf-8") == text
    command(small)


@pytest.mark.parametrize("command", COMMANDS)
def test_generated_document_follows_its_access_patterns(small: Path, command: Callable[..., None]) -> None:
    command(small)
    design = small.parent / "table-design.md"
    before = design.read_text("utf-8")
    small.write_text(small.read_text("utf-8").replace("5/s", "900/s"), "utf-8")
    command(small)
    assert design.read_text("utf-8") != before


def test_error_names_the_line_and_the_way_on(small: Path) -> None:
    design_again(small)
    design = small.parent / "table-design.md"
    lines = design.read_text("utf-8").split("\n")
    at = next(number for number, line in enumerate(lines, 1) if "Limit = 20" in line)
    lines[at - 1] += " by hand"
    design.write_text("\n".join(lines), "utf-8")
    with pytest.raises(ChangedByHandError) as caught:
        design_again(small)
    summary, change = caught.value.diagnostics
    assert {summary.code, change.code} == {"PJ062"}
    assert "1 change by hand" in summary.message
    assert "--yes --replace" in summary.fix
    assert change.line == at
    assert "Requests / AP-002" in change.message


def test_file_is_replaced_if_it_is_not_known_what_was_written(small: Path) -> None:
    """Older versions recorded a digest and no text."""
    design_again(small)
    design = small.parent / "table-design.md"
    text = design.read_text("utf-8")
    design.write_text(text.replace("Limit = 20", "Limit = 9"), "utf-8")
    for record in (BuildRecord(), BuildRecord(last_texts={"table-design.md": "not base64"})):
        write_record(small.parent, record)
        assert design_target(design).last_text is None
    design_again(small)
    assert design.read_text("utf-8") == text


def test_interrupted_write_is_no_change_by_hand(small: Path) -> None:
    """The record names a file before it is written; the file may be the new one, and its recorded text the old one."""
    plan = build_project(small)
    plan.write()
    design = small.parent / "table-design.md"
    record = read_record(small.parent)
    write_record(
        small.parent,
        msgspec.structs.replace(record, files={}, writing=record.files).with_text(design.name, "# Older\n"),
    )
    target: DesignTarget = design_target(design)
    assert target.last_text == target.text
    assert (small.parent / RECORD).is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_keys_are_not_replaced_if_it_is_not_known_what_was_written(small: Path, command: Callable[..., None]) -> None:
    """The record of the build was lost, or never was: the file is from another folder."""
    command(small)
    design = small.parent / "table-design.md"
    text = design.read_text("utf-8")
    changed = text.replace("`TEAM#{teamId}`", "`CLUB#{teamId}`", 1)
    assert changed != text
    design.write_text(changed, "utf-8")
    (small.parent / RECORD).unlink()
    with pytest.raises(ChangedByHandError):
        command(small)
    assert design.read_text("utf-8") == changed
    command(small, replace=True)
    assert design.read_text("utf-8") == text
