"""A condition decides whether an attribute is equal to the input of its name: with `or` it need not be."""

from __future__ import annotations

import pytest
from tests.exam.documents import TENANCIES
from tests.exam.harness import Plan, failures
from tests.exam.own_inputs import plans


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(TENANCIES[::2]), ids=str)
def test_inputs_with_the_name_of_an_attribute(document: Plan) -> None:
    assert failures(document, proven=True) == []
