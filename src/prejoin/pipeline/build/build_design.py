"""The design of a build: solved and proven, or read from its document if nothing has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from prejoin.design.checks import check_design
from prejoin.design.document.read_document import parse_document
from prejoin.design.explain import annotate, explain_design
from prejoin.design.files import design_beside, read_design_text
from prejoin.design.layout.growth import Growth, growth, keeps, record_attributes
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Diagnostic, Severity, has_errors, in_order
from prejoin.pipeline.build.record import BuildRecord, digest, program, read_record, write_record
from prejoin.pipeline.design.design_document import (
    DesignTarget,
    bound_design,
    changes,
    design_of_table,
    design_target,
    design_text,
    result_text,
    validation_again,
)
from prejoin.pipeline.design.design_file import find_unserved, places_of, structures
from prejoin.pipeline.design.design_table import (
    FEW,
    DesignRequest,
    DesignResult,
    accepted_diagnostics,
    accepted_unproven,
    design_diagnostics,
    prove_design,
    solve_request,
)
from prejoin.pipeline.document import Document, read_document
from prejoin.pipeline.errors import InputError, Source
from prejoin.pipeline.progress import Progress
from prejoin.pipeline.summary import proven_summary
from prejoin.render.stamp import generated_part
from prejoin.workload.model import Status, Unproven, Workload

_WRONG = "the design has errors; nothing was written"


@dataclass(frozen=True, slots=True)
class BuildDesign:
    """The design that a build uses, and its document."""

    design: Design
    text: str
    diagnostics: tuple[Diagnostic, ...]
    keys: tuple[str, ...] = ()
    """How the keys differ from those of the design that the file has now."""
    kept: bool = False
    """Whether the file's design is approved, or made with `--keep`: its keys stay, and new parts are added."""
    source: str = ""
    """A digest of its inputs; empty if it cannot be read from its document again."""
    growth: Growth | None = None
    """The changes for the table in use."""
    unproven: Mapping[str, str] = field(default_factory=dict)
    """The patterns that are built although the proof could not run them, with the reasons."""
    target: DesignTarget | None = None
    """The file as it was; None if its design was read from it."""

    @property
    def was_approved(self) -> bool:
        """Whether the file's design was approved before the build."""
        return self.target is not None and self.target.approved

    @property
    def approved(self) -> bool:
        """Whether it is still approved. Keys that changed need another review."""
        return self.kept and parse_document(self.text).kept.status is Status.APPROVED

    @property
    def served(self) -> int:
        return sum(operation.served for operation in self.design.operations)


def design_again(
    read: Document, target: DesignTarget, record: BuildRecord, progress: Progress, allow_unproven: bool = False
) -> BuildDesign | None:
    """The design that was proven when it was written; None if the document or the design has changed since.

    It is also None if a pattern of it is not proven and this is not allowed any more.
    """
    source = design_source(read.workload)
    text = target.text or ""
    if record.designed != source or record.writing or not record.generated(target.path.name, text):
        return None
    design = _from_document(text, target, read.workload)
    if design is None:
        return None
    decided_ids = {decision.pin.pattern for decision in read.workload.decisions if isinstance(decision.pin, Unproven)}
    if not allow_unproven and not record.unproven.keys() <= decided_ids:
        return None
    at = places_of(read)
    progress.begin("reading", "design")
    proven = proven_summary(len(design.operations), list(record.unproven))
    since = f"the proof: {proven}" if record.unproven else "it was proven"
    progress.result(f"{structures(design)}, unchanged since {since} ({target.path})")
    diagnostics = (*check_design(design, read.workload, at), *accepted_diagnostics(record.unproven, at))
    return BuildDesign(design, text, in_order(diagnostics), source=source, unproven=record.unproven)


def record_design(result: DesignResult, path: Path) -> None:
    """Records a design that was written to a file, so that the next build does not solve and prove it again.

    Only a design that a build would make itself is recorded: one for all that its document says now, and nothing else.
    """
    request, file = result.request, result.request.document.file
    if file in ("", "-") or path != design_beside(Path(file)) or request.kept or request.alternatives != FEW:
        return
    if result.proof is None or not result.fine or result.cut_short:
        return
    target = design_target(path)
    now = read_document(file).workload
    text = target.text or ""
    if now != result.workload or _from_document(text, target, now) != result.design:
        return
    record, generated_digest = read_record(path.parent), digest(generated_part(text))
    # Files of the last build may be for another design.
    source = record.source if record.files.get(path.name) == generated_digest else ""
    files = {**record.files, path.name: generated_digest}
    changed_record = msgspec.structs.replace(
        record, source=source, designed=design_source(now), unproven=result.unproven, files=files
    )
    write_record(path.parent, changed_record)


