"""The design of a build: made and proven; or read where it was, from the same, and nobody has touched it since."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from prejoin.cli.design import contradiction
from prejoin.cli.design_file import Target, changes, document_text
from prejoin.cli.designs import kept_design, places_of, structures
from prejoin.cli.making import ContradictionError, Wanted, make
from prejoin.cli.outcome import Outcome
from prejoin.cli.progress import Progress
from prejoin.cli.record import Record, digest, program
from prejoin.cli.sources import Document
from prejoin.cli.status import Status
from prejoin.design.checks import check_design
from prejoin.design.files import read_design_text
from prejoin.design.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic, has_errors
from prejoin.workload.model import Workload


class StoppedError(Exception):
    """It ends here, and why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Designed:
    design: Design
    text: str
    """The document of the design."""
    diagnostics: tuple[Diagnostic, ...]
    keys: tuple[str, ...] = ()
    """What changes in the keys of the design that is there."""
    kept: bool = False
    """Whether that one is approved: it stays, and what is new is added."""
    source: str = ""
    """A digest of what it was made from; empty if it cannot be had from its document again."""

    @property
    def served(self) -> int:
        return sum(operation.served for operation in self.design.operations)


def read_again(read: Document, where: Target, record: Record, progress: Progress) -> Designed | None:
    """The design that the last build proved; None where that has to be done anew."""
    source = _source(read.workload)
    text = where.text or ""
    if record.designed != source or record.writing or not record.generated(where.path.name, text):
        return None
    design = _from_document(text, where, read.workload)
    if design is None:
        return None
    progress.begin("reading", "design")
    progress.result(f"{structures(design)}, as {where.path} has it, proven when it was written")
    return Designed(design, text, tuple(check_design(design, read.workload, places_of(read))), source=source)


def design_anew(read: Document, where: Target, folder: Path, progress: Progress) -> Designed:
    """Designs and proves; a `StoppedError` where that leads to nothing."""
    kept = None
    if where.approved:
        kept, said = kept_design(str(where.path), read.workload)
        if kept is None:
            note = f"{where.path} is APPROVED, and has errors; nothing was made"
            raise StoppedError(Outcome(Status.FAILED, sources=(said,), notes=(note,)))
    try:
        made = make(Wanted(read, kept=kept), progress)
    except ContradictionError as problem:
        raise StoppedError(contradiction(problem, read)) from None
    if not made.fine:
        note = "the design has errors; nothing was written"
        raise StoppedError(Outcome(Status.FAILED, sources=(made.source(hints=False),), notes=(note,)))
    text = document_text(made, where.form, where.text, folder)
    keys = tuple(changes(where.before, made.design)) if where.before else ()
    same = _from_document(text, where, read.workload) == made.design
    return Designed(made.design, text, made.diagnostics, keys, where.approved, _source(read.workload) if same else "")


def _from_document(text: str, where: Target, workload: Workload) -> Design | None:
    reading = read_design_text(text, workload, where.form)
    return None if has_errors(reading.diagnostics) else map_patterns(reading.design, workload)


def _source(workload: Workload) -> str:
    return digest(program() + msgspec.json.encode(workload, order="sorted").decode())
