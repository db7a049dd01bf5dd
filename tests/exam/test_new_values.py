"""Values of new items that the row says, and objects that have others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.exam.documents import NO_TENANT
from tests.exam.harness import Plan, failures
from tests.exam.new_values import plans, short


@pytest.mark.parametrize("document", plans([NO_TENANT])[1:2], ids=str)
def test_some_new_values(document: Plan) -> None:
    assert failures(replace(document, make=lambda: short(document.make()))) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(), ids=str)
def test_new_values(document: Plan) -> None:
    assert failures(document, proven=True) == []
