"""Every form of change, with optional attributes and inputs, bounds, and several items of one entity."""

from __future__ import annotations

import pytest
from tests.exam.changes import plans
from tests.exam.documents import PLAIN_TENANT
from tests.exam.harness import Plan, failures


@pytest.mark.parametrize("document", plans([PLAIN_TENANT])[-1:], ids=str)
def test_some_changes(document: Plan) -> None:
    assert failures(document) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(), ids=str)
def test_changes(document: Plan) -> None:
    assert failures(document, proven=True) == []
