"""The order of the questions, and the position of an interview."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
_THEN_SEPARATOR = ", then "
MORE = "more"
_KIND_OF_NOUN = {
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
    if MARK in workload.header and _find_position(workload):
        return workload
    workload = replace(workload, status=workload.status or Status.DRAFT)
    first = next((s for s in _steps(workload) if s.required and s.missing(workload)), None)
    return _with_position(workload, first.key if first else MORE)


def question(workload: Workload) -> Question | None:
    """The next question; None if the interview is over or not started."""
    position = _find_position(workload)
    return position[0].ask(workload) if position else None


def answer(workload: Workload, text: str) -> Workload:
    """The workload with an answer, and its interview at the next question. Raises `Inexact`.

    `back` returns to the question before, `done` ends a list, `drop` removes the current pattern, and an empty answer
    takes the default.
    """
    position = _find_position(workload)
    if position is None:
        raise Inexact("there is nothing to answer", "begin the interview")
    step, return_key = position
    text = " ".join(text.split())
    if text == "back":
        return _go_back(workload, step, return_key)
    if text == "drop":
        return _drop_pattern(workload, step, return_key)
    current_question = step.ask(workload)
    text = text or current_question.default or ""
    if not text:
        raise Inexact("an answer is needed here", "`?` tells more")
    if text == "done":
        return _end_list(workload, step, return_key)
    next_workload, jump = step.take(workload, text)
    next_workload = settle(next_workload)
    if next_workload != workload:
        _refuse_new_errors(workload, next_workload)
        next_workload = replace(next_workload, status=Status.DRAFT)  # A changed document is no longer approved.
    return _go_forward(next_workload, step, return_key, jump)


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
    counts = tuple(f"{len(getattr(w, kind))} {kind}" for kind in kinds)
    words = "Is there anything to add: entity, relationship, read, write, delete?"
    return Question(MORE, words, HELP["more"], "done", counts, several=True, choices=tuple(_KIND_OF_NOUN))


def _take_more(w: Workload, text: str) -> Taken:
    word = text.lower().rstrip("s").removesuffix("ie") + ("y" if text.lower().endswith("ies") else "")
    if word not in _KIND_OF_NOUN:
        raise Inexact(f"`{text}` cannot be added", f"answer {', '.join(f'`{a}`' for a in _KIND_OF_NOUN)} or `done`")
    return w, f"{_KIND_OF_NOUN[word]}{_THEN_SEPARATOR}{MORE}"


# --- Where it stands ------------------------------------------------------------------------------------------------


def _with_position(workload: Workload, key: str, return_key: str = "") -> Workload:
    header = {k: v for k, v in workload.header.items() if k != MARK}
    return replace(workload, header={**header, MARK: key + (_THEN_SEPARATOR + return_key if return_key else "")})


def _finish(workload: Workload) -> Workload:
    return replace(workload, header={k: v for k, v in workload.header.items() if k != MARK})


def _find_position(workload: Workload) -> tuple[InterviewStep, str] | None:
    """The current step, and the step to go to after its unit.

    If the document was edited and the step no longer exists, the interview continues at the first missing part.
    """
    mark = workload.header.get(MARK)
    if mark is None:
        return None
    key, _, return_key = mark.partition(_THEN_SEPARATOR)
    steps = {s.key: s for s in _steps(workload)}
    if key not in steps:
        fallback = next((s for s in steps.values() if s.required and s.missing(workload)), steps[MORE])
        return fallback, ""
    return steps[key], return_key if return_key in steps else ""


def _go_forward(w: Workload, step: InterviewStep, return_key: str, jump: str | None = None) -> Workload:
    """The interview at the next step, or at the one that the answer leads to."""
    if jump is not None:
        key, _, next_key = jump.partition(_THEN_SEPARATOR)
        key_of_probe = step.key if step.kind is StepKind.PROBE else ""
        return _with_position(w, key, return_key or next_key or key_of_probe)
    steps = list(_steps(w))
    index = _index(steps, step.key)
    if next_key := _next_of_unit(w, steps[index + 1 :], step.unit):
        return _with_position(w, next_key, return_key)
    if return_key:
        for candidate in steps:
            if candidate.unit and candidate.required and candidate.missing(w):
                return _with_position(w, candidate.key, return_key)
        index = _index(steps, return_key) - 1
    for candidate in steps[index + 1 :]:
        if candidate.missing(w) or (candidate.kind is StepKind.LIST and not candidate.unit):
            return _with_position(w, candidate.key)
    return _finish(w)


def _next_of_unit(w: Workload, steps: Iterable[InterviewStep], unit: str) -> str:
    """The next question about the same entity or pattern; empty if there is none."""
    for candidate in steps:
        is_asked = candidate.kind is not StepKind.PROBE or candidate.missing(w)
        if unit and candidate.unit == unit and is_asked:
            return candidate.key
    return ""


def _index(steps: list[InterviewStep], key: str) -> int:
    return next((at for at, s in enumerate(steps) if s.key == key), len(steps) - 1)


def _end_list(w: Workload, step: InterviewStep, return_key: str) -> Workload:
    if step.kind is StepKind.LIST:
        if step.key == entity_questions.ENTITIES and step.missing(w):
            raise Inexact("there has to be at least one", "`?` tells more")
        return _finish(w) if step.key == MORE else _go_forward(w, step, return_key)
    if step.figure:
        return _with_position(w, MORE)
    raise Inexact("`done` ends a list, and this is one question", "an empty answer takes the default; `back` goes back")


def _go_back(w: Workload, step: InterviewStep, return_key: str) -> Workload:
    """The interview at the previous question."""
    steps = list(_steps(w))
    for candidate in reversed(steps[: _index(steps, step.key)]):
        if return_key and candidate.unit != step.unit:
            return _with_position(w, return_key)
        if candidate.kind is not StepKind.PROBE or candidate.missing(w):
            return _with_position(w, candidate.key, return_key)
    raise Inexact("this is the first question", "answer it, or leave with ^C")


def _drop_pattern(w: Workload, step: InterviewStep, return_key: str) -> Workload:
    for kind in pattern_questions.KINDS:
        if step.unit and any(p.id == step.unit for p in getattr(w, kind)):
            return _with_position(pattern_questions.drop_pattern(w, kind, step.unit), return_key or kind)
    raise Inexact("`drop` takes out a pattern, and none is asked about here", "answer the question, or go `back`")


def _refuse_new_errors(before: Workload, after: Workload) -> None:
    """Refuse an answer that adds an error, unless a later question resolves it."""
    known_messages = {(diagnostic.code, diagnostic.message) for diagnostic in check(before)}
    for diagnostic in check(after):
        is_error = diagnostic.severity is Severity.ERROR and diagnostic.code not in _INCOMPLETE
        if is_error and (diagnostic.code, diagnostic.message) not in known_messages:
            raise Inexact(diagnostic.message, diagnostic.fix)
