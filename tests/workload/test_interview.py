"""The interview: its questions, the effect of answers, and the document as its only state."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prejoin.diagnostics import Severity, has_errors
from prejoin.workload.document.write_document import UnwritableError
from prejoin.workload.files import read_text, write_text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.interview import answer, begin, question
from prejoin.workload.model import Combine, Result, Status, Verb, Workload
from prejoin.workload.starter import starter
from tests.place import examples

_FILE = Path(__file__).with_name("interview-answers.txt")
ANSWERS = [line for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def _give(workload: Workload, answers: list[str]) -> Workload:
    for text in answers:
        workload = answer(workload, text)
    return workload


def _again(workload: Workload) -> Workload:
    """The workload after a break, read from the document."""
    return begin(read_text(write_text(workload, "md"), "md").workload)


def _whole() -> Workload:
    return _states()[-1]


@cache
def _states() -> list[Workload]:
    """The workload before the first answer, and after each."""
    states = [begin(Workload())]
    for text in ANSWERS:
        states.append(answer(states[-1], text))
    return states


@pytest.mark.slow
def test_a_whole_interview_gives_a_document_without_errors() -> None:
    workload = _whole()
    reading = read_text(write_text(workload, "md"), "md")
    assert reading.workload == workload
    assert [d for d in reading.diagnostics if d.severity is not Severity.HINT] == []
    assert (workload.title, workload.status, workload.header) == ("Lending Shelf", Status.DRAFT, {})
    assert [e.name for e in workload.entities] == ["Member", "Tool", "Loan"]
    assert all(p.rate for p in workload.patterns)


@pytest.mark.slow
def test_relationship_adds_the_reference_attribute() -> None:
    loan = _whole().entity("Loan")
    assert loan is not None
    held = loan.attribute("borrowerId")
    assert held is not None
    assert (held.references, str(held.type)) == ("Member", "uuid")


@pytest.mark.slow
def test_a_break_after_any_answer_changes_nothing() -> None:
    """The next question and its answer depend on the workload alone, so it is enough that the document contains it."""
    for at, state in enumerate(_states()[1:-1], 1):
        assert _again(state) == state, f"after answer {at}, {ANSWERS[at - 1]!r}"


@pytest.mark.everyday(3)
@pytest.mark.parametrize("at", range(1, len(ANSWERS), 9))
def test_after_a_break_the_same_answers_give_the_same_document(at: int) -> None:
    assert _give(_again(_states()[at]), ANSWERS[at:]) == _whole()


_LIKELY = st.sampled_from(
    [
        *ANSWERS, "back", "drop", "done", "", "-", "yes", "no", "?", "remove Member", "remove name", "entity", "read",
        "write", "delete", "relationship", "singleton", "Member", "Member, Loan", "Single", "Count", "Collection",
        "Join",
        "Member N:N Tool", "Folder hierarchy via parentId", "delete Tool; delete Loan[]", "x (string, id), x (uuid)",
        "a | b", "# x", "`", "Order",
    ]
)  # fmt: skip


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(_LIKELY | st.text(max_size=12), max_size=25), st.integers(0, len(ANSWERS)))
def test_document_holds_the_whole_state(answers: list[str], at: int) -> None:
    workload = _states()[at]
    for text in answers:
        asked = question(workload)
        if asked is None:
            return
        try:
            after = answer(workload, text)
            written = write_text(after, "md")
        except (Inexact, UnwritableError):
            assert question(workload) == asked
            continue
        workload = after
        again = read_text(written, "md").workload
        assert again == workload
        assert question(again) == question(workload)


def test_an_answer_that_is_not_exact_says_what_to_write() -> None:
    workload = _give(begin(Workload()), ["Shop", "-", "User", "done"])
    with pytest.raises(Inexact, match="`uuidd` is not a type"):
        answer(workload, "userId (uuidd, id)")
    workload = _give(workload, ["", "name", "done", "done", "a user", "User"])
    with pytest.raises(Inexact, match="there is no attribute `nmae`") as caught:
        answer(workload, "nmae")
    assert caught.value.fix == "did you mean `name`?"


def test_back_asks_again_with_the_answer_that_was_given() -> None:
    workload = _give(begin(Workload()), ["Shop", "for selling", "back"])
    asked = question(workload)
    assert asked is not None
    assert (asked.key, asked.default) == ("overview", "for selling")
    workload = _give(workload, ["back", "Market"])
    assert (workload.title, workload.overview) == ("Market", "for selling")
    asked = question(workload)
    assert asked is not None
    assert asked.key == "entities"
    with pytest.raises(Inexact, match="first question"):
        _give(begin(Workload()), ["back"])


def test_drop_takes_out_the_pattern_that_is_asked_about() -> None:
    workload = _give(begin(Workload()), ["Shop", "-", "User", "done", "", "done", "done", "a slip of the pen"])
    assert len(workload.reads) == 1
    workload = answer(workload, "drop")
    asked = question(workload)
    assert asked is not None
    assert (workload.reads, asked.key) == ((), "reads")


def test_probes_are_asked_only_if_nothing_covers_them() -> None:
    begun = ["Shop", "-", "User", "done", "", "email (string, unique)", "done", "done"]
    workload = _give(begin(Workload()), [*begun, "the user of an address", "User", "email", "Single", "done"])
    keys = []
    while (asked := question(workload)) and asked.key != "writes":
        keys.append(asked.key)
        workload = answer(workload, "")
    assert keys == ["fetch User", "list all User"]


def test_an_entity_and_its_children_in_one_call() -> None:
    read = next(r for r in _whole().reads if len(r.entities) > 1)
    assert (read.entities, read.combine, read.result) == (("Tool", "Loan"), Combine.COLLECTION, Result.MANY)


def test_expiring_entity_gets_a_ttl_attribute() -> None:
    loan = _whole().entity("Loan")
    assert loan is not None
    assert [a.name for a in loan.attributes if a.ttl] == ["expiresAt"]


def test_a_write_of_several_items_is_asked_whether_it_is_atomic() -> None:
    lend = next(p for p in _whole().writes if p.description == "lend a tool")
    assert lend.atomic is True
    assert [a.verb for a in lend.actions] == [Verb.CREATE, Verb.UPDATE]


def test_a_finished_document_is_asked_whether_there_is_more() -> None:
    asked = question(begin(_whole()))
    assert asked is not None
    assert asked.key == "more"
    workload = _give(begin(_whole()), ["entity", "Shelf", "done"])
    asked = question(workload)
    assert asked is not None
    assert asked.key == "id of Shelf"
    workload = _give(workload, ["", "done"])
    asked = question(workload)
    assert asked is not None
    assert asked.key == "more"


def test_interview_asks_for_missing_parts_of_a_document() -> None:
    workload = read_text(starter().replace("| Single |", "|  |", 1), "md").workload
    asked = question(begin(workload))
    assert asked is not None
    assert asked.key == "result of AP-001"


def test_a_change_makes_an_approved_document_a_draft_again() -> None:
    approved = read_text(
        starter().replace("DRAFT", "APPROVED").replace("- **Cardinality**: ~20K total\n", ""), "md"
    ).workload
    begun = begin(approved)
    assert begun.status is Status.APPROVED
    assert answer(begun, "10K total").status is Status.DRAFT


def test_stale_mark_is_harmless() -> None:
    workload = read_text("# Shop\n\n> Interview: attributes of Gone\n\n## Entities\n\n### User\n", "md").workload
    asked = question(workload)
    assert asked is not None
    assert asked.key == "id of User"
    assert not has_errors(read_text(write_text(_whole(), "md"), "md").diagnostics)


@pytest.mark.parametrize(("text", "description"), [("-", ""), ("one line<br>another", "one line\nanother")])
def test_a_description_is_read_as_the_document_reads_it(text: str, description: str) -> None:
    workload = _give(begin(read_text(starter(), "md").workload), ["read", "orders of a user", "back"])
    key, _, pattern_id = workload.header["Interview"].partition(", then ")[0].partition(" of ")
    assert key == "description"
    workload = answer(workload, text)
    pattern = workload.pattern(pattern_id)
    assert pattern is not None
    assert pattern.description == description
    assert _again(workload) == workload


@pytest.mark.parametrize(
    ("kind", "description", "advice"),
    [("write", "place it", "create"), ("write", "change its state", "update"), ("delete", "remove it", "delete")],
)
def test_advice_about_items_suggests_the_verb_of_the_description(kind: str, description: str, advice: str) -> None:
    workload = _give(begin(read_text(starter(), "md").workload), [kind, description, "Tool", "-"])
    with pytest.raises(Inexact) as refused:
        answer(workload, "User")
    assert refused.value.fix.startswith(f"write `{advice} User")
