"""The proof finds mistakes in what design and code take from the document: it derives what a pattern means by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.solutions import solve

import prejoin.render.python.writes.refusals
import prejoin.workload.program.resolved_read as resolved_read
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.result import Proof
from prejoin.workload.files import read_text
from prejoin.workload.model import Read, Workload
from prejoin.workload.program.resolved_write import ResolvedWrite, Step

FOLDER = Path(__file__).parent
CONSTRUCTS = FOLDER / "constructs.md"
MARKET = FOLDER / "market.md"
JOINS = FOLDER.parent / "render/python/documents/joins.md"
BELONGING = FOLDER.parent / "render/python/documents/belonging.md"
UNTRIED = "no item of the write has the condition"


@pytest.fixture(scope="module", autouse=True)
def designs_without_mistakes() -> None:
    """Solves the documents before a test plants a mistake: other tests share the solutions."""
    for document in (CONSTRUCTS, MARKET, JOINS, BELONGING):
        solve(read_text(document.read_text("utf-8"), "md").workload)


def proof_with(mistake: Callable[[Workload], None], document: Path) -> Proof:
    """The proof of a document whose operations and code are made with a mistake, and whose keys are not."""
    text = document.read_text("utf-8")
    design = solve(read_text(text, "md").workload).design
    workload = read_text(text, "md").workload
    workload.memo.clear()  # the checks of the document have resolved it without the mistake
    mistake(workload)
    with Embedded() as engine:
        return prove(workload, map_patterns(replace(design, operations=()), workload), engine)


def as_it_is(workload: Workload) -> None:
    """No mistake beside the one that the test has patched."""


def wrong_patterns(proof: Proof, text: str) -> set[str]:
    return {one.pattern for one in proof.failed if text in one.wrong}


@pytest.mark.parametrize("document", [CONSTRUCTS, MARKET, JOINS, BELONGING], ids=lambda path: path.stem)
def test_the_documents_are_proven_without_a_mistake(document: Path) -> None:
    proof = proof_with(as_it_is, document)
    assert proof.failed == ()
    assert proof.findings == ()


def test_attributes_that_nothing_refreshes() -> None:
    proof = proof_with(lambda workload: workload.memo.update({("refreshed",): ()}), CONSTRUCTS)
    assert "nothing refreshes `Page.authorName` after `Author.name` has changed" in proof.findings


def test_items_that_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResolvedWrite, "checked", ())
    proof = proof_with(as_it_is, MARKET)
    assert wrong_patterns(proof, UNTRIED) == {"W02", "W09", "W11", "W13", "D3", "D6"}


def test_one_of_two_items_that_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Account.status = OPEN` for a transfer is about both of its accounts."""
    checked = vars(ResolvedWrite)["checked"].func
    monkeypatch.setattr(ResolvedWrite, "checked", property(lambda resolved: checked(resolved)[:1]))
    proof = proof_with(as_it_is, MARKET)
    assert wrong_patterns(proof, UNTRIED) == {"W09"}


def test_conditions_on_written_items_that_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Step, "conditions", ())
    proof = proof_with(as_it_is, CONSTRUCTS)
    assert wrong_patterns(proof, UNTRIED) == {"W3", "W7", "W10", "D2"}


def test_conditions_on_inputs_that_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResolvedWrite, "input_conditions", ())
    proof = proof_with(as_it_is, MARKET)
    assert proof.failed


def test_a_join_that_follows_another_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    join = resolved_read._resolve_join

    def via_receiver(workload: Workload, read: Read, *more: Any) -> resolved_read.Join:
        return join(workload, replace(read, via="toAgent"), *more)

    monkeypatch.setattr(resolved_read, "_resolve_join", via_receiver)
    proof = proof_with(as_it_is, JOINS)
    assert "AP-006" in {one.pattern for one in proof.failed}


def test_objects_of_a_call_that_need_not_belong_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prejoin.render.python.writes.refusals, "agreements", lambda steps: [])
    proof = proof_with(as_it_is, BELONGING)
    assert wrong_patterns(proof, "than the rest of the call, and it was not refused") != set()
