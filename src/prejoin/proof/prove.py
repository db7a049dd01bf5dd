"""Proves a design: `prove(workload, design, transport)` runs every access pattern and compares it with brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from prejoin.design.model import Design
from prejoin.keys import TemplateError
from prejoin.patterns.integrity.audit import audit
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.histories import prove_histories
from prejoin.proof.package import load_package
from prejoin.proof.prove_contents import prove_contents
from prejoin.proof.prove_reads import prove_read
from prejoin.proof.prove_refreshes import prove_refreshes
from prejoin.proof.prove_table import prove_table
from prejoin.proof.prove_writes import prove_write
from prejoin.proof.result import PatternProof, Proof
from prejoin.proof.sample_table import SampleTable
from prejoin.render.python.package import Options
from prejoin.table.errors import SchemaError
from prejoin.transport import Transport
from prejoin.workload.model import Pattern, Workload

PROOF_TIME = datetime(2080, 5, 17, 13, 24, 56, 789_012, tzinfo=UTC)
"""The time of a proof, always the same: what is proven in the evening is proven in the morning.

It lies far in the future, because DynamoDB deletes expired items by its own clock: an item that a pattern lets expire
an hour later must not be gone at once.
"""


def prove(
    workload: Workload,
    design: Design,
    transport: Transport,
    *,
    now: datetime = PROOF_TIME,
    seed: int = 1,
    options: Options | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Proof:
    """Renders the code of a design, loads it, and runs it on an empty table that is filled with edge values.

    The methods of both repositories are called. Every read is compared with a search through all the data. After every
    write the table is compared with its expected content; if the transport tells what has changed, as the embedded
    engine does, only what the write has changed or should have changed. Large contents are read back. At the end all
    attributes that repeat those of others are refreshed. `options` are those of the generated code. The result is the
    same for the same `now` and seed, whatever the time is.

    If no table can be created from the design, no pattern is proven.
    """
    try:
        package = load_package(workload, design, options, lambda: now)
        sample = SampleTable.create(workload, design, transport, now, seed, edge_values=True, package=package)
    except (SchemaError, TemplateError) as error:
        problem = f"no table can be made from the design: {error}"
        patterns = tuple(PatternProof.of(pattern, problem) for pattern in workload.patterns)
        return Proof(patterns, blocked=problem)
    expected_table = ExpectedTable(sample)
    items = len(expected_table.items)
    # A difference before the first pattern is a finding of its own, and must not fail all patterns.
    wrong = expected_table.difference() or prove_contents(sample)
    if wrong:
        expected_table.restore()
    proofs: list[PatternProof] = []
    for proof in prove_patterns(sample, expected_table):
        proofs.append(proof)
        progress(f"{len(proofs)} of {len(workload.patterns)} patterns")
    refresh_problem = prove_refreshes(sample, expected_table)
    history_problem = prove_histories(sample, expected_table)
    missed_change = expected_table.missed_changes() if sample.followed else ""
    findings = [
        *sample.unwritable,
        *prove_table(sample),
        *filter(None, (wrong, refresh_problem, history_problem, missed_change)),
        *map(str, audit(sample.unobserved)),
    ]
    return Proof(tuple(proofs), items, tuple(findings))


def prove_patterns(sample: SampleTable, expected_table: ExpectedTable | None = None) -> Iterator[PatternProof]:
    """Proves the patterns one by one; reads first, because writes change the data.

    Each is proven by itself: the table and the data are restored after a write that failed.
    """
    expected_table = expected_table or ExpectedTable(sample)
    for read in sample.workload.reads:
        yield _unproven(sample, read) or _prove_or_report(read, partial(prove_read, sample, read, expected_table))
    for write in sample.workload.changing:
        if proof := _unproven(sample, write):
            yield proof
            continue
        proof = _prove_or_report(write, partial(prove_write, sample, write, expected_table))
        if not proof.right:
            expected_table.restore()
        yield proof


def _prove_or_report(pattern: Pattern, prove_pattern: Callable[[], PatternProof]) -> PatternProof:
    """The proof of a pattern. A bug in the proof itself leaves only this pattern unproven."""
    try:
        return prove_pattern()
    except Exception as error:
        return PatternProof.of(pattern, f"the proof has a bug: {type(error).__name__}: {error}")


def _unproven(sample: SampleTable, pattern: Pattern) -> PatternProof | None:
    """The result for a pattern that the design does not serve; None for one that can be run."""
    if reason := sample.out_of_scope.get(pattern.id):
        return replace(PatternProof.of(pattern, reason), out_of_scope=True)
    operation = sample.design.operation(pattern.id)
    if operation is None:
        return PatternProof.of(pattern, "it is not in the design")
    if not operation.served:
        return replace(PatternProof.of(pattern, operation.problem), remedy=operation.remedy)
    return None
