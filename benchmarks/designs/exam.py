"""One corpus file examined: converted, solved, proven, and compared with what the expert does. Never a traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import msgspec

from corpus.convert import convert_file
from corpus.expert import expert_design
from corpus.source import CorpusError, Fields, load
from designs.experts import Answered, Expert, read_expert
from prejoin.design import codes
from prejoin.design.checks import check_design
from prejoin.design.cost.bill import bill
from prejoin.design.cost.objective import WEIGHTS
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Call, Design, Operation
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Severity
from prejoin.proof.prove import prove_patterns
from prejoin.proof.sample_table import SampleTable
from prejoin.transport import Transport
from prejoin.workload.files import read_text
from prejoin.workload.model import OutOfScope, Read, Workload

Place = Callable[[], AbstractContextManager[Transport]]
"""Where designs are proven: opened once for each."""
SAVING = frozenset(code.id for code in (codes.CHANGING_KEY, codes.LONGER_THAN_ID, codes.NOT_SORTED, codes.NOT_RANGED))
"""Defects that save an index: a key that changes or does not identify, a read that is not in the order it says."""


@dataclass(frozen=True)
class Ours:
    gsis: int
    copies: int
    guards: int
    answered: Mapping[str, Answered]
    money: float
    """Dollars a month, on demand."""
    exact: bool
    """Whether no other design is better."""
    seconds: float
    """Of the processor, to solve it: there is one thread, and it waits for nothing."""
    findings: tuple[str, ...] = ()
    """What our checks say against it, errors and warnings: nobody should sign it as it is."""

    @property
    def structures(self) -> int:
        return self.gsis + self.copies

    @property
    def complexity(self) -> float:
        return _complexity(self.gsis, self.copies)


@dataclass(frozen=True)
class Proof:
    """How many patterns gave the answer that the data says, of those that are in scope."""

    right: int = 0
    of: int = 0
    seconds: float = 0.0
    wrong: Mapping[str, str] = field(default_factory=dict)
    error: str = ""

    @property
    def whole(self) -> bool:
        return not self.error and self.right == self.of


@dataclass(frozen=True)
class Result:
    name: str
    entities: int = 0
    patterns: int = 0
    """In scope."""
    outside: int = 0
    expert: Expert | None = None
    ours: Ours | None = None
    proofs: Mapping[str, Proof] = field(default_factory=dict)
    """By place."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """What is said of patterns that are not served."""
    expert_money: float | None = None
    """What the expert's design costs a month, where it can be read as keys and serves every pattern by its inputs."""
    defects: tuple[str, ...] = ()
    """What saves the expert an index, and ought not to."""
    error: str = ""

    @property
    def served(self) -> int:
        return sum(one.served for one in self.ours.answered.values()) if self.ours else 0

    @property
    def behind(self) -> tuple[str, ...]:
        """Patterns that we do not serve, or in more requests or with a filter where the expert needs none."""
        if self.ours is None:
            return ()
        theirs = self.expert.answered if self.expert else {}
        return tuple(p for p, mine in self.ours.answered.items() if _behind(mine, theirs.get(p)))

    @property
    def verdict(self) -> str:
        if self.ours is None or self.expert is None:
            return ""
        difference = self.ours.complexity - _complexity(self.expert.gsis + self.expert.lsis, self.expert.copies)
        return "more" if difference > 0 else "fewer" if difference < 0 else "same"


def _complexity(indexes: int, copies: int) -> float:
    """The weight of indexes and copies in the designer's objective."""
    return float(WEIGHTS["index"] * indexes + WEIGHTS["copy"] * copies)


def _behind(mine: Answered, theirs: Answered | None) -> bool:
    if theirs is None:
        return not mine.served
    if not theirs.served:
        return False
    return not mine.served or mine.requests > theirs.requests or (mine.filtered and not theirs.filtered)


