"""The numbers of new indexes: the same for the same keys, with no cut in any index."""

from __future__ import annotations

from prejoin.design.solver.candidates import Candidate
from prejoin.design.solver.placement import OWN, CollectionPlace, Placement
from prejoin.design.solver.program.numbering import Group, distribute, merge_groups


def key(entity: str, *names: str) -> Placement:
    return Placement(entity, OWN, 1, Candidate(entity, names))


def alone(*keys: Placement) -> list[Group]:
    return [frozenset({one}) for one in keys]


USER, ORDER, LATE, NOTE = key("User", "email"), key("Order", "status"), key("Order", "due"), key("Note", "tag")
READ = CollectionPlace("AP-001", 1, ("status",))


def test_two_keys_of_an_entity_are_in_different_indexes() -> None:
    found = distribute(alone(USER, ORDER, LATE), 2)
    assert found is not None
    assert found[frozenset({ORDER})] != found[frozenset({LATE})]
    assert distribute(alone(ORDER, LATE), 1) is None


def test_keys_that_are_read_together_are_one_group() -> None:
    groups = merge_groups(alone(USER, ORDER, LATE), frozenset({READ, USER, ORDER}))
    assert set(groups) == {frozenset({USER, ORDER, READ}), frozenset({LATE})}


def test_order_of_the_keys_does_not_matter() -> None:
    keys = [USER, ORDER, LATE, NOTE]
    assert distribute(alone(*keys), 3) == distribute(alone(*reversed(keys)), 3)


def test_no_index_has_all_of_an_excluded_group() -> None:
    groups = alone(USER, NOTE)
    free, cut = distribute(groups, 2), distribute(groups, 2, [frozenset({USER, NOTE})])
    assert free is not None
    assert cut is not None
    assert len(set(free.values())) == 1
    assert len(set(cut.values())) == 2
    assert distribute(groups, 1, [frozenset({USER, NOTE})]) is None


def test_places_are_excluded_like_keys() -> None:
    other = CollectionPlace("AP-002", 1, ("status",))
    groups: list[Group] = [frozenset({USER, READ}), frozenset({NOTE, other})]
    found = distribute(groups, 2, [frozenset({READ, other})])
    assert found is not None
    assert len(set(found.values())) == 2
