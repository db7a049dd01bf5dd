"""A new document from short texts: `Order: orderId (uuid, id)`, `Order by userId`, `create Order`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from prejoin.diagnostics import Severity, has_errors
from prejoin.pipeline import codes
from prejoin.pipeline.errors import InvalidArgumentError
from prejoin.workload.checks import check
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.model import Status, Workload
from prejoin.workload.starter import read_change, read_entity, read_question
from prejoin.workload.stubs import add, obvious

T = TypeVar("T")


def extended(w: Workload, entities: Sequence[str], reads: Sequence[str], writes: Sequence[str]) -> Workload:
    """A workload with further entities, their usual patterns, and further patterns, each given as a text.

    Raises an `InvalidArgumentError` for a text that cannot be read or contradicts the others.
    """
    had_errors = has_errors(check(w))
    new_entities = tuple(_flag("--entity", text, read_entity) for text in entities)
    extended_workload = replace(w, entities=(*w.entities, *new_entities))
    questions = [_flag("--read", text, lambda t: read_question(t, extended_workload)) for text in reads]
    changes = [_flag("--write", text, lambda t: read_change(t, extended_workload)) for text in writes]
    stubs = obvious(extended_workload, {e.name for e in new_entities})
    asked_questions = {(r.entities, r.inputs, r.result) for r in questions}
    w = replace(extended_workload, status=w.status or Status.DRAFT)
    for read in (*(s for s in stubs.reads if (s.entities, s.inputs, s.result) not in asked_questions), *questions):
        w = add(w, "reads", read)
    for kind, patterns in (("writes", (*stubs.writes, *changes)), ("deletes", stubs.deletes)):
        for pattern in patterns:
            w = add(w, kind, pattern)
    problem = next((d for d in check(w) if d.severity is Severity.ERROR), None)
    if problem and not had_errors and (entities or reads or writes):
        raise InvalidArgumentError(codes.FLAG, problem.message, problem.fix)
    return w


def _flag(name: str, text: str, read: Callable[[str], T]) -> T:
    try:
        return read(text)
    except Inexact as problem:
        message = f"{problem.message}, in {name} “{text}”"
        raise InvalidArgumentError(codes.FLAG, message, problem.fix) from None
