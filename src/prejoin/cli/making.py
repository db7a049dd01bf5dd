"""A design as the command makes it: solved, explained, checked, priced and proven, all of it in one place."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from prejoin.cli import codes
from prejoin.cli.decisions import decided
from prejoin.cli.designs import places_of, structures
from prejoin.cli.outcome import Source
from prejoin.cli.progress import Progress
from prejoin.cli.show import counted
from prejoin.cli.sources import Document
from prejoin.design.checks import Fit, check_design, fit
from prejoin.design.conflicts import Statement, conflicts
from prejoin.design.decided import decided as pins_of
from prejoin.design.explain import Explanation, considered, explain, told
from prejoin.design.growth import Growth, growth
from prejoin.design.model import Design, Operation
from prejoin.design.price import Bill, bill
from prejoin.design.program import InfeasibleError
from prejoin.design.solve import Solution, solve
from prejoin.diagnostics import Diagnostic, Severity, in_order
from prejoin.engine import Embedded
from prejoin.proof.answer import Proof
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

    @property
    def unserved(self) -> tuple[Operation, ...]:
        """The patterns that no key serves, and for which nobody said that this is accepted."""
        aside = pins_of(self.workload).aside
        return tuple(o for o in self.design.operations if not o.served and o.pattern not in aside)

    @property
    def fine(self) -> bool:
        return all(d.severity is not Severity.ERROR for d in self.diagnostics)

    def source(self, hints: bool, besides_page: bool = False) -> Source:
        """What is to be said, about the document from which it comes; besides the page, what that does not say."""
        document = self.wanted.document
        said = (d for d in self.diagnostics if hints or d.severity is not Severity.HINT)
        rest = (d for d in said if not (besides_page and d.code == codes.UNSERVED.id))
        return Source(document.file, document.text, tuple(rest))


def make(wanted: Wanted, progress: Progress) -> Made:
    """Designs a table. Raises `ContradictionError` where what is decided cannot all hold."""
    workload = wanted.workload
    began = time.perf_counter()
    progress.begin("choosing keys", "design")
    try:
        solution = solve(workload, wanted.kept, progress)
    except InfeasibleError:
        progress.begin("looking for what contradicts what")
        raise ContradictionError(conflicts(workload)) from None
    seconds = time.perf_counter() - began
    progress.result(structures(solution.design))
    explanation = explain(workload, solution)
    if wanted.alternatives:
        progress.begin("pricing other designs")
        explanation = considered(workload, solution, explanation, wanted.kept, wanted.alternatives)
    design = told(solution.design, explanation)
    proof = None
    if wanted.proven:
        progress.begin("proving it", "prove")
        with Embedded() as engine:
            proof = prove(workload, design, engine, told=progress)
        ran = [answer for answer in proof.answers if not answer.problem]
        right = sum(answer.right for answer in ran)
        progress.result(f"{right} of {counted(len(ran), 'pattern')} answered as the data says")
    in_conflict: tuple[tuple[Statement, ...], ...] = ()
    aside = pins_of(workload).aside
    if any(not o.served and o.pattern not in aside for o in design.operations):
        progress.begin("looking for what keeps a pattern from being served")
        in_conflict = conflicts(workload)
    made = Made(
        wanted,
        workload,
        solution,
        design,
        explanation,
        bill(workload, design),
        fit(workload),
        seconds,
        proof=proof,
        growth=growth(wanted.kept, design, workload) if wanted.kept else None,
        conflicts=in_conflict,
    )
    return _checked(made)


def _checked(made: Made) -> Made:
    return replace(made, diagnostics=in_order(_said(made)))


def _said(made: Made) -> Iterator[Diagnostic]:
    at = places_of(made.wanted.document)
    lost = {operation.pattern: operation for operation in made.unserved}
    for d in check_design(made.design, made.workload, at):
        if d.code not in _NOT_SERVED or d.message.split()[0].rstrip(",:") not in lost:
            yield d
    for pattern, operation in lost.items():
        fix = operation.remedy or "say in its Decisions what may be done: `may use a second request`, `is out of scope`"
        yield codes.UNSERVED.at(at(pattern, ""), f"{pattern} is not served: {operation.problem}", fix)
    if made.proof is not None:
        for answer in made.proof.failed:
            if answer.wrong:
                fix = "please report it, with the document"
                yield codes.UNPROVEN.at(at(answer.pattern, ""), f"{answer.pattern} was run, and {answer.wrong}", fix)
        for finding in made.proof.findings:
            yield codes.UNPROVEN.at(None, f"in the proof, {finding}", "please report it, with the document")
