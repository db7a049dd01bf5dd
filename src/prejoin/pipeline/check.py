"""Checks of a document. The designer is loaded only if an approved design has to be compared."""

from __future__ import annotations

from pathlib import Path

from prejoin.diagnostics import Diagnostic, in_order
from prejoin.pipeline.document import DESIGN, Document, text_of


def check_document(document: Document) -> tuple[Diagnostic, ...]:
    """All diagnostics about a document.

    They include attributes that are missing from an approved design beside it. The designer is only loaded for these.
    """
    beside = Path(document.file).parent / f"{DESIGN}.md"
    if document.file in ("", "-") or "APPROVED" not in text_of(beside).upper():
        return document.diagnostics
    from prejoin.pipeline.design.design_file import new_since_approval

    return in_order((*document.diagnostics, *new_since_approval(document)))
