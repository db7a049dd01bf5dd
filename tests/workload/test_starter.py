"""The starter documents follow their own advice."""

from __future__ import annotations

from prejoin.diagnostics import Severity
from prejoin.types import Kind
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import Consistency, Op, Result, Verb
from prejoin.workload.starter import read_change, read_question, retitled, starter

_READING = read_text(starter(), "md")
W = _READING.workload


def test_the_starter_has_no_errors_and_no_warnings() -> None:
    assert [d for d in _READING.diagnostics if d.severity is not Severity.HINT] == []


def test_the_starter_is_in_canonical_form_comments_included() -> None:
    assert write_text(W, "md") == starter()


def test_the_starter_shows_each_part_of_the_grammar() -> None:
    attributes = [a for e in W.entities for a in e.attributes]
    inputs = [i for p in W.patterns for i in p.inputs]
    actions = [a for p in (*W.writes, *W.deletes) for a in p.actions]
    assert {a.generated for a in attributes if a.id} == {True, False, None}
    assert any(a.unique for a in attributes)
    assert any(a.ttl for a in attributes)
    assert any(a.optional for a in attributes)
    assert any(a.references for a in attributes)
    assert any(a.size for a in attributes)
    assert {a.mutable for a in attributes} == {True, False, None}
    assert {Kind.ENUM, Kind.SET, Kind.DECIMAL, Kind.DATE} <= {a.type.kind for a in attributes}
    assert any(i.optional for i in inputs)
    assert any(i.many for i in inputs)
    assert any(i.filter for i in inputs)
    assert {Op.EQ, Op.LT, Op.BETWEEN} <= {i.op for i in inputs}
    assert {r.result for r in W.reads} == set(Result)
    assert {Consistency.EVENTUAL, Consistency.STRONG} <= {r.consistency for r in W.reads}
    assert any(r.combine for r in W.reads)
    assert any(r.limit for r in W.reads)
    assert any(r.page for r in W.reads)
    assert {a.verb for a in actions} == set(Verb) - {Verb.UPSERT}, "which few applications need at first"
    assert any(p.atomic for p in W.writes)
    assert all(d.pin and d.text for d in W.decisions)
    assert W.context
    assert W.collections
    assert W.notes


def test_only_the_title_is_changed_by_another_title() -> None:
    assert retitled(starter(), "Mine").split("\n")[1:] == starter().split("\n")[1:]


def test_a_read_in_a_line_gives_one_where_an_id_or_a_unique_attribute_is_known() -> None:
    assert read_question("Member by memberId", W).result is Result.ONE
    assert read_question("Member by email", W).result is Result.ONE
    assert read_question("Loan by toolNumber", W).result is Result.MANY
    assert read_question("Loan by toolNumber, loanId", W).result is Result.ONE
    assert read_question("Tool by toolNumber[]", W).result is Result.MANY
    assert read_question("count Loan by borrowerId, lentAt last 7 days", W).result is Result.COUNT


def test_a_write_in_a_line_is_given_what_it_needs_to_know() -> None:
    change = read_change("create Loan (status = OUT); update Tool (state = LENT, title)", W)
    assert [i.attribute for i in change.inputs] == [
        "toolNumber", "loanId", "borrowerId", "lentAt", "dueOn", "deposit", "title",
    ]  # fmt: skip
    assert [i.attribute for i in change.inputs if i.optional] == ["deposit"]
    assert (change.entities, change.atomic) == (("Loan", "Tool"), True)