def examine(path: Path, places: Mapping[str, Place]) -> Result:
    """What came of a corpus file; what could not be done is said in the result."""
    try:
        name, workload, document = convert_file(path)
        outside = frozenset(d.pin.pattern for d in workload.decisions if isinstance(d.pin, OutOfScope))
        expert = read_expert(load(path), outside)
    except CorpusError as problem:
        return Result(path.stem, error=str(problem))
    reading = read_text(document, "md")
    workload = reading.workload
    counted = Result(
        name,
        len(workload.entities),
        sum(p.id not in outside for p in workload.patterns),
        len(outside),
        expert,
        expert_money=_expert_money(load(path), workload) if expert else None,
        defects=_defects(load(path), workload) if expert else (),
    )
    errors = [d.message for d in reading.diagnostics if d.severity is Severity.ERROR]
    if errors:
        return replace(counted, error="the document does not read: " + "; ".join(errors))
    try:
        ours, design = solved(workload)
    except Exception as problem:  # a failure of the designer is a result of the exam, not its end
        return replace(counted, error=f"not solved: {told(problem)}")
    problems = {o.pattern: o.problem for o in design.operations if o.problem}
    proofs = {place: proven(workload, design, open_, name) for place, open_ in places.items()}
    return replace(counted, ours=ours, problems=problems, proofs=proofs)


def _expert_money(fields: Fields, workload: Workload) -> float | None:
    try:
        design = map_patterns(expert_design(fields, workload), workload)
    except Exception:  # for another database, or in words that are no templates
        return None
    # A write that assumes a part of the key skips a request that ours has to pay for.
    comparable = all(o.served and not o.assumes for o in design.operations)
    return float(bill(workload, design).total) if comparable else None


def _defects(fields: Fields, workload: Workload) -> tuple[str, ...]:
    try:
        found = check_design(expert_design(fields, workload), workload)
    except CorpusError:  # a solution for another database, or in words that are no templates
        return ()
    except Exception as problem:  # a failure of the checks is told, and ends nothing
        return (f"not checked: {told(problem)}",)
    return tuple(f"{d.code} {d.message}" for d in found if d.code in SAVING)


def told(problem: Exception) -> str:
    """An exception in a line.

    >>> told(KeyError("Order"))
    "KeyError: 'Order'"
    """
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text[:300]}" if text else type(problem).__name__


def solved(workload: Workload) -> tuple[Ours, Design]:
    begin = process_time()
    solution = solve(workload)
    seconds = process_time() - begin
    design = solution.design
    asked = {p.id: isinstance(p, Read) and any(i.filter for i in p.inputs) for p in workload.patterns}
    answered = {o.pattern: _answered(o, asked[o.pattern]) for o in design.operations}
    money = float(bill(workload, design).total)
    findings = tuple(f"{d.code} {d.message}" for d in check_design(design, workload) if d.severity is not Severity.HINT)
    ours = Ours(
        len(design.indexes),
        len(design.copies),
        len(design.guards),
        answered,
        money,
        solution.ended,
        seconds,
        findings,
    )
    return ours, design


def _answered(operation: Operation, asks_for_filter: bool) -> Answered:
    # One item that is got by its whole key and then compared is no filter over many.
    filtered = any(r.filters and r.call is not Call.GET for r in operation.requests) and not asks_for_filter
    return Answered(operation.served, max(1, len(operation.requests)), filtered)


def proven(workload: Workload, design: Design, open_: Place, name: str) -> Proof:
    """Every pattern in scope, run on a table of its own that is gone afterwards."""
    design = msgspec.structs.replace(design, table=f"exam-{name}"[:255])
    begin = process_time()
    try:
        with open_() as transport:
            wrong = dict(_answers(workload, design, transport))
    except Exception as problem:  # as above: the other designs are examined too
        return Proof(of=len(design.operations), seconds=process_time() - begin, error=told(problem))
    failed = {pattern: text for pattern, text in wrong.items() if text}
    return Proof(len(wrong) - len(failed), len(wrong), process_time() - begin, failed)


def _answers(workload: Workload, design: Design, transport: Transport) -> Iterator[tuple[str, str]]:
    """Each pattern, with what is wrong about its answer."""
    in_scope = {o.pattern for o in design.operations}
    sample = SampleTable.create(workload, design, transport, datetime.now(UTC))
    try:
        for answer in prove_patterns(sample):
            if answer.pattern in in_scope:
                yield answer.pattern, answer.wrong or answer.problem
    finally:
        sample.client.call("DeleteTable")
