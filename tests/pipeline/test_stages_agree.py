"""`check`, `design --keep`, `build` and `query` agree about every design: what one accepts runs, and what it refuses is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from prejoin.design.checks import check_design
from prejoin.design.document.annotations import Annotations
from prejoin.design.document.write_document import write_document
from prejoin.design.files import write_design
from prejoin.design.model import Design
from prejoin.diagnostics import Severity
from prejoin.engine import Embedded
from prejoin.pipeline.build.build import build_project
from prejoin.pipeline.build.settings import Overrides
from prejoin.pipeline.codes import UNPROVEN, UNSERVED
from prejoin.pipeline.design.design_file import read_design
from prejoin.pipeline.design.design_table import ContradictionError, design_table
from prejoin.pipeline.document import Document, read_document
from prejoin.pipeline.errors import InputError, PipelineError
from prejoin.pipeline.query.query import query_design, run_pattern
from prejoin.proof.prove import prove
from prejoin.workload.document.write_document import UnwritableError
from prejoin.workload.files import Form, read_text, write_text
from prejoin.workload.model import Status, Workload
from tests.design.test_one_bill import DOCUMENT as BILL_DOCUMENT
from tests.design.test_one_bill import PLAIN
from tests.design.wide_workloads import wide_workloads
from tests.pipeline.conftest import EXAMPLES
from tests.pipeline.design_mutants import DesignMutant, mutants_of_design
from tests.place import examples
from tests.proof.league import league_design, league_workload
from tests.solutions import solve

CORPUS = Path(__file__).parents[1] / "corpus"
DOCUMENTS = sorted([*EXAMPLES.glob("*/access-patterns.md"), *CORPUS.glob("*/access-patterns.md")])
EVERYDAY = ("aws_session_management", "files")
SLOW = [path for path in DOCUMENTS if path.parent.name in ("blog", "documents", "groups")]
DECISION_VIOLATED = "PJ588"
MORE_THAN_ONE = "there is more than one"
FEW = 25
FEWEST = 6
"""Mutants of each document, and of those of every day."""


class Stages:
    """A document and a design in a folder, and what each stage says about them."""

    def __init__(self, folder: Path, workload: Workload, design: Design, form: Form = "yaml") -> None:
        folder.mkdir(exist_ok=True)
        self.path = folder / "access-patterns.json"
        self.path.write_text(write_text(workload, "json"), "utf-8")
        self.design_path = folder / f"table-design.{form}"
        text = write_design(design, form, workload)
        if form == "md":
            text = write_document(design, workload, Annotations(status=Status.APPROVED))
        self.design_path.write_text(text, "utf-8")
        self.document: Document = read_document(self.path)
        self.read = read_design(self.design_path, self.path)
        self.refused = {one.code for one in self.read.diagnostics if one.severity is Severity.ERROR}
        """The codes of the errors of `check`."""
        self.warned = {one.code for one in self.read.diagnostics if one.severity is Severity.WARNING}

    def disagreements(self) -> Iterator[str]:
        yield from self._query()
        yield from self._kept()
        if not self.refused:
            yield from self._proof()

    def _query(self) -> Iterator[str]:
        """A pattern that `check` accepts runs; a refusal of one has an error of `check`."""
        try:
            found = query_design(self.document)
            patterns = list(found.methods)
        except PipelineError as refusal:
            yield from self._refused("query", refusal)
            return
        for pattern in patterns:
            try:
                run_pattern(found, pattern)
            except PipelineError as refusal:
                yield from self._refused(f"query {pattern}", refusal)

    def _kept(self) -> Iterator[str]:
        """A design that `check` accepts can be kept, and one that cannot be read is refused in the same way."""
        try:
            result = design_table(self.document, keep=self.design_path, prove=False, alternatives=0)
        except PipelineError as refusal:
            yield from self._refused("design --keep", refusal)
            return
        errors = [one for one in result.diagnostics if one.severity is Severity.ERROR]
        if errors and not self.refused:
            yield f"design --keep: {errors[0].code} {errors[0].message}"

    def build(self) -> Iterator[str]:
        """An approved design that `check` accepts is built."""
        try:
            build_project(self.path, overrides=Overrides(tests=False, package="changed_design"))
        except PipelineError as refusal:
            yield from self._refused("build", refusal)

    def _proof(self) -> Iterator[str]:
        with Embedded() as engine:
            proof = prove(self.document.workload, self.read.design, engine)
        if proof.blocked:
            yield f"proof: {proof.blocked}"
        yield from (f"proof: {finding}" for finding in proof.findings)
        for failed in proof.failed:
            yield f"proof: {failed.pattern} {failed.wrong or failed.problem}"

    def _refused(self, stage: str, refusal: PipelineError) -> Iterator[str]:
        codes = {one.code for one in refusal.diagnostics if one.severity is Severity.ERROR}
        if isinstance(refusal, ContradictionError) and (self.refused or DECISION_VIOLATED in self.warned):
            return  # a kept design that a decision contradicts
        if MORE_THAN_ONE in str(refusal):
            return  # a read of one item by what is not unique, on sample data with several
        if codes <= {UNSERVED.id, UNPROVEN.id} and self.refused:
            return  # the checks say what is wrong with the keys; a build, what it could not serve or prove
        if not codes & self.refused:
            yield f"{stage}: {sorted(codes)} {refusal}, and check says {sorted(self.refused)}"


def disagreements_of(
    folder: Path, workload: Workload, mutant: DesignMutant, form: Form = "yaml", *, build: bool = False
) -> list[str]:
    """What the stages say differently about a design; none if the design cannot be written in this form."""
    assert_can_be_said(workload, mutant.design)
    try:
        stages = Stages(folder, workload, mutant.design, form)
    except UnwritableError:
        return []
    built = list(stages.build()) if build else []
    return [f"{mutant.text}: {text}" for text in [*stages.disagreements(), *built]]


def assert_can_be_said(workload: Workload, design: Design) -> None:
    """Library functions take any design, with whatever mistakes: they check it and write it down without an exception."""
    check_design(design, workload)
    with suppress(UnwritableError):
        write_document(design, workload, Annotations())


def a_sample_of(path: Path, number: int) -> tuple[Workload, list[DesignMutant]]:
    workload = read_document(path).workload
    mutants = mutants_of_design(solve(workload).design, workload)
    return workload, random.Random(path.parent.name).sample(mutants, min(number, len(mutants)))


@pytest.mark.parametrize("name", EVERYDAY)
def test_stages_agree_about_changed_designs(tmp_path: Path, name: str) -> None:
    path = next(one for one in DOCUMENTS if one.parent.name == name)
    workload, mutants = a_sample_of(path, FEWEST)
    disagreements = [text for mutant in mutants for text in disagreements_of(tmp_path, workload, mutant)]
    assert disagreements == []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["yaml", "md"])
@pytest.mark.parametrize("path", SLOW, ids=lambda path: path.parent.name)
def test_stages_agree_about_changed_designs_of_a_document(tmp_path: Path, path: Path, form: Form) -> None:
    """An approved design in Markdown is built, too."""
    workload, mutants = a_sample_of(path, FEW)
    disagreements = [
        text for mutant in mutants for text in disagreements_of(tmp_path, workload, mutant, form, build=form == "md")
    ]
    assert disagreements == []


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(st.data())
def test_stages_agree_about_changed_designs_of_random_workloads(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    workload = data.draw(wide_workloads(most_reads=3))
    mutant = data.draw(st.sampled_from(mutants_of_design(solve(workload).design, workload)))
    form = data.draw(st.sampled_from(["yaml", "json", "md"]))
    folder = tmp_path_factory.mktemp("design")
    assert disagreements_of(folder, workload, mutant, form, build=form == "md") == []


def test_designs_with_mistakes_are_checked_and_written() -> None:
    """A workload with every construct: each of them is said of items without a key, and with one that is no key."""
    workload, design = league_workload(), league_design()
    mutants = mutants_of_design(design, workload)
    without_key = [one for one in mutants if one.text.endswith((": no keys", ": table: removed"))]
    broken_keys = [one for one in mutants if ": table: " in one.text]
    assert without_key
    sample = random.Random(1).sample(broken_keys, FEWEST)
    for mutant in (*without_key, *sample):
        assert_can_be_said(workload, mutant.design)


@pytest.mark.slow
@settings(max_examples=examples(10))
@given(wide_workloads(most_reads=2))
def test_designs_of_random_workloads_with_mistakes_are_checked_and_written(workload: Workload) -> None:
    for mutant in mutants_of_design(solve(workload).design, workload):
        assert_can_be_said(workload, mutant.design)


def test_a_key_that_is_declared_with_another_type_is_refused_by_all(tmp_path: Path) -> None:
    path = next(one for one in DOCUMENTS if one.parent.name == "files")
    workload = read_document(path).workload
    mutants = mutants_of_design(solve(workload).design, workload)
    for text in ("table: a number as partition key", "gsi1: a number as partition key"):
        stages = Stages(tmp_path, workload, next(one for one in mutants if one.text == text).design)
        assert "PJ500" in stages.refused
        assert list(stages.disagreements()) == []


def test_a_time_to_live_has_ten_digits(tmp_path: Path) -> None:
    more = "  - `until` (integer, immutable, ttl)\n"
    workload = read_text(BILL_DOCUMENT.format(**{**PLAIN, "more": more}), "md").workload
    design = solve(workload).design
    own = design.item("Comment")
    assert own is not None
    for digits, is_refused in ((6, True), (10, False)):
        base = replace(own.facets[0], sk=(f"COMMENT#{{until:0{digits}d}}#{{commentId}}",))
        items = tuple(replace(own, facets=(base, *own.facets[1:])) if one is own else one for one in design.items)
        stages = Stages(tmp_path, workload, replace(design, items=items, operations=()))
        assert ("PJ529" in stages.refused) is is_refused
        assert list(stages._query()) == []


def test_a_pattern_runs_if_only_other_patterns_have_errors(tmp_path: Path) -> None:
    """Without the index of one read, the others run, and this one is refused with the errors of `check`."""
    path = next(one for one in DOCUMENTS if one.parent.name == "files")
    workload = read_document(path).workload
    design = solve(workload).design
    mutant = next(one for one in mutants_of_design(design, workload) if one.text == "gsi2: removed with its keys")
    stages = Stages(tmp_path, workload, mutant.design)
    lost = {one.about for one in stages.read.diagnostics if one.severity is Severity.ERROR}
    found = query_design(stages.document)
    assert lost
    assert lost < {one.id for one in workload.patterns}
    for pattern in found.methods:
        if pattern in lost:
            with pytest.raises(InputError) as caught:
                run_pattern(found, pattern)
            assert [one.about for one in caught.value.diagnostics] == [pattern]
        else:
            run_pattern(found, pattern)


def test_a_design_from_which_no_table_can_be_made_is_refused_by_all(tmp_path: Path) -> None:
    path = next(one for one in DOCUMENTS if one.parent.name == "aws_session_management")
    workload = read_document(path).workload
    mutants = mutants_of_design(solve(workload).design, workload)
    for text, said in {
        "gsi1: the keys of the table": "has one value in an item",
        "no type attribute": "no type attribute",
        "Session: table: written and not read": "cannot be write_only",
    }.items():
        mutant = next(one for one in mutants if one.text == text)
        stages = Stages(tmp_path, workload, mutant.design)
        assert "PJ500" in stages.refused
        assert said in " ".join(one.message for one in stages.read.diagnostics)
        assert list(stages.disagreements()) == []
        with pytest.raises(InputError, match=said):
            query_design(stages.document)


def test_a_new_key_beside_a_kept_one_of_another_word_gets_a_word_of_its_own() -> None:
    path = next(one for one in DOCUMENTS if one.parent.name == "files")
    workload = read_document(path).workload
    design = solve(workload).design
    text = "Folder/by-ownerId: table: sort key the last attribute"
    kept = next(one for one in mutants_of_design(design, workload) if one.text == text).design
    grown = design_table(workload, keep=kept, prove=False, alternatives=0)
    assert grown.fine
    assert {"X#{createdAt}", "FOLDER#{path}#{folderId}"} <= {
        facet.sk[0] for item in grown.design.items for facet in item.facets if item.entity == "Folder"
    }


def test_an_update_of_optional_inputs_alone_is_given_them_from_the_sample_data() -> None:
    path = next(one for one in DOCUMENTS if one.parent.name == "blog")
    result = run_pattern(read_document(path), "AP-025")
    assert {"name", "avatar_url"} <= result.made_up
    assert result.calls
