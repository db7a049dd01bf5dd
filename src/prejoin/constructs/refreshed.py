"""The constructs that relate two entities: their items are refreshed after a change of items of the other.

They are bound with the names of a workload resolved, so they import `workload/lookup.py`. That asks the registry of the
constructs of one entity (`constructs/registry.py`), which therefore cannot bind these.
"""

from __future__ import annotations

from prejoin.constructs.construct import AttributeFlag, RefreshedConstruct
from prejoin.constructs.followed import FollowsFlag
from prejoin.workload.model import Workload

FLAGS: tuple[AttributeFlag, ...] = (FollowsFlag(),)


def refreshed_in(workload: Workload) -> tuple[RefreshedConstruct, ...]:
    """The constructs of all entities. A flag whose source or reference is not clear has none."""
    constructs: tuple[RefreshedConstruct, ...] | None = workload.memo.get(("refreshed",))
    if constructs is None:
        constructs = tuple(construct for flag in FLAGS for construct in flag.bind(workload))
        workload.memo[("refreshed",)] = constructs
    return constructs
