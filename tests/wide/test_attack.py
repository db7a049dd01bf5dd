"""A short run of the attacks. `scripts/soak --attack` runs them for longer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .conftest import ROOT

pytestmark = pytest.mark.wide

SECONDS = 75
SEED = 20261117
"""Fixed, so that the same commit gives the same result. `scripts/soak --attack` takes a new one each time."""


def test_attacks_find_nothing() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.attack", "--seconds", str(SECONDS), "--seed", str(SEED)],
        cwd=ROOT,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-20_000:]
