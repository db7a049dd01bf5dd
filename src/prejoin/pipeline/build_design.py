"""The design of a build: made and proven; or read where it was, from the same, and nobody has touched it since."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from prejoin.cli.commands.design import contradiction
from prejoin.cli.outcome import Outcome, Source
from prejoin.cli.progress import Progress
from prejoin.cli.status import Status
from prejoin.design.checks import check_design
from prejoin.design.document.read_document import parse_document
from prejoin.design.explain import explain_design, told
from prejoin.design.files import read_design_text
from prejoin.design.layout.growth import Growth, growth, keeps
from prejoin.design.layout.new_attributes import recorded
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.integer_program import InfeasibleError
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Diagnostic, Severity, has_errors
from prejoin.pipeline.design import ContradictionError, Wanted, findings, make, run, unserved
from prejoin.pipeline.design_document import Page, Target, changes, document_text, page_text, validated_again
from prejoin.pipeline.design_file import kept_design, places_of, structures
from prejoin.pipeline.document import Document
from prejoin.pipeline.record import Record, digest, program
from prejoin.workload.model import Status as DocumentStatus
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
    growth: Growth | None = None
    """What is to be done to a table of the design that is there, if that is approved."""

    @property
    def approved(self) -> bool:
        """Whether it is still: it is not where keys have changed."""
        return self.kept and parse_document(self.text).kept.status is DocumentStatus.APPROVED

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
        if standing := _as_it_stands(read, where, kept, folder, progress):
            return standing
    try:
        made = make(Wanted(read, kept=kept), progress)
    except ContradictionError as problem:
        anew = f"with `> Status: DRAFT` in {where.path}"
        raise StoppedError(contradiction(problem, read, anew)) from None
    if not made.fine:
        raise _wrong(made.source(hints=False))
    text = document_text(made, where.form, where.text, folder)
    keys = tuple(changes(where.before, made.design)) if where.before else ()
    same = _from_document(text, where, read.workload) == made.design
    source = _source(read.workload) if same else ""
    return Designed(made.design, text, made.diagnostics, keys, where.approved, source, made.growth)


def _as_it_stands(read: Document, where: Target, kept: Design, folder: Path, progress: Progress) -> Designed | None:
    """The approved design itself, where it serves what the document asks and tells it as it is: nothing is chosen anew.

    So what is built of it a second time is what was built the first time, whatever else could have been chosen.
    """
    workload, text = read.workload, where.text or ""
    design = _from_document(text, where, workload)
    if design is None or unserved(workload, design) or not _tells(design, workload):
        return None
    if has_errors(findings(read, workload, design)):
        return None
    progress.begin("looking whether anything has to be added", "design")
    try:
        wanted = solve(workload, kept, progress).design
    except InfeasibleError:
        return None  # it is told why where it is made
    missing = [guard for guard in wanted.guards if guard not in design.guards]
    if missing or wanted.ttl_attribute != design.ttl_attribute or not keeps(design, wanted):
        return None
    progress.result(f"{structures(design)}, as {where.path} has it")
    proof = run(workload, design, progress)
    said = findings(read, workload, design, proof)
    if has_errors(said):
        raise _wrong(Source(read.file, read.text, tuple(d for d in said if d.severity is not Severity.HINT)))
    design = recorded(design, workload)
    page = Page(read.file, workload, design, validated_again(text, workload, design, proof, said))
    again = page_text(page, where.form, text, folder)
    return Designed(design, again, said, (), True, _source(workload), growth(kept, design, workload))


def _tells(design: Design, workload: Workload) -> bool:
    """Whether what a design says of itself is so, for the questions and the rates that there are now."""
    now = told(design, explain_design(workload, design))
    said = {choice.about: choice.text for choice in design.decisions}
    return design.slots == now.slots and all(
        choice.text == said.get(choice.about)
        # The one about the table may go on to say how good it is, which was known when it was made.
        or (choice.about == "table" and said.get("table", "").startswith(f"{choice.text} "))
        for choice in now.decisions
    )


def _wrong(source: Source) -> StoppedError:
    note = "the design has errors; nothing was written"
    return StoppedError(Outcome(Status.FAILED, sources=(source,), notes=(note,)))


def _from_document(text: str, where: Target, workload: Workload) -> Design | None:
    reading = read_design_text(text, workload, where.form)
    return None if has_errors(reading.diagnostics) else map_patterns(reading.design, workload)


def _source(workload: Workload) -> str:
    return digest(program() + msgspec.json.encode(workload, order="sorted").decode())
