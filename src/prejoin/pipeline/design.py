"""A design as the command makes it: solved, explained, checked, priced and proven, all of it in one place."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from prejoin.cli.outcome import Source
from prejoin.cli.progress import Progress
from prejoin.cli.text.messages import counted
from prejoin.design.checks import Fit, check_design, fit, new_attributes
from prejoin.design.cost.bill import Bill, bill
from prejoin.design.explain import Explanation, considered, explain_design, told
from prejoin.design.layout.growth import Growth, growth
from prejoin.design.model import Design, Operation
from prejoin.design.solver.conflicts import Statement, conflicts
from prejoin.design.solver.decisions import decided as pins_of
from prejoin.design.solver.integer_program import InfeasibleError, TimeLimit
from prejoin.design.solver.solve import Solution, solve
from prejoin.diagnostics import Diagnostic, Severity, Span, in_order
from prejoin.engine import Embedded
from prejoin.pipeline import codes
from prejoin.pipeline.decisions import decided
from prejoin.pipeline.design_file import places_of, structures
from prejoin.pipeline.document import Document
from prejoin.proof.answer import Answer, Proof
from prejoin.proof.run import prove
from prejoin.workload.model import Pin, Workload

FEW = 3
"""Other designs that are priced for the document; all that there are take longer, and are for who asks for them."""
MOST = 8
_NOT_SERVED = frozenset({"PJ530", "PJ531", "PJ532", "PJ533", "PJ534", "PJ535", "PJ536"})
"""What the checks say of a read that no key serves; here that is said once, with what would have to change."""


class ContradictionError(Exception):
    """What is decided cannot all hold."""

    def __init__(self, sets: tuple[tuple[Statement, ...], ...]) -> None:
        super().__init__("the decisions cannot all hold")
        self.sets = sets


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be designed: a document, what is decided beside it, and what is in use already."""

    document: Document
    pins: tuple[Pin, ...] = ()
    kept: Design | None = None
    proven: bool = True
    alternatives: int = FEW
    time_limit: float | None = None
    """Seconds that the solver may take; as long as it needs if None."""

    @property
    def workload(self) -> Workload:
        return decided(self.document.workload, self.pins)


@dataclass(frozen=True, slots=True)
class Made:
    wanted: Wanted
    workload: Workload
    solution: Solution
    design: Design
    """With its reasons."""
    explanation: Explanation
    bill: Bill
    fit: Fit
    seconds: float
    """That the solver took."""
    diagnostics: tuple[Diagnostic, ...] = ()
    proof: Proof | None = None
    growth: Growth | None = None
    conflicts: tuple[tuple[Statement, ...], ...] = field(default=())
    cut_short: bool = False
    """Whether the time limit ended the search: another run may find another design."""

    @property
    def unserved(self) -> tuple[Operation, ...]:
        return unserved(self.workload, self.design)

    @property
    def fine(self) -> bool:
        return all(d.severity is not Severity.ERROR for d in self.diagnostics)

    def source(self, hints: bool, besides_page: bool = False) -> Source:
        """What is to be said, about the document from which it comes; besides the page, what that does not say."""
        document = self.wanted.document
        own = (self._time_limit(),) if self.cut_short else ()
        said = (d for d in (*own, *self.diagnostics) if hints or d.severity is not Severity.HINT)
        rest = (d for d in said if not (besides_page and d.code == codes.UNSERVED.id))
        return Source(document.file, document.text, tuple(rest))

    def _time_limit(self) -> Diagnostic:
        least = self.solution.chosen.least
        found = self.explanation.structures
        bound = f"{counted(found, 'structure')}, and no fewer than {min(least, found)} can serve as much"
        message = f"the time limit of {self.wanted.time_limit:g} s ended the search; the best design found has {bound}"
        return codes.TIME_LIMIT.at(None, message, "give it longer: another run may find another design")


