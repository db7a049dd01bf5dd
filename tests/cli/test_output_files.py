"""Outputs stay in their folder: links are refused before anything is written."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from prejoin.pipeline.errors import PipelineError
from prejoin.pipeline.output_files import check_outputs, delete_file, write_file
from tests.cli.conftest import Prejoin, Ran
from tests.cli.terminal import Terminal

TEAMS = Path(__file__).parents[1] / "small.md"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user, next to the current one."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    (home / "profile").write_text("mine\n")
    monkeypatch.chdir(work)
    return home


def texts(folder: Path) -> dict[str, str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in found}


def outputs(folder: Path) -> list[str]:
    """All files that a build of the teams writes."""
    return [name for name in texts(folder) if name != "access-patterns.md"]


@pytest.mark.slow
def test_build_refuses_each_output_that_is_a_link(prejoin: Prejoin, home: Path) -> None:
    shutil.copy(TEAMS, "access-patterns.md")
    assert prejoin("build", "--yes").status == 0
    names = outputs(Path())
    assert {"template.yaml", ".prejoin-build.json", "table-design.md"} < set(names)
    before = texts(Path())
    for name in names:
        for target in (home / "profile", home / "nowhere"):
            path = Path(name)
            path.unlink()
            path.symlink_to(target)
            Path("access-patterns.md").write_text(before["access-patterns.md"] + "\n")
            ran = prejoin("build", "--yes")
            assert ran.status == 4, (name, ran.err)
            assert f"PJ011: {name} is a symbolic link" in ran.err
            path.unlink()
            path.write_text(before[name])
            assert texts(home) == {"profile": "mine\n"}
    for name, text in texts(Path()).items():
        assert name == "access-patterns.md" or text == before[name]


@pytest.mark.slow
def test_build_never_prints_the_target_of_a_link(prejoin: Prejoin, home: Path) -> None:
    shutil.copy(TEAMS, "access-patterns.md")
    Path("keys.md").symlink_to(home / "profile")
    for option in ("--diff", "--check"):
        ran = prejoin("build", option)
        assert ran.status == 4
        assert "mine" not in ran.out + ran.err


@pytest.mark.slow
def test_build_refuses_folders_that_are_links(prejoin: Prejoin, home: Path) -> None:
    shutil.copy(TEAMS, "access-patterns.md")
    for folder in ("teams", "tests", "pictures"):
        Path(folder).symlink_to(home)
        ran = prejoin("build", "--yes")
        assert ran.status == 4
        assert f"PJ011: {folder} is a symbolic link" in ran.err
        Path(folder).unlink()
    assert texts(home) == {"profile": "mine\n"}
    assert outputs(Path()) == []


def test_prune_deletes_nothing_through_links(prejoin: Prejoin, home: Path) -> None:
    shutil.copy(TEAMS, "access-patterns.md")
    assert prejoin("build", "--yes").status == 0
    shutil.move("teams", home / "teams")
    Path("teams").symlink_to(home / "teams")
    before = texts(home)
    ran = prejoin("build", "--yes", "--prune", "--package", "other")
    assert ran.status == 4
    assert "PJ011: teams is a symbolic link" in ran.err
    assert texts(home) == before


def test_build_reads_a_document_and_writes_to_a_named_folder_through_links(prejoin: Prejoin, home: Path) -> None:
    shutil.copy(TEAMS, home / "source.md")
    real = home / "project"
    real.mkdir()
    Path("here").symlink_to(real)
    (real / "access-patterns.md").symlink_to(home / "source.md")
    assert prejoin("build", "here/access-patterns.md", "--yes").status == 0
    assert (real / "template.yaml").is_file()


def _design(prejoin: Prejoin) -> tuple[str, int]:
    shutil.copy(TEAMS, "access-patterns.md")
    return "table-design.md", prejoin("design", "--yes").status


def _init(prejoin: Prejoin) -> tuple[str, int]:
    return "new.md", prejoin("init", "new.md", "--force").status


def _convert(prejoin: Prejoin) -> tuple[str, int]:
    return "new.yaml", prejoin("convert", TEAMS, "-o", "new.yaml", "--force").status


def _interview(prejoin: Prejoin) -> tuple[str, int]:
    return "talk.md", prejoin("interview", "talk.md", stdin=b"Shop\n").status


def _decide(prejoin: Prejoin) -> tuple[str, int]:
    return "decided.md", prejoin("design", "decided.md", "--decide", "no copies", "--remember", "--yes").status


def _skill(prejoin: Prejoin) -> tuple[str, int]:
    return ".agents", prejoin("skill", "install").status


@pytest.mark.everyday(6)
@pytest.mark.parametrize("command", [_design, _init, _convert, _interview, _decide, _skill])
@pytest.mark.parametrize("dangling", [False, True])
def test_no_command_writes_through_a_link(
    prejoin: Prejoin, home: Path, command: Callable[[Prejoin], tuple[str, int]], dangling: bool
) -> None:
    name, status = command(_absent)
    target = home / ("nowhere" if dangling else "profile")
    if name == "decided.md":
        shutil.copy(TEAMS, home / "source.md")
        target = home / "source.md"
    if name == ".agents":
        target = home
    Path(name).symlink_to(target)
    before = texts(home)
    _, status = command(prejoin)
    assert status != 0
    assert Path(name).is_symlink()
    assert texts(home) == before


def _absent(*_: object, **__: object) -> Ran:
    """Runs nothing; for the names of a command's outputs."""
    return Ran(0, "", "")


