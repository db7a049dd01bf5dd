"""The order of the questions, and the position of an interview."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.diagnostics import Severity
from prejoin.workload import codes
from prejoin.workload.checks import check
from prejoin.workload.document.settle_names import settle
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.interview import entity_questions, pattern_questions, probes
from prejoin.workload.interview.step import HELP, InterviewStep, Question, StepKind, Taken
from prejoin.workload.model import Status, Workload

MARK = "Interview"
"""The header line with the position of the interview."""
_THEN = ", then "
MORE = "more"
_ADDED = {
    "entity": "entities",
    "relationship": "relationships",
    "read": "reads",
    "write": "writes",
    "delete": "deletes",
}
_INCOMPLETE = frozenset(
    code.id
    for code in (
        codes.NO_SECTION, codes.NO_ID, codes.NO_PATTERN_ID, codes.NO_RESULT, codes.NOT_MARKED, codes.NO_ACTIONS,
        codes.NO_ATTRIBUTES, codes.NO_ENTITY,
    )
)  # fmt: skip
"""Errors that a later question resolves."""


def begin(workload: Workload) -> Workload:
    """The workload with its interview started at the first missing part, or at its last position."""
    if MARK in workload.header and _here(workload):
        return workload
    workload = replace(workload, status=workload.status or Status.DRAFT)
    first = next((s for s in _steps(workload) if s.required and s.missing(workload)), None)
    return _at(workload, first.key if first else MORE)


def question(workload: Workload) -> Question | None:
    """The next question; None if the interview is over or not started."""
    here = _here(workload)
    return here[0].ask(workload) if here else None


def answer(workload: Workload, text: str) -> Workload:
    """The workload with an answer, and its interview at the next question. Raises `Inexact`.

    `back` returns to the question before, `done` ends a list, `drop` removes the current pattern, and an empty answer
    takes the default.
    """
    here = _here(workload)
    if here is None:
        raise Inexact("there is nothing to answer", "begin the interview")
    step, then = here
    text = " ".join(text.split())
    if text == "back":
        return _back(workload, step, then)
    if text == "drop":
        return _drop(workload, step, then)
    asked = step.ask(workload)
    text = text or asked.default or ""
    if not text:
        raise Inexact("an answer is needed here", "`?` tells more")
    if text == "done":
        return _done(workload, step, then)
    after, jump = step.take(workload, text)
    after = settle(after)
    if after != workload:
        _object(workload, after)
        after = replace(after, status=Status.DRAFT)  # A changed document is no longer approved.
    return _forward(after, step, then, jump)


# --- The steps ------------------------------------------------------------------------------------------------------


def _steps(w: Workload) -> Iterator[InterviewStep]:
    yield from entity_questions.front()
    yield entity_questions.entities()
    for entity in w.entities:
        yield from entity_questions.about(w, entity)
    yield entity_questions.relationships()
    for kind, probe in (("reads", probes.reads), ("writes", probes.writes), ("deletes", probes.deletes)):
        for pattern in getattr(w, kind):
            yield from pattern_questions.about(kind, pattern)
        yield pattern_questions.another(kind)
        yield from probe(w)
    yield from entity_questions.figures(w)
    yield from pattern_questions.rates(w)
    yield InterviewStep(MORE, StepKind.LIST, _ask_more, _take_more, lambda w: False)


def _ask_more(w: Workload) -> Question:
    kinds = ("entities", "reads", "writes", "deletes")
    known = tuple(f"{len(getattr(w, kind))} {kind}" for kind in kinds)
    words = "Is there anything to add: entity, relationship, read, write, delete?"
    return Question(MORE, words, HELP["more"], "done", known, several=True, choices=tuple(_ADDED))


def _take_more(w: Workload, text: str) -> Taken:
    word = text.lower().rstrip("s").removesuffix("ie") + ("y" if text.lower().endswith("ies") else "")
    if word not in _ADDED:
        raise Inexact(f"`{text}` cannot be added", f"answer {', '.join(f'`{a}`' for a in _ADDED)} or `done`")
    return w, f"{_ADDED[word]}{_THEN}{MORE}"


# --- Where it stands ------------------------------------------------------------------------------------------------


def _at(workload: Workload, key: str, then: str = "") -> Workload:
    header = {k: v for k, v in workload.header.items() if k != MARK}
    return replace(workload, header={**header, MARK: key + (_THEN + then if then else "")})


def _over(workload: Workload) -> Workload:
    return replace(workload, header={k: v for k, v in workload.header.items() if k != MARK})


def _here(workload: Workload) -> tuple[InterviewStep, str] | None:
    """The current step, and the step to go to after its unit.

    If the document was edited and the step no longer exists, the interview continues at the first missing part.
    """
    mark = workload.header.get(MARK)
    if mark is None:
        return None
    key, _, then = mark.partition(_THEN)
    steps = {s.key: s for s in _steps(workload)}
    if key not in steps:
        lost = next((s for s in steps.values() if s.required and s.missing(workload)), steps[MORE])
        return lost, ""
    return steps[key], then if then in steps else ""


def _forward(w: Workload, step: InterviewStep, then: str, jump: str | None = None) -> Workload:
    """The interview at the next step, or at the one that the answer leads to."""
    if jump is not None:
        key, _, after = jump.partition(_THEN)
        return _at(w, key, then or after or (step.key if step.kind is StepKind.PROBE else ""))
    steps = list(_steps(w))
    at = _index(steps, step.key)
    for s in steps[at + 1 :]:
        if step.unit and s.unit == step.unit and (s.kind is not StepKind.PROBE or s.missing(w)):
            return _at(w, s.key, then)
    if then:
        half = next((s for s in steps if s.unit and s.required and s.missing(w)), None)
        if half is not None:
            return _at(w, half.key, then)
        at = _index(steps, then) - 1
    for s in steps[at + 1 :]:
        if s.missing(w) or (s.kind is StepKind.LIST and not s.unit):
            return _at(w, s.key)
    return _over(w)


def _index(steps: list[InterviewStep], key: str) -> int:
    return next((at for at, s in enumerate(steps) if s.key == key), len(steps) - 1)


def _done(w: Workload, step: InterviewStep, then: str) -> Workload:
    if step.kind is StepKind.LIST:
        if step.key == entity_questions.ENTITIES and step.missing(w):
            raise Inexact("there has to be at least one", "`?` tells more")
        return _over(w) if step.key == MORE else _forward(w, step, then)
    if step.figure:
        return _at(w, MORE)
    raise Inexact("`done` ends a list, and this is one question", "an empty answer takes the default; `back` goes back")


def _back(w: Workload, step: InterviewStep, then: str) -> Workload:
    """The interview at the previous question."""
    steps = list(_steps(w))
    for s in reversed(steps[: _index(steps, step.key)]):
        if then and s.unit != step.unit:
            return _at(w, then)
        if s.kind is not StepKind.PROBE or s.missing(w):
            return _at(w, s.key, then)
    raise Inexact("this is the first question", "answer it, or leave with ^C")


def _drop(w: Workload, step: InterviewStep, then: str) -> Workload:
    for kind in pattern_questions.KINDS:
        if step.unit and any(p.id == step.unit for p in getattr(w, kind)):
            return _at(pattern_questions.drop_pattern(w, kind, step.unit), then or kind)
    raise Inexact("`drop` takes out a pattern, and none is asked about here", "answer the question, or go `back`")


def _object(before: Workload, after: Workload) -> None:
    """Refuse an answer that adds an error, unless a later question resolves it."""
    known = {(d.code, d.message) for d in check(before)}
    for d in check(after):
        if d.severity is Severity.ERROR and d.code not in _INCOMPLETE and (d.code, d.message) not in known:
            raise Inexact(d.message, d.fix)
