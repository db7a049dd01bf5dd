"""Checks of a document. The designer is loaded only if a design in use has to be compared."""

from __future__ import annotations

import re
from pathlib import Path

from prejoin.diagnostics import Diagnostic, in_order
from prejoin.pipeline.document import DESIGN, Document, text_of

_IN_USE = re.compile(r"APPROVED|^\W*Keeps\W*:", re.IGNORECASE | re.MULTILINE)
"""What the document of a design in use has in its header. Other lines may have it, too."""


def check_document(document: Document) -> tuple[Diagnostic, ...]:
    """All diagnostics about a document.

    They include attributes that are missing from a design in use beside it: one that is approved, or made with
    `--keep`. The designer is only loaded for these.
    """
    beside = Path(document.file).parent / f"{DESIGN}.md"
    if document.file in ("", "-") or not _IN_USE.search(text_of(beside)):
        return document.diagnostics
    from prejoin.pipeline.design.design_file import new_since_design

    return in_order((*document.diagnostics, *new_since_design(document)))
