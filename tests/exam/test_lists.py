"""Lists in writes, beside items of another parent and of another tenant with the same ids."""

from __future__ import annotations

import pytest
from tests.exam.documents import PLAIN_TENANT
from tests.exam.harness import Plan, failures
from tests.exam.lists import plans

EVERYDAY = [plan for plan in plans([PLAIN_TENANT]) if plan.name.startswith("moves")]


@pytest.mark.parametrize("document", EVERYDAY, ids=str)
def test_some_lists(document: Plan) -> None:
    assert failures(document) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(), ids=str)
def test_lists(document: Plan) -> None:
    assert failures(document) == []
