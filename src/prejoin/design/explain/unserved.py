"""A pattern that is not served: why, and what would have to change for it to be."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.cost.upkeep import index_cents
from prejoin.design.explain.phrases import coded, listed, money, verb
from prejoin.design.model import Design, Operation
from prejoin.design.solver.candidates import index_candidates
from prejoin.design.solver.read_needs import questions
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.lookup import bindings
from prejoin.workload.model import AtMost, Combine, Consistency, Pattern, Read, Without, Workload


def unserved_words(workload: Workload, design: Design, pattern: Pattern, operation: Operation) -> Iterator[str]:
    yield f"Not served: {operation.problem}."
    dressed = list(_dressed(workload, pattern)) if isinstance(pattern, Read) else []
    yield from dressed
    if dressed or not operation.remedy:
        return
    yield f"What would have to change: {operation.remedy}."
    if isinstance(pattern, Read):
        yield from _consistent(pattern)
        yield from _another_index(workload, pattern)
        yield from _limits(workload, design, pattern)


def _dressed(workload: Workload, read: Read) -> Iterator[str]:
    """A join dressed up as a collection: what is given says nothing about one of the entities."""
    if len(read.entities) < 2 or read.combine is Combine.JOIN:
        return
    for one in read.inputs:
        bound = bindings(workload, read.entities, one.attribute)
        strangers = [name for name in read.entities if name not in bound]
        if bound and strangers and not one.filter:
            yield (
                f"{strangers[0]} has nothing that `{one.attribute}` could be, so no partition holds it beside "
                f"{next(iter(bound))}: this is a join, and takes a second request or a repeated attribute."
            )
            yield f"What would have to change: call it a Join, or give {strangers[0]} the `{one.attribute}`."
            return


def _consistent(read: Read) -> Iterator[str]:
    if read.consistency is not None and read.consistency is not Consistency.EVENTUAL:
        yield f"It is to be read with {read.consistency.value.lower()} consistency, which no index allows."


def _another_index(workload: Workload, read: Read) -> Iterator[str]:
    """What it would cost to keep a key for it in an index, read a moment late."""
    asked, _ = questions(replace(workload, reads=(read,)))
    if len(asked) != 1 or len(asked[0].needs) != 1:
        return
    (need,) = asked[0].needs
    entity = workload.entity(need.entity)
    found = index_candidates(workload, entity, [need]) if entity else []
    if entity and found:
        best = min(found, key=lambda one: (index_cents(workload, entity, one), len(one.pk), one))
        cost = money(index_cents(workload, entity, best) / 100)
        names = coded(best.pk) or "a constant"
        yield f"An index of {entity.name} with the partition made of {names} would cost {cost} a month to keep."


def _limits(workload: Workload, design: Design, pattern: Pattern) -> Iterator[str]:
    """Decisions that leave no room."""
    indexes, copies = len(design.indexes), len(design.copies)
    there = {"GSIs": indexes, "copies": copies, "structures": indexes + copies}
    entities = {*pattern.entities}
    found = []
    for decision in workload.decisions:
        pin = decision.pin
        full = isinstance(pin, AtMost) and pin.what in there and there[pin.what] >= pin.count
        barred = isinstance(pin, Without) and pin.what in there and pin.entity in entities
        if pin and (full or barred):
            found.append(f"`{write_pin(pin)}`")
    if found:
        yield f"The document leaves no room for another key: {listed(found)} {verb(found, 'is', 'are')} decided."
