"""Every form of condition with every verb: accepted and refused as an oracle says, and nothing else changes."""

from __future__ import annotations

from functools import partial

import pytest
from tests.exam.conditions import COMBINED, FORMS, SHAPES, Form, combinations, combined_plans, plan, plans, refused
from tests.exam.documents import TENANCIES, Tenancy
from tests.exam.harness import NOW, Plan, failures
from tests.exam.oracle import accepts

EVERYDAY = FORMS[::8]


def _some() -> list[Plan]:
    """Some forms of condition, with some layouts of actions; each shape of ids and each tenancy."""
    chosen = list(combinations())[::9]
    return [
        plan(TENANCIES[number % 3], SHAPES[number % 2], layout, placement, EVERYDAY)
        for number, (layout, placement) in enumerate(chosen)
    ]


@pytest.mark.parametrize("form", [*FORMS, *COMBINED], ids=lambda form: form.text("", {}))
def test_items_fulfil_each_form_and_others_do_not(form: Form) -> None:
    """Otherwise the cases of a form would show nothing."""
    items = [*form.states.values(), None]
    verdicts = {accepts("check", item, None, form.conditions, form.arguments, NOW) for item in items}
    assert verdicts == {True, False}


@pytest.mark.parametrize("document", _some(), ids=str)
def test_some_conditions(document: Plan) -> None:
    assert failures(document) == []


@pytest.mark.parametrize("tenancy", TENANCIES, ids=lambda tenancy: tenancy.name)
def test_conditions_without_a_meaning_are_refused(tenancy: Tenancy) -> None:
    assert failures(Plan("refused", tenancy, partial(refused, tenancy))) == []


@pytest.mark.parametrize("document", combined_plans()[::120], ids=str)
def test_some_conditions_with_parts(document: Plan) -> None:
    assert failures(document) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", combined_plans()[::7], ids=str)
def test_conditions_with_parts(document: Plan) -> None:
    assert failures(document, proven=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", plans()[::7], ids=str)  # all of them: python -m tests.exam.report conditions
def test_conditions(document: Plan) -> None:
    assert failures(document, proven=True) == []
