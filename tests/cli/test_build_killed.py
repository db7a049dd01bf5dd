"""A killed `prejoin build` leaves no partial file, and the next build continues."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin

pytestmark = pytest.mark.slow

TEAMS = Path(__file__).parents[2] / "examples" / "teams" / "access-patterns.md"
DIES = """
import os, signal, sys, tempfile
from pathlib import Path
from prejoin.cli import main

left, replace, flush = int(sys.argv.pop(1)), os.replace, os.fsync

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def dying_replace(*given, **named):
    global left
    left -= 1
    if left == 0:
        die()
    return replace(*given, **named)

def dying_flush(handle):
    global left
    left -= 1
    if left == 0:
        os.truncate(handle, os.fstat(handle).st_size // 2)
        die()
    return flush(handle)

os.replace, os.fsync = dying_replace, dying_flush
main()
"""
"""A build that is killed while it writes: before a file is renamed, or when half of it is written."""


def texts(folder: Path) -> dict[str, str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in found}


def changed(text: str) -> str:
    return text.replace("- `name` (string", "- `title` (string", 1)


@pytest.fixture
def teams(here: Path) -> Path:
    shutil.copy(TEAMS, here / "access-patterns.md")
    return here


def test_files_after_a_killed_build_are_complete_and_known(prejoin: Prejoin, teams: Path) -> None:
    assert prejoin("build", "--yes").status == 0
    old = texts(teams)
    document = teams / "access-patterns.md"
    document.write_text(changed(old["access-patterns.md"]), "utf-8")
    assert prejoin("build", "--yes").status == 0
    new = texts(teams)
    steps = 2 * sum(old[path] != new[path] for path in new)
    for left in random.Random().sample(range(1, steps), 2):
        for path, text in old.items():
            (teams / path).write_text(text, "utf-8")
        document.write_text(new["access-patterns.md"], "utf-8")
        ran = subprocess.run([sys.executable, "-c", DIES, str(left), "build", "--yes"], cwd=teams, check=False)
        assert ran.returncode == -9, left
        found = texts(teams)
        for path in set(new) - {".prejoin-build.json"}:
            assert found[path] in (old[path], new[path]), (left, path)
        # The document changes before the next build: files of the killed build must not count as changed by hand.
        document.write_text(old["access-patterns.md"], "utf-8")
        again = prejoin("build", "--yes")
        assert again.status == 0, (left, again.err)
        assert {path: text for path, text in texts(teams).items() if path in old} == old, left
        for stray in set(texts(teams)) - set(old):
            assert stray.rpartition("/")[2].startswith("."), (left, stray)
            (teams / stray).unlink()


def test_next_build_repairs_a_killed_build(prejoin: Prejoin, teams: Path) -> None:
    whole = teams.parent / "whole"
    shutil.copytree(teams, whole)
    assert prejoin("build", whole / "access-patterns.md", "--yes").status == 0
    right = texts(whole)
    for moment in (0.2, 0.9, random.uniform(0.3, 2.0)):
        start = "from prejoin.cli import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", start, "build", "--yes"],
            cwd=teams,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moment)
        process.kill()
        process.wait()
        for path, text in texts(teams).items():
            assert path.rpartition("/")[2].startswith(".") or text == right[path], (moment, path)
    assert prejoin("build", "--yes").status == 0
    assert {path: text for path, text in texts(teams).items() if path in right} == right
