"""Single items beside a list are checked before the list is written."""

from __future__ import annotations

import pytest
from tests.exam.documents import NO_TENANT
from tests.exam.harness import Plan, examine, failures
from tests.exam.list_refusals import plans


@pytest.mark.parametrize("document", plans([NO_TENANT]), ids=str)
def test_refused_item_leaves_the_list_as_it_was(document: Plan) -> None:
    assert failures(document) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(), ids=str)
def test_refused_item_leaves_the_list_as_it_was_with_tenants_and_is_proven(document: Plan) -> None:
    assert [(result.row, text) for result in examine(document.make(), proven=True) for text in result.texts] == []
