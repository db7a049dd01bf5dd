"""Items of one write that refer to the same third item are of one and the same."""

from __future__ import annotations

import pytest
from tests.exam.documents import PLAIN_TENANT
from tests.exam.harness import Plan, failures
from tests.exam.siblings import plans


@pytest.mark.parametrize("document", plans([PLAIN_TENANT]), ids=str)
def test_siblings_of_a_tenant(document: Plan) -> None:
    assert failures(document) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(), ids=str)
def test_siblings(document: Plan) -> None:
    assert failures(document) == []