def new_design(
    read: Document, target: DesignTarget, folder: Path, progress: Progress, allow_unproven: bool = False
) -> BuildDesign:
    """Solves and proves a design. Raises an `InputError` if it has errors."""
    kept_design = in_use = None
    if target.binding:
        kept_design = bound_design(target, read.workload, "nothing was built")
        in_use = design_of_table(target, read.workload)
        if standing := _standing_design(read, target, kept_design, in_use, folder, progress, allow_unproven):
            return standing
    request = DesignRequest(read, kept=kept_design, allow_unproven=allow_unproven, in_use=in_use)
    result = solve_request(request, progress)
    if not result.fine:
        raise InputError(result.source(hints=False), note=_WRONG)
    text = result_text(result, target.form, target.text, folder)
    keys = tuple(changes(target.before, result.design)) if target.before else ()
    is_readable_again = _from_document(text, target, read.workload) == result.design
    source = design_source(read.workload) if is_readable_again else ""
    return BuildDesign(
        result.design, text, result.diagnostics, keys, target.binding, source, result.growth, result.unproven, target
    )


def _standing_design(
    read: Document,
    target: DesignTarget,
    kept_design: Design,
    in_use: Design | None,
    folder: Path,
    progress: Progress,
    allow_unproven: bool,
) -> BuildDesign | None:
    """The design of the file itself, if it serves the document and nothing has to be added; None otherwise.

    So a second build of it makes the same files as the first, even if the solver would choose other keys now.
    """
    workload, text = read.workload, target.text or ""
    design = _from_document(text, target, workload)
    if design is None or find_unserved(workload, design) or not _has_current_explanations(design, workload):
        return None
    if has_errors(design_diagnostics(read, workload, design)):
        return None
    progress.begin("looking for additions", "design")
    try:
        solver_design = solve(workload, kept_design, progress.update).design
    except InfeasibleError:
        return None  # `new_design` reports the contradiction
    parts = (*design.guards, *design.counters, *design.stores)
    missing = [
        part for part in (*solver_design.guards, *solver_design.counters, *solver_design.stores) if part not in parts
    ]
    if missing or solver_design.ttl_attribute != design.ttl_attribute or not keeps(design, solver_design):
        return None
    progress.result(f"{structures(design)}, as in {target.path}")
    proof = prove_design(workload, design, progress=progress)
    diagnostics = design_diagnostics(read, workload, design, proof, allow_unproven)
    if has_errors(diagnostics):
        raise InputError(Source(read.file, read.text, diagnostics).only(Severity.ERROR, Severity.WARNING), note=_WRONG)
    design = record_attributes(design, workload)
    validations = validation_again(text, workload, design, proof, diagnostics)
    new_text = design_text(read.file, workload, design, validations, target.form, text, folder)
    unproven = accepted_unproven(workload, design, proof, allow_unproven)
    table_growth = growth(in_use or kept_design, design, workload)
    return BuildDesign(design, new_text, diagnostics, (), True, design_source(workload), table_growth, unproven, target)


def _has_current_explanations(design: Design, workload: Workload) -> bool:
    """Whether the explanations in a design are right for the patterns and rates of the workload now."""
    now = annotate(design, explain_design(workload, design))
    texts = {choice.about: choice.text for choice in design.decisions}
    return design.slots == now.slots and all(
        choice.text == texts.get(choice.about)
        # The one about the table may continue with a bound, which is known only after solving.
        or (choice.about == "table" and texts.get("table", "").startswith(f"{choice.text} "))
        for choice in now.decisions
    )


def _from_document(text: str, target: DesignTarget, workload: Workload) -> Design | None:
    reading = read_design_text(text, workload, target.form)
    return None if has_errors(reading.diagnostics) else map_patterns(reading.design, workload)


def design_source(workload: Workload) -> str:
    """A digest of all that a design is made from: the workload, and this version of the program."""
    return digest(program() + msgspec.json.encode(workload, order="sorted").decode())
