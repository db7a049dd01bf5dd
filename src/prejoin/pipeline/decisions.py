"""Decisions that somebody makes while designing: read as the document's are, and written into it if that is wanted."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from prejoin.diagnostics import Diagnostic, Severity
from prejoin.pipeline.document import Document, load
from prejoin.pipeline.document_file import as_text, form_for, keep_original, lost, write
from prejoin.workload.checks import check
from prejoin.workload.files import Form, read_text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.statements import PIN_FIX, read_pin, write_pin
from prejoin.workload.model import Decision, Pin, Workload

_SECTION = re.compile(r"^##[ \t]+Decisions[ \t]*\n(?P<body>.*?)(?=^#{1,2}[ \t]|\Z)", re.MULTILINE | re.DOTALL)


def read_decision(text: str, workload: Workload) -> Pin:
    """The decision that a sentence is. Raises `Inexact` where it is none, or names what is not in the workload."""
    pin = read_pin(text)
    if pin is None:
        raise Inexact(f"`{text.strip()}` is not a decision that the designer obeys", PIN_FIX)
    before = _errors(workload)
    for problem in _errors(decided(workload, (pin,))):
        if problem not in before:
            raise Inexact(problem.message, problem.fix)
    return pin


def _errors(workload: Workload) -> list[Diagnostic]:
    return [d for d in check(workload) if d.severity is not Severity.HINT]


def decided(workload: Workload, pins: tuple[Pin, ...]) -> Workload:
    """A workload with further decisions."""
    return replace(workload, decisions=(*workload.decisions, *map(Decision, pins)))


def record(document: Document, pins: tuple[Pin, ...]) -> Path | None:
    """Writes decisions into their document, as it is now; where the old text went if some of it could not stay."""
    path = Path(document.file)
    form = form_for(path)
    document = load(document.file)
    wanted = decided(document.workload, pins)
    text = _appended(document.text, pins) if form == "md" else ""
    if not text or not _is(text, form, wanted):
        text = as_text(wanted, form, document.file)
    aside = keep_original(path, document.text) if lost(document.text, text) else None
    write(path, text)
    return aside


def _appended(text: str, pins: tuple[Pin, ...]) -> str:
    """A Markdown document with a line for each decision below those that it has, and nothing else changed."""
    found = _SECTION.search(text)
    if found is None:
        return ""
    body = found["body"].rstrip()
    lines = "\n".join(f"- {write_pin(pin)}" for pin in pins)
    end = found.start("body") + len(body)
    return f"{text[:end]}{'' if body.strip() else chr(10)}\n{lines}{text[end:]}"


def _is(text: str, form: Form, wanted: Workload) -> bool:
    return read_text(text, form).workload == wanted
