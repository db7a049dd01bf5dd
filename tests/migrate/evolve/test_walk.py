"""Random walks over the commands: no item of anybody is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.evolve.shop import copied, few, many, many_renamed, moved, renamed, renamed_member
from tests.migrate.evolve.walk import Walk, state_name

CHANGES = {
    "another key": (few, moved),
    "the first key again": (moved, few),
    "indexes and a guard": (few, many),
    "without them": (many, few),
    "a copy": (many, copied),
    "an index": (copied, many),
    "other names of entities": (few, renamed),
    "other names, indexes and a guard": (few, many_renamed),
    "another name of a member": (many, renamed_member),
    "its first name again": (renamed_member, many),
}
_ACTS = 14


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 12))])
@pytest.mark.parametrize("change", CHANGES)
def test_no_item_is_lost_or_doubled(change: str, seed: int, tmp_path: Path) -> None:
    first, second = CHANGES[change]
    walk = Walk(first("first"), second("second"), tmp_path, seed)
    for _ in range(8):
        walk.write()
    for _ in range(_ACTS):
        walk.act()
    version = walk.finish()
    orders, users = walk.found(version)
    assert {key: order["total"] for key, order in orders.items()} == {
        key: order["total"] for key, order in walk.orders.items()
    }, walk.log
    assert {key: order["status"] for key, order in orders.items()} == {
        key: state_name(version, order["status"]) for key, order in walk.orders.items()
    }, walk.log
    assert users.keys() == walk.users.keys(), walk.log
