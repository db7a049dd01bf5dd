"""Every pattern of a workload run on a design: `run_all(bench)`. None goes missing."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.proof.answer import Answer
from prejoin.proof.bench import Bench
from prejoin.proof.run_reads import run_read
from prejoin.proof.run_writes import run_write


def run_all(bench: Bench) -> Iterator[Answer]:
    """The answers, reads first: writes change what reads find."""
    for read in bench.workload.reads:
        yield run_read(bench, read)
    for write in (*bench.workload.writes, *bench.workload.deletes):
        yield run_write(bench, write)
