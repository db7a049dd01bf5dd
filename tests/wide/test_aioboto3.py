"""aioboto3, and aiobotocore under it, on the engine in process."""

from __future__ import annotations

import os
import subprocess

import pytest

from .conftest import ROOT, tool

pytestmark = pytest.mark.wide


def test_aioboto3_asks_the_engine_in_its_own_process() -> None:
    ran = subprocess.run(
        [tool("aio/bin/python").absolute(), ROOT / "tests/wide/aio/program.py"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
