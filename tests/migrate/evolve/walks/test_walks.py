"""Random walks over the commands of `prejoin evolve`, with all that a table can have. `scripts/soak --evolve` runs more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.evolve.walks.check import run_walk
from tests.migrate.evolve.walks.studio import PAIRS

_EVERYDAY = ("track moves", "rename in history", "everything")


def _cases() -> list[object]:
    cases: list[object] = []
    for seed in range(4):
        for pair in PAIRS:
            is_everyday = pair in _EVERYDAY and seed == 0
            cases.append(pytest.param(pair, seed, marks=[] if is_everyday else [pytest.mark.slow]))
    return cases


@pytest.mark.parametrize(("pair", "seed"), _cases())
def test_no_item_is_lost_or_doubled(pair: str, seed: int, tmp_path: Path) -> None:
    walk = run_walk(pair, seed, tmp_path)
    assert walk.events["backfill"] > 0
    assert walk.events["clean"] > 0
