"""Writers killed with SIGKILL at random moments. `scripts/soak` does the same hundreds of times."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from prejoin.engine import Durability

from .crashing import kill_and_check


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("durability", ["normal", "full"])
def test_after_a_kill_what_was_acknowledged_is_there_and_nothing_is_there_in_part(
    tmp_path: Path, durability: Durability
) -> None:
    written = kill_and_check(tmp_path / "shop.db", durability, rounds=5, seed=7)
    assert written > 20
