"""Writers killed with SIGKILL at random moments. `scripts/soak` does the same hundreds of times."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from prejoin.engine import Durability

from .crashing import kill_and_check


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("durability", ["normal", "full"])
def test_kill_keeps_acknowledged_writes_and_no_partial_ones(tmp_path: Path, durability: Durability) -> None:
    written = kill_and_check(tmp_path / "shop.db", durability, rounds=5, seed=7)
    assert written > 20
