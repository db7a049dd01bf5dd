"""Design a table from a document: `design_table` solves, explains, checks, prices and proves it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from dataclasses import replace as with_other
from typing import TypeAlias

from msgspec.structs import replace

from prejoin.design import codes as design_codes
from prejoin.design.checks import At, TableFit, check_design, fit, new_attributes, taken_names
from prejoin.design.cost.bill import Bill, bill
from prejoin.design.cost.objective import complexity
from prejoin.design.explain import Explanation, UnknownTopicError, add_alternatives, annotate, explain_design
from prejoin.design.explain import why as explain_topic
from prejoin.design.explain.text import WIDTH, as_text
from prejoin.design.layout.growth import Growth, growth
from prejoin.design.model import Design, Operation
from prejoin.design.phrases import listed
from prejoin.design.solver.program.integer_program import InfeasibleError, OutOfTimeError, TimeLimit
from prejoin.design.solver.solve import Solution, solve
from prejoin.design.whatif.alternative import Alternative
from prejoin.design.whatif.alternatives import MOST_ALTERNATIVES, TABLE_TOPIC, without_pattern
from prejoin.design.whatif.attempt import WhatIf
from prejoin.design.whatif.comparison import TableComparison, compare_tables
from prejoin.design.whatif.conflicts import ConflictStatement, conflicts
from prejoin.design.whatif.frontier import FrontierPoint, propose
from prejoin.design.whatif.split import needs_own_table
from prejoin.diagnostics import Diagnostic, Severity, has_errors, in_order
from prejoin.engine import Embedded
from prejoin.pipeline import codes
from prejoin.pipeline.design.decisions import read_decision, with_decisions
from prejoin.pipeline.design.design_file import design_in_use, find_unserved, in_names_of, places_of, structures
from prejoin.pipeline.document import Document
from prejoin.pipeline.errors import InputError, InvalidArgumentError, PipelineError, Source
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.summary import proven_summary
from prejoin.proof.prove import prove as run_proof
from prejoin.proof.result import PatternProof, Proof
from prejoin.transport import Transport
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Pin, Unproven, Workload

FEW = 3
"""Alternatives that are priced by default. More take longer."""
TIME_LIMIT = 30.0
"""Seconds after which the command takes the best design found."""
_NOT_SERVED = frozenset(
    code.id
    for code in (
        design_codes.NOT_SERVED,
        design_codes.NOT_SORTED,
        design_codes.NOT_RANGED,
        design_codes.STRONG_INDEX,
        design_codes.NOT_HELD,
        design_codes.FILTERED,
        design_codes.NOT_TOGETHER,
    )
)
"""Diagnostics of the checks about a read that no key serves. `UNSERVED` replaces them here: it has the remedy."""
ConflictSet: TypeAlias = tuple[ConflictStatement, ...]
"""Statements that cannot all hold; without any one of them, the others can."""


class ContradictionError(PipelineError):
    """The decisions of a document, or a design that is kept, leave no design. `conflicts` says which of them."""

    def __init__(self, document: Document, conflicts: tuple[ConflictSet, ...]) -> None:
        self.conflicts = conflicts
        diagnostics = tuple(_contradictions(document, conflicts))
        self._fill((Source(document.file, document.text, diagnostics),), "nothing was designed")


@dataclass(frozen=True, slots=True)
class DesignRequest:
    """The input of `design_table`."""

    document: Document
    pins: tuple[Pin, ...] = ()
    """Decisions in addition to those of the document."""
    kept: Design | None = None
    """A design whose table is in use: its keys stay, and new parts are added."""
    prove: bool = True
    alternatives: int = FEW
    """How many other designs are priced."""
    proposes: bool = True
    """Whether a cheaper design with one more structure, and a design of several tables, are solved, too."""
    time_limit: float | None = None
    """Seconds that the solver may take; None is no limit."""
    allow_unproven: bool = False
    """Whether patterns that the proof cannot run are no errors. A wrong result always is one."""
    kept_file: str = ""
    """The file of the kept design, which the new design names; empty if that names it already."""
    in_use: Design | None = None
    """The design of the table in use, if `kept` is a later one that was made to extend it."""
    in_use_file: str = ""
    """The file of `in_use`."""

    @property
    def file_in_use(self) -> str:
        """The file of the design of the table in use; empty if there is none, or it is not known."""
        return self.kept_file or self.in_use_file

    @property
    def base(self) -> Design | None:
        """The design that the changes for the table in use are counted from."""
        return self.in_use or self.kept

    @property
    def workload(self) -> Workload:
        return with_decisions(self.document.workload, self.pins)


@dataclass(frozen=True, slots=True)
class DesignResult:
    """A design, and all that is known about it."""

    request: DesignRequest
    workload: Workload
    """The workload of the document, with the decisions of the request."""
    solution: Solution
    what_if: WhatIf
    """The designs of changed documents, so far."""
    design: Design
    explanation: Explanation
    bill: Bill
    fit: TableFit
    seconds: float
    """The time that the solver took."""
    diagnostics: tuple[Diagnostic, ...] = ()
    proof: Proof | None = None
    growth: Growth | None = None
    """The changes for the table in use, if the request keeps its design."""
    conflicts: tuple[ConflictSet, ...] = ()
    """Why patterns are not served: the statements that cannot all hold."""
    proposal: FrontierPoint | None = None
    """A design that costs over 10 % less for one more structure."""
    tables: TableComparison | None = None
    """One table against several, if the document says that entities need a table of their own."""
    cut_short: bool = False
    """Whether the time limit ended the search, so that another run may find another design."""

    @property
    def unserved(self) -> tuple[Operation, ...]:
        return find_unserved(self.workload, self.design)

    @property
    def unproven(self) -> dict[str, str]:
        """The patterns that are accepted although the proof could not run them, with the reasons."""
        return accepted_unproven(self.workload, self.design, self.proof, self.request.allow_unproven)

    @property
    def fine(self) -> bool:
        """Whether there are no errors."""
        return not has_errors(self.diagnostics)

    def explanation_lines(self, width: int = WIDTH) -> list[str]:
        """The explanation of the whole design, as lines of text."""
        return as_text(self.explanation, width)

    def source(self, hints: bool = True) -> Source:
        """The document with the diagnostics about its design."""
        document = self.request.document
        time_diagnostics = (self._time_limit(),) if self.cut_short else ()
        diagnostics = tuple(
            diagnostic
            for diagnostic in (*time_diagnostics, *self.diagnostics)
            if hints or diagnostic.severity is not Severity.HINT
        )
        return Source(document.file, document.text, diagnostics)

    def _time_limit(self) -> Diagnostic:
        design_complexity = complexity(self.workload, self.design)
        least_complexity = min(self.solution.chosen.least, design_complexity)
        bound = f"a complexity of {design_complexity:.3g}, and no less than {least_complexity:.3g} can serve as much"
        limit = f"the time limit of {self.request.time_limit:g} s"
        message = f"{limit} ended the search; the best design found has {bound}"
        return codes.TIME_LIMIT.at(None, message, "allow more time: another run may find another design")


def design_table(
    document: Document | Workload,
    *,
    decisions: Sequence[str | Pin] = (),
    keep: Design | str | os.PathLike[str] | None = None,
    prove: bool = True,
    alternatives: int = FEW,
    time_limit: float | None = None,
    allow_unproven: bool = False,
    progress: Progress = SILENT,
) -> DesignResult:
    """Designs the table for a document: solves, explains, prices, checks and proves it.

    `decisions` are sentences (`"Order lives under User"`, `"at most 1 GSIs"`) in addition to those of the document.
    `keep` is a design whose table is in use, or its file: its keys stay, and new parts are added. The new design names
    the file, so that later designs keep these keys, too. A design with errors, such as a
    pattern that is not served, is returned, and its `fine` is False. With `allow_unproven`, a pattern that the proof
    cannot run is no error; `unproven` of the result has it.

    Raises an `InputError` if the document has errors, an `InvalidArgumentError` for a decision that cannot be read, and
    a `ContradictionError` if the decisions leave no design.
    """
    document = document if isinstance(document, Document) else Document.of(document)
    document.require_no_errors("the document has errors; nothing was designed")
    pins = read_decisions(decisions, document.workload)
    kept_file = "" if keep is None or isinstance(keep, Design) else os.fspath(keep)
    if isinstance(keep, Design):
        keep = in_names_of(keep, document.workload)
    elif keep is not None:
        keep = design_in_use(keep, document.workload, f"{kept_file} cannot be kept; nothing was designed")
    request = DesignRequest(
        document,
        pins,
        keep,
        prove,
        alternatives,
        time_limit=time_limit,
        allow_unproven=allow_unproven,
        kept_file=kept_file,
    )
    return solve_request(request, progress)


def read_decisions(sentences: Iterable[str | Pin], workload: Workload) -> tuple[Pin, ...]:
    """Reads decisions, each of which may depend on those before it."""
    pins: tuple[Pin, ...] = ()
    for sentence in sentences:
        if isinstance(sentence, str):
            try:
                sentence = read_decision(sentence, with_decisions(workload, pins))
            except Inexact as problem:
                raise InvalidArgumentError(codes.FLAG, problem.message, problem.fix) from None
        pins = (*pins, sentence)
    return pins


def solve_request(request: DesignRequest, progress: Progress = SILENT) -> DesignResult:
    """The same as `design_table`, for a request whose document has no errors."""
    document, workload = request.document, request.workload
    if request.kept and (taken_diagnostics := taken_names(request.kept, workload, places_of(document))):
        raise InputError(Source(document.file, document.text, taken_diagnostics), note="nothing was designed")
    began = time.perf_counter()
    progress.begin("choosing keys", "design")
    limit = None if request.time_limit is None else TimeLimit(request.time_limit)
    try:
        solution = solve(workload, request.kept, progress.update, limit)
    except InfeasibleError:
        progress.begin("looking for contradictions")
        raise ContradictionError(document, conflicts(workload, request.kept)) from None
    except OutOfTimeError:
        code = replace(codes.TIME_LIMIT, severity=Severity.ERROR)
        fix = "give a longer `--time-limit`"
        raise PipelineError(code, f"no design was found in {request.time_limit:g} s", fix, document.file) from None
    seconds = time.perf_counter() - began
    progress.result(structures(solution.design))
    # With a kept design it is not known whether another design would need fewer structures.
    explanation = explain_design(workload, solution.design, None if request.kept else solution)
    cut_short = limit is not None and limit.struck
    what_if = WhatIf(workload, solution, request.kept, request.time_limit)
    if request.alternatives and not cut_short:  # each alternative would take as long again
        progress.begin("pricing alternatives")
        explanation = add_alternatives(what_if, explanation, request.alternatives)
    proposal = tables = None
    if request.proposes and request.alternatives and not cut_short:
        proposal = propose(what_if)
        tables = compare_tables(workload, solution.design) if needs_own_table(workload) else None
    design = annotate(solution.design, explanation)
    proof = prove_design(workload, design, progress=progress) if request.prove else None
    in_conflict: tuple[ConflictSet, ...] = ()
    if find_unserved(workload, design) and not cut_short:
        progress.begin("looking for what prevents a pattern from being served")
        in_conflict = conflicts(workload, request.kept)
    attribute_diagnostics = new_attributes(request.kept, workload, design, places_of(document)) if request.kept else []
    diagnostics = design_diagnostics(document, workload, design, proof, request.allow_unproven)
    return DesignResult(
        request,
        workload,
        solution,
        what_if,
        design,
        explanation,
        bill(workload, design),
        fit(workload),
        seconds,
        in_order((*diagnostics, *attribute_diagnostics)),
        proof,
        growth=growth(request.base, design, workload) if request.base else None,
        conflicts=in_conflict,
        proposal=proposal,
        tables=tables,
        cut_short=cut_short,
    )


def prove_design(
    workload: Workload, design: Design, transport: Transport | None = None, *, progress: Progress = SILENT
) -> Proof:
    """Runs every access pattern with the generated code, and compares the results with brute force over the data.

    It runs on the embedded engine in memory, or on another DynamoDB. There it creates the table of the design, which
    must not exist yet, and leaves it for you to look at and delete.
    """
    progress.begin("running every pattern", "prove")
    with nullcontext(transport) if transport else Embedded() as place:
        proof = run_proof(workload, design, place, progress=progress.update)
    not_proven = [answer.pattern for answer in proof.in_scope if not answer.right]
    progress.result(proven_summary(len(proof.in_scope), not_proven))
    return proof


# --- Questions about a design ---------------------------------------------------------------------------------------


def why(result: DesignResult, topic: str, width: int = WIDTH) -> list[str]:
    """The explanation of an entity, an index, a copy or an access pattern, as lines of text.

    Raises an `InvalidArgumentError` if there is nothing of that name.
    """
    try:
        return explain_topic(result.explanation, topic, width)
    except UnknownTopicError as problem:
        fix = f"did you mean `{problem.meant}`?" if problem.meant else f"ask about one of {', '.join(problem.known)}"
        message = f"there is no entity, index, copy or access pattern `{topic}`"
        raise InvalidArgumentError(codes.NO_TOPIC, message, fix) from None


def without(result: DesignResult, pattern: str) -> Alternative:
    """The design without an access pattern, which shows what the pattern costs.

    Raises an `InvalidArgumentError` if there is no such pattern.
    """
    if result.workload.pattern(pattern) is None:
        near_id = suggest(pattern, [known_pattern.id for known_pattern in result.workload.patterns])
        fix = f"did you mean {near_id}?" if near_id else "name one of the document"
        raise InvalidArgumentError(codes.NO_TOPIC, f"there is no access pattern `{pattern}`", fix)
    return without_pattern(result.what_if, pattern)


def with_alternatives(result: DesignResult, most: int = MOST_ALTERNATIVES) -> DesignResult:
    """The same design, with more alternatives priced."""
    return with_other(result, explanation=add_alternatives(result.what_if, result.explanation, most))


def alternatives_of(explanation: Explanation) -> list[tuple[str, Alternative]]:
    """The alternatives of a design, each with its subject: the table, a copy or an entity."""
    alternatives = [(TABLE_TOPIC, alternative) for alternative in explanation.alternatives]
    alternatives += [
        (f"{copy.entity}/{copy.copy}", alternative) for copy in explanation.copies for alternative in copy.alternatives
    ]
    return alternatives + [
        (entity.entity, alternative) for entity in explanation.entities for alternative in entity.alternatives
    ]


# --- Diagnostics ----------------------------------------------------------------------------------------------------


def accepted_unproven(workload: Workload, design: Design, proof: Proof | None, allow: bool) -> dict[str, str]:
    """The patterns that the proof could not run and that are built nevertheless, with the reasons.

    With `allow` these are all; otherwise those that the decisions of the document name. If no pattern could be run at
    all, nothing is accepted: the generated code would not work.
    """
    if proof is None or proof.blocked:
        return {}
    served_ids = {operation.pattern for operation in design.operations if operation.served}
    decided_ids = {decision.pin.pattern for decision in workload.decisions if isinstance(decision.pin, Unproven)}
    accepted_ids = served_ids if allow else served_ids & decided_ids
    return {pattern: reason for pattern, reason in proof.not_run.items() if pattern in accepted_ids}


def unproven_diagnostics(answers: Iterable[PatternProof], at: At) -> Iterator[Diagnostic]:
    """The errors for patterns that the design serves and the proof does not confirm; one for each cause."""
    by_cause: dict[tuple[str, str], list[PatternProof]] = {}
    for answer in answers:
        by_cause.setdefault((answer.wrong, answer.problem), []).append(answer)
    for (wrong, problem), proofs in by_cause.items():
        patterns = listed(answer.pattern for answer in proofs)
        is_plural = len(proofs) > 1
        if wrong:
            message = f"{patterns} {'were' if is_plural else 'was'} run, and {wrong}"
            fix = "please report it, with the document"
        else:
            is_not = "are not proven: they" if is_plural else "is not proven: it"
            message = f"{patterns} {is_not} could not be run, because {problem}"
            fix = "check its writes and conditions; `--allow-unproven` goes on without a proof; please report it"
        yield codes.UNPROVEN.at(at(proofs[0].pattern, ""), message, proofs[0].remedy or fix)


def accepted_diagnostics(unproven: Mapping[str, str], at: At) -> Iterator[Diagnostic]:
    """The warnings about patterns that are built without a proof."""
    for pattern, reason in unproven.items():
        message = f"{pattern} is not proven: it could not be run, because {reason}"
        fix = "test its method yourself before you use it, and please report it, with the document"
        yield codes.ACCEPTED_UNPROVEN.at(at(pattern, ""), message, fix)


def design_diagnostics(
    document: Document, workload: Workload, design: Design, proof: Proof | None = None, allow_unproven: bool = False
) -> tuple[Diagnostic, ...]:
    """The diagnostics of the checks, of patterns that are not served, and of the proof."""
    return in_order(_diagnostics(document, workload, design, proof, allow_unproven))


def _diagnostics(
    document: Document, workload: Workload, design: Design, proof: Proof | None, allow_unproven: bool
) -> Iterator[Diagnostic]:
    at = places_of(document)
    unserved_operations = {operation.pattern: operation for operation in find_unserved(workload, design)}
    for diagnostic in check_design(design, workload, at):
        if diagnostic.code not in _NOT_SERVED or diagnostic.about not in unserved_operations:
            yield diagnostic
    for pattern, operation in unserved_operations.items():
        fix = operation.remedy or "say in its Decisions what may be done: `may use a second request`, `is out of scope`"
        yield codes.UNSERVED.at(at(pattern, ""), f"{pattern} is not served: {operation.problem}", fix)
    if proof is None:
        return
    if proof.blocked:
        patterns = listed(answer.pattern for answer in proof.in_scope)
        message = f"nothing could be run, because {proof.blocked}; not proven: {patterns or 'the table'}"
        yield codes.UNPROVEN.at(None, message, "please report it, with the document")
        return
    not_served = design.unserved
    accepted_reasons = accepted_unproven(workload, design, proof, allow_unproven)
    failed_proofs = [answer for answer in proof.failed if answer.pattern not in not_served | accepted_reasons.keys()]
    yield from unproven_diagnostics(failed_proofs, at)
    yield from accepted_diagnostics(accepted_reasons, at)
    for finding in proof.findings:
        yield codes.UNPROVEN.at(None, f"in the proof, {finding}", "please report it, with the document")


def _contradictions(document: Document, conflicts: Iterable[ConflictSet]) -> Iterator[Diagnostic]:
    at = places_of(document)
    conflicts = tuple(conflicts)
    for statements in conflicts:
        spans = (at(statement.name, "") for statement in statements if statement.kind != "kept")
        message, fix = f"this cannot hold: {statements[0]}", "change it, or leave it out"
        if len(statements) > 1:
            message = f"these cannot all hold: {'; '.join(map(str, statements))}"
            fix = "change or leave out any one of them"
        if any(statement.kind == "kept" for statement in statements):
            fix = "change or leave out what the document says; or design all keys again: `prejoin design --fresh`"
        yield codes.CONTRADICTION.at(next(filter(None, spans), None), message, fix)
    if not conflicts:
        fix = "leave out decisions, one after the other, to find which"
        yield codes.CONTRADICTION.at(None, "the decisions leave no design", fix)
