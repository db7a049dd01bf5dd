"""Test ids are constant, because each worker of a parallel run collects the tests, and all must agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COLLECT = """
import sys, time
from pathlib import Path

import pytest

real = time.time
time.time = lambda: real() + float(sys.argv[2])


class Ids:
    def pytest_collection_finish(self, session):
        Path(sys.argv[1]).write_text("\\n".join(item.nodeid for item in session.items), encoding="utf-8")


sys.exit(pytest.main(["--collect-only", "-p", "no:cacheprovider", "-m", "", "tests"], plugins=[Ids()]))
"""


@pytest.mark.slow
def test_two_collections_give_the_same_ids(tmp_path: Path) -> None:
    """Collects at another time of day and with another hash seed."""
    runs = []
    for seed in ("1", "2"):
        place = tmp_path / seed
        late = str(1_000_003 * int(seed))
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", COLLECT, str(place), late]
        runs.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL))
    assert [run.wait(timeout=600) for run in runs] == [0, 0]
    first, second = ((tmp_path / seed).read_text("utf-8").splitlines() for seed in ("1", "2"))
    assert len(first) > 1000
    assert [(one, other) for one, other in zip(first, second, strict=True) if one != other] == []
