"""Lists that belong to other lists, beside the lists of another firm and of another tenant with the same ids."""

from __future__ import annotations

import pytest
from tests.exam.documents import PLAIN_TENANT
from tests.exam.harness import Plan, examine, failures
from tests.exam.list_levels import plans


@pytest.mark.parametrize("document", plans([PLAIN_TENANT]), ids=str)
def test_lists_over_lists(document: Plan) -> None:
    assert failures(document) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(), ids=str)
def test_lists_over_lists_are_proven(document: Plan) -> None:
    assert [(result.row, text) for result in examine(document.make(), proven=True) for text in result.texts] == []
