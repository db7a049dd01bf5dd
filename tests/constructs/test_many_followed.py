"""Attributes that follow others: the work to find their sources grows with their number, not with its square."""

from __future__ import annotations

import pytest

from prejoin.constructs.refreshed import refreshed_in
from prejoin.types import STRING
from prejoin.workload.model import Attribute, Entity, Follows, Workload
from tests.work import calls


def copies(number: int, separate: bool) -> Workload:
    """An entity with attributes that follow a user's, by one reference or each by its own."""
    names = [Attribute(f"name{at}", STRING, mutable=True) for at in range(number)]
    user = Entity("User", attributes=(Attribute("userId", STRING, id=True), *names))
    ids = [f"user{at}" for at in range(number if separate else 1)]
    follows = [
        Attribute(f"own{at}", STRING, mutable=True, follows=Follows(f"User.name{at}", ids[at % len(ids)]))
        for at in range(number)
    ]
    references = [Attribute(name, STRING, references="User") for name in ids]
    post = Entity("Post", attributes=(Attribute("postId", STRING, id=True), *references, *follows))
    return Workload("Posts", entities=(user, post))


@pytest.mark.parametrize("separate", [False, True])
def test_work_grows_with_the_number_of_attributes(separate: bool) -> None:
    few, many = copies(50, separate), copies(200, separate)
    assert sum(len(one.attributes) for one in refreshed_in(many)) == 200
    assert len(refreshed_in(many)) == (200 if separate else 1)
    assert calls(refreshed_in, copies(200, separate)) < 6 * calls(refreshed_in, few)