@pytest.mark.slow
def test_decide_in_a_linked_document_keeps_no_copy_aside(prejoin: Prejoin, home: Path) -> None:
    (home / "source.md").write_text(TEAMS.read_text("utf-8") + "\n<!-- lost -->\n")
    Path("decided.md").symlink_to(home / "source.md")
    ran = prejoin("design", "decided.md", "--decide", "no copies", "--remember", "--yes")
    assert ran.status == 4
    assert "PJ011: decided.md is a symbolic link" in ran.err
    assert [path.name for path in Path().iterdir()] == ["decided.md"]


@pytest.mark.slow
def test_approved_design_is_not_written_where_its_decisions_cannot_be(home: Path) -> None:
    (home / "source.md").write_text(TEAMS.read_text("utf-8"))
    Path("decided.md").symlink_to(home / "source.md")
    terminal = Terminal("design", "decided.md", "--no-proof", folder=Path.cwd(), NO_COLOR="1")
    terminal.expect("[y/n")
    terminal.send("minimise money\n")
    terminal.expect("Decided")
    terminal.send("y\n")
    terminal.expect("Add to the Decisions")
    terminal.send("y\n")
    terminal.expect("decided.md is a symbolic link")
    assert terminal.status() == 4
    assert [path.name for path in Path().iterdir()] == ["decided.md"]
    assert texts(home)["source.md"] == TEAMS.read_text("utf-8")


@pytest.mark.slow
def test_linked_output_is_refused_before_the_design_is_shown_for_approval(home: Path) -> None:
    shutil.copy(TEAMS, "access-patterns.md")
    Path("table-design.md").symlink_to(home / "nowhere")
    terminal = Terminal("design", "--no-proof", folder=Path.cwd(), NO_COLOR="1")
    terminal.expect("table-design.md is a symbolic link")
    assert terminal.status() == 4


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/tmp/x", "..", "", "a/..", "a\0b"])
def test_names_outside_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for act in (lambda p: write_file(folder, p, "x"), lambda p: delete_file(folder, p)):
        with pytest.raises(PipelineError) as caught:
            act(PurePosixPath(name))
        assert [said.code for said in caught.value.sources[0].diagnostics] == ["PJ011"]
    assert list(tmp_path.rglob("*")) == [folder]


def test_package_names_outside_the_folder_are_refused(prejoin: Prejoin, home: Path) -> None:
    shutil.copy(TEAMS, "access-patterns.md")
    for name in ("../home", "/tmp/x", "a/b", "a.b", ".."):
        assert prejoin("build", "--yes", "--package", name).status == 2
        Path("prejoin.toml").write_text(f'package = "{name}"\n')
        assert prejoin("build", "--yes").status == 1
        Path("prejoin.toml").unlink()
    assert outputs(Path()) == []
    assert texts(home) == {"profile": "mine\n"}


def test_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = PurePosixPath("a/b.md")
    write_file(tmp_path, name, "old")
    place = tmp_path / name
    place.chmod(0o640)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(PipelineError, match="No space"):
            write_file(tmp_path, name, "new")
    assert place.read_text() == "old"
    assert list(place.parent.iterdir()) == [place]
    write_file(tmp_path, name, "new")
    assert (place.read_text(), stat.S_IMODE(place.stat().st_mode)) == ("new", 0o640)


def test_new_files_get_the_usual_mode(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_file(tmp_path, PurePosixPath("a"), "")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_deleting_removes_folders_left_empty_and_no_others(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d"):
        write_file(tmp_path, PurePosixPath(name), "")
    delete_file(tmp_path, PurePosixPath("a/b/c"))
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["d"]
    delete_file(tmp_path, PurePosixPath("a/d"))
    delete_file(tmp_path, PurePosixPath("a/d"))  # gone already
    assert list(tmp_path.iterdir()) == []


def test_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(PipelineError, match=name) as caught:
            check_outputs(tmp_path, [PurePosixPath(name)])
        assert [said.code for said in caught.value.sources[0].diagnostics] == ["PJ011"]
