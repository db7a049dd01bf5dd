"""Pyright on the files that mypy is asked about in the ordinary tests: it accepts and refuses the same lines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.table.test_typing import FILES, expected

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
