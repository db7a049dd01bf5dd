"""References between the items of a write, with each kind of key."""

from __future__ import annotations

import pytest
from tests.exam.documents import NO_TENANT
from tests.exam.harness import Plan, failures
from tests.exam.references import plans


@pytest.mark.parametrize("document", plans([NO_TENANT])[:1], ids=str)
def test_some_references(document: Plan) -> None:
    assert failures(document) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(), ids=str)
def test_references(document: Plan) -> None:
    assert failures(document) == []
