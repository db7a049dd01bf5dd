"""Children of the same entity as their parent, beside those of another parent and of another tenant."""

from __future__ import annotations

import pytest
from tests.exam.documents import NO_TENANT
from tests.exam.harness import Plan, examine
from tests.exam.self_references import plans
from tests.solutions import solve

from prejoin.pipeline.build.generated_tests import run_tests
from prejoin.render.python import render_python
from prejoin.workload.files import read_text


def _failed_tests(document: Plan) -> dict[str, str]:
    """The generated tests that fail, with their errors."""
    workload = read_text(str(document.make().document), "md").workload
    return dict(run_tests(render_python(workload, solve(workload).design), "exam").failed or {})


def _wrong(document: Plan) -> list[tuple[str, str]]:
    return [(str(result.row), text) for result in examine(document.make(), proven=True) for text in result.texts]


@pytest.mark.parametrize("document", plans([NO_TENANT])[:4], ids=str)
def test_children_of_the_same_entity(document: Plan) -> None:
    assert _wrong(document) == []
    assert _failed_tests(document) == {}


@pytest.mark.slow
@pytest.mark.parametrize("document", plans(), ids=str)
def test_children_of_the_same_entity_with_tenants(document: Plan) -> None:
    assert _wrong(document) == []
    assert _failed_tests(document) == {}
