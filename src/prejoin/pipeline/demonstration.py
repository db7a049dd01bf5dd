"""A demonstration of a document: its table in memory, filled with data, and every access pattern run once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from prejoin.design.cost.bill import Bill, bill
from prejoin.design.files import read_design_file
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Diagnostic, Severity, Span, has_errors, in_order
from prejoin.engine import Embedded
from prejoin.pipeline import codes
from prejoin.pipeline.design.design_file import places_of
from prejoin.pipeline.design.design_table import accepted_diagnostics, accepted_unproven, unproven_diagnostics
from prejoin.pipeline.document import Document, text_of
from prejoin.pipeline.errors import InputError, PipelineError, Source
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.proof.prove import PROOF_TIME, prove_patterns
from prejoin.proof.result import PatternProof, Proof
from prejoin.proof.sample_table import SampleTable


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A design, and the answers of its access patterns."""

    document: Document
    design: Design
    answers: tuple[PatternProof, ...]
    bill: Bill
    design_seconds: float
    run_seconds: float

    @property
    def fine(self) -> bool:
        return not any(diagnostic.severity is Severity.ERROR for diagnostic in self.source.diagnostics)

    @property
    def source(self) -> Source:
        """The document, with a diagnostic for each pattern without a right answer."""
        at = places_of(self.document)
        served_ids = {operation.pattern for operation in self.design.operations if operation.served}
        proof = Proof(self.answers)
        accepted_reasons = accepted_unproven(self.document.workload, self.design, proof, allow=False)
        failed_proofs = [answer for answer in proof.failed if answer.pattern not in accepted_reasons]
        not_served = [
            _not_served(answer, at(answer.pattern, "")) for answer in failed_proofs if answer.pattern not in served_ids
        ]
        wrong = unproven_diagnostics((answer for answer in failed_proofs if answer.pattern in served_ids), at)
        problems = in_order((*not_served, *wrong, *accepted_diagnostics(accepted_reasons, at)))
        return Source(self.document.file, self.document.text, problems)


def demonstrate(document: Document, design: str | None = None, *, progress: Progress = SILENT) -> Demonstration:
    """Designs a table, or reads its design from a file, and runs every access pattern on the embedded engine.

    Raises an `InputError` if the document or the design has errors.
    """
    if has_errors(document.diagnostics):
        raise InputError(document.source(), note="the document has errors; nothing was run")
    start_time = time.perf_counter()
    table_design = _design(document, progress) if design is None else _read_design(design, document)
    design_time = time.perf_counter()
    with Embedded() as engine:
        answers = tuple(prove_patterns(SampleTable.create(document.workload, table_design, engine, PROOF_TIME)))
    run_seconds = time.perf_counter() - design_time
    return Demonstration(
        document, table_design, answers, bill(document.workload, table_design), design_time - start_time, run_seconds
    )


def _design(document: Document, progress: Progress) -> Design:
    progress.begin("choosing keys")
    try:
        return solve(document.workload, told=progress.update).design
    except InfeasibleError:
        message = f"the decisions of the document cannot all hold; `prejoin design {document.file}` says why"
        fix = "change one of the decisions"
        raise PipelineError(codes.CONTRADICTION, message, fix, document.file) from None


def _read_design(file: str, document: Document) -> Design:
    reading = read_design_file(Path(file), document.workload)
    if has_errors(reading.diagnostics):
        raise InputError(Source(file, text_of(Path(file)), reading.diagnostics))
    return map_patterns(reading.design, document.workload)


def _not_served(answer: PatternProof, span: Span | None) -> Diagnostic:
    fix = answer.remedy or "say in the Decisions what may be done, or that it is out of scope"
    return codes.UNSERVED.at(span, f"{answer.pattern} is not served: {answer.problem}", fix)
