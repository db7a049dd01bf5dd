"""The first commands of each example's README work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# Replacements for lines of the README that never end, or that scripts/examples runs.
INSTEAD = {
    "python -m pytest": "true",
    "python collector.py run --every 2": "timeout --preserve-status -s INT 2 python collector.py run --every 0.2",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["documents", "files", "metrics", "organisation"])
def test_the_first_commands_of_a_readme_work(name: str, tmp_path: Path) -> None:
    here = shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("*.db*", "__pycache__"))
    block = re.search(r"^```\n(.*?)^```$", (here / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert block
    script = list[str]()
    for line in block[1].splitlines():
        command, _, comment = (part.strip() for part in line.partition(" #"))
        command = INSTEAD.get(command, command)
        refused = comment.startswith("refused")
        script.append(f"if {command}; then exit 1; fi" if refused else f"{{ {command}; }} || exit 1")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=here,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(script) >= 3
