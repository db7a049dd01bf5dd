"""Building from Python: a plan first, files when it is written, and no work twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from prejoin.cli.run import run
from prejoin.pipeline.build.build import build_project
from prejoin.pipeline.build.record import RECORD, read_record
from prejoin.pipeline.build.settings import Overrides
from prejoin.pipeline.errors import InputError, PipelineError
from tests.pipeline.conftest import Recorder

QUICK = Overrides(tests=False)


def steps_of_build(small: Path) -> list[str]:
    recorder = Recorder()
    build_project(small, overrides=QUICK, progress=recorder)
    return recorder.steps


def test_nothing_is_written_before_the_plan_is(small: Path) -> None:
    plan = build_project(small, overrides=QUICK)
    assert {one.merged.state for one in plan.files} == {"new"}
    assert [path.name for path in small.parent.iterdir()] == [small.name]
    plan.write()
    assert {str(path.relative_to(small.parent)) for path in small.parent.rglob("*") if path.is_file()} == {
        small.name,
        RECORD,
        *(str(one.path) for one in plan.files),
    }
    assert not plan.again().writable


def test_a_second_build_neither_solves_nor_proves(small: Path) -> None:
    assert steps_of_build(small) == ["check", "design", "prove", "render"]
    build_project(small, overrides=QUICK).write()
    assert steps_of_build(small) == ["check", "design", "render"]


@pytest.mark.slow
def test_a_build_after_design_neither_solves_nor_proves(small: Path) -> None:
    assert run(["design", "--yes"]) == 0
    design = (small.parent / "table-design.md").read_text("utf-8")
    recorder = Recorder()
    plan = build_project(small, overrides=QUICK, progress=recorder)
    assert recorder.steps == ["check", "design", "render"]
    assert "unchanged since it was proven" in recorder.results[1]
    plan.write()
    assert (small.parent / "table-design.md").read_text("utf-8") == design


@pytest.mark.slow
def test_a_build_after_design_makes_the_files_of_a_build_alone(small: Path) -> None:
    alone = {one.path: one.merged.text for one in build_project(small, overrides=QUICK).files}
    assert run(["design", "--yes"]) == 0
    assert {one.path: one.merged.text for one in build_project(small, overrides=QUICK).files} == alone


@pytest.mark.parametrize(
    "arguments",
    [
        ("--no-proof",),
        ("--decide", "at most 1 GSIs"),
        ("--alternatives",),
        ("--output", "other.md"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_design_that_a_build_would_not_make_is_not_recorded(small: Path, arguments: tuple[str, ...]) -> None:
    run(["design", "--yes", *arguments])
    assert not read_record(small.parent).designed


def test_a_remembered_decision_is_part_of_the_recorded_design(small: Path) -> None:
    assert run(["design", "--yes", "--decide", "no copies", "--remember"]) == 0
    assert "no copies" in small.read_text("utf-8")
    assert steps_of_build(small) == ["check", "design", "render"]


@pytest.mark.slow
def test_a_document_or_a_design_that_has_changed_is_designed_again(small: Path) -> None:
    assert run(["design", "--yes"]) == 0
    design = small.parent / "table-design.md"
    text = design.read_text("utf-8")
    design.write_text(text.replace("## ", "A note.\n\n## ", 1), "utf-8")
    assert "prove" in steps_of_build(small)
    design.write_text(text, "utf-8")
    assert "prove" not in steps_of_build(small)
    small.write_text(small.read_text("utf-8").replace("mutable", "immutable", 1), "utf-8")
    assert "prove" in steps_of_build(small)


def test_a_design_over_other_keys_makes_the_last_build_outdated(small: Path) -> None:
    assert run(["design", "--yes"]) == 0
    design = small.parent / "table-design.md"
    approved = design.read_text("utf-8").replace("TEAM#", "CLUB#").replace("DRAFT", "APPROVED", 1)
    design.write_text(approved, "utf-8")
    build_project(small, overrides=QUICK).write()
    assert read_record(small.parent).source
    assert run(["design", "--yes"]) == 0
    assert read_record(small.parent).source == ""


def test_settings_with_errors_are_reported_by_file(small: Path) -> None:
    (small.parent / "prejoin.toml").write_text('styel = "msgspec"\n')
    with pytest.raises(InputError, match=r"prejoin\.toml:1:1: there is no setting `styel`"):
        build_project(small)


def test_infrastructure_errors_have_their_fix_apart(small: Path) -> None:
    (small.parent / "prejoin.toml").write_text('[table]\ntags = { "aws:x" = "1" }\n')
    with pytest.raises(PipelineError) as caught:
        build_project(small, overrides=QUICK)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.message, diagnostic.fix) == ("the tag 'aws:x'", "keys that begin with aws: are those of AWS")