def make(wanted: Wanted, progress: Progress) -> Made:
    """Designs a table. Raises `ContradictionError` where what is decided cannot all hold."""
    workload = wanted.workload
    began = time.perf_counter()
    progress.begin("choosing keys", "design")
    limit = None if wanted.time_limit is None else TimeLimit(wanted.time_limit)
    try:
        solution = solve(workload, wanted.kept, progress, limit)
    except InfeasibleError:
        progress.begin("looking for what contradicts what")
        raise ContradictionError(conflicts(workload, wanted.kept)) from None
    seconds = time.perf_counter() - began
    progress.result(structures(solution.design))
    # Of a design that had to keep what was there nobody knows whether another one would do with less.
    explanation = explain_design(workload, solution.design, None if wanted.kept else solution)
    cut_short = limit is not None and limit.struck
    if wanted.alternatives and not cut_short:  # others take as long again
        progress.begin("pricing other designs")
        explanation = considered(workload, solution, explanation, wanted.kept, wanted.alternatives)
    design = told(solution.design, explanation)
    proof = run(workload, design, progress) if wanted.proven else None
    in_conflict: tuple[tuple[Statement, ...], ...] = ()
    if unserved(workload, design) and not cut_short:
        progress.begin("looking for what keeps a pattern from being served")
        in_conflict = conflicts(workload, wanted.kept)
    return Made(
        wanted,
        workload,
        solution,
        design,
        explanation,
        bill(workload, design),
        fit(workload),
        seconds,
        in_order((*findings(wanted.document, workload, design, proof), *_new(wanted, workload, design))),
        proof,
        growth=growth(wanted.kept, design, workload) if wanted.kept else None,
        conflicts=in_conflict,
        cut_short=cut_short,
    )


def run(workload: Workload, design: Design, progress: Progress) -> Proof:
    """The design, run on the embedded engine."""
    progress.begin("proving it", "prove")
    with Embedded() as engine:
        proof = prove(workload, design, engine, told=progress)
    progress.result(f"{proof.proven} of {counted(len(proof.asked), 'pattern')} answered as the data says")
    return proof


def unproven(answer: Answer, span: Span | None) -> Diagnostic:
    """What is told of a pattern that the design serves and the proof does not confirm."""
    if answer.wrong:
        message, fix = f"{answer.pattern} was run, and {answer.wrong}", "please report it, with the document"
    else:
        message = f"{answer.pattern} is not proven: it could not be run, because {answer.problem}"
        fix = "look at what it writes and under which conditions; if that is right, please report it, with the document"
    return codes.UNPROVEN.at(span, message, answer.remedy or fix)


def unserved(workload: Workload, design: Design) -> tuple[Operation, ...]:
    """The patterns that no key serves, and for which nobody said that this is accepted."""
    aside = pins_of(workload).aside
    return tuple(o for o in design.operations if not o.served and o.pattern not in aside)


def _new(wanted: Wanted, workload: Workload, design: Design) -> list[Diagnostic]:
    """What is to be said of attributes that a design in use does not know."""
    return new_attributes(wanted.kept, workload, design, places_of(wanted.document)) if wanted.kept else []


def findings(
    document: Document, workload: Workload, design: Design, proof: Proof | None = None
) -> tuple[Diagnostic, ...]:
    """What the checks, the plan of each pattern and the proof have to say."""
    return in_order(_said(document, workload, design, proof))


def _said(document: Document, workload: Workload, design: Design, proof: Proof | None) -> Iterator[Diagnostic]:
    at = places_of(document)
    lost = {operation.pattern: operation for operation in unserved(workload, design)}
    accepted = {operation.pattern for operation in design.operations if not operation.served} - lost.keys()
    for d in check_design(design, workload, at):
        if d.code not in _NOT_SERVED or d.message.split()[0].rstrip(",:") not in lost:
            yield d
    for pattern, operation in lost.items():
        fix = operation.remedy or "say in its Decisions what may be done: `may use a second request`, `is out of scope`"
        yield codes.UNSERVED.at(at(pattern, ""), f"{pattern} is not served: {operation.problem}", fix)
    if proof is not None:
        for answer in proof.failed:
            if answer.pattern not in lost and answer.pattern not in accepted:
                yield unproven(answer, at(answer.pattern, ""))
        for finding in proof.findings:
            yield codes.UNPROVEN.at(None, f"in the proof, {finding}", "please report it, with the document")
