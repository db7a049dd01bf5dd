"""Every pattern of a workload run on a design: `prove(workload, design, transport)`. None goes missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from prejoin.design.model import Design
from prejoin.keys import TemplateError
from prejoin.patterns import audit
from prejoin.proof.expected_table import State
from prejoin.proof.package import load_package
from prejoin.proof.prove_reads import run_read
from prejoin.proof.prove_writes import run_write
from prejoin.proof.result import Answer, Proof
from prejoin.proof.sample_table import Bench
from prejoin.render.python.package import Options
from prejoin.table import SchemaError
from prejoin.transport import Transport
from prejoin.workload.model import Workload


def prove(
    workload: Workload,
    design: Design,
    transport: Transport,
    *,
    now: datetime | None = None,
    seed: int = 1,
    options: Options | None = None,
    told: Callable[[str], None] = lambda how_far: None,
) -> Proof:
    """A design run on an empty place, with data that is hard on its keys.

    Every read is compared with what looking at all the data finds; after every write the whole table is compared with
    what it should hold. It is the same for the same clock and seed. `told` hears how far it is.

    Of a design that no table can be made from, nothing is proven, and each pattern says so.
    """
    now = now or datetime.now(UTC)
    try:
        package = load_package(workload, design, options, lambda: now)
        bench = Bench.ready(workload, design, transport, now, seed, harsh=True, package=package)
    except (SchemaError, TemplateError) as problem:
        nothing = "no table can be made from the design"
        unasked = tuple(Answer(p.id, p.description, problem=nothing) for p in workload.patterns)
        return Proof(unasked, findings=(f"{nothing}: {problem}",))
    state = State(bench)
    filled = len(state.items)
    wrong = state.difference()
    answers: list[Answer] = []
    for answer in run_all(bench, state):
        answers.append(answer)
        told(f"{len(answers)} of {len(workload.patterns)} patterns")
    findings = [*bench.refused, *([wrong] if wrong else []), *map(str, audit(bench.unobserved))]
    return Proof(tuple(answers), filled, tuple(findings))


def run_all(bench: Bench, state: State | None = None) -> Iterator[Answer]:
    """The answers, reads first: writes change what reads find."""
    state = state or State(bench)
    for read in bench.workload.reads:
        yield run_read(bench, read, state)
    for write in (*bench.workload.writes, *bench.workload.deletes):
        yield run_write(bench, write, state)
