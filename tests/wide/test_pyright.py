"""Pyright accepts and refuses the same lines as mypy in `tests/table/typing`, and accepts generated packages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.render.python.driving import NAMES, designed, written
from tests.table.test_typing import FILES, expected

from prejoin.render.python import Options, render_python
from prejoin.render.python.entities import Style

from .conftest import ROOT

pytestmark = pytest.mark.wide

PYRIGHT = re.search(r"pyright@[\d.]+", (ROOT / "scripts" / "check").read_text(encoding="utf-8"))


def test_pyright_finds_the_mistakes_that_mypy_finds_and_no_others() -> None:
    assert PYRIGHT, "scripts/check says which"
    ran = subprocess.run(
        ["npx", "--yes", PYRIGHT[0], "--outputjson", "--pythonpath", sys.executable, *map(str, FILES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, set[int]] = {path.name: set() for path in FILES}
    for one in json.loads(ran.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            found[Path(one["file"]).name].add(one["range"]["start"]["line"] + 1)
    assert found == expected()


def test_pyright_finds_nothing_in_generated_code(tmp_path: Path) -> None:
    assert PYRIGHT, "scripts/check says which"
    styles: list[Style] = ["dataclass", "msgspec", "pydantic"]
    for number, name in enumerate(NAMES):
        written(render_python(*designed(name), Options(f"of_{name}", styles[number % 3])), tmp_path / name)
    roots = [str(tmp_path / name) for name in NAMES]
    config = {"include": roots, "executionEnvironments": [{"root": root} for root in roots], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = ["npx", "--yes", PYRIGHT[0], "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(ran.stdout)
    assert report["summary"]["filesAnalyzed"] >= 7 * len(NAMES)
    assert [(one["file"], one["message"]) for one in report["generalDiagnostics"]] == []
