"""Decisions that are made while designing: read as those of a document are, and added to a document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from prejoin.diagnostics import Diagnostic, Severity
from prejoin.pipeline.document import (
    Document,
    document_text,
    lost_words,
    output_form,
    read_document,
    save_original,
    write,
)
from prejoin.workload.checks import check
from prejoin.workload.files import Form, read_text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.statements import PIN_FIX, read_pin, write_pin
from prejoin.workload.model import Decision, Pin, Workload

_SECTION = re.compile(r"^##[ \t]+Decisions[ \t]*\n(?P<body>.*?)(?=^#{1,2}[ \t]|\Z)", re.MULTILINE | re.DOTALL)


def read_decision(text: str, workload: Workload) -> Pin:
    """Reads a sentence such as `Order lives under User`.

    Raises `Inexact` if it is not a decision, or names something that is not in the workload.
    """
    pin = read_pin(text)
    if pin is None:
        raise Inexact(f"`{text.strip()}` is not a decision that the designer obeys", PIN_FIX)
    before = _problems(workload)
    for problem in _problems(with_decisions(workload, (pin,))):
        if problem not in before:
            raise Inexact(problem.message, problem.fix)
    return pin


def _problems(workload: Workload) -> list[Diagnostic]:
    return [d for d in check(workload) if d.severity is not Severity.HINT]


def with_decisions(workload: Workload, pins: Iterable[Pin]) -> Workload:
    """A workload with further decisions."""
    return replace(workload, decisions=(*workload.decisions, *map(Decision, pins)))


def add_decisions(document: Document, pins: tuple[Pin, ...]) -> Path | None:
    """Writes decisions into the file of a document, as it is now.

    A Markdown document gets one line for each and stays the same otherwise. If some text could not be carried over, the
    old text is saved beside the file, and its path is returned.
    """
    path = Path(document.file)
    form = output_form(path)
    document = read_document(path)
    new_workload = with_decisions(document.workload, pins)
    text = _append_decisions(document.text, pins) if form == "md" else ""
    if not text or not _reads_as(text, form, new_workload):
        text = document_text(new_workload, form, document.file)
    aside = save_original(path, document.text) if lost_words(document.text, text) else None
    write(path, text)
    return aside


def _append_decisions(text: str, pins: tuple[Pin, ...]) -> str:
    """A Markdown document with a line for each decision below those that it has; empty if it has no such section."""
    section = _SECTION.search(text)
    if section is None:
        return ""
    body = section["body"].rstrip()
    lines = "\n".join(f"- {write_pin(pin)}" for pin in pins)
    end = section.start("body") + len(body)
    return f"{text[:end]}{'' if body.strip() else chr(10)}\n{lines}{text[end:]}"


def _reads_as(text: str, form: Form, workload: Workload) -> bool:
    return read_text(text, form).workload == workload
