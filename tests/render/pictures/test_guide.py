"""The pictures of the guide are up to date. `python -m tests.render.pictures.test_guide` draws them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from tests.conftest import SHARED
from tests.solutions import solve

from prejoin.render.pictures.render_pictures import render_pictures
from prejoin.types import STRING
from prejoin.workload.files import read_file
from prejoin.workload.model import Attribute, Entity, Workload

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "guides" / "pictures.md"
SHOWN = ("entities.svg", "table.svg", "gsi1.svg", "access-patterns.svg")


def drawn() -> dict[str, str]:
    workload = read_file(ROOT / "examples/shop/access-patterns.md").workload
    files = render_pictures(workload, solve(workload).design)
    return {path.name: text for path, text in files.items() if path.name in SHOWN}


def test_the_pictures_of_the_guide_are_those_of_the_shop() -> None:
    for name, text in drawn().items():
        kept = (GUIDE.parent / "pictures" / name).read_text(encoding="utf-8")
        assert kept == text, f"{name} is another now: run `python -m tests.render.pictures.test_guide`"
    assert re.findall(r"\(pictures/([^)]+)\)", GUIDE.read_text(encoding="utf-8")) == list(SHOWN)


def test_a_script_finds_a_design_without_a_run_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SHARED)
    workload = Workload(
        title="Drawn by a script", entities=(Entity("Note", attributes=(Attribute("noteId", STRING, id=True),)),)
    )
    assert [item.entity for item in solve(workload).design.items] == ["Note"]


@pytest.mark.slow
def test_the_code_of_the_guide_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (diagnostic,) = re.findall(r"```text\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    assert out.getvalue() == diagnostic
    assert "> Summary: 17 methods, 17 with a test" in str(names["pages"])


if __name__ == "__main__":
    for name, text in drawn().items():
        (GUIDE.parent / "pictures" / name).write_text(text, encoding="utf-8")
