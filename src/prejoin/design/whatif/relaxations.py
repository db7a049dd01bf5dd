"""Relaxations: what could be given up to serve a read that is not served.

Each one is a change of the document that an expert would propose: a counter for a count, a required input, an index of
words, a geohash, a feed that is written in advance. It is solved and priced, and comes with the lines of the document
that take it.
"""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.design.cost.assumptions import per_second
from prejoin.design.cost.excess import excess
from prejoin.design.cost.objective import pattern_weight
from prejoin.design.whatif.alternative import Alternative, cheapest_first
from prejoin.design.whatif.attempt import WhatIf, compared_price, shape_of
from prejoin.design.whatif.change import Change
from prejoin.design.whatif.companions import feed_changes, word_changes
from prejoin.design.whatif.counter import counter_changes
from prejoin.design.whatif.read_edits import (
    geohash,
    is_coordinate_range,
    pages,
    query_for_each,
    read_for_each,
    required_inputs,
)
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import Op, OutOfScope, Read, Workload
from prejoin.workload.program.resolved_read import resolve_read

MOST_RELAXED = 3
"""The most relaxations that are attempted for a read that is not served."""
MOST_FOR_ALL = 6
"""The most that are attempted for all reads that are not served."""
_KINDS = (
    counter_changes,
    required_inputs,
    query_for_each,
    read_for_each,
    pages,
    geohash,
    word_changes,
    feed_changes,
)


def relax_unserved(what_if: WhatIf) -> dict[str, tuple[Alternative, ...]]:
    """The changes that serve each read that is not served. Those of the most frequent reads are attempted first."""
    unserved_reads = what_if.design.unserved
    reads = [read for read in what_if.workload.reads if read.id in unserved_reads]
    attempts_left = MOST_FOR_ALL
    alternatives = {}
    for read in sorted(reads, key=pattern_weight, reverse=True):
        limit = min(attempts_left, MOST_RELAXED)
        alternatives[read.id] = relax(what_if, read, limit)
        attempts_left -= min(limit, len(list(relaxation_changes(what_if.workload, read))))
    return alternatives


def relax(what_if: WhatIf, read: Read, limit: int = MOST_RELAXED) -> tuple[Alternative, ...]:
    """Changes of the document that serve a read, solved and priced, the cheapest first; then what other services do."""
    alternatives = []
    # A change that serves the read but loses another one is no proposal.
    for outcome in what_if.attempt_best(relaxation_changes(what_if.workload, read), limit):
        if outcome.design is None or outcome.lost_patterns or read.id in outcome.design.unserved:
            continue
        text = f"{outcome.change.summary}: {shape_of(outcome.design)}, {compared_price(outcome.dollars)}"
        alternatives.append(what_if.alternative(outcome, text))
    alternatives.sort(key=cheapest_first)
    return (*alternatives, *_other_services(what_if.workload, read))


def relaxation_changes(workload: Workload, read: Read) -> Iterator[Change]:
    """Changes that may serve a read."""
    for changes_of_kind in _KINDS:
        yield from changes_of_kind(workload, read)


def _other_services(workload: Workload, read: Read) -> Iterator[Alternative]:
    """What another service answers better. Its price is not known here."""
    take = (write_pin(OutOfScope(read.id)),)
    is_text_search = any(condition.op is Op.CONTAINS for condition in read.inputs)
    # A place takes two ranges, of latitude and longitude, and a key answers one.
    is_near_search = sum(map(is_coordinate_range, read.inputs)) > 1
    has_any_combination = sum(condition.optional for condition in read.inputs) > 2
    if is_near_search or is_text_search or has_any_combination:
        kind = "search by any combination"
        if is_near_search:
            kind = "geographic search"
        elif is_text_search:
            kind = "full-text search"
        yield Alternative(f"{kind} in OpenSearch, fed by the stream of the table (not priced here)", take=take)
    elif excess(resolve_read(workload, read)) and per_second(read.rate) < 1 / 3600:
        yield Alternative("an export to S3, asked with Athena (not priced here)", take=take)
