"""`nothing is assumed` and `no error and no warning` are printed only where they are true."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.design.test_laws import HUNDREDS
from tests.design.test_one_bill import DOCUMENTS, KINDS, NO_RISK, NOTHING, sentences, unlisted, workload_of
from tests.design.wide_workloads import wide_workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.document.write_document import write_document
from prejoin.design.explain import annotate, explain_design
from prejoin.design.files import read_design_text
from prejoin.design.model import Design
from prejoin.design.solver.solve import solve as solve_anew
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.workload.files import read_file, read_text, write_text
from prejoin.workload.model import Workload


def false_sentences(workload: Workload, design: Design, document: tuple[Diagnostic, ...]) -> Iterator[str]:
    """The sentences that are not true. `document` has the diagnostics of the access patterns."""
    facts = sentences(workload, design)
    design = annotate(design, explain_design(workload, design))
    written = write_document(design, workload)
    of_file = read_design_text(written, workload, "md").diagnostics
    severe = [
        one for one in (*document, *check_design(design, workload), *of_file) if one.severity is not Severity.HINT
    ]
    if facts["Risks"] == NO_RISK:
        yield from (f"no risk, and {one.code}: {one.message}" for one in severe)
        yield from (f"no risk, and {o.pattern} is not served" for o in design.operations if not o.served)
    elif not severe and all(operation.served for operation in design.operations):
        yield f"no error and no warning, and risks: {facts['Risks']}"
    explained = explain_design(workload, design).assumed
    if (facts["Assumed"] == NOTHING) != (not explained):
        yield f"assumed: {facts['Assumed']}, and the explanation has {explained}"


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_are_true_of_each_kind_of_work(kind: str) -> None:
    workload = workload_of(kind)
    assert list(false_sentences(workload, solve(workload).design, ())) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_sentences_are_true_of_a_document(path: Path) -> None:
    reading = read_file(path)
    design = solve(reading.workload).design
    assert list(false_sentences(reading.workload, design, reading.diagnostics)) == []


@pytest.mark.slow
@given(wide_workloads())
@settings(HUNDREDS, max_examples=examples(200))
def test_sentences_are_true_of_a_random_document(workload: Workload) -> None:
    reading = read_text(write_text(workload, "json"), "json")
    design = solve_anew(workload).design
    assert list(false_sentences(workload, design, reading.diagnostics)) == []


@pytest.mark.slow
@given(wide_workloads())
@settings(HUNDREDS, max_examples=examples(50))
def test_every_figure_that_is_assumed_for_a_random_document_is_listed(workload: Workload) -> None:
    text = write_text(workload, "json")
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert unlisted(lambda: read_text(text, "json").workload, monkeypatch) == []
